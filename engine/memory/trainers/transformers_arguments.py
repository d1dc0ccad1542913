"""The part of a table that every trainer built on transformers' Trainer shares: TrainingArguments by their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.memory.libraries.trainer import DEFAULTS
from engine.memory.trainers.options import scalar
from engine.memory.trainers.tables import Field, Settings, integer, text, truth

TABLE: Mapping[str, Field] = {
    "batch_size": Field(("per_device_train_batch_size", "per_gpu_train_batch_size"), 8, integer),
    "accumulation_steps": Field(("gradient_accumulation_steps",), 1, integer),
    "bf16": Field(("bf16",), False, truth),
    "fp16": Field(("fp16",), False, truth),
    "gradient_checkpointing": Field(("gradient_checkpointing",), False, truth),
    "checkpoint_options": Field(("gradient_checkpointing_kwargs",), None),
    "optimizer": Field(("optim",), DEFAULTS["optim"], text),
    "clip": Field(("max_grad_norm",), 1.0),
}

PASSED_ON = (
    "deepspeed",
    "fsdp",
    "fsdp_config",
    "fsdp_transformer_layer_cls_to_wrap",
    "use_liger_kernel",
    "torch_compile",
)
"""Further arguments that go to TrainingArguments as they are."""


def passed_on(settings: Settings) -> dict[str, Any]:
    """The further arguments that are given and switched on."""
    found = {name: scalar(settings.options.value(name)) for name in PASSED_ON if name in settings.options}
    if "deepspeed" in found or "fsdp" in found:
        settings.at("sharding", "deepspeed", "fsdp")
    return {name: value for name, value in found.items() if value not in (None, False, "", {})}


def autocast(settings: Settings, bf16_default: bool = False) -> str | None:
    """The dtype of mixed precision; the place of the answer's precision is that of the flag."""
    given = settings.options
    if settings["fp16"]:
        settings.at("precision", "fp16")
        return "float16"
    bf16 = settings["bf16"] if given.first(("bf16",)) is not None else bf16_default
    if bf16:
        settings.at("precision", "bf16")
        return "bfloat16"
    return None


def checkpoint_options(settings: Settings) -> dict[str, Any] | None:
    """`gradient_checkpointing_kwargs` where it is a mapping."""
    found = settings["checkpoint_options"]
    return found if isinstance(found, dict) else None
