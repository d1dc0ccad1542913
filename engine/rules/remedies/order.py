"""Statements that stand at the wrong moment are moved to the right one, with their comments."""

from __future__ import annotations

import ast

from engine import fixes
from engine.findings import Fix
from engine.fixes.locating import Located, first_line, last_line, statement_at
from engine.project import Module
from engine.rules.facts.identity import same
from engine.rules.facts.text import in_file
from engine.rules.remedies.syntax import (
    around,
    beside,
    dotted,
    names_bound,
    names_read,
    reads,
    same_function,
)
from engine.rules.rule import FixMaker
from engine.trace import Loop, Place, Trace
from engine.trace.events import ClipGradients, Event, OptimizerStep, ScalerUpdate, ZeroGrad


def clear_after_step(trace: Trace, zero: ZeroGrad, step: OptimizerStep) -> FixMaker:
    """`zero_grad()` moves behind the step, and behind the scaler's update that belongs to it."""
    update = next(
        (
            e
            for e in trace.after(step, ScalerUpdate)
            if e.function == step.function and e.guards == step.guards and same(e.scaler, step.scaler)
        ),
        None,
    )
    last: Event = update if update is not None else step

    def build(module: Module) -> Fix | None:
        moved = _movable(module, zero.place)
        if moved is None or not same_function(module, zero.place, last.place) or not _expression(module, last.place):
            return None
        told = "Clear the gradients after the step."
        return fixes.move_statement_after(module, zero.place.line, last.place.line, safe=True, description=told)

    return in_file(zero.place, build)


def clip_before_step(clip: ClipGradients, step: OptimizerStep) -> FixMaker:
    """Clipping moves directly before the step, together with a condition that holds nothing else."""

    def build(module: Module) -> Fix | None:
        if not same_function(module, clip.place, step.place) or not _expression(module, step.place):
            return None
        moved = _movable(module, clip.place)
        if moved is None:
            return None
        for outer in around(module, clip.place.line):
            inside = outer.node is moved.node or (
                isinstance(outer.node, ast.If) and not outer.node.orelse and outer.node.body == [moved.node]
            )
            if not inside or first_line(outer.node) <= step.place.line <= last_line(outer.node):
                break
            moved = outer
        told = "Clip between the backward and the step."
        line = first_line(moved.node)
        return fixes.move_statement_before(module, line, step.place.line, safe=True, description=told)

    return in_file(clip.place, build)


def schedule_after(step: Event, last: Event) -> FixMaker:
    """The schedule's step moves behind the optimizer's last one, or behind the loop that this one stands in."""

    def build(module: Module) -> Fix | None:
        if _movable(module, step.place) is None or not same_function(module, step.place, last.place):
            return None
        pair = beside(module, step.place.line, last.place.line)
        if pair is None:
            return None
        moved, target = pair
        if first_line(moved.node) != step.place.line or target.position < moved.position:
            return None
        if any(isinstance(node, ast.Continue) for other in moved.block for node in ast.walk(other)):
            return None
        line = first_line(target.node)
        told = "Step the schedule after the optimizer."
        return fixes.move_statement_after(module, step.place.line, line, safe=True, description=told)

    return in_file(step.place, build)


def once_per_epoch(step: Event, batches: Loop) -> FixMaker:
    """The schedule's step moves out of the loop over batches, to directly behind it."""

    def build(module: Module) -> Fix | None:
        moved = _movable(module, step.place)
        if moved is None or not isinstance(moved.owner, ast.For) or moved.owner.lineno != batches.place.line:
            return None
        told = "Step the schedule once per epoch, after the loop over batches."
        line = batches.place.line
        return fixes.move_statement_after(module, step.place.line, line, safe=True, description=told)

    return in_file(step.place, build)


def built_before(created: Event, loop: Loop) -> FixMaker:
    """What a loop builds anew in each iteration is built before it, where nothing it needs is made in the loop."""

    def build(module: Module) -> Fix | None:
        located = statement_at(module, created.place.line)
        around_it = statement_at(module, loop.place.line)
        if located is None or around_it is None or not isinstance(located.node, ast.Assign):
            return None
        if not isinstance(around_it.node, ast.For | ast.While) or located.block is not around_it.node.body:
            return None
        names = {dotted(target) for target in located.node.targets}
        others = [node for node in ast.walk(around_it.node) if isinstance(node, ast.stmt) and node is not located.node]
        simple = [node for node in others if not hasattr(node, "body")]
        made = set().union(*(names_bound(node) for node in simple), _loop_names(around_it.node))
        if "" in names or names & made or names_read(located.node.value) & made:
            return None
        told = "Build it once, before the loop."
        return fixes.move_statement_before(module, created.place.line, loop.place.line, safe=True, description=told)

    return in_file(created.place, build)


def _loop_names(node: ast.For | ast.While) -> set[str]:
    """What loops and `with` blocks of a loop bind in their headers."""
    found: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.For | ast.AsyncFor):
            found |= names_bound(part.target)
        elif isinstance(part, ast.withitem) and part.optional_vars is not None:
            found |= names_bound(part.optional_vars)
        elif isinstance(part, ast.NamedExpr):
            found.add(part.target.id)
    return found


def built_after(created: Event, change: Event) -> FixMaker:
    """What is built too early is built after the statement that changes what it holds; nothing between reads it."""

    def build(module: Module) -> Fix | None:
        places = [place for place in (change.place, *change.stack) if same_function(module, place, created.place)]
        if not places:
            return None
        pair = beside(module, created.place.line, places[0].line)
        if pair is None:
            return None
        moved, target = pair
        if not isinstance(moved.node, ast.Assign) or target.position < moved.position:
            return None
        names = [dotted(bound) for bound in moved.node.targets]
        between = moved.block[moved.position + 1 : target.position + 1]
        bound = {name for node in between for name in names_bound(node)}
        if "" in names or any(reads(node, name) for node in between for name in names):
            return None
        if bound & (set(names) | names_read(moved.node.value)) - {_root(change)}:
            return None
        told = "Build the optimizer when the model is complete."
        line = first_line(moved.node)
        return fixes.move_statement_after(module, line, first_line(target.node), safe=True, description=told)

    return in_file(created.place, build)


def _root(change: Event) -> str:
    return str(getattr(change, "target", "")).partition(".")[0]


def _movable(module: Module, place: Place) -> Located | None:
    """A statement whose value nothing uses."""
    located = statement_at(module, place.line)
    return located if located is not None and isinstance(located.node, ast.Expr) else None


def _expression(module: Module, place: Place) -> bool:
    located = statement_at(module, place.line)
    return located is not None and isinstance(located.node, ast.Expr | ast.Assign)
