"""A softmax normalises over the wrong dimension."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.contraction import contracted_differently, products
from engine.rules.remedies.activations import over_dimension
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace
from engine.trace.events import Activation

_NORMALISES = frozenset({"softmax", "log_softmax"})


@rule("PF408", "softmax-wrong-dim", "error", "A softmax runs over another dimension than the one that is summed")
def check(trace: Trace) -> Iterator[Draft]:
    calls = products(trace)
    for activation in trace.of(Activation):
        if activation.kind not in _NORMALISES or activation.input is None:
            continue
        contradiction = contracted_differently(calls, activation)
        if contradiction is not None:
            place, why, dim = contradiction
            yield Draft(
                activation.place,
                f"This softmax runs over dimension {activation.dim}, {why}: the weights of one query do not sum "
                "to one.",
                (Step(place, "used as weights here"),),
                fix=over_dimension(trace, activation, dim),
            )
