"""Adapters beside LoRA: what is trained, and what the layers keep."""

import pytest

from engine.estimate import estimate
from engine.findings import EstimateReport
from engine.project import Project

LAYERS, WIDTH, HIDDEN, KEYS = 24, 896, 4864, 128
"""Qwen2.5-0.5B: two heads of 64 for keys and values."""

SCRIPT = """
import torch
from transformers import AutoModelForCausalLM
from peft import {config}, get_peft_model
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B", torch_dtype=torch.bfloat16).cuda()
model = get_peft_model(model, {config}({options}))
model.train()
optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-4)
for _ in range(3):
    ids = torch.randint(0, 1000, (2, 256), device="cuda")
    model(input_ids=ids, labels=ids, use_cache=False).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
TARGETS = 'target_modules=["q_proj", "v_proj"]'
PAIRS = 2 * WIDTH + WIDTH + KEYS
TRAINED = {
    "IA3Config": (
        'target_modules=["k_proj", "v_proj", "down_proj"], feedforward_modules=["down_proj"]',
        LAYERS * (2 * KEYS + HIDDEN),
    ),
    "LoHaConfig": (f"r=8, {TARGETS}", LAYERS * 2 * 8 * PAIRS),
    "VeraConfig": (f"r=64, {TARGETS}", LAYERS * (2 * 64 + WIDTH + KEYS)),
    "LNTuningConfig": ("", LAYERS * 2 * WIDTH + WIDTH),
    "TrainableTokensConfig": ('target_modules="embed_tokens", token_indices=[1, 2]', 2 * WIDTH),
    "PromptTuningConfig": ("num_virtual_tokens=20", 20 * WIDTH),
    "PrefixTuningConfig": ("num_virtual_tokens=20", 20 * LAYERS * 2 * KEYS),
    "LoraConfig": (f"r=8, use_dora=True, {TARGETS}", LAYERS * (8 * PAIRS + WIDTH + KEYS)),
}


def run(config: str, options: str) -> EstimateReport:
    source = SCRIPT.format(config=config, options=options)
    return estimate(Project.from_mapping({"train.py": source}), "train.py", savings=False)


@pytest.mark.parametrize("config", TRAINED)
def test_a_method_trains_its_own_parameters(config: str) -> None:
    options, trained = TRAINED[config]
    report = run(config, options)
    assert report.memory is not None, report.notes
    assert report.model.trainable_parameters == trained


def test_a_decomposed_adapter_keeps_more_than_a_plain_one() -> None:
    plain, decomposed = run("LoraConfig", TARGETS).memory, run("LoraConfig", f"use_dora=True, {TARGETS}").memory
    assert plain is not None and decomposed is not None
    assert decomposed.allocated.expected > plain.allocated.expected
