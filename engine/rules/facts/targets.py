"""Targets that a network computes: the pass behind a value, and `reward + discount * V(next)`."""

from __future__ import annotations

from engine.trace import Value
from engine.trace.events import Forward

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
