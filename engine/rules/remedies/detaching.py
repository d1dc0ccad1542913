"""Graphs that are cut where a training scheme means a constant, or joined again where a cut is one too many."""

from __future__ import annotations

import ast

from engine import fixes
from engine.findings import Fix
from engine.fixes.locating import first_line
from engine.fixes.locating import statement_at as covering
from engine.project import Module
from engine.rules.facts.text import in_file, replace, source_of
from engine.rules.remedies.syntax import argument_of, call_at, function_at, same_function, writes
from engine.rules.rule import FixMaker
from engine.trace import Loop, Place, Trace, Value
from engine.trace.events import Backward, Detach, Forward, LossCall

_STATE_OF = {
    "torch.nn.GRU": "{0} = {0}.detach()",
    "torch.nn.RNN": "{0} = {0}.detach()",
    "torch.nn.LSTM": "{0} = tuple(part.detach() for part in {0})",
}
"""How the state that a recurrent layer of torch returns is detached: LSTM's is a pair."""


def detached_target(loss: LossCall) -> FixMaker:
    """The loss gets its target without a graph; the target itself stays as it is."""

    def build(module: Module) -> Fix | None:
        call = call_at(module, loss.place)
        target = argument_of(call, 1, "target") if call is not None else None
        return _detached(module, target, "Detach the target.")

    return in_file(loss.place, build)


def detached_sample(judged: Forward, sample: Value) -> FixMaker:
    """The network that judges a generated sample gets it without its graph."""

    def build(module: Module) -> Fix | None:
        call = call_at(module, judged.place)
        positions = [n for n, value in enumerate(judged.inputs) if value is sample]
        if call is None or len(positions) != 1:
            return None
        return _detached(module, argument_of(call, positions[0], ""), "Detach the generated sample for this loss.")

    return in_file(judged.place, build)


def graph_freed(trace: Trace, backward: Backward) -> FixMaker | None:
    """The backward frees its graph."""
    text = source_of(trace.project, backward.place)
    if not text.endswith("(retain_graph=True)"):
        return None
    return replace(backward.place, text.removesuffix("(retain_graph=True)") + "()", "Free the graph after the backward")


def detached_argument(place: Place, value: Value) -> FixMaker:
    """The call that keeps a value is given it without its graph."""

    def build(module: Module) -> Fix | None:
        call = call_at(module, place)
        if call is None or any(keyword.arg is None for keyword in call.keywords):
            return None
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        if len(given) > 1:
            given = [argument for argument in given if isinstance(argument, ast.Name) and argument.id == value.name]
        return _detached(module, given[0], "Keep the value without its graph.") if len(given) == 1 else None

    return in_file(place, build)


def attached(detach: Detach) -> FixMaker:
    """`x.detach()` becomes `x`."""

    def build(module: Module) -> Fix | None:
        call = call_at(module, detach.place)
        if call is None or not isinstance(call.func, ast.Attribute) or call.func.attr != "detach":
            return None
        told = "Let the gradient through."
        code = module.source(call.func.value)
        return fixes.replace_expression(module, detach.place, code, safe=True, description=told)

    return in_file(detach.place, build)


def detached_state(place: Place, state: Value, loop: Loop) -> FixMaker | None:
    """At the end of an iteration the state of a recurrent layer of torch loses its graph."""
    pattern = next((_STATE_OF[v.callee.made_by] for v in state.ancestors(limit=3) if _recurrent(v) and v.callee), None)
    if pattern is None:
        return None

    def build(module: Module) -> Fix | None:
        located = covering(module, loop.place.line)
        call = call_at(module, place)
        if located is None or call is None or not isinstance(located.node, ast.For | ast.While):
            return None
        if not same_function(module, place, loop.place):
            return None
        body = located.node.body
        names = [argument.id for argument in call.args[1:2] if isinstance(argument, ast.Name)]
        here = [name for name in names if any(writes(node, name) for node in body)]
        if len(here) != 1 or any(isinstance(node, ast.Continue) for node in ast.walk(located.node)):
            return None
        if function_at(module, first_line(body[-1])) is not function_at(module, loop.place.line):
            return None
        line = first_line(body[-1])
        told = "Carry the state over without its graph."
        code = pattern.format(here[0])
        return fixes.insert_statement_after(module, line, code, safe=True, description=told)

    return in_file(place, build)


def _recurrent(value: Value) -> bool:
    return value.callee is not None and value.callee.made_by in _STATE_OF


def _detached(module: Module, node: ast.expr | None, told: str) -> Fix | None:
    if node is None or isinstance(node, ast.Starred):
        return None
    return fixes.append_method_call(module, module.span(node), "detach", safe=True, description=told)
