"""`eval` of an expression that the program holds as text: interpreted like any other expression of the program.

Layer tables name their classes this way (`eval("nn.Upsample")`), and some configuration files write lists of layers
as arithmetic on lists.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from engine.memory.program.frames import Frame
from engine.memory.program.scopes import analyse
from engine.memory.program.statements import StatementCompiler
from engine.memory.program.unknown import Unknown
from engine.project.reading import UnreadableFile, parse

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter

MAX_TEXT = 10_000
"""Longest expression that is evaluated, in characters."""


def evaluator(interpreter: Interpreter) -> Callable[..., Any]:
    """The program's `eval`. What is no single short expression is unknown."""

    def not_run(reason: str) -> Unknown:
        interpreter.note(f"{':'.join(map(str, interpreter.place()))}: {reason}")
        return Unknown(reason)

    def evaluate(source: Any, global_variables: Any = None, local_variables: Any = None) -> Any:
        if isinstance(source, Unknown):
            return source
        if not isinstance(source, str):
            return not_run("eval() of something that is no text is not run")
        if len(source) > MAX_TEXT:
            return not_run("eval() of so long a text is not run")
        interpreter.budget.step()
        path = interpreter.place()[0]
        try:
            tree = parse(path, source.strip())
        except UnreadableFile as problem:
            raise SyntaxError(f"eval(): {problem.reason}") from None
        if len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
            raise SyntaxError("eval(): not an expression")
        scopes = analyse(tree)
        compiled = StatementCompiler(interpreter, path, scopes).expression(tree.body[0].value, scopes[tree])
        variables = _visible(interpreter.stack[-1][1], global_variables, local_variables)
        return compiled(Frame(variables, variables, {}))

    return evaluate


def _visible(frame: Frame, global_variables: Any, local_variables: Any) -> dict[str, Any]:
    """The names that the expression sees: those given, or those of the calling frame."""
    if isinstance(global_variables, Mapping):
        given = local_variables if isinstance(local_variables, Mapping) else {}
        return {**global_variables, **given}
    shared = {name: cell.value for name, cell in frame.cells.items() if cell.filled}
    local = frame.locals if frame.locals is not frame.globals else {}
    return {**frame.globals, **shared, **local}
