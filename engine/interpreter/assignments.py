"""Assignment: what names, attributes and items hold, what accumulates, and what is given up."""

from __future__ import annotations

import ast

from engine.interpreter.loops import Loops
from engine.interpreter.state import Flow
from engine.trace import events
from engine.trace.places import Loop
from engine.trace.values import Constant, Container, Value


class Assignments(Loops):
    """`assign`, and the statements that assign."""

    def _assign(self, node: ast.Assign) -> str:
        value = self.evaluate(node.value)
        for target in node.targets:
            self.assign(target, value, node)
        return Flow.NORMAL

    def _annotated(self, node: ast.AnnAssign) -> str:
        if node.value is not None:
            self.assign(node.target, self.evaluate(node.value), node)
        return Flow.NORMAL

    def _augmented(self, node: ast.AugAssign) -> str:
        target = node.target
        old = self.evaluate(target)
        right = self.evaluate(node.value)
        if isinstance(old, Container) and isinstance(node.op, ast.Add):
            items = right.elements() if isinstance(right, Container) else (right,)
            for item in items:
                self.add_to(old, item, "extend", self.text(target), node, node.value)
            return Flow.NORMAL
        value = self.operate(old, right, node.op, node, node.value)
        if isinstance(value, Constant) and self.loops:
            value = self.make(node, "counter", (old, right), role="number")
        value.name = self.text(target)
        inplace = old.role in ("tensor", "parameter") or self.tensorish(old)
        if inplace and old.role != "number":
            self.emit(
                events.InPlaceUpdate, node, target=old, how="augmented", operands=(right,), text=self.text(target)
            )
        self._accumulated(target, old, right, value, node, node.value, inplace)
        self._bind(target, value, node)
        return Flow.NORMAL

    def _accumulated(
        self,
        target: ast.expr,
        old: Value,
        added: Value,
        value: Value,
        node: ast.AST,
        added_node: ast.AST,
        inplace: bool,
    ) -> None:
        """A Store event for `a = a + v` and `a += v`."""
        event = self.emit(
            events.Store,
            node,
            value=added,
            how="accumulate",
            container=None,
            target=self.text(target),
            crossing=self.crossed_since(old),
            previous=old,
            result=value,
        )
        event.inplace = inplace
        event.value_place = self.place(added_node)
        value.accumulates = old

    def crossed_since(self, old: Value) -> tuple[Loop, ...]:
        """The loops of the current position that began (or went round) after a value was made."""
        made = dict(zip(map(id, old.loops), old.iterations, strict=False))
        return tuple(
            loop for loop, iteration in zip(self.loops, self.iterations, strict=True) if made.get(id(loop)) != iteration
        )

    def assign(self, target: ast.expr, value: Value, node: ast.AST) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            starred = next((i for i, t in enumerate(target.elts) if isinstance(t, ast.Starred)), None)
            for item, part in zip(target.elts, self.unpack(value, len(target.elts), node, starred), strict=False):
                self.assign(item.value if isinstance(item, ast.Starred) else item, part, node)
            return
        if isinstance(target, ast.Starred):
            self.assign(target.value, value, node)
            return
        old = self.current(target)
        if old is not None and old is not value:
            self._released(old, node)
            if (
                isinstance(node, ast.Assign)
                and ((old.role == "parameter" and old.op == "element") or _leaf(old))
                and self._derives(value, old)
            ):
                self.emit(events.Rebound, node, target=old, value=value)
            if self._derives(value, old) and not isinstance(value, Container):
                if isinstance(node, ast.Assign) and self.loops:
                    if isinstance(value, Constant):
                        value = self.make(node, "counter", (old,), role="number")
                    else:
                        added, added_node = self._addend(node.value, old, value)
                        if added is not None:
                            self._accumulated(target, old, added, value, node, added_node, False)
            elif not self._bound_elsewhere(target, old) and not self._first_time(target):
                self.mark_reset(old)
        self._bind(target, value, node)

    def _bound_elsewhere(self, target: ast.expr, old: Value) -> bool:
        """Whether another name of the function still holds a value that this name gives up."""
        if not isinstance(target, ast.Name) or isinstance(old, Container) or not self.loops:
            return False
        return any(value is old for name, value in self.frame.env.items() if name != target.id)

    def _released(self, old: Value, node: ast.AST) -> None:
        for option in old.options():
            if option.op == "load":
                self.emit(events.Released, node, value=option)

    def _first_time(self, target: ast.expr) -> bool:
        """Whether later iterations of a loop find this assignment done: `if total is None: total = v`."""
        text = self.text(target)
        return any(guard.holds and guard.text in (f"{text} is None", f"{text} == None") for guard in self.guards)

    def current(self, target: ast.expr) -> Value | None:
        """What a target holds now, without making anything up."""
        if isinstance(target, ast.Name):
            return self.frame.env.get(target.id) or (
                self.frame.globals.get(target.id) if target.id in self.frame.declared_global else None
            )
        if isinstance(target, ast.Attribute):
            holder = self.current(target.value)
            return self.get_attribute(holder, target.attr) if holder is not None else None
        if isinstance(target, ast.Subscript):
            holder = self.current(target.value)
            if holder is not None and isinstance(target.slice, ast.Constant):
                if isinstance(holder, Container):
                    return holder.entries.get(target.slice.value)
                return self.get_attribute(holder, f"[{target.slice.value!r}]")
            if holder is not None and isinstance(holder, Container) and isinstance(target.slice, ast.Name):
                return holder.entries.get("?" + target.slice.id)
        return None

    @staticmethod
    def _derives(value: Value, old: Value) -> bool:
        wanted = {id(old), *(id(o) for o in old.options())}
        wanted.discard(id(value))
        return value.comes_from(wanted)

    def _addend(self, node: ast.expr, old: Value, value: Value) -> tuple[Value | None, ast.AST]:
        """In `a = a + v` (also `d * a + e * v`): v, as the operand that does not hold the old value."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub) and len(value.parents) == 2:
            left, right = value.parents
            olds = {id(old), *(id(o) for o in old.options())}
            in_left = left.comes_from(olds)
            in_right = right.comes_from(olds)
            if in_left and not in_right:
                return right, node.right
            if in_right and not in_left:
                return left, node.left
        if isinstance(node, ast.IfExp):
            for option in value.options():
                for branch in (node.body, node.orelse):
                    found, place = self._addend(branch, old, option)
                    if found is not None:
                        return found, place
        return None, node

    def mark_reset(self, value: Value) -> None:
        """A container or accumulator is emptied or replaced within the active loops."""
        loops = {id(loop) for loop in self.loops}
        if not loops:
            return
        queue: list[Value] = [value]
        seen: set[int] = set()
        while queue and len(seen) < 40:
            item = queue.pop()
            if id(item) in seen:
                continue
            seen.add(id(item))
            item.reset_in |= loops
            queue.extend(item.options())
            if item.accumulates is not None:
                queue.append(item.accumulates)

    def _bind(self, target: ast.expr, value: Value, node: ast.AST) -> None:
        if isinstance(target, ast.Name):
            if not value.name or value.op in ("literal", "call", "construct", "operator", "operator/", "operator*"):
                value.name = target.id if not value.is_constant else value.name
            if target.id in self.frame.declared_global:
                self.frame.globals[target.id] = value
            elif target.id in self.frame.declared_nonlocal:
                outer = self.frame.parent
                while outer is not None and target.id not in outer.env:
                    outer = outer.parent
                (outer or self.frame).env[target.id] = value
            else:
                self.frame.env[target.id] = value
        elif isinstance(target, ast.Attribute):
            self._bind_attribute(target, value, node)
        elif isinstance(target, ast.Subscript):
            self._bind_item(target, value, node)

    def _bind_attribute(self, target: ast.Attribute, value: Value, node: ast.AST) -> None:
        holder = self.evaluate(target.value)
        for owner in holder.options():
            if owner.is_constant:
                continue
            if target.attr == "requires_grad":
                enabled = bool(value.constant) if value.is_constant else None
                self.emit(events.RequiresGradChange, node, target=owner, enabled=enabled)
                owner.requires_grad = enabled
                if owner.role == "parameter":
                    for module in owner.of:
                        module.requires_grad = False if enabled is False else None
                continue
            if target.attr == "grad":
                self.emit(events.ZeroGrad, node, target=owner, how="grad")
                continue
            if target.attr == "data" and owner.role != "instance":
                self.emit(
                    events.InPlaceUpdate, node, target=owner, how="data", operands=(value,), text=self.text(target)
                )
                continue
            self.emit(
                events.Store,
                node,
                value=value,
                how="attribute",
                container=owner,
                target=self.text(target),
                attribute=target.attr,
                crossing=self.crossed_since(owner),
                previous=self.get_attribute(owner, target.attr),
            )
            if isinstance(value, Container):
                value.held_as = value.held_as or self.text(target)
                for inner in value.elements():
                    if isinstance(inner, Container):
                        inner.held_as = inner.held_as or f"{value.held_as}[...]"
            if value.made_by == "torch.nn.Parameter":
                replaced = self.get_attribute(owner, target.attr)
                unknown = replaced is not None and replaced.role is None and replaced.op in ("attribute", "getattr")
                if replaced is not None and unknown and self._derives(value, replaced):
                    # A parameter in place of an attribute that it was made from: that was one too.
                    replaced.role = "parameter"
            if value.op in ("literal", "construct", "call") and not value.is_constant:
                value.name = self.text(target)
            if value.role == "module" and value.member_of is None and owner.role == "module":
                value.member_of = owner
            self.set_attribute(owner, target.attr, value)

    def _bind_item(self, target: ast.Subscript, value: Value, node: ast.AST) -> None:
        holder = self.evaluate(target.value)
        index = self.evaluate(target.slice)
        value_node = node.value if isinstance(node, ast.Assign | ast.AugAssign) else target
        for owner in holder.options():
            if owner.is_constant:
                continue
            if isinstance(owner, Container):
                key = index.constant if index.is_constant else None
                if isinstance(target.slice, ast.Name) and key is None:
                    key = "?" + target.slice.id
                if isinstance(key, str | int):
                    owner.entries[key] = value
                    owner.parents = (*owner.parents, value) if value not in owner.parents else owner.parents
                    event = self.emit(
                        events.Store,
                        node,
                        value=value,
                        how="item",
                        container=owner,
                        target=self.text(target),
                        crossing=self.crossed_since(owner),
                    )
                    event.value_place = self.place(value_node)
                else:
                    self.add_to(owner, value, "item", self.text(target), node, value_node)
                continue
            by_key = index.is_constant and isinstance(index.constant, str)
            if not by_key and (self.tensorish(owner) or owner.role in ("tensor", "parameter")):
                self.emit(
                    events.InPlaceUpdate, node, target=owner, how="item", operands=(value,), text=self.text(target)
                )
                owner.parents = (*owner.parents, value)
            event = self.emit(
                events.Store,
                node,
                value=value,
                how="item",
                container=owner,
                target=self.text(target),
                crossing=self.crossed_since(owner),
            )
            event.value_place = self.place(value_node)
            if index.is_constant:
                self.set_attribute(owner, f"[{index.constant!r}]", value)

    def add_to(
        self, owner: Container, value: Value, how: str, text: str, node: ast.AST, value_node: ast.AST | None = None
    ) -> None:
        """A value enters a container."""
        if value.role == "module" and len(self.guards) > owner.made_under:
            self.conditional.add(id(value))
        if len(owner.items) < 48:
            owner.items.append(value)
        if value not in owner.parents:
            owner.parents = (*owner.parents, value)
        owner.open = owner.open or bool(self.crossed_since(owner))
        event = self.emit(
            events.Store,
            node,
            value=value,
            how=how,
            container=owner,
            target=text,
            crossing=self.crossed_since(owner),
        )
        event.value_place = self.place(value_node if value_node is not None else node)


def _leaf(value: Value) -> bool:
    """A tensor that was made with `requires_grad=True`, or asked for gradients; or an element of a list of such."""
    if value.op == "element" and value.parents:
        return value.role == "tensor" and all(_leaf(option) for option in value.parents[0].options())
    if value.requires_grad is True and value.role == "tensor":
        return True
    asked = value.keywords.get("requires_grad") if value.detached == "created" else None
    return asked is not None and asked.constant is True
