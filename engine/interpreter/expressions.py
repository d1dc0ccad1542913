"""Evaluating expressions to abstract values."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from engine.frameworks.registry import canonical
from engine.interpreter.operators import Operators
from engine.interpreter.state import WithBody, join_values
from engine.trace import events
from engine.trace.places import Loop
from engine.trace.values import Choice, Container, External, FunctionValue, Value

#: Iterations over literal displays of at most this many constants are played one by one.
MAX_UNROLL = 4


class Expressions(Operators):
    """`evaluate` and what it needs."""

    def evaluate(self, node: ast.expr) -> Value:
        method = _DISPATCH.get(type(node))
        if method is None:
            return self.make(node, "unknown", name=type(node).__name__)
        try:
            return method(self, node)
        except RecursionError:
            return self.make(node, "unknown", name="nested too deeply")

    # ---- leaves --------------------------------------------------------------------------------------------------

    def _constant(self, node: ast.Constant) -> Value:
        return self.constant(node, node.value)

    def _name(self, node: ast.Name) -> Value:
        found = self.lookup(node.id)
        if found is not None:
            if self.wrapped_under and self.guards and isinstance(found, Choice):
                return self._possible_here(found)
            return found
        value = self.make(node, "unknown", name=node.id)
        # An unbound name stays one object, so that what is learned of it is kept.
        self.frame.globals.setdefault(node.id, value)
        return value

    def _possible_here(self, value: Choice) -> Value:
        """The alternatives without wrappers that were made under a condition which does not hold here."""
        kept = [option for option in value.options() if not self._excluded_here(option)]
        if len(kept) == len(value.options()) or not kept:
            return value
        result = kept[0]
        for option in kept[1:]:
            result = join_values(result, option)
        return result

    def _excluded_here(self, wrapper: Value) -> bool:
        under = self.wrapped_under.get(id(wrapper), ())
        return any(made.excludes(here) for made in under for here in self.guards)

    def _attribute(self, node: ast.Attribute) -> Value:
        return self.attribute(self.evaluate(node.value), node.attr, node)

    def _joined(self, node: ast.JoinedStr) -> Value:
        parts: list[Value] = []
        for item in node.values:
            if isinstance(item, ast.FormattedValue):
                value = self.evaluate(item.value)
                parts.append(value)
                if self.tensorish(value):
                    self.emit(events.DeviceSync, item.value, how="format", value=value)
        return self.make(node, "format", tuple(parts), role="string", detached="format")

    def _lambda(self, node: ast.Lambda) -> Value:
        return FunctionValue(
            place=self.place(node),
            name="lambda",
            node=node,
            path=self.frame.path,
            qualified=(self.frame.qualified + ".<lambda>").lstrip("."),
            closure=self.frame,
        )

    # ---- displays and comprehensions -----------------------------------------------------------------------------

    def _sequence(self, node: ast.List | ast.Tuple | ast.Set) -> Value:
        items: list[Value] = []
        opened = False
        for item in node.elts:
            if isinstance(item, ast.Starred):
                value = self.evaluate(item.value)
                if isinstance(value, Container):
                    items.extend(value.items)
                    opened = opened or value.open
                else:
                    items.append(self.element_of(value, item))
                    opened = True
            else:
                items.append(self.evaluate(item))
        shape = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set"}[type(node)]
        made = self.container(node, shape, items)
        made.open = opened
        made.name = self.text(node)[:40]
        return made

    def _dict(self, node: ast.Dict) -> Value:
        made = self.container(node, "dict")
        for key, item in zip(node.keys, node.values, strict=True):
            value = self.evaluate(item)
            if key is None:
                if isinstance(value, Container):
                    made.entries.update(value.entries)
                    made.items.extend(value.items)
                made.open = True
                continue
            name = self.evaluate(key)
            if name.is_constant and isinstance(name.constant, str | int):
                made.entries[name.constant] = value
            made.items.append(value)
        made.parents = tuple(made.items)
        return made

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Value:
        shape = (
            "dict" if isinstance(node, ast.DictComp) else "generator" if isinstance(node, ast.GeneratorExp) else "list"
        )
        made = self.container(node, shape)
        made.open = True
        saved = dict(self.frame.env)
        depth = len(self.loops)
        guards = len(self.guards)
        names = [n.id for part in node.generators for n in ast.walk(part.target) if isinstance(n, ast.Name)]
        source = self.evaluate(node.generators[0].iter)
        objects = self._objects_of_classes(source) if len(node.generators) == 1 else None
        first = node.generators[0].iter
        loop = Loop(self.place(first), "literal" if objects else "comprehension", source, len(objects or ()) or None)
        self.emit(events.Iterate, first, subject=loop, iterates=source)
        for iteration, element in enumerate(objects or [self.element_of(source, first)]):
            self.loops.append(loop)
            self.iterations.append(iteration)
            self._enter_generator(node.generators[0], element, node)
            for part in node.generators[1:]:
                nested = self.evaluate(part.iter)
                inner = Loop(self.place(part.iter), "comprehension", nested)
                self.emit(events.Iterate, part.iter, subject=inner, iterates=nested)
                item = self.element_of(nested, part.iter)
                self.loops.append(inner)
                self.iterations.append(0)
                self._enter_generator(part, item, node)
            self._collect(node, made, tuple(self.loops[depth:]))
            del self.loops[depth:]
            del self.iterations[depth:]
            del self.guards[guards:]
        for name in names:
            if name in saved:
                self.frame.env[name] = saved[name]
            else:
                self.frame.env.pop(name, None)
        return made

    def _literal_elements(self, source: Value) -> list[Value] | None:
        raise NotImplementedError

    def _objects_of_classes(self, source: Value) -> list[Value] | None:
        """Few known objects of the project's classes, over which a comprehension is played one by one."""
        known = self._literal_elements(source)
        return known if known and all(item.cls is not None and item.role == "instance" for item in known) else None

    def _enter_generator(self, part: ast.comprehension, element: Value, node: ast.AST) -> None:
        """Bind a `for` of a comprehension, and put its conditions in force."""
        self.assign(part.target, element, node)
        for test in part.ifs:
            value = self.evaluate(test)
            self.guards.append(self.guard(test, value))

    def _collect(
        self,
        node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
        made: Container,
        crossing: tuple[Loop, ...],
    ) -> None:
        """One element of a comprehension."""
        element_node = node.value if isinstance(node, ast.DictComp) else node.elt
        if isinstance(node, ast.DictComp):
            self.evaluate(node.key)
        item = self.evaluate(element_node)
        made.items.append(item)
        made.parents = (*made.parents, item)
        if not isinstance(node, ast.GeneratorExp):
            self.emit(
                events.Store,
                element_node,
                value=item,
                how="append",
                container=made,
                target=self.text(node)[:40],
                crossing=crossing,
            )

    # ---- subscripts ----------------------------------------------------------------------------------------------

    def _subscript(self, node: ast.Subscript) -> Value:
        value = self.evaluate(node.value)
        index = self.evaluate(node.slice)
        return self.subscript(value, index, node)

    def _slice(self, node: ast.Slice) -> Value:
        parts = tuple(self.evaluate(item) for item in (node.lower, node.upper, node.step) if item is not None)
        return self.make(node, "slice", parts, role="number")

    # ---- the rest ------------------------------------------------------------------------------------------------

    def _walrus(self, node: ast.NamedExpr) -> Value:
        value = self.evaluate(node.value)
        self.assign(node.target, value, node)
        return value

    def _starred(self, node: ast.Starred) -> Value:
        return self.evaluate(node.value)

    def _await(self, node: ast.Await) -> Value:
        return self.evaluate(node.value)

    def _yield(self, node: ast.Yield) -> Value:
        if node.value is not None:
            self.frame.yielded.append(self.evaluate(node.value))
        waiting = self.frame.with_body
        if waiting is not None and waiting.flow is None:
            entered = self.frame.yielded[-1] if node.value is not None else self.constant(node, None)
            self._play_with_body(waiting, entered)
        return self.make(node, "unknown", name="sent value")

    def _play_with_body(self, waiting: WithBody, entered: Value) -> None:
        """Go back to the `with` statement's own frame for its body, in the contexts of the generator."""
        assert waiting.play is not None
        waiting.flow = ""
        inner, calls = self.frames[waiting.frames :], self.stack[waiting.stack :]
        del self.frames[waiting.frames :], self.stack[waiting.stack :]
        try:
            waiting.flow = waiting.play(entered)
        finally:
            self.frames.extend(inner)
            self.stack.extend(calls)

    def _yield_from(self, node: ast.YieldFrom) -> Value:
        source = self.evaluate(node.value)
        self.frame.yielded.append(self.element_of(source, node))
        return self.make(node, "unknown")

    def _call(self, node: ast.Call) -> Value:
        return self.evaluate_call(node)

    def evaluate_call(self, node: ast.Call, discarded: bool = False) -> Value:
        """A call expression."""
        self.spend()
        if isinstance(node.func, ast.Name) and node.func.id == "super" and self.frame.owner is not None:
            owner = self.frame.owner
            return self.make(node, "super", member_of=owner, cls=self.frame.defining_class or owner.cls)
        receiver: Value | None = None
        callee: Value | None = None
        if isinstance(node.func, ast.Attribute):
            receiver = self.evaluate(node.func.value)
        else:
            callee = self.evaluate(node.func)
        arguments: list[Value] = []
        for item in node.args:
            if isinstance(item, ast.Starred):
                value = self.evaluate(item.value)
                if isinstance(value, Container) and not value.open:
                    arguments.extend(value.items)
                else:
                    spread = self.make(item, "starred", (value,), of=value.of)
                    arguments.append(spread)
            else:
                arguments.append(self.evaluate(item))
        keywords: dict[str, Value] = {}
        for keyword in node.keywords:
            value = self.evaluate(keyword.value)
            if keyword.arg is not None:
                keywords[keyword.arg] = value
            elif isinstance(value, Container) and value.entries:
                keywords.update({str(k): v for k, v in value.entries.items()})
                if value.open:
                    keywords["**"] = value
            elif not (isinstance(value, Container) and not value.open):
                keywords["**"] = value
        if receiver is not None:
            assert isinstance(node.func, ast.Attribute)
            result = self.call_method(receiver, node.func.attr, arguments, keywords, node, discarded)
        else:
            assert callee is not None
            result = self.call(callee, arguments, keywords, node, discarded)
        if not result.name and not result.is_constant:
            result.name = self.text(node)[:60]
        return result

    def external(self, qualified: str, node: ast.AST) -> External:
        return External(place=self.place(node), name=qualified, op="external", qualified=canonical(qualified))


_DISPATCH: dict[type[ast.expr], Callable[[Any, Any], Value]] = {
    ast.Constant: Expressions._constant,
    ast.Name: Expressions._name,
    ast.Attribute: Expressions._attribute,
    ast.JoinedStr: Expressions._joined,
    ast.Lambda: Expressions._lambda,
    ast.BinOp: Expressions._binary,
    ast.UnaryOp: Expressions._unary,
    ast.Compare: Expressions._compare,
    ast.BoolOp: Expressions._boolean,
    ast.IfExp: Expressions._conditional,
    ast.List: Expressions._sequence,
    ast.Tuple: Expressions._sequence,
    ast.Set: Expressions._sequence,
    ast.Dict: Expressions._dict,
    ast.ListComp: Expressions._comprehension,
    ast.SetComp: Expressions._comprehension,
    ast.GeneratorExp: Expressions._comprehension,
    ast.DictComp: Expressions._comprehension,
    ast.Subscript: Expressions._subscript,
    ast.Slice: Expressions._slice,
    ast.NamedExpr: Expressions._walrus,
    ast.Starred: Expressions._starred,
    ast.Await: Expressions._await,
    ast.Yield: Expressions._yield,
    ast.YieldFrom: Expressions._yield_from,
    ast.Call: Expressions._call,
}
