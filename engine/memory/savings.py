"""What changes of configuration would save: each one another shadow run, ranked by what it saves for what it costs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.findings import Memory, Saving, Verdict
from engine.memory.configuration import find_literal
from engine.memory.observations import Observations
from engine.memory.shadow import Launch, Outcome, shadow_run
from hardware_catalog import MIB, context_range, nccl_range, usable_bytes

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter
    from engine.project import Project
    from hardware_catalog import Gpu

MIN_SHARE = 0.003
"""Options that save less than this share of what is occupied are not worth a line."""


@dataclass(frozen=True)
class Option:
    """One change. `changes` are names that the shadow run applies (see `adjustments`); `price` orders equal savings."""

    change: str
    cost: str
    price: float
    changes: tuple[str, ...]
    applies: Callable[[Observations], bool]


def _trains(seen: Observations) -> bool:
    return seen.steps > 0


def _adam(seen: Observations) -> bool:
    return _trains(seen) and any(name in (seen.optimizer or "") for name in ("adam", "adamw"))


OPTIONS: tuple[Option, ...] = (
    Option(
        "set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
        "none",
        0.0,
        ("expandable-segments",),
        lambda seen: True,
    ),
    Option(
        "optimizer.zero_grad(set_to_none=True) before the forward pass",
        "none",
        0.0,
        ("clear-gradients",),
        lambda seen: _trains(seen) and seen.accumulation_steps == 1,
    ),
    Option(
        "fused=True in the optimizer",
        "none; the step is faster",
        0.1,
        ("fused-optimizer",),
        lambda seen: _adam(seen) and not seen.fused and "8bit" not in (seen.optimizer or ""),
    ),
    Option(
        "mixed precision: bfloat16 autocast around the forward pass",
        "faster on Ampere and later; check the loss curve",
        0.5,
        ("amp-bf16",),
        lambda seen: _trains(seen) and seen.precision == "fp32",
    ),
    Option(
        "weights in bfloat16",
        "half the precision of the weights",
        0.4,
        ("weights-bf16",),
        lambda seen: not _trains(seen) and seen.precision == "fp32",
    ),
    Option(
        "scaled dot-product attention in place of eager attention",
        "none; faster",
        0.1,
        ("sdpa",),
        lambda seen: seen.attention is None and seen.evidence in ("catalogue", "config"),
    ),
    Option(
        "checkpoint each repeated block (torch.utils.checkpoint)",
        "about a third more time a step",
        2.0,
        ("checkpoint-blocks",),
        lambda seen: _trains(seen) and not seen.gradient_checkpointing,
    ),
    Option(
        "8-bit AdamW (bitsandbytes)",
        "states in 8 bits; one more dependency",
        1.5,
        ("8bit-optimizer",),
        lambda seen: _adam(seen) and "8bit" not in (seen.optimizer or "") and (seen.trainable or 0) > 1_000_000,
    ),
    Option(
        "SGD with momentum in place of Adam",
        "usually trains worse; tune the learning rate anew",
        4.0,
        ("sgd-optimizer",),
        _adam,
    ),
    Option(
        "LoRA, rank 16, on every linear layer",
        "trains adapters only: quality may differ",
        3.0,
        ("lora-16",),
        lambda seen: (
            _trains(seen)
            and seen.evidence in ("catalogue", "config")
            and (seen.parameters or 0) > 50_000_000
            and "lora_rank" not in dict(seen.declared)
        ),
    ),
    Option(
        "load the base in 4 bits (NF4) with LoRA, rank 16",
        "slower matrix products; quality may differ",
        3.5,
        ("nf4", "lora-16"),
        lambda seen: (
            _trains(seen)
            and seen.evidence in ("catalogue", "config")
            and (seen.parameters or 0) > 300_000_000
            and "quantization" not in dict(seen.declared)
        ),
    ),
    Option(
        "load the weights in 4 bits (NF4)",
        "slower matrix products; quality may differ",
        3.0,
        ("nf4",),
        lambda seen: (
            not _trains(seen)
            and seen.evidence in ("catalogue", "config")
            and (seen.parameters or 0) > 300_000_000
            and "quantization" not in dict(seen.declared)
        ),
    ),
    Option(
        "half the batch",
        "twice the steps",
        1.0,
        ("half-batch",),
        lambda seen: not _trains(seen) and (seen.batch_size or 0) > 1,
    ),
    Option(
        "half the micro-batch, twice the accumulation steps",
        "a little slower; the same effective batch",
        0.8,
        ("half-batch",),
        lambda seen: _trains(seen) and (seen.batch_size or 0) > 1,
    ),
)
"""Every option, in no particular order."""

COMBINATIONS: tuple[tuple[str, ...], ...] = (
    ("amp-bf16", "checkpoint-blocks"),
    ("checkpoint-blocks", "half-batch"),
    ("amp-bf16", "checkpoint-blocks", "8bit-optimizer"),
)
"""Options that are often taken together."""


def rank_savings(
    project: Project,
    launch: Launch,
    run: Outcome,
    memory: Memory,
    devices: Sequence[Gpu],
    first: Gpu,
    overrides: Mapping[str, str],
    *,
    seconds: float,
) -> Sequence[Saving]:
    """Savings of each option that applies, the best for its cost first. Takes at most `seconds` of processor time."""
    from engine.estimate import architecture_of

    deadline = time.process_time() + seconds
    outside = (context_range(first).expected + nccl_range(launch.world_size).expected) * MIB
    seen = run.observations
    options = [option for option in OPTIONS if option.applies(seen)]
    by_change = {option.changes[0]: option for option in options}
    for names in COMBINATIONS:
        if all(name in by_change for name in names):
            options.append(
                Option(
                    " + ".join(by_change[name].change for name in names),
                    "; ".join(by_change[name].cost for name in names),
                    sum(by_change[name].price for name in names),
                    names,
                    lambda seen: True,
                )
            )
    found: list[tuple[float, Saving]] = []
    for option in options:
        left = deadline - time.process_time()
        if left <= 0.5:
            break
        literals = _half_batch(project, run) if "half-batch" in option.changes else {}
        if literals is None:
            continue
        outcome = shadow_run(
            project,
            launch,
            architecture=architecture_of(first),
            overrides=overrides,
            adjust=_adjustment(option.changes, literals),
            seconds=left,
            expandable_segments="expandable-segments" in option.changes,
        )
        if not outcome.complete or outcome.problem is not None:
            continue
        if "half-batch" in option.changes and outcome.observations.batch_size == seen.batch_size:
            continue
        reserved = outcome.reserved
        if "half-batch" in option.changes and seen.steps:
            # Gradients stay alive between micro-batches.
            held = sum(run.categories.get(name, 0) for name in ("gradients",))
            whole = 4 * (seen.trainable or 0)
            reserved += max(0, whole - max(held, outcome.categories.get("gradients", 0)))
        occupied = reserved + outside
        saves = memory.occupied.expected - occupied
        if saves < MIN_SHARE * memory.occupied.expected:
            continue
        scale = occupied / max(1, memory.occupied.expected)
        verdicts = {gpu.id: _verdict(memory, scale, usable_bytes(gpu)) for gpu in devices}
        score = saves / (1.0 + option.price)
        found.append(
            (
                score,
                Saving(
                    change=option.change, saves_bytes=saves, occupied_bytes=occupied, cost=option.cost, verdict=verdicts
                ),
            )
        )
    found.sort(key=lambda pair: -pair[0])
    ranked = [saving for _, saving in found]
    return _with_recommendation(ranked)


def _with_recommendation(ranked: list[Saving]) -> list[Saving]:
    """Mark the first option that makes the run fit, or the first of all."""
    for index, saving in enumerate(ranked):
        if saving.verdict and all(verdict == "fits" for verdict in saving.verdict.values()):
            ranked[index] = saving.model_copy(update={"recommended": True})
            return ranked
    if ranked:
        ranked[0] = ranked[0].model_copy(update={"recommended": True})
    return ranked


def _verdict(memory: Memory, scale: float, usable: int) -> Verdict:
    if memory.occupied.high * scale <= usable:
        return "fits"
    return "does-not-fit" if memory.occupied.low * scale > usable else "borderline"


def _half_batch(project: Project, run: Outcome) -> dict[tuple[str, int, int], int] | None:
    """The literal of the batch size and its half; {} where no literal is found (loaders still take the override)."""
    size = run.observations.batch_size
    if not size or size < 2:
        return None
    place = find_literal(project, [path for path in run.files if path.endswith(".py")], "batch_size", size)
    if place is None or place.node is None:
        return {}
    return {(place.path, place.node.lineno, place.node.col_offset): size // 2}


def _adjustment(changes: tuple[str, ...], literals: dict[tuple[str, int, int], int]) -> Callable[[Interpreter], None]:
    def adjust(interpreter: Interpreter) -> None:
        interpreter.state["changes"] = frozenset(changes)
        interpreter.literals.update(literals)
        if "sdpa" in changes:
            interpreter.state["overrides"] = {**interpreter.state["overrides"], "attention": "sdpa"}

    return adjust
