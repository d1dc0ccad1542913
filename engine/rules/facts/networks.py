"""How networks hang together: which one judges another's output, is a copy of another, or a part of one that learns."""

from __future__ import annotations

from engine.rules.facts.identity import identities, same
from engine.trace import Value
from engine.trace.events import Forward


def judges(judge: Forward, made: Forward) -> bool:
    """Whether a network is given the output of another one."""
    if judge is made or same(judge.module, made.module):
        return False
    return any(
        part is made.output for value in judge.inputs for part in value.ancestors(through_detach=False, limit=30)
    )


def generated(first: Value, second: Value, forwards: dict[int, Forward]) -> tuple[Forward, Forward] | None:
    """A forward pass whose output both losses reach through another network, and that one's pass in the first."""
    in_second = {id(value) for value in second.graph_ancestors()}
    chain = [value for value in first.graph_ancestors() if id(value) in forwards]
    for value in chain:
        forward = forwards[id(value)]
        judged = [
            forwards[id(v)]
            for v in chain
            if v is not value and not same(forwards[id(v)].module, forward.module) and value in v.parents
        ]
        if judged and id(value) in in_second:
            return forward, judged[0]
    return None


def copied_from(module: Value, trained: frozenset[int]) -> bool:
    """Whether it is a deep copy of a network that an optimizer steps."""
    value: Value | None = module
    for _ in range(8):
        if value is None:
            return False
        if value.wrapping == "copy" and value.wrapped is not None:
            return not identities(value.wrapped).isdisjoint(trained)
        value = value.wrapped
    return False


def part_of(module: Value, trained: frozenset[int]) -> bool:
    """Whether an optimizer steps something that it is a part of, or that is a part of it."""
    value: Value | None = module
    for _ in range(8):
        if value is None:
            break
        if id(value.origin) in trained:
            return True
        value = value.member_of
    return any(id(part.origin) in trained for part in (*module.submodules, *module.attributes.values()))
