"""Calls of Python's builtins."""

from __future__ import annotations

import ast

from engine.interpreter.attributes import DEFAULT_FACTORY
from engine.interpreter.state import join_values
from engine.interpreter.statements import Statements
from engine.trace import events
from engine.trace.values import Container, Value

_NUMBERS = frozenset(["float", "int", "bool", "complex"])


class BuiltinCalls(Statements):
    """`_builtin`."""

    def _builtin(self, name: str, a: list[Value], k: dict[str, Value], node: ast.AST, discarded: bool) -> Value:
        first = a[0] if a else None
        if name in _NUMBERS:
            if first is not None and first.is_constant and isinstance(first.constant, str | int | float):
                try:
                    return self.constant(node, {"float": float, "int": int, "bool": bool}[name](first.constant))
                except (ValueError, KeyError, OverflowError):
                    pass
            if first is not None and self.tensorish(first):
                self.emit(events.DeviceSync, node, how=name, value=first)
            return self.make(
                node, name, tuple(a), role="number", detached=name, about=first.about if first else frozenset()
            )
        if name == "print":
            for value in (*a, *k.values()):
                if self.tensorish(value):
                    self.emit(events.DeviceSync, node, how="print", value=value)
            self.emit(events.Report, node, how="print", values=tuple(a), keywords=k)
            return self.constant(node, None)
        if name in ("len", "isinstance", "hasattr", "id", "callable", "issubclass", "hash", "ord"):
            return self.make(node, name, tuple(a), role="number", detached=name)
        if name in ("enumerate", "zip", "range", "iter", "reversed"):
            if name == "reversed":
                return first if first is not None else self.make(node, "unknown")
            return self.make(node, name, tuple(a), role="number" if name == "range" else None)
        if name == "next" and first is not None:
            return self.element_of(first, node)
        if name in ("list", "tuple", "set", "sorted", "frozenset"):
            return self._built_list(name, a, node)
        if name == "dict":
            made = self.container(node, "dict", list(k.values()))
            made.entries = {key: v for key, v in k.items() if key != "**"}
            made.open = "**" in k
            if isinstance(first, Container):
                made.items = [*first.items, *made.items]
                made.entries = {**first.entries, **made.entries}
                made.open = made.open or first.open
            elif first is not None:
                made.open = True
                if first.role == "parameters" or first.of:
                    item = self.element_of(first, node)
                    # `dict(module.named_parameters())`: the values are the second of each pair.
                    pair = item.items if isinstance(item, Container) else []
                    made.items.append(pair[1] if len(pair) == 2 else item)
                    made.of = first.of
            made.parents = (*a, *k.values())
            return made
        if name == "filter" and len(a) > 1:
            return self.make(node, "passthrough", (a[1],), role=a[1].role, of=a[1].of)
        if name == "map" and len(a) > 1:
            mapped = self.container(
                node, "generator", [self.call(a[0], [self.element_of(i, node) for i in a[1:]], {}, node)]
            )
            mapped.open = True
            return mapped
        if name == "getattr" and len(a) > 1 and a[1].is_constant and first is not None:
            return self.attribute(first, str(a[1].constant), node)
        if name == "setattr" and len(a) > 2 and first is not None and (a[1].is_constant or a[2].role == "module"):
            self._set_by_name(first, a[1], a[2], node)
            return self.constant(node, None)
        if name in ("sum", "max", "min", "abs", "round", "any", "all", "pow", "divmod"):
            parents: list[Value] = []
            for value in a:
                parents.extend(value.elements() or ())
                parents.append(value)
            role = "number" if parents and all(p.role == "number" or p.is_constant for p in parents) else None
            total = self.make(node, name, tuple(parents), role=role)
            if name in ("any", "all"):
                total.role = "number"
            return total
        if name in ("str", "repr", "format", "input"):
            if first is not None and self.tensorish(first):
                self.emit(events.DeviceSync, node, how="format", value=first)
            return self.make(node, name, tuple(a), role="string", detached=name)
        if name == "open":
            return self.make(node, name, tuple(a), role="file", detached=name)
        if name == "exec" and first is not None and not first.is_constant:
            self._settings_may_change(node)
        return self.make(node, name, tuple(a), made_by="builtins." + name)

    def _settings_may_change(self, node: ast.AST) -> None:
        """Code that is read at run time may set the script's plain settings anew: each is what stands there, or not."""
        if self.frame.env is not self.frame.globals:
            return
        for name, value in list(self.frame.env.items()):
            if value.is_constant and isinstance(value.constant, str | int | float) and not name.startswith("_"):
                self.frame.env[name] = join_values(value, self.make(node, "setting", name=name))

    def _set_by_name(self, owner: Value, name: Value, value: Value, node: ast.AST) -> None:
        """`setattr(owner, name, value)`; a layer that replaces another one is told like an assignment."""
        attribute = str(name.constant) if name.is_constant else ""
        if value.role == "module":
            event = self.emit(
                events.Store, node, value=value, how="attribute", container=owner, target=owner.name,
                attribute=attribute, crossing=self.crossed_since(owner),
            )  # fmt: skip
            event.value_place = self.place(node)
        if attribute:
            self.set_attribute(owner, attribute, value)

    def _collection(self, name: str, a: list[Value], k: dict[str, Value], node: ast.AST) -> Container | None:
        """`collections`: dictionaries that keep an order or make what is missing, and queues."""
        if name in ("OrderedDict", "defaultdict"):
            made = self._builtin("dict", a[1:] if name == "defaultdict" else a, k, node, False)
            assert isinstance(made, Container)
            if name == "defaultdict" and a and not a[0].is_constant:
                made.put(DEFAULT_FACTORY, a[0])
            return made
        if name == "deque":
            limit = k.get("maxlen") or (a[1] if len(a) > 1 else None)
            queue = self._built_list("list", a[:1], node)
            if isinstance(queue, Container):
                queue.bounded = limit is not None and not (limit.is_constant and limit.constant is None)
                if limit is not None and isinstance(limit.constant, int):
                    queue.most = limit.constant
                return queue
        return None

    def _built_list(self, name: str, a: list[Value], node: ast.AST) -> Value:
        first = a[0] if a else None
        shape = {"tuple": "tuple", "set": "set", "frozenset": "set"}.get(name, "list")
        if first is None:
            return self.container(node, shape)
        if first.role == "parameters" or first.role == "module":
            return self.make(node, "passthrough", (first,), role=first.role, of=first.of)
        if isinstance(first, Container):
            made = self.container(node, shape, first.items)
            made.open = first.open
            made.parents = (*first.items, first)
            return made
        made = self.container(node, shape, [self.element_of(first, node)])
        made.open = True
        made.parents = (*made.items, first)
        return made
