"""What a run needs, whoever's option names said it: the model, the batch, the precision, adapters, optimizer, step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Places = Mapping[str, tuple[str, int]]
"""Keys of the answer's configuration to the file and line that gave them."""

Loss = Literal["whole", "whole-float32", "whole-float32-fused", "pieces", "pieces-float32", "pieces-fused"]
"""Cross entropy of all logits or of pieces; of a float32 copy or not; fused where it is compiled: one kernel reads the
logits it is given, and its backward one writes their gradient, with no softmax or further copy between."""


@dataclass(frozen=True)
class Adapters:
    """LoRA: `targets` are module names or `all-linear`; `dtype` that of the adapters, None for peft's float32."""

    rank: int
    targets: tuple[str, ...] | str | None
    alpha: float = 16.0
    dropout: float = 0.0
    dtype: str | None = None
    saved_modules: tuple[str, ...] = ()
    dora: bool = False


@dataclass(frozen=True)
class Quantization:
    """bitsandbytes weights: 4 (NF4) or 8 bits. `prepared` says whether norms and embeddings go to float32 (peft)."""

    bits: int
    double: bool = False
    compute: str = "bfloat16"
    prepared: bool = True


@dataclass(frozen=True)
class Recipe:
    """One training run. `kind` says which program plays it; dtypes are torch's names."""

    trainer: str
    model: str
    batch_size: int
    sequence_length: int | None = None
    varied: bool = False
    """Whether batches are padded to their longest sample only, so that their lengths differ up to that bound."""
    longest_once: bool = False
    """Whether `sequence_length` is that of one sample in many; where samples are cut at it, many have it."""
    accumulation_steps: int = 1
    world_size: int = 1
    task: str = "causal-lm"
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """Values of the model's configuration that the trainer sets otherwise."""
    weights: str | None = "bfloat16"
    """dtype the weights are loaded in; None for the checkpoint's own."""
    autocast: str | None = None
    from_scratch: bool = False
    attention: str | None = None
    adapters: Adapters | None = None
    quantization: Quantization | None = None
    checkpointing: bool = False
    checkpoint_options: Mapping[str, Any] | None = None
    offload_activations: bool = False
    optimizer: str = "adamw_torch"
    """As transformers' `optim` spells it."""
    step_in_backward: bool = False
    clip: float | None = 1.0
    averaged: bool = False
    """Whether a moving average of the weights is held beside them."""
    loss: Loss = "whole"
    loss_pieces: int = 8
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """Further TrainingArguments as given: deepspeed, fsdp, use_liger_kernel ..."""
    shape: Mapping[str, int] = field(default_factory=dict)
    """Sizes of images and videos: height, width, frames."""
    structure: Mapping[str, Any] = field(default_factory=dict)
    """Configuration of the trainer's own model, where it has one."""
    places: Places = field(default_factory=dict)
    notes: tuple[str, ...] = ()
