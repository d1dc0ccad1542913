"""Grad mode, and train or eval mode: set where it lacks, and set back."""

from __future__ import annotations

import ast

from engine import fixes
from engine.findings import Fix
from engine.fixes.imports import spelled
from engine.fixes.locating import Located, first_line, last_line
from engine.project import Module
from engine.rules.facts.identity import same
from engine.rules.facts.text import in_file
from engine.rules.remedies.syntax import around, callee_name, function_at, leaves_early, same_function
from engine.rules.rule import FixMaker
from engine.trace import Loop, Place, Trace
from engine.trace.events import (
    AutogradGrad,
    Backward,
    Event,
    Forward,
    GradModeChange,
    InPlaceUpdate,
    ModeChange,
    RequiresGradChange,
    Store,
)


def without_gradients(trace: Trace, place: Place, loop: Loop | None = None) -> FixMaker:
    """The function around a place gets `@torch.no_grad()`; where it also trains, the loop or statement a `with`."""

    def build(module: Module) -> Fix | None:
        naming = spelled(module, "torch.no_grad")
        if naming is None:
            return None
        function = function_at(module, place.line)
        if function is not None and _decorable(function) and _trains_nothing(trace, module, function):
            fix = fixes.add_decorator(module, function.lineno, f"@{naming.code}()", safe=True)
        else:
            statement = _statement(module, loop.place if loop is not None and loop.place.path == place.path else place)
            if statement is None or not _trains_nothing(trace, module, statement):
                return None
            first, last = first_line(statement), last_line(statement)
            fix = fixes.wrap_with(module, first, last, f"{naming.code}()", safe=True)
        if fix is None or naming.added is None:
            return fix
        return fixes.combine(module, naming.added, fix, description=fix.description)

    return in_file(place, build)


def _decorable(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """A plain function: decorating a generator only covers its creation, and `__init__` makes what is trained later."""
    if isinstance(function, ast.AsyncFunctionDef) or function.name == "__init__":
        return False
    return not any(isinstance(node, ast.Yield | ast.YieldFrom | ast.Await) for node in ast.walk(function))


def _statement(module: Module, place: Place) -> ast.stmt | None:
    located = next(around(module, place.line), None)
    return located.node if located is not None else None


def _trains_nothing(trace: Trace, module: Module, node: ast.stmt) -> bool:
    """Whether nothing that happens in a statement, calls included, records what a backward needs."""
    first, last = first_line(node), last_line(node)
    for event in trace.events:
        places = (event.place, *event.stack)
        if any(place.path == module.path and first <= place.line <= last for place in places) and _trains(event):
            return False
    return True


def _trains(event: Event) -> bool:
    if isinstance(event, Backward | AutogradGrad | RequiresGradChange):
        return True
    if isinstance(event, GradModeChange):
        return event.how not in ("no_grad", "inference_mode") and event.enabled is not False
    if isinstance(event, Store | InPlaceUpdate):
        return False
    made = getattr(event, "output", None) or getattr(event, "result", None)
    return made is not None and (made.feeds_backward or made.feeds_autograd_grad)


def evaluation_mode(forward: Forward, loop: Loop) -> FixMaker:
    """`net.eval()` above an evaluation loop and `net.train()` below it."""

    def build(module: Module) -> Fix | None:
        name = callee_name(module, forward.place)
        if not name or not same_function(module, forward.place, loop.place):
            return None
        located = _whole(module, loop.place.line)
        if located is None or leaves_early(located.node):
            return None
        line = first_line(located.node)
        told = f"Evaluate in evaluation mode: `{name}.eval()` before, `{name}.train()` after."
        return fixes.combine(
            module,
            fixes.insert_statement_before(module, line, f"{name}.eval()", safe=True),
            fixes.insert_statement_after(module, line, f"{name}.train()", safe=True),
            description=told,
        )

    return in_file(forward.place, build)


def _whole(module: Module, line: int) -> Located | None:
    """The loop that starts on a line, with the `with` blocks around it that hold nothing that returns."""
    chain = list(around(module, line))
    found = next(iter(chain), None)
    for outer in chain[1:]:
        if not isinstance(outer.node, ast.With) or leaves_early(outer.node):
            break
        found = outer
    return found


def _serves_both_modes(trace: Trace, change: ModeChange, later: Forward, loop: Loop) -> bool:
    """Whether the mode is chosen above a loop that trains in one turn and evaluates in the next (`phase`): what came
    between would undo the choice."""
    if change.place.line > loop.place.line or not any(outer in later.loops for outer in change.loops):
        return False
    return any(event.place == later.place and not event.grad for event in trace.of(Forward))


def training_mode(trace: Trace, change: ModeChange, later: Forward) -> FixMaker | None:
    """`net.train()` before the training loop; where the evaluation happens inside of that loop, after it."""
    loop = trace.step_loop(later)
    if loop is None or loop.place.path != change.place.path or _part_in_eval(trace, change, later):
        return None

    def build(module: Module) -> Fix | None:
        name = callee_name(module, later.place)
        if not name or not same_function(module, later.place, loop.place):
            return None
        told = "Go on in training mode."
        if loop not in change.loops:
            if _serves_both_modes(trace, change, later, loop):
                return None
            return fixes.insert_statement_before(
                module, loop.place.line, f"{name}.train()", safe=True, description=told
            )
        inside = [p for p in change.stack if p.path == module.path and _within(p, loop.place)]
        if not inside:
            return None
        return fixes.insert_statement_after(module, inside[0].line, f"{name}.train()", safe=True, description=told)

    return in_file(loop.place, build)


def _part_in_eval(trace: Trace, change: ModeChange, later: Forward) -> bool:
    """Whether a part of the model is kept in evaluation mode: `train()` on the whole would undo that."""
    return any(
        other.mode == "eval" and other.root is change.root and not same(other.module, later.module)
        for other in trace.of(ModeChange)
    )


def _within(inner: Place, outer: Place) -> bool:
    return outer.line <= inner.line <= max(outer.end_line, outer.line)
