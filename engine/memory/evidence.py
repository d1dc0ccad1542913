"""Classes of evidence: how sure the things are that a peak was computed from. Each has its own range."""

from __future__ import annotations

from collections.abc import Iterable

from hardware_catalog import Gpu

FOLLOWED, LIBRARY, VARIED, SHARDED, MASTERS = "followed", "library", "varied", "sharded", "masters"
REMOTE, OLDER, ASSUMED = "remote", "older", "assumed"
CLASSES = (FOLLOWED, LIBRARY, VARIED, SHARDED, MASTERS, REMOTE, OLDER, ASSUMED)
"""What an estimate rests on, from the surest to the least:

- followed: every operation was in the source or in its libraries' published code;
- library: a library's step in mixed precision over half weights or adapters, whose copies change with its version;
- varied: batches of many lengths, so that what is reserved depends on their order;
- sharded: parts whose order of gathering is the library's;
- masters: half weights trained under autocast, which many programs hold a second time in float32;
- remote: code that lies beside the checkpoint and runs with libraries of its time;
- older: a device that current builds of torch no longer run on, so that all libraries are of its time;
- assumed: anything else that was taken without being known."""

LIBRARY_STEP = "half weights or adapters are trained by the Trainer of transformers 5; other versions hold other copies"
"""The note of a run whose step is a library's."""

EAGER = "torch.compile is taken as eager execution; compiled code often needs less"
"""The note of a run whose code is compiled. Of two published pairs one needs 15 % less compiled (torchtune's 3B full
fine-tuning, 60 against 51 GiB) and one 1 % more (DINOv2 giant under torchao), so the range stays that of eager code."""

LENGTHS_DIFFER = "batches are padded to their longest sample: what is reserved depends on the order of their lengths"
"""The note of a run whose batches differ in length."""

MASTERS_UNSEEN = "half weights are trained under autocast: no float32 masters are assumed"
"""The note of a run that may hold its weights a second time."""

OF_ITS_TIME = "runs with the libraries of its time, assumed to keep what current ones keep"
"""Ends the note of a model whose code lies beside its checkpoint."""

OLDER_LIBRARIES = "runs with older libraries only: attention is assumed to be eager, as theirs is"
"""Ends the note of a device that current builds do not run on."""

OLDEST_CURRENT = 7.5
"""Compute capability below which current builds of torch hold no kernels (CUDA 13 dropped Volta and older)."""


def class_of(confidence: str, notes: Iterable[str], sharding: object) -> str:
    """The class of an estimate from what its report says."""
    if str(sharding).startswith(("fsdp", "zero")):
        return SHARDED
    said = list(notes)
    if any(note.endswith(OLDER_LIBRARIES) for note in said):
        return OLDER
    if any(note.endswith(OF_ITS_TIME) for note in said):
        return VARIED if LENGTHS_DIFFER in said else REMOTE
    others = [note for note in said if note != MASTERS_UNSEEN]
    unsure = any(doubtful(note) for note in others)
    if LENGTHS_DIFFER in said:
        return VARIED
    if LIBRARY_STEP in said and not unsure:
        return LIBRARY
    if len(others) < len(said) and not unsure:
        return MASTERS
    unknown = unsure or any(unmodelled(note) for note in said)
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
        return f"{gpu.name} {OLDER_LIBRARIES}"
    return None
