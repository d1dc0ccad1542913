"""Channel dropout on an input without channels."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace, Value
from engine.trace.events import Forward, FunctionalDropout, ModuleCreated

_FLAT = frozenset({"Linear", "linear", "Flatten", "flatten"})


@rule("PF409", "dropout2d-on-flat-input", "error", "Dropout2d on features without spatial dimensions")
def check(trace: Trace) -> Iterator[Draft]:
    for created in trace.of(ModuleCreated):
        yield from _in_sequence(created)
    for event in trace.of(FunctionalDropout, Forward):
        if isinstance(event, FunctionalDropout):
            given = event.input if event.kind == "dropout2d" else None
        elif isinstance(event, Forward):
            channelwise = event.module.origin.made_by.endswith(".Dropout2d")
            given = event.inputs[0] if channelwise and event.inputs else None
        else:
            continue
        if given is None or not _flat(given):
            continue
        place = event.place if isinstance(event, FunctionalDropout) else event.module.origin.place
        yield Draft(
            place,
            "Dropout2d drops whole channels and expects (N, C, H, W); on flat features it does not drop single ones as "
            "meant. Use `Dropout`.",
            (Step(given.place, "flat features"), Step(event.place, "applied here")),
        )


_MAKES_FLAT = ("Linear", "Flatten", "BatchNorm1d", "LazyLinear")
_KEEPS = ("ReLU", "GELU", "Tanh", "Sigmoid", "SiLU", "LeakyReLU", "ELU", "Identity", "Dropout", "LayerNorm")


def _in_sequence(created: ModuleCreated) -> Iterator[Draft]:
    """Layers of one Sequential: channel dropout behind a linear layer."""
    if not created.module.made_by.endswith(".Sequential"):
        return
    before: Value | None = None
    for name, child in created.module.attributes.items():
        if not name.isdigit():
            continue
        kind = child.origin.made_by.rpartition(".")[2]
        if kind == "Dropout2d" and before is not None:
            yield Draft(
                child.origin.place,
                "Dropout2d drops whole channels and expects (N, C, H, W); on flat features it does not drop single "
                "ones as meant. Use `Dropout`.",
                (Step(before.place, "makes flat features"),),
            )
        if kind in _MAKES_FLAT:
            before = child.origin
        elif kind not in _KEEPS:
            before = None


def _flat(value: Value) -> bool:
    if value.shape is not None:
        return len(value.shape) == 2
    for part in value.ancestors(limit=6):
        if part.callee is not None and part.callee.origin.made_by.endswith(".Linear"):
            return True
        if part.op == "flatten" or (part.op in ("view", "reshape") and len(part.keywords) == 2):
            return True
        if part.op not in ("relu", "dropout", "linear", "forward-result", "gelu", "call"):
            return False
    return False
