"""The interpreter's core: position, making values, emitting events, attributes on the heap."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, TypeVar

from engine.interpreter.guards import Condition
from engine.interpreter.outline import Outline
from engine.interpreter.state import Flow, Frame, Heap, Modes, Snapshot, WithBody, join_env, join_modes
from engine.project import Module, Project
from engine.trace.events import Event
from engine.trace.places import Context, Guard, Loop, Place, Root
from engine.trace.trace import Trace
from engine.trace.values import Choice, Constant, Container, Value

E = TypeVar("E", bound=Event)

#: Statements that one root may execute, loop passes and followed calls included.
ROOT_BUDGET = 6_000
#: The same for all roots of a file together.
FILE_BUDGET = 14_000
#: More statements, once for a file that calls `backward`: the long programs that first check, download and convert
#: must come to their loop as well. YOLOv5's train.py takes 18,700 in all, LitGPT's finetune/adapter.py 8,100.
TRAINING_BUDGET = 14_000
#: Calls into the project that may be nested.
MAX_DEPTH = 24


class BudgetSpent(Exception):
    """A root used up its statements."""


class Machine:
    """State and primitives. The mixins in this package add expressions, calls and statements."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.trace = Trace(project=project)
        self.heap: Heap = {}
        self.modes: Modes = {}
        #: Whether a snapshot holds the same heap or modes: they are then copied before they are written.
        self.heap_shared = self.modes_shared = False
        self.grad: bool | None = True
        self.stack: list[Place] = []
        self.loops: list[Loop] = []
        self.iterations: list[int] = []
        self.guards: list[Guard] = []
        self.contexts: list[Context] = []
        self.frames: list[Frame] = []
        self.active_functions: list[Any] = []
        #: Bodies of `with` statements whose context managers are being called, innermost last.
        self.with_bodies: list[WithBody] = []
        self.reached: set[int] = set()
        self.budget = ROOT_BUDGET
        #: Files whose programs were given TRAINING_BUDGET.
        self.extended: set[str] = set()
        self.root = Root("script", "", "", Place("", 1))
        self.modules_loaded: dict[str, dict[str, Value]] = {}
        #: Names that an import cycle left unbound: the value that stands for it, its file and its name there.
        self.late: dict[int, tuple[Value, str, str]] = {}
        self.sources: dict[str, Module] = {}
        self._places: dict[int, Place] = {}
        #: Every value made, for what is worked out after the run.
        self.created_values: list[Value] = []
        #: Syntax made up during the run: what is remembered by a node's id holds as long as the node does.
        self.kept: list[ast.AST] = []
        self._outlines: dict[str, Outline] = {}
        #: Whether one of several different modules is called, by the path taken.
        self.alternatives = False
        #: Modules that were put into a container on one path only, by their identity.
        self.conditional: set[int] = set()
        #: The conditions under which a module was wrapped, by the wrapper's identity.
        self.wrapped_under: dict[int, tuple[Guard, ...]] = {}
        self._texts: dict[int, str] = {}
        self._conditions: dict[int, Condition] = {}

    # ---- overridden by the mixins -------------------------------------------------------------------------------

    def evaluate(self, node: ast.expr) -> Value:
        raise NotImplementedError

    def execute(self, body: Sequence[ast.stmt]) -> str:
        raise NotImplementedError

    def call(
        self, callee: Value, arguments: list[Value], keywords: dict[str, Value], node: ast.AST, discarded: bool = False
    ) -> Value:
        raise NotImplementedError

    def assign(self, target: ast.expr, value: Value, node: ast.AST) -> None:
        raise NotImplementedError

    def element_of(self, value: Value, node: ast.AST) -> Value:
        raise NotImplementedError

    def outline(self, path: str) -> Outline:
        """What one walk over a loaded file tells."""
        found = self._outlines.get(path)
        if found is None:
            source = self.sources.get(path)
            found = self._outlines[path] = Outline.of(source) if source is not None else Outline()
        return found

    # ---- position ------------------------------------------------------------------------------------------------

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    def place(self, node: ast.AST) -> Place:
        found = self._places.get(id(node))
        if found is not None:
            return found
        path = self.frames[-1].path if self.frames else self.root.path
        source = self.sources.get(path)
        line = getattr(node, "lineno", 1)
        if source is None:
            return Place(path, line, getattr(node, "col_offset", 0) + 1)
        span = source.span(node)
        place = Place(path, span.line, span.column, span.end_line, span.end_column)
        self._places[id(node)] = place
        return place

    def lines_of(self, node: ast.stmt) -> str:
        """The whole lines that a statement of the current file stands on."""
        source = self.sources.get(self.frames[-1].path if self.frames else self.root.path)
        return "" if source is None else "\n".join(source.lines[node.lineno - 1 : node.end_lineno])

    def text(self, node: ast.AST | None) -> str:
        """The source text of a node, on one line."""
        if node is None:
            return ""
        if isinstance(node, ast.Name):
            return node.id
        found = self._texts.get(id(node))
        if found is None:
            source = self.sources.get(self.frames[-1].path if self.frames else self.root.path)
            found = "" if source is None else source.source(node)
            if "\n" in found:
                found = " ".join(found.split())
            self._texts[id(node)] = found
        return found

    def guard(self, test: ast.expr, value: Value) -> Guard:
        """The guard of the branch where `test`, which evaluated to `value`, holds."""
        place = self.place(test)
        condition = self._conditions.get(id(test))
        if condition is None:
            condition = self._conditions[id(test)] = Condition.of(test, place)
        return condition.guard(value, place)

    def emit(self, kind: type[E], node: ast.AST | Place, /, **fields: Any) -> E:
        """Append an event at the current position."""
        autocast: bool | None = False
        dtype = ""
        for context in self.contexts:
            if context.kind == "autocast":
                autocast, dtype = context.enabled, context.dtype
        event = kind(
            place=node if isinstance(node, Place) else self.place(node),
            root=self.root,
            index=len(self.trace.events),
            function=self.frame.qualified,
            stack=tuple(self.stack),
            loops=tuple(self.loops),
            iterations=tuple(self.iterations),
            guards=tuple(self.guards),
            contexts=tuple(self.contexts),
            grad=self.grad,
            autocast=autocast,
            autocast_dtype=dtype,
            **fields,
        )
        self.trace.events.append(event)
        return event

    # ---- values --------------------------------------------------------------------------------------------------

    def make(self, node: ast.AST, op: str, parents: tuple[Value, ...] = (), **fields: Any) -> Value:
        """A new value at the current position."""
        fields.setdefault("grad", self.grad)
        value = Value(
            place=self.place(node),
            op=op,
            parents=parents,
            loops=tuple(self.loops),
            iterations=tuple(self.iterations),
            **fields,
        )
        self.created_values.append(value)
        return value

    def constant(self, node: ast.AST, value: Any) -> Constant:
        return Constant(
            place=self.place(node),
            op="literal",
            value=value,
            name=repr(value)[:40] if not isinstance(value, str) else value[:40],
            loops=tuple(self.loops),
            iterations=tuple(self.iterations),
        )

    def container(self, node: ast.AST, shape_name: str, items: Sequence[Value] = (), **fields: Any) -> Container:
        value = Container(
            place=self.place(node),
            op="literal",
            shape_name=shape_name,
            items=list(items),
            parents=tuple(items),
            loops=tuple(self.loops),
            iterations=tuple(self.iterations),
            grad=self.grad,
            made_under=len(self.guards),
            **fields,
        )
        self.created_values.append(value)
        return value

    def set_attribute(self, target: Value, name: str, value: Value) -> None:
        self.own_heap()[(id(target), name)] = value
        target.put(name, value)

    def own_heap(self) -> Heap:
        """The heap, to be written: no snapshot sees the change."""
        if self.heap_shared:
            self.heap = dict(self.heap)
            self.heap_shared = False
        return self.heap

    def get_attribute(self, target: Value, name: str) -> Value | None:
        found = self.heap.get((id(target), name))
        if found is not None:
            return found
        return target.attributes.get(name)

    # ---- branches ------------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        self.heap_shared = self.modes_shared = True
        return Snapshot(dict(self.frames[-1].env), self.heap, self.modes, self.grad)

    def restore(self, snapshot: Snapshot) -> None:
        env = self.frames[-1].env
        env.clear()
        env.update(snapshot.env)
        self.heap, self.modes = snapshot.heap, snapshot.modes
        self.heap_shared = self.modes_shared = True
        self.grad = snapshot.grad

    def join(self, snapshots: Sequence[Snapshot]) -> None:
        """Make the current state the join of these."""
        if not snapshots:
            return
        first = snapshots[0]
        env, heap, modes, grad = first.env, first.heap, first.modes, first.grad
        for other in snapshots[1:]:
            env = join_env(env, other.env)
            heap = heap if heap is other.heap else join_env(heap, other.heap)
            modes = modes if modes is other.modes else join_modes(modes, other.modes)
            grad = grad if grad == other.grad else None
        self.restore(Snapshot(env, heap, modes, grad))

    # ---- modes ---------------------------------------------------------------------------------------------------

    def mode_of(self, module: Value) -> tuple[str, Place | None]:
        """The module's train/eval mode, its own or an enclosing module's."""
        seen: set[int] = set()
        current: Value | None = module
        while current is not None and id(current) not in seen:
            seen.add(id(current))
            found = self.modes.get(id(current))
            if found is not None:
                return found
            if current.wrapped is not None and current.wrapping != "copy":
                current = current.wrapped
            elif current.op == "attribute" or current.member_of is not None:
                current = current.member_of or current.callee
            else:
                current = None
        return "", None

    def set_mode(self, module: Value, mode: str, place: Place, seen: set[int] | None = None) -> None:
        """Set the mode of a module and everything under it."""
        seen = seen if seen is not None else set()
        if id(module) in seen or len(seen) > 200:
            return
        seen.add(id(module))
        if self.modes_shared:
            self.modes = dict(self.modes)
            self.modes_shared = False
        self.modes[id(module)] = (mode, place)
        if isinstance(module, Choice):
            for option in module.options():
                self.set_mode(option, mode, place, seen)
            return
        if module.wrapped is not None and module.wrapping != "copy":
            self.set_mode(module.wrapped, mode, place, seen)
        for child in list(module.attributes.values()):
            if child.role == "module" or id(child) in self.modes:
                self.set_mode(child, mode, place, seen)
            elif isinstance(child, Container):
                for item in child.elements():
                    if item.role == "module":
                        self.set_mode(item, mode, place, seen)

    def spend(self, amount: int = 1) -> None:
        self.budget -= amount
        if self.budget < 0:
            path = self.root.path
            if path in self.extended or "backward" not in self.outline(path).called:
                raise BudgetSpent
            self.extended.add(path)
            self.budget = TRAINING_BUDGET

    def dead(self, flow: str) -> bool:
        return flow != Flow.NORMAL
