"""An activation that the loss applies itself is taken away, where nothing but the loss reads its result."""

from __future__ import annotations

import ast

from engine import fixes
from engine.findings import Edit, Fix
from engine.fixes.making import made
from engine.project import Module
from engine.rules.facts.text import in_file
from engine.rules.remedies.syntax import (
    argument_of,
    call_at,
    dotted,
    parents_of,
    reads,
    same_function,
    scope_at,
    writes,
)
from engine.rules.rule import FixMaker
from engine.trace import Place, Trace, Value
from engine.trace.events import Activation, Forward, LossCall

_ORDER_KEEPING = frozenset({"argmax", "topk", "argsort", "max"})
"""What these say of classes is the same for logits and probabilities; `max` is read for its indices, see below."""


def without_activation(trace: Trace, activation: Value, loss: LossCall) -> FixMaker:
    """The loss gets what the activation was applied to."""

    def build(module: Module) -> Fix | None:
        applied = _applied(trace, activation)
        if applied is None:
            return None
        told = "Pass what the activation was applied to: the loss applies it itself."
        handed = _given_before(module, applied, loss)
        if handed is not None:
            return fixes.replace_expression(module, handed[0], handed[1], safe=True, description=told)
        if applied.made_at is not None and applied.made_at.path == module.path:
            element = _last_layer(module, applied)
            if element is not None:
                return made(module, told, True, [element]) if _layer_only_for_loss(trace, applied) else None
        if applied.place.path != module.path or not _only_for_loss(trace, applied):
            return None
        return fixes.unwrap_call(module, applied.place, safe=True, description=told)

    return in_file(loss.place, build)


def log_of_activation(trace: Trace, activation: Value, loss: LossCall) -> FixMaker:
    """`softmax` becomes `log_softmax`, which `nll_loss` expects."""

    def build(module: Module) -> Fix | None:
        applied = _applied(trace, activation)
        if applied is None or applied.kind != "softmax" or not _layer_only_for_loss(trace, applied):
            return None
        told = "Take the logarithm of the softmax, which `nll_loss` expects."
        return _renamed(module, applied.made_at or applied.place, _LOGARITHMS, told)

    return in_file(loss.place, build)


def with_logits(trace: Trace, loss: LossCall) -> FixMaker:
    """Binary cross-entropy of logits, where every input of this loss is logits."""

    def build(module: Module) -> Fix | None:
        place = loss.made_at or loss.place
        for other in trace.of(LossCall):
            same = (other.made_at or other.place) == place
            activation = other.input.activation if other.input is not None else None
            if same and (activation is None or activation.kind != "logits"):
                return None
        told = "Use the binary cross-entropy that takes logits."
        return _renamed(module, place, _WITH_LOGITS, told)

    return in_file(loss.place, build)


def over_dimension(trace: Trace, activation: Activation, dim: int) -> FixMaker:
    """The softmax runs over another dimension; a layer that is applied in several places stays as it is."""
    place = activation.made_at or activation.place
    uses = {a.place for a in trace.of(Activation) if (a.made_at or a.place) == place}

    def build(module: Module) -> Fix | None:
        call = call_at(module, place)
        if call is None or len(uses) != 1:
            return None
        told = "Normalise over the dimension that is summed."
        if argument_of(call, len(call.args), "dim") is not None:
            return fixes.add_keyword(module, place, "dim", str(dim), safe=True, description=told)
        given = [a for a in call.args if not isinstance(a, ast.Starred)]
        last = given[-1] if given else None
        if last is None or not isinstance(_constant(last), int):
            return None
        return fixes.replace_call_argument(module, place, len(call.args) - 1, str(dim), safe=True, description=told)

    return in_file(place, build)


def _constant(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None


_LOGARITHMS = {"Softmax": "LogSoftmax", "softmax": "log_softmax"}
_WITH_LOGITS = {"BCELoss": "BCEWithLogitsLoss", "binary_cross_entropy": "binary_cross_entropy_with_logits"}


def _renamed(module: Module, place: Place, names: dict[str, str], told: str) -> Fix | None:
    """`nn.Softmax(...)` under its other name; a name imported by itself would need another import."""
    call = call_at(module, place) if place.path == module.path else None
    if call is None or not isinstance(call.func, ast.Attribute) or call.func.attr not in names:
        return None
    span = module.span(call.func)
    start = span.end_column - len(call.func.attr)
    edit = Edit(
        line=span.end_line,
        column=start,
        end_line=span.end_line,
        end_column=span.end_column,
        text=names[call.func.attr],
    )
    return made(module, told, True, [edit])


def _applied(trace: Trace, activation: Value) -> Activation | None:
    """Where the activation is applied; None if that happens in several places."""
    events = [event for event in trace.of(Activation) if event.output.place == activation.place]
    return events[-1] if events and len({event.place for event in events}) == 1 else None


def _given_before(module: Module, applied: Activation, loss: LossCall) -> tuple[Place, str] | None:
    """The loss's argument, a name that is read elsewhere as well, and the name that the activation was applied to."""
    if not same_function(module, applied.place, loss.place):
        return None
    call, outer = call_at(module, applied.place), call_at(module, loss.place)
    if call is None or outer is None:
        return None
    given = argument_of(outer, 0, "input")
    inner = call.args[0] if call.args else (call.func.value if isinstance(call.func, ast.Attribute) else None)
    scope = scope_at(module, applied.place.line)
    if not isinstance(given, ast.Name) or not isinstance(inner, ast.Name):
        return None
    if len(writes(scope, given.id)) != 1 or len(writes(scope, inner.id)) > (0 if _argument(scope, inner.id) else 1):
        return None
    if len(reads(scope, given.id)) < 2 or not _bound_to(scope, given.id, call):
        return None
    span = module.span(given)
    return Place(module.path, span.line, span.column, span.end_line, span.end_column), inner.id


def _argument(scope: ast.AST, name: str) -> bool:
    return any(isinstance(node, ast.arg) and node.arg == name for node in ast.walk(scope))


def _bound_to(scope: ast.AST, name: str, call: ast.Call) -> bool:
    """Whether the name is bound to exactly this call."""
    return any(
        isinstance(node, ast.Assign) and node.value is call and [dotted(target) for target in node.targets] == [name]
        for node in ast.walk(scope)
    )


def _layer_only_for_loss(trace: Trace, applied: Activation) -> bool:
    """The same for every place that applies a layer which is built once."""
    if applied.made_at is None:
        return _only_for_loss(trace, applied)
    return all(_only_for_loss(trace, a) for a in trace.of(Activation) if a.made_at == applied.made_at)


def _only_for_loss(trace: Trace, applied: Activation) -> bool:
    """Whether only losses, and what does not change with the activation, read its result, through calls of its module.

    A module's result is followed to every call of it in the project.
    """
    module = trace.project.module(applied.place.path)
    parents = parents_of(module.tree)
    call = call_at(module, applied.place)
    if call is None:
        return False
    if _is_returned(call, parents):
        passes = [f for f in trace.of(Forward) if _comes_from(f.output, applied)]
        outside = [f for f in passes if f.place != applied.place]
        return bool(outside) and all(_read_by_loss(trace, f.place, f.output) for f in outside)
    return _read_by_loss(trace, applied.place, applied.output)


def _is_returned(call: ast.AST, parents: dict[int, ast.AST]) -> bool:
    return isinstance(parents.get(id(call)), ast.Return)


def _comes_from(value: Value, applied: Activation) -> bool:
    return any(
        option.activation is not None and option.activation.place == applied.output.place for option in value.options()
    )


def _read_by_loss(trace: Trace, place: Place, value: Value) -> bool:
    """Whether the result of the call at a place goes into a loss, and nowhere else but where only the order counts."""
    module = trace.project.module(place.path)
    call = call_at(module, place)
    if call is None:
        return False
    parents = parents_of(module.tree)
    losses = [loss.place for loss in trace.of(LossCall) if loss.place.path == place.path]
    if _inside_loss(module, call, parents, losses):
        return True
    bound = parents.get(id(call))
    if not isinstance(bound, ast.Assign) or len(bound.targets) != 1 or not isinstance(bound.targets[0], ast.Name):
        return False
    name = bound.targets[0].id
    scope = scope_at(module, place.line)
    if scope is module.tree or len(writes(scope, name)) != 1:
        return False
    found = reads(scope, name)
    return bool(found) and all(
        _inside_loss(module, read, parents, losses) or _order_only(read, parents) for read in found
    )


def _inside_loss(module: Module, node: ast.AST, parents: dict[int, ast.AST], losses: list[Place]) -> bool:
    """Whether an expression is the first argument of a loss."""
    outer = parents.get(id(node))
    while isinstance(outer, ast.Call | ast.Attribute):
        if isinstance(outer, ast.Call):
            span = module.span(outer)
            if any((span.line, span.column) == (loss.line, loss.column) for loss in losses) and node is not outer.func:
                return argument_of(outer, 0, "input") is node
            if not (isinstance(outer.func, ast.Attribute) and outer.func is node):
                return False
            if outer.func.attr not in ("view", "reshape", "flatten", "squeeze", "float", "transpose", "permute"):
                return False
        node, outer = outer, parents.get(id(outer))
    return False


def _order_only(node: ast.AST, parents: dict[int, ast.AST]) -> bool:
    """`x.argmax(1)`, `torch.argmax(x, 1)`, `x.topk(5)[1]`: what only asks which is largest."""
    outer = parents.get(id(node))
    call = parents.get(id(outer)) if isinstance(outer, ast.Attribute) else outer
    if not isinstance(call, ast.Call):
        return False
    name = dotted(call.func).rpartition(".")[2]
    if name in ("argmax", "argsort"):
        return True
    use = parents.get(id(call))
    if name not in _ORDER_KEEPING:
        return False
    if isinstance(use, ast.Subscript):
        return isinstance(use.slice, ast.Constant) and use.slice.value == 1
    return isinstance(use, ast.Attribute) and use.attr == "indices"


def _last_layer(module: Module, applied: Activation) -> Edit | None:
    """Takes the activation out of the `Sequential` whose last layer it is."""
    layer = call_at(module, applied.made_at) if applied.made_at is not None else None
    owner = parents_of(module.tree).get(id(layer)) if layer is not None else None
    if layer is None or not isinstance(owner, ast.Call) or len(owner.args) < 2 or owner.args[-1] is not layer:
        return None
    if dotted(owner.func).rpartition(".")[2] != "Sequential":
        return None
    before, own = module.span(owner.args[-2]), module.span(layer)
    return Edit(
        line=before.end_line,
        column=before.end_column,
        end_line=own.end_line,
        end_column=own.end_column,
        text="",
    )
