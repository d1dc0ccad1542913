"""Calls that a training step lacks: clearing, stepping, scaling. Objects are named as the code at hand names them."""

from __future__ import annotations

import ast
import re

from engine import fixes
from engine.findings import Fix
from engine.fixes.locating import (
    binds_tighter_than_division,
    expression_at,
    first_line,
    statement_at,
)
from engine.project import Module
from engine.rules.facts.identity import same
from engine.rules.facts.text import in_file
from engine.rules.facts.training import StepScope
from engine.rules.remedies.syntax import around, call_at, class_at, dotted, same_function, speakable
from engine.rules.rule import FixMaker
from engine.trace import Place
from engine.trace.events import Backward, ClipGradients, OptimizerStep, Prepare, ScalerStep, ZeroGrad

_FINITE = re.compile(r"\bis_?(?:finite|nan|inf)", re.IGNORECASE)
"""A condition on the numbers themselves: gradients that fail it are thrown away, and not kept for a later step."""


def receiver(module: Module, place: Place) -> str:
    """`self.opt` of the call `self.opt.step()` at a place; empty unless it is a plain dotted name."""
    call = call_at(module, place)
    text = dotted(call.func.value) if call is not None and isinstance(call.func, ast.Attribute) else ""
    return text if speakable(text) else ""


def stepped(module: Module, step: OptimizerStep) -> str:
    """How the code names the optimizer that steps, directly or through a scaler."""
    if step.via == "direct":
        return receiver(module, step.place)
    call = call_at(module, step.place)
    return dotted(call.args[0]) if step.via == "scaler" and call is not None and call.args else ""


def cleared(scope: StepScope) -> FixMaker | None:
    """`zero_grad()` before the first backward that the step uses; where steps are fewer than backwards, after the step.

    A backward between them that serves another optimizer leaves gradients here as well, which have to go.
    """
    step = scope.step
    own = [e for e in scope.of(Backward, OptimizerStep) if e.index < step.index and not e.excludes(step)]
    last_other = max(
        (e.index for e in own if isinstance(e, OptimizerStep) and not same(e.optimizer, step.optimizer)), default=-1
    )
    group = [e for e in own if isinstance(e, Backward) and e.index > last_other and e.iterations == step.iterations]
    if not group:
        return None
    first = group[0]
    guard = step.guarded("modulo")
    own_guards = [g for g in step.guards if g not in first.guards]
    if guard is None and not all(_FINITE.search(g.text) for g in own_guards):
        # A step that is left out now and then: whether its gradients are meant to add up is not known.
        return None
    # Under accelerate's `accumulate`, clearing before the backward drops what earlier micro-batches have added.
    accumulating = step.context("accumulate") is not None
    delayed = guard is not None or first.loops != step.loops or accumulating

    def build(module: Module) -> Fix | None:
        name = stepped(module, step)
        if not name or step.place.path != module.path:
            return None
        code = f"{name}.zero_grad()"
        if not delayed and visible(module, name, first.place, step.place):
            told = "Clear the gradients that earlier iterations left."
            return fixes.insert_statement_before(module, first.place.line, code, safe=True, description=told)
        if last_other >= 0:
            return None
        line = _end_of_update(module, step.place.line, guard.place.line if guard is not None else 0)
        told = "Clear the gradients after the step."
        return fixes.insert_statement_after(module, line, code, safe=True, description=told)

    return in_file(first.place, build)


def _end_of_update(module: Module, line: int, guard_line: int) -> int:
    """The statement of the step, or the one around it that stands directly under the condition on a line."""
    for located in around(module, line):
        if isinstance(located.owner, ast.If) and located.owner.lineno == guard_line:
            return first_line(located.node)
    return line


def visible(module: Module, name: str, place: Place, known_at: Place) -> bool:
    """Whether a name that is known at one place means the same at another."""
    if place.path != module.path:
        return False
    if same_function(module, place, known_at):
        return True
    owner = class_at(module, known_at.line)
    return name.startswith("self.") and owner is not None and owner is class_at(module, place.line)


def step_after(backward: Backward, zero: ZeroGrad) -> FixMaker | None:
    """The optimizer whose gradients are cleared before a backward steps after it."""
    if backward.via != "tensor" or backward.guards != zero.guards or backward.loops != zero.loops:
        return None

    def build(module: Module) -> Fix | None:
        name = receiver(module, zero.place)
        located = statement_at(module, backward.place.line)
        if not name or located is None or not isinstance(located.node, ast.Expr):
            return None
        if not same_function(module, zero.place, backward.place):
            return None
        told = f"Step `{name}` on these gradients."
        line = backward.place.line
        return fixes.insert_statement_after(module, line, f"{name}.step()", safe=True, description=told)

    return in_file(backward.place, build)


def unscaled(clip: ClipGradients, step: OptimizerStep) -> FixMaker:
    """`scaler.unscale_(optimizer)` before the gradients are clipped."""

    def build(module: Module) -> Fix | None:
        scaler, name = receiver(module, step.place), stepped(module, step)
        if not scaler or not name or not same_function(module, clip.place, step.place):
            return None
        told = "Unscale before clipping."
        return fixes.insert_statement_before(
            module, clip.place.line, f"{scaler}.unscale_({name})", safe=True, description=told
        )

    return in_file(clip.place, build)


def updated(step: ScalerStep) -> FixMaker:
    """`scaler.update()` after the step."""

    def build(module: Module) -> Fix | None:
        scaler = receiver(module, step.place)
        if not scaler:
            return None
        told = "Update the scale after the step."
        return fixes.insert_statement_after(module, step.place.line, f"{scaler}.update()", safe=True, description=told)

    return in_file(step.place, build)


def scaled(backward: Backward, step: ScalerStep) -> FixMaker:
    """`scaler.scale(loss).backward()`."""

    def build(module: Module) -> Fix | None:
        call, scaler = call_at(module, backward.place), receiver(module, step.place)
        if call is None or not isinstance(call.func, ast.Attribute) or call.func.attr != "backward" or not scaler:
            return None
        if not visible(module, scaler, backward.place, step.place):
            return None
        loss = call.func.value
        code = f"{scaler}.scale({module.source(loss)})"
        return fixes.replace_expression(module, module.span(loss), code, safe=True, description="Scale the loss.")

    return in_file(backward.place, build)


def owned_backward(prepare: Prepare, backward: Backward) -> FixMaker | None:
    """`accelerator.backward(loss)`, by the name that the object has where it was handed the model."""
    if backward.via != "tensor" or backward.retain_graph or backward.gradient is not None:
        return None

    def build(module: Module) -> Fix | None:
        owner, call = receiver(module, prepare.place), call_at(module, backward.place)
        if not owner or call is None or not isinstance(call.func, ast.Attribute) or call.func.attr != "backward":
            return None
        if not visible(module, owner, backward.place, prepare.place):
            return None
        code = f"{owner}.backward({module.source(call.func.value)})"
        return fixes.replace_expression(
            module, backward.place, code, safe=True, description=f"Call `{owner}.backward`."
        )

    return in_file(backward.place, build)


def divided_by_steps(backward: Backward, divisor: str, counted_at: Place, *, full: bool = True) -> FixMaker | None:
    """The loss is divided by the number of micro-batches, as the condition on the step writes it.

    Where windows may be shorter (not `full`), that number is not theirs, and the change is left to people.
    """
    place = backward.loss_place
    if place is None or not divisor:
        return None

    def build(module: Module) -> Fix | None:
        known = divisor.isdigit() or visible(module, divisor, place, counted_at)
        if not known:
            return None
        told = "Divide the loss by the number of micro-batches."
        by = divisor if speakable(divisor) or divisor.isdigit() else f"({divisor})"
        node = expression_at(module, place)
        if node is None:
            return None
        code = module.source(node)
        code = f"{code} / {by}" if binds_tighter_than_division(node) else f"({code}) / {by}"
        before = module.lines[place.line - 1][: place.column - 1].rstrip()
        after = module.lines[place.end_line - 1][place.end_column - 1 :].lstrip()
        if not (before.endswith("(") and after.startswith(")")):
            code = f"({code})"
        return fixes.replace_expression(module, place, code, safe=full, description=told)

    return in_file(place, build)
