"""Targets that a network computes: the pass behind a value, `reward + discount * V(next)`, and predicted views."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from engine.trace import Place, Trace, Value
from engine.trace.events import Forward, FunctionCall, LossCall

_COMPARES = frozenset({"mse_loss", "smooth_l1_loss", "huber_loss", "l1_loss"})
_VIEWS = frozenset({"squeeze", "view", "reshape", "gather", "getitem", "flatten", "unsqueeze", "element", "select"})
_VIEWS |= {"max", "amax"}


def compared(value: Value) -> tuple[Value, ...]:
    if value.op in _COMPARES or value.op in ("operator", "sub"):
        return value.parents[:2] if all(part.carries_graph is True for part in value.parents[:2]) else ()
    return ()


def bootstrapped(value: Value, forwards: dict[int, Forward]) -> Forward | None:
    """In `reward + discount * V(next)`: the pass that gave V(next)."""
    if value.op not in ("operator", "add") or len(value.parents) != 2:
        return None
    for reward, rest in (value.parents, value.parents[::-1]):
        if reward.carries_graph is True or reward.is_constant:
            continue
        # A state without a next one has no value: `0.0 if done else discount * V(next)`.
        discounted = [option for option in rest.options() if not option.is_constant]
        if len(discounted) == 1 and discounted[0].op == "operator*":
            return output_of(discounted[0], forwards)
    return None


def output_of(value: Value, forwards: dict[int, Forward]) -> Forward | None:
    """The pass whose output a value is a view or a multiple of."""
    for _ in range(10):
        if id(value) in forwards:
            return forwards[id(value)]
        live = [part for part in value.parents if part.carries_graph is True]
        if value.op == "forward-result" or value.op in _VIEWS or value.op.startswith("operator*"):
            if not live:
                return None
            value = live[0]
            continue
        return None
    return None


@dataclass(frozen=True)
class PredictedView:
    """`similarity(predictor(encoder(a)), encoder(b))`, with the graphs of both sides."""

    predicted: Forward
    source: Forward
    """The encoder's pass that the prediction was made from."""
    target: Forward
    """Its pass over the other view."""
    place: Place


def predicted_views(trace: Trace, forwards: dict[int, Forward]) -> Iterator[PredictedView]:
    """Where the prediction from one view is held against the same encoder's output for another view."""
    for first, second, place in _similarities(trace):
        for guess, target in ((first, second), (second, first)):
            made, other = _encoded(guess, forwards), _encoded(target, forwards)
            if made is None or other is None or target.carries_graph is not True:
                continue
            given = made.inputs[0] if made.inputs else None
            source = _encoded(given, forwards) if given is not None else None
            encoder = source.module.origin if source is not None else None
            if source is None or source is other or encoder is not other.module.origin or encoder is made.module.origin:
                continue
            yield PredictedView(made, source, other, place)


def _similarities(trace: Trace) -> Iterator[tuple[Value, Value, Place]]:
    for event in trace.of(FunctionCall, Forward, LossCall):
        given: list[Value | None] = []
        if isinstance(event, LossCall) and event.kind == "mse_loss":
            given = [event.input, event.target]
        elif isinstance(event, Forward) and event.module.origin.made_by == "torch.nn.CosineSimilarity":
            given = [*event.inputs]
        elif isinstance(event, FunctionCall) and event.name == "torch.nn.functional.cosine_similarity":
            given = [*event.arguments]
        if len(given) >= 2 and given[0] is not None and given[1] is not None:
            yield given[0], given[1], event.place


def _encoded(value: Value, forwards: dict[int, Forward]) -> Forward | None:
    """The pass whose output a value is, normalised at most."""
    for _ in range(4):
        if id(value) in forwards:
            return forwards[id(value)]
        if value.op not in ("normalize", "forward-result", "float") or not value.parents:
            return None
        value = value.parents[0]
    return None
