"""`try` statements, and which `except` clause takes an exception."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from engine.memory.program.budget import OutOfBudget, StopRun
from engine.memory.program.expressions import ExpressionCompiler
from engine.memory.program.frames import Expression, Frame, Signal, Statement
from engine.memory.program.scopes import Scope

_OPTIONAL_IMPORT = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


def matches(problem: BaseException, kind: Expression | None, frame: Frame) -> bool:
    """Whether an `except` clause takes this exception."""
    if kind is None:
        return isinstance(problem, (Exception, SystemExit, KeyboardInterrupt))
    wanted = kind(frame)
    for option in wanted if isinstance(wanted, tuple) else (wanted,):
        if isinstance(option, type) and isinstance(problem, option):
            return True
    return False


class ExceptionCompiler(ExpressionCompiler):
    """Adds `try`."""

    guarded = 0
    """How many `try` blocks that catch import errors enclose the statement being compiled."""

    def block(self, nodes: Sequence[ast.stmt], scope: Scope) -> Statement:
        """The closure of a list of statements; the statement compiler has it."""
        raise NotImplementedError

    def _handlers(self, node: Any, scope: Scope) -> list[tuple[Expression | None, Any, Any, Statement]]:
        handlers = []
        for handler in node.handlers:
            kind = None if handler.type is None else self.expression(handler.type, scope)
            store = self.store_name(handler.name, scope) if handler.name else None
            clear = self.delete_name(handler.name, scope) if handler.name else None
            handlers.append((kind, store, clear, self.block(handler.body, scope)))
        return handlers

    @staticmethod
    def catches_imports(node: Any) -> bool:
        """Whether a `try` has a handler for a failed import."""
        for handler in node.handlers:
            if handler.type is None:
                return True
            names = {part.id for part in ast.walk(handler.type) if isinstance(part, ast.Name)}
            if names & _OPTIONAL_IMPORT:
                return True
        return False

    def _compile_try(self, node: Any, scope: Scope) -> Statement:
        guarded = self.catches_imports(node)
        self.guarded += guarded
        body = self.block(node.body, scope)
        self.guarded -= guarded
        handlers = self._handlers(node, scope)
        otherwise = self.block(node.orelse, scope) if node.orelse else None
        final = self.block(node.finalbody, scope) if node.finalbody else None
        interpreter = self.interpreter
        watched = bool(handlers)

        def attempt(frame: Frame) -> Signal | None:
            interpreter.guarded += watched
            try:
                signal = body(frame)
            except (StopRun, OutOfBudget, GeneratorExit):
                raise
            except BaseException as problem:
                interpreter.guarded -= watched
                try:
                    for kind, store, clear, handle in handlers:
                        if not matches(problem, kind, frame):
                            continue
                        problem.__traceback__ = None
                        previous, frame.handled = frame.handled, problem
                        if store is not None:
                            store(frame, problem)
                        try:
                            return handle(frame)
                        finally:
                            frame.handled = previous
                            if clear is not None:
                                try:
                                    clear(frame)
                                except NameError:
                                    previous = None
                    raise
                finally:
                    interpreter.guarded += watched
            finally:
                interpreter.guarded -= watched
            if signal is None and otherwise is not None:
                return otherwise(frame)
            return signal

        if final is None:
            return attempt

        def run(frame: Frame) -> Signal | None:
            try:
                signal = attempt(frame)
            except (StopRun, OutOfBudget):
                raise
            except BaseException:
                override = final(frame)
                if override is not None:
                    return override
                raise
            kept = frame.result
            override = final(frame)
            if override is not None:
                return override
            frame.result = kept
            return signal

        return run

    _try = _trystar = _compile_try
