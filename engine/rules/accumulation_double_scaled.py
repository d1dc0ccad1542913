"""The loss is divided by hand where the framework divides it too."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import same
from engine.rules.remedies.frameworks import divided_once
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace, Value
from engine.trace.events import Backward, Divided, Store

_DIVIDES = frozenset({"accelerator", "deepspeed"})


@rule("PF215", "accumulation-double-scaled", "error", "The loss is divided by the accumulation count twice")
def check(trace: Trace) -> Iterator[Draft]:
    divisions = list(trace.of(Divided))
    for backward in trace.of(Backward):
        if backward.via not in _DIVIDES:
            continue
        counted = _count(backward)
        made_from = {id(value) for value in backward.loss.ancestors(limit=60)}
        for divided in divisions:
            if id(divided.output) not in made_from or divided.operator not in ("/", "div") or divided.by is None:
                continue
            owner = backward.through
            known = any(id(part) in counted for part in divided.by.ancestors(limit=20))
            if not known and not (backward.via == "deepspeed" and _set_in_config(trace, divided.by)):
                continue
            yield Draft(
                divided.place,
                "The framework's backward already divides by the number of accumulation steps; dividing here as well "
                "shrinks the gradients twice.",
                (
                    Step(backward.place, "divides by the accumulation steps itself"),
                    *((Step(owner.place, "configured here"),) if owner is not None else ()),
                ),
                fix=divided_once(divided, backward),
            )
            break


def _set_in_config(trace: Trace, by: Value) -> bool:
    """Whether the same value is written into a DeepSpeed configuration."""
    return any("gradient_accumulation_steps" in store.target and same(store.value, by) for store in trace.of(Store))


def _count(backward: Backward) -> set[int]:
    """Values that the framework object was configured with as the number of accumulation steps."""
    if backward.through is None:
        return set()
    owner = backward.through.origin
    found: set[int] = set()
    for name, value in owner.keywords.items():
        if "accumulation" in name:
            found |= {id(part) for part in value.ancestors(limit=20)}
        if name in ("config", "config_params", "args"):
            entry = getattr(value, "entries", {}).get("gradient_accumulation_steps")
            if entry is not None:
                found |= {id(part) for part in entry.ancestors(limit=20)}
    return found
