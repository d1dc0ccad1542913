"""Loops: their kind, their elements, and playing their bodies."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from engine.interpreter.expressions import MAX_UNROLL, Expressions
from engine.interpreter.state import Flow, Snapshot
from engine.trace import events
from engine.trace.places import Loop
from engine.trace.values import Constant, Container, Value


class Loops(Expressions):
    """`for` and `while`."""

    def _for(self, node: ast.For | ast.AsyncFor) -> str:
        source = self.evaluate(node.iter)
        literal = self._literal_elements(source)
        kind, count = "iterable", None
        inner = source.parents[0] if source.op in ("enumerate", "tqdm", "passthrough") and source.parents else source
        if literal is not None:
            kind, count = "literal", len(literal)
        elif inner.op == "range":
            kind = "range"
            bounds = [p.constant for p in inner.parents]
            if bounds and all(isinstance(b, int) for b in bounds):
                count = len(range(*bounds)) if len(bounds) < 3 or bounds[2] else None
        elif inner.role == "loader":
            kind = "loader"
        names = tuple(n.id for n in ast.walk(node.target) if isinstance(n, ast.Name))
        loop = Loop(self.place(node), kind, source, count, target_names=names)  # type: ignore[arg-type]
        self.emit(events.Iterate, node, subject=loop, iterates=source)

        def bind(iteration: int) -> bool:
            if literal is not None:
                self.assign(node.target, literal[iteration], node.target)
            else:
                self.assign(node.target, self.element_of(source, node.iter), node.target)
            return True

        flow = self._play(loop, node.body, bind, len(literal) if literal is not None else 2)
        if node.orelse and flow == Flow.NORMAL:
            return self.execute(node.orelse)
        return flow

    def _literal_elements(self, source: Value) -> list[Value] | None:
        """The elements where a loop runs over few constants (or over known objects), played one by one."""
        if source.op == "enumerate" and source.parents:
            inner = self._literal_elements(source.parents[0])
            if inner is not None:
                return [
                    self.container_of_pair(self.constant_like(source, i), item, source) for i, item in enumerate(inner)
                ]
            return None
        if not isinstance(source, Container) or source.open or source.shape_name in ("dict", "generator"):
            return None
        if not 0 < len(source.items) <= MAX_UNROLL:
            return None
        known = all(
            item.is_constant
            or item.role in ("module", "optimizer", "loader", "scheduler")
            or (item.cls is not None and item.op == "construct")
            or (isinstance(item, Container) and any(part.is_constant for part in item.items))
            or item.op == "parameter-of-function"
            for item in source.items
        )
        return list(source.items) if known else None

    def container_of_pair(self, first: Value, second: Value, like: Value) -> Container:
        return Container(
            place=like.place, op="literal", shape_name="tuple", items=[first, second], parents=(first, second)
        )

    def constant_like(self, like: Value, value: Any) -> Constant:
        return Constant(place=like.place, op="literal", value=value, name=repr(value))

    def _while(self, node: ast.While) -> str:
        loop = Loop(self.place(node), "while", None, None, condition=self.text(node.test))
        guards = len(self.guards)

        def bind(iteration: int) -> bool:
            del self.guards[guards:]
            test = self.evaluate(node.test)
            if test.is_constant:
                return bool(test.constant)
            self.condition_sync(test, node.test)
            return True

        self.emit(events.Iterate, node, subject=loop, iterates=None)
        flow = self._play(loop, node.body, bind, 2)
        if node.orelse and flow == Flow.NORMAL:
            return self.execute(node.orelse)
        return flow

    def _play(self, loop: Loop, body: Sequence[ast.stmt], bind: Callable[[int], bool], passes: int) -> str:
        """Play a loop body `passes` times; what the last pass leaves is the state after the loop."""
        frame = self.frame
        frame.loop_exits.append([])
        frame.loop_continues.append([])
        self.loops.append(loop)
        self.iterations.append(0)
        flow = Flow.NORMAL
        exits: list[Snapshot] = []
        if passes == 2 and sum(1 for other in self.loops if other.kind not in ("literal", "comprehension")) > 3:
            passes = 1
        for iteration in range(passes):
            self.iterations[-1] = iteration
            if not bind(iteration):
                break
            flow = self.execute(body)
            states = frame.loop_continues[-1]
            if flow in (Flow.NORMAL, Flow.CONTINUE):
                if flow == Flow.NORMAL:
                    states.append(self.snapshot())
                if states:
                    self.join(states)
                frame.loop_continues[-1] = []
            elif states:
                self.join(states)
                frame.loop_continues[-1] = []
                flow = Flow.NORMAL
            else:
                break
        self.loops.pop()
        self.iterations.pop()
        exits = frame.loop_exits.pop()
        frame.loop_continues.pop()
        if exits and flow in (Flow.NORMAL, Flow.CONTINUE):
            self.join([*exits, self.snapshot()])
        elif exits:
            self.join(exits)
        if flow == Flow.RETURN and not exits:
            # A loop may run zero times; code after it is still read.
            loop.breaks = True
        return Flow.NORMAL
