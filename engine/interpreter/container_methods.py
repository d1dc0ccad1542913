"""Methods of containers and strings."""

from __future__ import annotations

import ast

from engine.interpreter.classes import Classes
from engine.interpreter.state import join_values
from engine.trace import events
from engine.trace.values import Container, Value


class ContainerMethods(Classes):
    """Lists, dicts, sets, deques, text."""

    def _on_text(self, receiver: Value, method: str, a: list[Value], k: dict[str, Value], node: ast.AST) -> Value:
        if receiver.is_constant and isinstance(receiver.constant, str) and method in ("lower", "upper", "strip"):
            return self.constant(node, getattr(receiver.constant, method)())
        if method == "format":
            for value in a:
                if self.tensorish(value):
                    self.emit(events.DeviceSync, node, how="format", value=value)
        if method == "join" and a:
            return self.make(node, "join", tuple(a), role="string")
        return self.make(node, "text", (receiver, *a), role="string", detached="text")

    def _on_container(
        self, receiver: Container, method: str, a: list[Value], k: dict[str, Value], node: ast.AST
    ) -> Value:
        text = self.text(node.func.value) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
        argument_nodes = node.args if isinstance(node, ast.Call) else []
        value_node = argument_nodes[-1] if argument_nodes else node
        if method in ("append", "add", "appendleft", "insert") and a:
            self.add_to(receiver, a[-1], "append", text, node, value_node)
            return self.constant(node, None)
        if method in ("extend", "update") and a:
            source = a[0]
            items = source.elements() if isinstance(source, Container) else (self.element_of(source, node),)
            if isinstance(source, Container):
                receiver.entries.update(source.entries)
            for item in items:
                self.add_to(receiver, item, "extend", text, node, value_node)
            receiver.open = True
            return self.constant(node, None)
        if method == "update":
            receiver.entries.update(k)
            for item in k.values():
                self.add_to(receiver, item, "extend", text, node, node)
            return self.constant(node, None)
        if method in ("pop", "popleft", "clear", "popitem"):
            self.mark_reset(receiver)
            receiver.cleared = True
            if method == "clear":
                return self.constant(node, None)
            if a and a[0].is_constant and a[0].constant in receiver.entries:
                return receiver.entries[a[0].constant]
            return self.item_among(receiver, node)
        if method in ("get", "setdefault") and a:
            key = a[0].constant if a[0].is_constant else None
            if key in receiver.entries:
                return receiver.entries[key]
            default = a[1] if len(a) > 1 else self.constant(node, None)
            if method == "setdefault":
                if isinstance(key, str | int):
                    receiver.entries[key] = default
                elif isinstance(default, Container):
                    default.loops, default.iterations = receiver.loops, receiver.iterations
                receiver.items.append(default)
                receiver.parents = (*receiver.parents, default)
                return default
            if receiver.open or key is None:
                return join_values(self.item_among(receiver, node), default) if receiver.elements() else default
            return default
        if method == "values":
            made = self.container(node, "list", list(receiver.elements()))
            made.open = receiver.open
            made.parents = (*receiver.elements(), receiver)
            return made
        if method == "items":
            if receiver.entries and not receiver.open and len(receiver.entries) <= 8:
                pairs = [
                    self.container(node, "tuple", [self.constant(node, key), value])
                    for key, value in receiver.entries.items()
                ]
                made = self.container(node, "list", pairs)
                made.parents = (*pairs, receiver)
                return made
            key = self.make(node, "name", role="string")
            pair = self.container(node, "tuple", [key, self.item_among(receiver, node)])
            made = self.container(node, "list", [pair])
            made.open = True
            made.parents = (pair, receiver)
            return made
        if method == "keys":
            made = self.container(node, "list", [self.constant(node, key) for key in receiver.entries])
            made.open = True
            return made
        if method == "copy":
            return self.container(node, receiver.shape_name, receiver.items)
        return self.make(node, "method-call", (receiver, *a), callee=receiver)
