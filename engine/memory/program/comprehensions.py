"""List, set and dict comprehensions and generator expressions, each in a scope of its own."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from engine.memory.program.budget import MAX_ELEMENTS, OutOfBudget
from engine.memory.program.expressions import ExpressionCompiler
from engine.memory.program.frames import Cell, Expression, Frame
from engine.memory.program.scopes import ComprehensionNode, Scope


class ComprehensionCompiler(ExpressionCompiler):
    """Adds comprehensions to expressions."""

    def _prepare(self, node: ComprehensionNode, scope: Scope) -> tuple[Expression, Callable[[Frame, Any], Frame], Any]:
        inner = self.scopes[node]
        first = self.expression(node.generators[0].iter, scope)
        own, free = tuple(inner.cells), tuple(inner.free)

        def open_frame(frame: Frame, items: Any) -> Frame:
            cells = {name: frame.cells[name] for name in free}
            for name in own:
                cells[name] = Cell()
            child = Frame({}, frame.globals, cells)
            child.first_argument = frame.first_argument
            child.line = frame.line
            child.result = items
            return child

        clauses = []
        for index, generator in enumerate(node.generators):
            source = None if index == 0 else self.expression(generator.iter, inner)
            conditions = [self.expression(condition, inner) for condition in generator.ifs]
            clauses.append((source, self.target(generator.target, inner), conditions))
        step = self.interpreter.budget.step

        def walk(frame: Frame, depth: int = 0) -> Iterator[None]:
            source, store, conditions = clauses[depth]
            if source is None:
                iterator = iter(frame.result)
                frame.result = None
            else:
                iterator = iter(source(frame))
            last = depth == len(clauses) - 1
            while True:
                try:
                    store(frame, next(iterator))
                except StopIteration:
                    return
                step()
                for condition in conditions:
                    if not condition(frame):
                        break
                else:
                    if last:
                        yield None
                    else:
                        yield from walk(frame, depth + 1)

        return first, open_frame, walk

    def _listcomp(self, node: ast.ListComp, scope: Scope) -> Expression:
        first, open_frame, walk = self._prepare(node, scope)
        element = self.expression(node.elt, self.scopes[node])

        def build(frame: Frame) -> Any:
            child = open_frame(frame, first(frame))
            result: list[Any] = []
            for _ in walk(child):
                result.append(element(child))
                _check(result)
            return result

        return build

    def _setcomp(self, node: ast.SetComp, scope: Scope) -> Expression:
        first, open_frame, walk = self._prepare(node, scope)
        element = self.expression(node.elt, self.scopes[node])

        def build(frame: Frame) -> Any:
            child = open_frame(frame, first(frame))
            result: set[Any] = set()
            for _ in walk(child):
                result.add(element(child))
                _check(result)
            return result

        return build

    def _dictcomp(self, node: ast.DictComp, scope: Scope) -> Expression:
        first, open_frame, walk = self._prepare(node, scope)
        key, value = self.expression(node.key, self.scopes[node]), self.expression(node.value, self.scopes[node])

        def build(frame: Frame) -> Any:
            child = open_frame(frame, first(frame))
            result: dict[Any, Any] = {}
            for _ in walk(child):
                name = key(child)
                result[name] = value(child)
                _check(result)
            return result

        return build

    def _generatorexp(self, node: ast.GeneratorExp, scope: Scope) -> Expression:
        first, open_frame, walk = self._prepare(node, scope)
        element = self.expression(node.elt, self.scopes[node])

        def build(frame: Frame) -> Any:
            child = open_frame(frame, iter(first(frame)))

            def generate() -> Iterator[Any]:
                for _ in walk(child):
                    yield element(child)

            return generate()

        return build


def _check(built: Any) -> None:
    if len(built) > MAX_ELEMENTS:
        raise OutOfBudget("a comprehension builds more than a shadow run grants")
