"""Tensors of different lengths are gathered."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace, Value
from engine.trace.events import Collective

_GATHERS = frozenset({"gather", "gather_for_metrics", "all_gather"})
_PADDED = frozenset({"attention_mask", "input_ids", "decoder_input_ids", "position_ids"})
_REDUCES = frozenset({"sum", "mean", "max", "min"})


@rule("PF510", "collective-shape-mismatch", "note", "Sequences of each rank's own length are gathered")
def check(trace: Trace) -> Iterator[Draft]:
    for gather in trace.first_per_place(trace.of(Collective)):
        given, result = gather.values[0] if gather.values else None, gather.result
        if gather.name not in _GATHERS or given is None or result is None or not _REDUCES & result.uses:
            continue
        named = _padded(given)
        if named is None:
            continue
        yield Draft(
            gather.place,
            f"`{named}` is padded to the longest sequence of each rank's own batch, and a collective waits for tensors "
            "of one shape: it hangs or raises where they differ. Only a reduction of it is used: reduce first, then "
            "gather.",
            (Step(given.place, "one rank's batch"),),
        )


def _padded(value: Value) -> str | None:
    """The name under which a batch holds what is as long as its longest sequence."""
    if value.op not in ("getitem", "attribute", "data-element", "getattr"):
        return None
    return next((name for name in _PADDED if value.name.endswith((f"['{name}']", f".{name}"))), None)
