"""Bodies of generator functions: statements that contain a `yield` run as host generators, all others at once."""

from __future__ import annotations

import ast
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

from engine.memory.program.budget import OutOfBudget, StopRun
from engine.memory.program.exceptions import matches
from engine.memory.program.frames import BREAK, RETURN, Frame, LazyStatement, Signal
from engine.memory.program.scopes import Scope

if TYPE_CHECKING:
    from engine.memory.program.statements import StatementCompiler

_INNER_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
Lazy = Generator[Any, Any, Signal | None]


def has_yield(node: ast.AST) -> bool:
    """Whether evaluating this node may yield (inner functions do not count)."""
    if isinstance(node, (ast.Yield, ast.YieldFrom)):
        return True
    return any(not isinstance(child, _INNER_SCOPES) and has_yield(child) for child in ast.iter_child_nodes(node))


class LazyCompiler:
    """Compiles the statements of one generator function."""

    def __init__(self, compiler: StatementCompiler) -> None:
        self.compiler = compiler

    def block(self, nodes: Sequence[ast.stmt], scope: Scope) -> LazyStatement:
        """The lazy closure of a list of statements."""
        compiled = [self.statement(node, scope) for node in nodes]

        def run(frame: Frame) -> Lazy:
            for statement in compiled:
                signal = yield from statement(frame)
                if signal is not None:
                    return signal
            return None

        return run

    def statement(self, node: ast.stmt, scope: Scope) -> LazyStatement:
        """The lazy closure of one statement."""
        if not has_yield(node):
            plain = self.compiler.statement(node, scope)

            def run_plain(frame: Frame) -> Lazy:
                return plain(frame)
                yield

            return run_plain
        if isinstance(node, (ast.For, ast.AsyncFor)):
            return self._for(node, scope)
        if isinstance(node, ast.While):
            return self._while(node, scope)
        if isinstance(node, ast.If):
            return self._if(node, scope)
        if isinstance(node, (ast.With, ast.AsyncWith)):
            run = self.block(node.body, scope)
            for item in reversed(node.items):
                run = self._managed(item, run, scope)
            return run
        if isinstance(node, ast.Try):
            return self._try(node, scope)
        return self._simple(node, scope)

    def _simple(self, node: ast.stmt, scope: Scope) -> LazyStatement:
        """A statement whose expressions yield: the yields run first, in order, then the statement with what they got."""  # noqa: E501
        yields: list[tuple[bool, Any, str]] = []
        compiler = self.compiler

        class Hoist(ast.NodeTransformer):
            def visit_Lambda(self, inner: ast.Lambda) -> ast.AST:
                return inner

            def _hoist(self, inner: Any) -> Any:
                self.generic_visit(inner)
                name = f".sent{len(yields)}"
                value = None if inner.value is None else compiler.expression(inner.value, scope)
                yields.append((isinstance(inner, ast.YieldFrom), value, name))
                return ast.copy_location(ast.Name(id=name, ctx=ast.Load()), inner)

            visit_Yield = visit_YieldFrom = _hoist  # type: ignore[assignment]

        import copy

        rewritten = Hoist().visit(copy_statement(node, copy.copy))
        scope.bound.update(name for _, _, name in yields)
        plain = compiler.statement(rewritten, scope)

        def run(frame: Frame) -> Lazy:
            for delegate, value, name in yields:
                if delegate:
                    frame.locals[name] = yield from value(frame)
                else:
                    frame.locals[name] = yield (None if value is None else value(frame))
            return plain(frame)

        return run

    def _if(self, node: ast.If, scope: Scope) -> LazyStatement:
        test = self.compiler.expression(node.test, scope)
        body, otherwise = self.block(node.body, scope), self.block(node.orelse, scope)

        def run(frame: Frame) -> Lazy:
            return (yield from (body(frame) if test(frame) else otherwise(frame)))

        return run

    def _for(self, node: ast.For | ast.AsyncFor, scope: Scope) -> LazyStatement:
        items, store = self.compiler.expression(node.iter, scope), self.compiler.target(node.target, scope)
        body, otherwise = self.block(node.body, scope), self.block(node.orelse, scope)
        step = self.compiler.interpreter.budget.step

        def run(frame: Frame) -> Lazy:
            iterator = iter(items(frame))
            while True:
                try:
                    store(frame, next(iterator))
                except StopIteration:
                    break
                step()
                signal = yield from body(frame)
                if signal is BREAK:
                    return None
                if signal is RETURN:
                    return signal
            return (yield from otherwise(frame))

        return run

    def _while(self, node: ast.While, scope: Scope) -> LazyStatement:
        test = self.compiler.expression(node.test, scope)
        body, otherwise = self.block(node.body, scope), self.block(node.orelse, scope)
        step = self.compiler.interpreter.budget.step

        def run(frame: Frame) -> Lazy:
            while test(frame):
                step()
                signal = yield from body(frame)
                if signal is BREAK:
                    return None
                if signal is RETURN:
                    return signal
            return (yield from otherwise(frame))

        return run

    def _managed(self, item: ast.withitem, body: LazyStatement, scope: Scope) -> LazyStatement:
        manager = self.compiler.expression(item.context_expr, scope)
        store = self.compiler.target(item.optional_vars, scope) if item.optional_vars is not None else None

        def run(frame: Frame) -> Lazy:
            with manager(frame) as value:
                if store is not None:
                    store(frame, value)
                del value
                return (yield from body(frame))
            return None

        return run

    def _try(self, node: ast.Try, scope: Scope) -> LazyStatement:
        body, otherwise = self.block(node.body, scope), self.block(node.orelse, scope)
        final = self.block(node.finalbody, scope)
        handlers = [
            (
                None if handler.type is None else self.compiler.expression(handler.type, scope),
                self.compiler.store_name(handler.name, scope) if handler.name else None,
                self.block(handler.body, scope),
            )
            for handler in node.handlers
        ]

        def attempt(frame: Frame) -> Lazy:
            try:
                signal = yield from body(frame)
            except (StopRun, OutOfBudget, GeneratorExit):
                raise
            except BaseException as problem:
                for kind, store, handle in handlers:
                    if matches(problem, kind, frame):
                        if store is not None:
                            store(frame, problem)
                        frame.handled = problem
                        return (yield from handle(frame))
                raise
            if signal is None:
                signal = yield from otherwise(frame)
            return signal

        def run(frame: Frame) -> Lazy:
            try:
                signal = yield from attempt(frame)
            except (StopRun, OutOfBudget, GeneratorExit):
                raise
            except BaseException:
                override = yield from final(frame)
                if override is not None:
                    return override
                raise
            kept = frame.result
            override = yield from final(frame)
            if override is not None:
                return override
            frame.result = kept
            return signal

        return run


def copy_statement(node: Any, shallow: Any) -> Any:
    """A copy of a statement in which scopes (inner functions, comprehensions) stay the same nodes."""
    if isinstance(node, (*_INNER_SCOPES, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return node
    if isinstance(node, list):
        return [copy_statement(item, shallow) for item in node]
    if isinstance(node, ast.AST):
        copied = shallow(node)
        for name, value in ast.iter_fields(node):
            setattr(copied, name, copy_statement(value, shallow))
        return copied
    return node
