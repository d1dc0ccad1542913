"""`match` statements."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from engine.memory.program.attributes import read
from engine.memory.program.expressions import ExpressionCompiler
from engine.memory.program.frames import Frame, Signal, Statement
from engine.memory.program.scopes import Scope

Test = Callable[[Frame, Any], bool]


class PatternCompiler(ExpressionCompiler):
    """Adds structural pattern matching."""

    def block(self, nodes: Sequence[ast.stmt], scope: Scope) -> Statement:
        """The closure of a list of statements; the statement compiler has it."""
        raise NotImplementedError

    def _match(self, node: ast.Match, scope: Scope) -> Statement:
        subject = self.expression(node.subject, scope)
        cases = [
            (
                self.pattern(case.pattern, scope),
                None if case.guard is None else self.expression(case.guard, scope),
                self.block(case.body, scope),
            )
            for case in node.cases
        ]

        def run(frame: Frame) -> Signal | None:
            value = subject(frame)
            for test, guard, body in cases:
                if test(frame, value) and (guard is None or guard(frame)):
                    return body(frame)
            return None

        return run

    def pattern(self, node: ast.pattern, scope: Scope) -> Test:
        """The closure that tests a value against a pattern and binds its names."""
        if isinstance(node, ast.MatchValue):
            wanted = self.expression(node.value, scope)
            return lambda frame, value: bool(value == wanted(frame))
        if isinstance(node, ast.MatchSingleton):
            single = node.value
            return lambda frame, value: value is single
        if isinstance(node, ast.MatchAs):
            inner = None if node.pattern is None else self.pattern(node.pattern, scope)
            store = None if node.name is None else self.store_name(node.name, scope)

            def test_as(frame: Frame, value: Any) -> bool:
                if inner is not None and not inner(frame, value):
                    return False
                if store is not None:
                    store(frame, value)
                return True

            return test_as
        if isinstance(node, ast.MatchOr):
            options = [self.pattern(option, scope) for option in node.patterns]
            return lambda frame, value: any(option(frame, value) for option in options)
        if isinstance(node, ast.MatchSequence):
            return self._sequence_pattern(node, scope)
        if isinstance(node, ast.MatchMapping):
            return self._mapping_pattern(node, scope)
        if isinstance(node, ast.MatchClass):
            return self._class_pattern(node, scope)
        return lambda frame, value: False

    def _sequence_pattern(self, node: ast.MatchSequence, scope: Scope) -> Test:
        star = next((index for index, part in enumerate(node.patterns) if isinstance(part, ast.MatchStar)), None)
        parts = [None if isinstance(part, ast.MatchStar) else self.pattern(part, scope) for part in node.patterns]
        rest = node.patterns[star] if star is not None else None
        store = self.store_name(rest.name, scope) if isinstance(rest, ast.MatchStar) and rest.name else None

        def test(frame: Frame, value: Any) -> bool:
            if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
                return False
            if (star is None and len(value) != len(parts)) or len(value) < len(parts) - (star is not None):
                return False
            items = list(value)
            if star is not None:
                after = len(parts) - star - 1
                if store is not None:
                    store(frame, items[star : len(items) - after])
                items = [*items[:star], None, *items[len(items) - after :]]
            return all(part is None or part(frame, item) for part, item in zip(parts, items, strict=True))

        return test

    def _mapping_pattern(self, node: ast.MatchMapping, scope: Scope) -> Test:
        keys = [self.expression(key, scope) for key in node.keys]
        parts = [self.pattern(part, scope) for part in node.patterns]
        store = self.store_name(node.rest, scope) if node.rest else None

        def test(frame: Frame, value: Any) -> bool:
            if not isinstance(value, Mapping):
                return False
            names = [key(frame) for key in keys]
            if not all(name in value for name in names):
                return False
            if not all(part(frame, value[name]) for part, name in zip(parts, names, strict=True)):
                return False
            if store is not None:
                store(frame, {key: item for key, item in value.items() if key not in names})
            return True

        return test

    def _class_pattern(self, node: ast.MatchClass, scope: Scope) -> Test:
        kind = self.expression(node.cls, scope)
        positional = [self.pattern(part, scope) for part in node.patterns]
        named = [
            (name, self.pattern(part, scope)) for name, part in zip(node.kwd_attrs, node.kwd_patterns, strict=True)
        ]

        def test(frame: Frame, value: Any) -> bool:
            wanted = kind(frame)
            if not isinstance(wanted, type) or not isinstance(value, wanted):
                return False
            names = getattr(wanted, "__match_args__", ())
            if positional and not names:
                return len(positional) == 1 and positional[0](frame, value)
            pairs = [*zip(names, positional, strict=False), *named]
            return all(hasattr(value, name) and part(frame, read(value, name)) for name, part in pairs)

        return test
