"""What frameworks expect: objects prepared, their own wrapper called, their flags set, nothing done twice."""

from __future__ import annotations

import ast

from engine import fixes
from engine.findings import Fix
from engine.fixes.locating import expression_at, first_line, last_line, statement_at
from engine.fixes.making import edit_at, made
from engine.project import Module
from engine.rules.facts.text import in_file
from engine.rules.remedies.stepping import stepped
from engine.rules.remedies.syntax import (
    argument_of,
    call_at,
    class_at,
    dotted,
    function_at,
    reads,
    same_function,
    scope_at,
    writes,
)
from engine.rules.rule import FixMaker
from engine.trace import Place
from engine.trace.events import Backward, Divided, Forward, FunctionalDropout, OptimizerStep, Prepare


def also_prepared(prepare: Prepare, step: OptimizerStep) -> FixMaker:
    """The optimizer goes through `prepare` with the others."""

    def build(module: Module) -> Fix | None:
        located, call = statement_at(module, prepare.place.line), call_at(module, prepare.place)
        name = stepped(module, step)
        node = located.node if located is not None else None
        if call is None or not isinstance(node, ast.Assign) or node.value is not call or call.keywords:
            return None
        if not name.isidentifier() or not same_function(module, prepare.place, step.place):
            return None
        target = node.targets[0]
        if not isinstance(target, ast.Tuple) or len(target.elts) != len(call.args) or len(call.args) < 2:
            return None
        scope = scope_at(module, prepare.place.line)
        if any(node.lineno > prepare.place.line for node in writes(scope, name)):
            return None
        left, right = module.span(target.elts[-1]), module.span(call.args[-1])
        edits = [edit_at(s.end_line, s.end_column, f", {name}") for s in (left, right)]
        return made(module, f"Prepare `{name}` as well.", True, edits)

    return in_file(prepare.place, build)


def manual_optimization(backward: Backward) -> FixMaker:
    """`self.automatic_optimization = False`, after `super().__init__()`."""

    def build(module: Module) -> Fix | None:
        owner = class_at(module, backward.place.line)
        members = owner.body if owner is not None else []
        maker = next((n for n in members if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
        called = next((node for node in maker.body if _initialises(node)), None) if maker is not None else None
        if called is None:
            return None
        told = "Turn Lightning's automatic optimization off: this step runs its own."
        line = first_line(called)
        return fixes.insert_statement_after(
            module, line, "self.automatic_optimization = False", safe=True, description=told
        )

    return in_file(backward.place, build)


def _initialises(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        and node.value.func.attr == "__init__"
    )


def divided_once(divided: Divided, backward: Backward) -> FixMaker:
    """The division goes, where only the framework's backward reads what it gives."""

    def build(module: Module) -> Fix | None:
        located = statement_at(module, divided.place.line)
        node = expression_at(module, divided.place)
        if located is None or not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
            return None
        if not same_function(module, divided.place, backward.place):
            return None
        told = "Leave the division to the framework's backward."
        statement = located.node
        if isinstance(statement, ast.Assign) and statement.value is node and len(statement.targets) == 1:
            name = dotted(statement.targets[0])
            if not name or not _only_for_backward(module, name, statement, backward):
                return None
            if dotted(node.left) == name:
                return fixes.remove_statement(module, first_line(statement), safe=True, description=told)
        elif not backward.place.line <= divided.place.line <= max(backward.place.end_line, backward.place.line):
            return None
        code = module.source(node.left)
        return fixes.replace_expression(module, divided.place, code, safe=True, description=told)

    return in_file(divided.place, build)


def _only_for_backward(module: Module, name: str, statement: ast.Assign, backward: Backward) -> bool:
    first, last = backward.place.line, max(backward.place.end_line, backward.place.line)
    found = reads(scope_at(module, statement.lineno), name)
    own = range(first_line(statement), last_line(statement) + 1)
    earlier = [node for node in found if node.lineno < statement.lineno]
    return all(first <= node.lineno <= last for node in found if node.lineno not in own and node not in earlier)


def through_wrapper(forward: Forward) -> FixMaker | None:
    """`ddp.module(x)` becomes `ddp(x)`."""
    if forward.method != "__call__":
        return None

    def build(module: Module) -> Fix | None:
        call = call_at(module, forward.place)
        if call is None or not isinstance(call.func, ast.Attribute) or call.func.attr != "module":
            return None
        span = module.span(call.func)
        place = Place(module.path, span.line, span.column, span.end_line, span.end_column)
        told = "Call the wrapped model."
        return fixes.replace_expression(module, place, module.source(call.func.value), safe=True, description=told)

    return in_file(forward.place, build)


def following_mode(dropout: FunctionalDropout) -> FixMaker:
    """A functional dropout that is off in evaluation."""

    def build(module: Module) -> Fix | None:
        call, function = call_at(module, dropout.place), function_at(module, dropout.place.line)
        if call is None or function is None or class_at(module, dropout.place.line) is None:
            return None
        if not function.args.args or function.args.args[0].arg != "self":
            return None
        told = "Follow the module's mode."
        if dropout.kind != "scaled_dot_product_attention":
            if dropout.training is not None and argument_of(call, 99, "training") is None:
                return None
            return fixes.add_keyword(module, dropout.place, "training", "self.training", safe=True, description=told)
        given = argument_of(call, 99, "dropout_p")
        if not isinstance(given, ast.Name | ast.Attribute | ast.Constant):
            return None
        code = f"{module.source(given)} if self.training else 0.0"
        return fixes.add_keyword(module, dropout.place, "dropout_p", code, safe=True, description=told)

    return in_file(dropout.place, build)


def into_context(outside: Forward, context: Place) -> FixMaker:
    """The forward pass directly above a `with` block moves into it."""

    def build(module: Module) -> Fix | None:
        moved, target = statement_at(module, outside.place.line), statement_at(module, context.line, (ast.With,))
        if moved is None or target is None or not isinstance(target.node, ast.With):
            return None
        if moved.block is not target.block or moved.position + 1 != target.position:
            return None
        if not isinstance(moved.node, ast.Assign):
            return None
        line = first_line(target.node.body[0])
        told = "Run the forward pass inside."
        return fixes.move_statement_before(module, outside.place.line, line, safe=True, description=told)

    return in_file(outside.place, build)
