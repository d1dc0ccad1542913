"""The changes of configuration that can save memory: what each costs, when it applies, and what it can save at most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.memory.observations import Observations
from engine.memory.shadow import Outcome

FREE, CHEAP, SLOWER, OTHER_RESULTS = 0.0, 0.5, 1.5, 3.0
"""Classes of cost, in the order in which an engineer would try them: nothing, a line or a dependency, time, results."""


@dataclass(frozen=True)
class Option:
    """One change.

    `changes` are names that the shadow run applies (see `adjustments`); of two options with a `subject` in common only
    one can be taken; `several_ranks` says that one rank alone saves nothing; `price` orders options of equal savings;
    `at_most` bounds the bytes that the change can save, None where only a run can tell.
    """

    change: str
    cost: str
    price: float
    changes: tuple[str, ...]
    applies: Callable[[Observations], bool]
    subject: str = ""
    several_ranks: bool = False
    at_most: Callable[[Outcome], int] | None = None


def _trains(seen: Observations) -> bool:
    return seen.steps > 0


def _adam(seen: Observations) -> bool:
    eight = "8bit" in (seen.optimizer or "")
    return _trains(seen) and not eight and any(name in (seen.optimizer or "") for name in ("adam", "adamw"))


def _published(seen: Observations) -> bool:
    return seen.evidence in ("catalogue", "config")


def _declared(seen: Observations, name: str) -> bool:
    return name in dict(seen.declared)


def _of(*names: str) -> Callable[[Outcome], int]:
    """What the peak holds of these categories."""
    return lambda run: sum(run.categories.get(name, 0) for name in names)


def _besides(*names: str) -> Callable[[Outcome], int]:
    """What the peak holds besides these categories, and the slack of the allocator."""
    return lambda run: run.reserved - sum(run.categories.get(name, 0) for name in names)


_LASTING = ("parameters", "buffers", "gradients", "optimizer")

OPTIONS: tuple[Option, ...] = (
    Option(
        "set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
        "none",
        FREE,
        ("expandable-segments",),
        lambda seen: True,
        at_most=lambda run: run.reserved - run.allocated,
    ),
    Option(
        "optimizer.zero_grad(set_to_none=True) before the forward pass",
        "none",
        FREE,
        ("clear-gradients",),
        lambda seen: _trains(seen) and seen.accumulation_steps == 1,
        at_most=_of("gradients"),
    ),
    Option(
        "gradient_as_bucket_view=True in DistributedDataParallel",
        "none",
        FREE,
        ("bucket-views",),
        _trains,
        several_ranks=True,
        at_most=_of("communication"),
    ),
    Option(
        "fused=True in the optimizer",
        "none; the step is faster",
        FREE + 0.1,
        ("fused-optimizer",),
        lambda seen: _adam(seen) and not seen.fused,
        subject="optimizer",
        at_most=_besides("activations", *_LASTING),
    ),
    Option(
        "scaled dot-product attention in place of eager attention",
        "none; faster",
        FREE + 0.1,
        ("sdpa",),
        lambda seen: seen.attention is None and _published(seen),
        at_most=_besides(*_LASTING),
    ),
    Option(
        "ZeroRedundancyOptimizer: each rank keeps its share of the states",
        "a broadcast of the parameters each step",
        CHEAP,
        ("zero-1",),
        lambda seen: _trains(seen) and not _declared(seen, "sharding"),
        several_ranks=True,
        at_most=_besides("parameters", "buffers", "gradients"),
    ),
    Option(
        "mixed precision: bfloat16 autocast around the forward pass",
        "faster on Ampere and later; check the loss curve",
        CHEAP,
        ("amp-bf16",),
        lambda seen: _trains(seen) and seen.precision == "fp32",
        subject="precision",
        at_most=_besides(*_LASTING),
    ),
    Option(
        "Liger's fused kernels (loss without logits, norms, gated layers)",
        "faster; one more dependency",
        CHEAP,
        ("liger",),
        lambda seen: _trains(seen) and _published(seen) and not _declared(seen, "liger"),
        at_most=_besides(*_LASTING),
    ),
    Option(
        "half the micro-batch, twice the accumulation steps",
        "a little slower; the same effective batch",
        CHEAP + 0.3,
        ("half-batch",),
        lambda seen: _trains(seen) and (seen.batch_size or 0) > 1,
        at_most=_besides("parameters", "buffers", "optimizer"),
    ),
    Option(
        "half the batch",
        "twice the steps",
        CHEAP + 0.5,
        ("half-batch",),
        lambda seen: not _trains(seen) and (seen.batch_size or 0) > 1,
        at_most=_besides("parameters", "buffers"),
    ),
    Option(
        "checkpoint each repeated block (torch.utils.checkpoint)",
        "about a third more time a step",
        SLOWER,
        ("checkpoint-blocks",),
        lambda seen: _trains(seen) and not seen.gradient_checkpointing,
        subject="saved tensors",
        at_most=_besides(*_LASTING),
    ),
    Option(
        "8-bit AdamW (bitsandbytes)",
        "states in 8 bits; one more dependency",
        SLOWER,
        ("8bit-optimizer",),
        lambda seen: _adam(seen) and (seen.trainable or 0) > 1_000_000,
        subject="optimizer",
        at_most=_besides("parameters", "buffers", "activations"),
    ),
    Option(
        "saved tensors on the host (torch.autograd.graph.save_on_cpu)",
        "every activation crosses the bus twice: often half the speed",
        SLOWER + 1.0,
        ("save-on-cpu",),
        lambda seen: _trains(seen) and not seen.gradient_checkpointing,
        subject="saved tensors",
        at_most=_besides(*_LASTING),
    ),
    Option(
        "weights in bfloat16",
        "half the precision of the weights",
        CHEAP,
        ("weights-bf16",),
        lambda seen: not _trains(seen) and seen.precision == "fp32",
        subject="precision",
    ),
    Option(
        "weights, gradients and states in bfloat16",
        "updates below the precision of bfloat16 are lost",
        OTHER_RESULTS,
        ("weights-bf16",),
        lambda seen: _trains(seen) and _published(seen) and seen.precision in ("fp32", "amp-bf16"),
        subject="precision",
    ),
    Option(
        "LoRA, rank 16, on every linear layer",
        "trains adapters only: quality may differ",
        OTHER_RESULTS,
        ("lora-16",),
        lambda seen: (
            _trains(seen)
            and _published(seen)
            and (seen.parameters or 0) > 50_000_000
            and not _declared(seen, "lora_rank")
        ),
        subject="adapters",
    ),
    Option(
        "load the base in 4 bits (NF4) with LoRA, rank 16",
        "slower matrix products; quality may differ",
        OTHER_RESULTS + 0.5,
        ("nf4", "lora-16"),
        lambda seen: (
            _trains(seen)
            and _published(seen)
            and (seen.parameters or 0) > 300_000_000
            and not _declared(seen, "quantization")
        ),
        subject="adapters",
    ),
    Option(
        "load the weights in 4 bits (NF4)",
        "slower matrix products; quality may differ",
        OTHER_RESULTS,
        ("nf4",),
        lambda seen: (
            not _trains(seen)
            and _published(seen)
            and (seen.parameters or 0) > 300_000_000
            and not _declared(seen, "quantization")
        ),
        subject="precision",
    ),
    Option(
        "half the sequence length",
        "a shorter context: other results",
        OTHER_RESULTS + 0.5,
        ("half-sequence",),
        lambda seen: (seen.sequence_length or 0) > 64,
        at_most=_besides("parameters", "buffers", "optimizer"),
    ),
    Option(
        "SGD with momentum in place of Adam",
        "usually trains worse; tune the learning rate anew",
        OTHER_RESULTS + 1.0,
        ("sgd-optimizer",),
        _adam,
        subject="optimizer",
        at_most=_besides("parameters", "buffers", "activations"),
    ),
)
"""Every option, cheapest class first."""


def together(options: Sequence[Option]) -> Option | None:
    """Several options as one, or None where two of them have the same subject."""
    subjects = [option.subject for option in options if option.subject]
    changes = [change for option in options for change in option.changes]
    if len(set(subjects)) < len(subjects) or len(set(changes)) < len(changes):
        return None
    return Option(
        " + ".join(option.change for option in options),
        "; ".join(dict.fromkeys(cost for option in options if (cost := option.cost.removeprefix("none").lstrip("; "))))
        or "none",
        sum(option.price for option in options),
        tuple(changes),
        lambda seen: all(option.applies(seen) for option in options),
        several_ranks=any(option.several_ranks for option in options),
    )
