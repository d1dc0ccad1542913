"""Command lines and configuration files of trainers that are not in the repository become estimates."""

import pytest

from engine.estimate import estimate
from engine.findings import EstimateReport
from engine.memory.launch import CannotLaunch, plan
from engine.project import Project


def answer(files: dict[str, str], script: str) -> EstimateReport:
    report = estimate(Project.from_mapping(files), script, savings=False)
    assert report.memory is not None, report.notes
    return report


TUNE = """
model:
  _component_: torchtune.models.llama3_2.lora_llama3_2_1b
  lora_attn_modules: ['q_proj', 'v_proj']
  apply_lora_to_mlp: true
  lora_rank: 16
tokenizer:
  _component_: torchtune.models.llama3.llama3_tokenizer
  max_seq_len: 1024
dataset:
  _component_: torchtune.datasets.text_completion_dataset
  packed: true
batch_size: 2
gradient_accumulation_steps: 8
optimizer:
  _component_: torch.optim.AdamW
  fused: true
loss:
  _component_: torchtune.modules.loss.LinearCrossEntropyLoss
enable_activation_checkpointing: true
dtype: bf16
"""


def test_torchtune_with_overrides_keeps_the_place_of_every_value() -> None:
    run = (
        "tune run lora_finetune_single_device --config conf/tune.yaml \\\n    batch_size=4 tokenizer.max_seq_len=512\n"
    )
    report = answer({"run.sh": run, "conf/tune.yaml": TUNE}, "run.sh")
    seen = {key: (s.value, s.path, s.line) for key, s in report.configuration.items()}
    assert seen["batch_size"] == (4, "run.sh", 2)
    assert seen["sequence_length"] == (512, "run.sh", 2)
    assert seen["lora_rank"] == (16, "conf/tune.yaml", 6)
    assert seen["accumulation_steps"] == (8, "conf/tune.yaml", 14)
    assert seen["precision"][0] == "pure-bf16"
    assert seen["gradient_checkpointing"][:2] == (True, "conf/tune.yaml")
    assert report.model.parameters is not None and 1.23e9 < report.model.parameters < 1.26e9


def test_the_configuration_alone_gives_the_same_as_the_command() -> None:
    files = {"run.sh": "tune run lora_finetune_single_device --config tune.yaml", "tune.yaml": TUNE}
    assert answer(files, "run.sh").memory == answer(files, "tune.yaml").memory


LITGPT = """
checkpoint_dir: checkpoints/EleutherAI/pythia-160m
precision: bf16-true
lora_r: 4
lora_key: true
data: Alpaca
train:
  micro_batch_size: 2
  global_batch_size: 8
"""


def test_litgpt_pads_to_the_longest_sample() -> None:
    report = answer(
        {"train.sh": "litgpt finetune_lora --config lit.yaml --train.max_seq_length 512", "lit.yaml": LITGPT},
        "train.sh",
    )
    assert report.configuration["sequence_length"].value == 512
    assert report.configuration["accumulation_steps"].value == 4
    assert answer({"lit.yaml": LITGPT}, "lit.yaml").configuration["sequence_length"].value == 1044


def test_swift_command() -> None:
    run = "N=256\nCUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen2-0.5B --train_type full \\\n --max_length $N\n"
    report = answer({"run.sh": run}, "run.sh")
    assert report.configuration["sequence_length"].model_dump()["line"] == 3
    assert report.model.trainable_parameters == report.model.parameters


@pytest.mark.parametrize(
    ("files", "script", "reason"),
    [
        ({"run.sh": "tune run full_finetune --config gone.yaml"}, "run.sh", "gone.yaml is not in the repository"),
        ({"run.sh": "swift sft --max_length 512"}, "run.sh", "is not given"),
        ({"c.yaml": "a: 1\nb: 2\n"}, "c.yaml", "not the configuration of a trainer"),
        ({"c.yaml": "- 1\n- 2\n"}, "c.yaml", "holds no settings"),
    ],
)
def test_what_is_missing_is_said(files: dict[str, str], script: str, reason: str) -> None:
    with pytest.raises(CannotLaunch, match=reason):
        plan(Project.from_mapping(files), script)
