"""What a program would do, as typed events in order.

How a rule asks:

    for backward in trace.of(Backward):
        loop = trace.step_loop(backward)            # innermost training loop around it, across calls
        if loop and not any(trace.within(loop, ZeroGrad)): ...

* `trace.of(Type, ...)`: events in the order they would happen. Loop bodies are played twice (`event.iterations`), and a
  function reached from two callers twice; report once per place (`trace.first_per_place`).
* `event.loops`: outermost to innermost, across calls: a backward in a helper stands in its caller's loop.
  `loop.trains`, `loop.innermost_training`.
* `event.guards`: conditions, with `kinds` {rank, modulo, debug}; `a.excludes(b)`: not both in one pass.
* `event.root`: where analysis started. Methods of one class that nothing calls are roots that share `root.owner`;
  `trace.family(event)` gives all events of the same root or class.
* Values: `value.role`, `value.carries_graph` (True, False, None = unknown), `value.feeds_backward`, `value.parents`,
  `value.activation`, `value.origin` (behind DDP and the like), `value.loops` / `value.iterations` (when it was made).
  `trace.carried(value, event)`: loops in whose *previous* iteration the value was made (hidden state, retained graph).
* Events without a class of their own are MethodCall (on objects) and FunctionCall (library functions by name).
"""

from engine.trace.events import *  # noqa: F403
from engine.trace.places import Context, Guard, Loop, Place, Root, Step
from engine.trace.trace import Trace
from engine.trace.values import (
    Choice,
    ClassValue,
    Constant,
    Container,
    External,
    FunctionValue,
    Namespace,
    Value,
    any_graph,
)

__all__ = [
    "Choice",
    "ClassValue",
    "Constant",
    "Container",
    "Context",
    "External",
    "FunctionValue",
    "Guard",
    "Loop",
    "Namespace",
    "Place",
    "Root",
    "Step",
    "Trace",
    "Value",
    "any_graph",
]
