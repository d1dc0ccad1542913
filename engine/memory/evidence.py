"""Classes of evidence: how sure the things are that a peak was computed from. Each has its own range."""

from __future__ import annotations

from collections.abc import Iterable

from hardware_catalog import Gpu

FOLLOWED, LIBRARY, SHARDED, ASSUMED = "followed", "library", "sharded", "assumed"
CLASSES = (FOLLOWED, LIBRARY, SHARDED, ASSUMED)
"""Every operation was in the source or its libraries' published code; a library's step in mixed precision over half
weights or adapters, whose copies change with its version; shards, whose order is the library's; anything assumed."""

LIBRARY_STEP = "half weights or adapters are trained by the Trainer of transformers 5; other versions hold other copies"
"""The note of a run whose step is a library's."""

EAGER = "torch.compile is taken as eager execution; compiled code often needs less"
"""The note of a run whose code is compiled. Of two published pairs one needs 15 % less compiled (torchtune's 3B full
fine-tuning, 60 against 51 GiB) and one 1 % more (DINOv2 giant under torchao), so the range stays that of eager code."""

LENGTHS_DIFFER = "batches are padded to their longest sample: what is reserved depends on the order of their lengths"
"""The note of a run whose batches differ in length."""

OLDEST_CURRENT = 7.5
"""Compute capability below which current builds of torch hold no kernels (CUDA 13 dropped Volta and older)."""


def class_of(confidence: str, notes: Iterable[str], sharding: object) -> str:
    """The class of an estimate from what its report says."""
    if str(sharding).startswith(("fsdp", "zero")):
        return SHARDED
    said = list(notes)
    if LIBRARY_STEP in said and not any(doubtful(note) for note in said):
        return LIBRARY
    unknown = any(doubtful(note) or unmodelled(note) for note in said)
    followed = confidence == "high" or (confidence == "medium" and EAGER in said and not unknown)
    return FOLLOWED if followed else ASSUMED


def doubtful(note: str) -> bool:
    """Whether a note says that something was taken without being known."""
    return "passed over" in note or "assumed" in note


def unmodelled(note: str) -> bool:
    """Whether a note says that the shadow run has no model of something."""
    return "not modelled" in note


def age_note(gpu: Gpu) -> str | None:
    """What is said of a device that only older libraries run on."""
    if gpu.compute_capability and float(gpu.compute_capability) < OLDEST_CURRENT:
        return f"{gpu.name} runs with older libraries only: they are assumed to keep what current ones keep"
    return None
