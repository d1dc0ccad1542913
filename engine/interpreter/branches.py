"""Branches: both sides of a condition, cases, and what an exception may skip."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from engine.interpreter.assignments import Assignments
from engine.interpreter.guards import counts_rounds, modulo_divisor, names_rank, negated
from engine.interpreter.state import Flow, Snapshot
from engine.trace.places import Guard


class Branches(Assignments):
    """`if`, `match` and `try`."""

    def _if(self, node: ast.If) -> str:
        test = self.evaluate(node.test)
        if test.is_constant and self.loops and self.loops[-1].kind != "literal" and modulo_divisor(node.test):
            # What holds in the first iteration says nothing of the others: `step % every == 0` with `step = 0`.
            divisor = modulo_divisor(node.test)
            test = self.make(node.test, "compare", detached="comparison", about=frozenset(["modulo"]))
            test.role, test.divisor = "number", divisor
        if test.is_constant:
            if names_rank(node.test):
                # The rank that one implementation of a launcher has: others give others.
                return self._of_one_rank(node, bool(test.constant))
            return self.execute(node.body if test.constant else node.orelse)
        self.condition_sync(test, node.test)
        guard = self.guard(node.test, test)
        if "modulo" not in guard.kinds and counts_rounds(node):
            assert isinstance(node.test, ast.Compare)
            guard = replace(guard, kinds=guard.kinds | {"modulo"}, divisor=self.text(node.test.comparators[0]))
        return self._branches(guard, node.body, node.orelse)

    def _of_one_rank(self, node: ast.If, holds: bool) -> str:
        guard = self.guard(node.test, self.constant(node.test, holds))
        guard = replace(guard, kinds=guard.kinds | {"rank"})
        position = len(self.guards)
        self.guards.append(guard if holds else negated(guard))
        flow = self.execute(node.body if holds else node.orelse)
        del self.guards[position : position + 1]
        return flow

    def _branches(self, guard: Guard, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]) -> str:
        before = self.snapshot()
        self.guards.append(guard)
        first = self.execute(body)
        after_first = self.snapshot()
        self.guards.pop()
        self.restore(before)
        other = negated(guard)
        self.guards.append(other)
        second = self.execute(orelse)
        self.guards.pop()
        if first != Flow.NORMAL and second != Flow.NORMAL:
            return first if first == second else (second if first == Flow.RAISE else first)
        if first != Flow.NORMAL:
            # What follows only happens where the condition does not hold.
            if first != Flow.RAISE:
                self.guards.append(negated(guard, early=True))
            return Flow.NORMAL
        if second != Flow.NORMAL:
            self.restore(after_first)
            if second != Flow.RAISE:
                self.guards.append(guard)
            return Flow.NORMAL
        self.join([after_first, self.snapshot()])
        return Flow.NORMAL

    def _match(self, node: ast.Match) -> str:
        subject = self.evaluate(node.subject)
        for case in node.cases:
            pattern = case.pattern
            known: bool | None = None
            if isinstance(pattern, ast.MatchValue) and subject.is_constant and isinstance(pattern.value, ast.Constant):
                known = pattern.value.value == subject.constant
            elif isinstance(pattern, ast.MatchAs) and pattern.pattern is None and case.guard is None:
                known = True if subject.is_constant else None
            if known is True:
                return self.execute(case.body)
            if known is False:
                continue
            place = self.place(case.body[0])
            text = f"match {self.text(node.subject)}:{ast.unparse(pattern)}"
            before = self.snapshot()
            self.guards.append(Guard(place, text, True, frozenset(["case"])))
            for name in ast.walk(pattern):
                if isinstance(name, ast.MatchAs | ast.MatchStar) and name.name:
                    self.frame.env[name.name] = self.make(node, "element", (subject,))
            flow = self.execute(case.body)
            self.guards.pop()
            if flow == Flow.NORMAL:
                self.join([before, self.snapshot()])
            else:
                self.restore(before)
        return Flow.NORMAL

    def _try(self, node: ast.Try) -> str:
        before = self.snapshot()
        flow = self.execute(node.body)
        states: list[Snapshot] = []
        if flow == Flow.NORMAL:
            flow = self.execute(node.orelse)
        if flow == Flow.NORMAL:
            states.append(self.snapshot())
        end = self.snapshot()
        for handler in node.handlers:
            self.join([before, end])
            place = self.place(handler)
            text = f"except {self.text(handler.type)} {place.line}"
            self.guards.append(Guard(place, text, True, frozenset(["except"])))
            if handler.name:
                self.frame.env[handler.name] = self.make(handler, "exception", role="exception")
            handled = self.execute(handler.body)
            self.guards.pop()
            if handled == Flow.NORMAL:
                states.append(self.snapshot())
        if states:
            self.join(states)
        else:
            self.restore(end)
        last = self.execute(node.finalbody)
        if last != Flow.NORMAL:
            return last
        return Flow.NORMAL if states else flow
