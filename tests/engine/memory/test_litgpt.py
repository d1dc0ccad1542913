"""LitGPT's own decoder against the peaks that its repository publishes (tutorials and config_hub, 10^9 bytes)."""

import pytest

from engine.estimate import estimate
from engine.project import Project

CONFIGURATION = """
checkpoint_dir: checkpoints/{model}
precision: bf16-true
quantize: {quantize}
lora_r: {rank}
lora_alpha: 16
lora_dropout: 0.05
lora_query: true
lora_key: false
lora_value: true
data: {data}
train:
  global_batch_size: 128
  micro_batch_size: {batch}
  {bound}
"""


@pytest.mark.parametrize(
    ("model", "quantize", "rank", "data", "batch", "bound", "published"),
    [
        # The longest sample comes once.
        ("microsoft/phi-1_5", "", 8, "litgpt.data.Alpaca", 2, "", 6.76),
        ("microsoft/phi-1_5", "bnb.nf4", 8, "litgpt.data.Alpaca", 1, "", 3.78),
        ("meta-llama/Llama-2-7b-hf", "bnb.nf4-dq", 8, "litgpt.data.Alpaca", 1, "", 13.84),
        # Samples are cut at a bound: what the step before keeps of its inputs is as large again.
        ("meta-llama/Llama-2-7b-hf", "bnb.nf4", 32, "litgpt.data.Alpaca2k", 2, "max_seq_length: 512", 13.68),
        # Grouped queries, one group, a head and norms of another kind.
        ("mistralai/Mistral-7B-v0.1", "", 32, "litgpt.data.Alpaca2k", 2, "max_seq_length: 512", 20.66),
        ("tiiuae/falcon-7b", "", 32, "litgpt.data.Alpaca2k", 1, "max_seq_length: 512", 16.69),
    ],
)
def test_published_peaks(
    model: str, quantize: str, rank: int, data: str, batch: int, bound: str, published: float
) -> None:
    text = CONFIGURATION.format(model=model, quantize=quantize, rank=rank, data=data, batch=batch, bound=bound)
    files = {"train.sh": "litgpt finetune_lora --config lit.yaml\n", "lit.yaml": text}
    memory = estimate(Project.from_mapping(files), "train.sh", gpus=["a100-40gb"], savings=False).memory
    assert memory is not None
    assert memory.allocated.expected == pytest.approx(published * 1e9, rel=0.01)
