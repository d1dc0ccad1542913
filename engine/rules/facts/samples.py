"""What one network makes and another judges, in two losses of one step."""

from __future__ import annotations

from engine.rules.facts.identity import same
from engine.trace import Value
from engine.trace.events import Backward, Forward


def freed_sample(first: Backward, second: Backward, forwards: dict[int, Forward]) -> tuple[Forward, Forward] | None:
    """A sample whose graph the first backward frees and the second one walks again, and its judge in the second."""
    if first.retain_graph is not False or first.create_graph is not False or first.excludes(second):
        return None
    freed, walked = _certain_graph(first.loss), _certain_graph(second.loss)
    for key in freed & walked & forwards.keys():
        made = forwards[key]
        for judge in (forwards[other] for other in walked & forwards.keys() if other not in freed):
            if made.module.has_parameters is False or same(made.module, judge.module):
                continue
            if any(key in _certain_graph(value) for value in judge.inputs) and judge.module.has_parameters is not False:
                return made, judge
    return None


def _certain_graph(value: Value, limit: int = 400) -> set[int]:
    """The values through which a graph reaches this one on every path: no alternatives are looked into."""
    found: set[int] = set()
    queue = [value]
    for part in queue:
        if id(part) in found or len(found) > limit or part.detached or len(part.options()) > 1:
            continue
        if part.carries_graph is not True:
            continue
        found.add(id(part))
        queue.extend(part.parents)
    return found
