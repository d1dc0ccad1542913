"""Evaluating expressions to abstract values."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from engine.frameworks.registry import canonical
from engine.interpreter.attributes import Attributes
from engine.interpreter.guards import negated
from engine.interpreter.state import WithBody, join_values
from engine.trace import events
from engine.trace.places import Loop
from engine.trace.values import Choice, Constant, Container, External, FunctionValue, Value

_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: lambda a, b: a is b or (a == b and isinstance(a, bool | str | type(None))),
    ast.IsNot: lambda a, b: not (a is b or (a == b and isinstance(a, bool | str | type(None)))),
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_SYMBOLS: dict[type[ast.operator], str] = {ast.Div: "/", ast.Mult: "*", ast.FloorDiv: "//"}
#: Iterations over literal displays of at most this many constants are played one by one.
MAX_UNROLL = 4
_NUMERIC = ("number", "device", "array")


def _one_process(value: Value) -> bool:
    """Whether a value says that no other process takes part."""
    if value.op != "compare":
        return False
    asked = value.parents[0].made_by if value.parents else ""
    return asked in ("torch.distributed.is_initialized", "torch.distributed.is_available") or (
        "world-size" in value.about and "rank" not in value.about
    )


class Expressions(Attributes):
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

    # ---- operators -----------------------------------------------------------------------------------------------

    def operate(self, left: Value, right: Value, op: ast.operator, node: ast.AST, right_node: ast.expr) -> Value:
        """`left op right`."""
        if left.is_constant and right.is_constant and type(op) in _ARITHMETIC:
            try:
                result = _ARITHMETIC[type(op)](left.constant, right.constant)
                if not isinstance(result, str | list | tuple | bytes) or len(result) < 10_000:
                    return self.constant(node, result)
            except (TypeError, ValueError, ZeroDivisionError, OverflowError, MemoryError):
                pass
        if isinstance(left, Container) and isinstance(right, Container) and isinstance(op, ast.Add):
            joined = self.container(node, left.shape_name, [*left.items, *right.items])
            joined.open = left.open or right.open
            joined.parents = (left, right)
            return joined
        if isinstance(left, Container) and isinstance(op, ast.Mult):
            repeated = self.container(node, left.shape_name, list(left.items))
            repeated.open, repeated.parents = True, (left,)
            return repeated
        role = None
        numeric = [v.role in _NUMERIC or v.is_constant for v in (left, right)]
        if all(numeric):
            role = "array" if "array" in (left.role, right.role) else "number"
        elif "tensor" in (left.role, right.role) or "parameter" in (left.role, right.role):
            role = "tensor"
        value = self.make(node, "operator", (left, right), role=role, about=left.about | right.about)
        value.divisor = self.text(right_node) if isinstance(op, ast.Mod) else ""
        value.name = self.text(node)[:60] if isinstance(node, ast.expr) else ""
        of = left.of + tuple(o for o in right.of if o not in left.of)
        if of:
            value.of, value.role = of, "parameters" if "parameters" in (left.role, right.role) else value.role
        symbol = _SYMBOLS.get(type(op))
        if isinstance(op, ast.MatMult):
            value.op = "matmul"
            self.infer_matmul_shape(value, left, right)
            self.emit(events.FunctionCall, node, name="torch.matmul", arguments=(left, right), result=value)
        elif left.shape is not None and (right.is_constant or right.role == "number"):
            value.shape = left.shape
        if symbol:
            value.op = "operator" + symbol
            self.emit(
                events.Divided, node, value=left, by=right, by_text=self.text(right_node), output=value, operator=symbol
            )
        return value

    def _binary(self, node: ast.BinOp) -> Value:
        left = self.evaluate(node.left)
        return self.operate(left, self.evaluate(node.right), node.op, node, node.right)

    def _unary(self, node: ast.UnaryOp) -> Value:
        operand = self.evaluate(node.operand)
        if operand.is_constant:
            try:
                constant = operand.constant
                if isinstance(node.op, ast.Not):
                    return self.constant(node, not constant)
                if isinstance(node.op, ast.USub):
                    return self.constant(node, -constant)
            except TypeError:
                pass
        if isinstance(node.op, ast.Not):
            result = self.make(node, "compare", (operand,), detached="comparison", about=operand.about)
            result.divisor = operand.divisor
            result.role = "number" if operand.role == "number" else None
            return result
        return self.make(
            node, "operator", (operand,), role=operand.role if operand.role in ("number", "array") else None
        )

    def _compare(self, node: ast.Compare) -> Value:
        left = self.evaluate(node.left)
        others = [self.evaluate(item) for item in node.comparators]
        if len(others) == 1:
            op, right = node.ops[0], others[0]
            known = self._compared(left, op, right)
            if known is not None:
                return self.constant(node, known)
        about = left.about.union(*(o.about for o in others))
        if len(others) == 1 and isinstance(node.ops[0], ast.Eq | ast.NotEq | ast.In | ast.NotIn):
            # Comparing something unknown with 0 may well single out one rank.
            zero = others[0].is_constant and others[0].constant in (0, -1) and others[0].constant is not False
            zero = zero or any(item.is_constant and item.constant in (0, -1) for item in others[0].elements())
            if zero and not left.divisor and left.op not in ("loop-index", "counter", "len", "size", "shape"):
                about |= {"maybe-rank"}
        if len(others) == 1 and _asks_whether_set(node.ops[0], others[0]):
            # `rank != -1`, `rank is not None`: whether there are several processes, and not which of them this is.
            about = (about - {"rank", "local-rank"}) | ({"maybe-rank"} if about else frozenset())
        result = self.make(node, "compare", (left, *others), detached="comparison", about=about)
        result.divisor = left.divisor
        if result.divisor:
            result.about |= {"modulo"}
        if any(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in node.ops) or all(
            v.role in _NUMERIC or v.is_constant for v in (left, *others)
        ):
            result.role = "number"
        return result

    @staticmethod
    def _compared(left: Value, op: ast.cmpop, right: Value) -> bool | None:
        if left.is_constant and right.is_constant:
            try:
                return bool(_COMPARISONS[type(op)](left.constant, right.constant))
            except (TypeError, ValueError):
                return None
        if isinstance(op, ast.Is | ast.IsNot) and right.is_constant and right.constant is None:
            known = left.op in ("construct", "forward-result") or left.role in (
                "optimizer",
                "scaler",
                "tensor",
                "loader",
            )
            if known and not isinstance(left, Choice):
                return isinstance(op, ast.IsNot)
        if (
            isinstance(op, ast.In | ast.NotIn)
            and left.is_constant
            and isinstance(right, Container)
            and not right.open
            and right.items
            and all(item.is_constant for item in right.items)
        ):
            inside = any(item.constant == left.constant for item in right.items)
            return inside if isinstance(op, ast.In) else not inside
        return None

    def _boolean(self, node: ast.BoolOp) -> Value:
        stop = isinstance(node.op, ast.Or)
        result: Value | None = None
        about: frozenset[str] = frozenset()
        divisor = ""
        pushed = 0
        alone = 0
        for item in node.values:
            value = self.evaluate(item)
            about |= value.about
            alone += _one_process(value)
            divisor = divisor or value.divisor
            if value.is_constant:
                if bool(value.constant) is stop and result is None:
                    self.guards[len(self.guards) - pushed :] = []
                    return value
                if bool(value.constant) is not stop and item is not node.values[-1]:
                    continue
            guard = self.guard(item, value)
            self.guards.append(negated(guard) if stop else guard)
            pushed += 1
            result = value if result is None else join_values(result, value)
        if pushed:
            del self.guards[len(self.guards) - pushed :]
        if result is None:
            return self.constant(node, not stop)
        # `not is_initialized() or rank == 0` does single out a rank wherever there are several.
        if stop and about & {"rank", "local-rank", "maybe-rank"} and alone != len(node.values) - 1:
            # `a or rank == 0` holds on other ranks too.
            singled = bool(about & {"rank", "local-rank"})
            about = (about - {"rank", "local-rank"}) | {"maybe-rank"} | ({"rank-where-not"} if singled else set())
        if about and not isinstance(result, Constant):
            value = self.make(node, "boolean", result.options(), role=result.role, about=about)
            value.divisor = divisor
            return value
        return result

    def _conditional(self, node: ast.IfExp) -> Value:
        test = self.evaluate(node.test)
        if test.is_constant:
            return self.evaluate(node.body if test.constant else node.orelse)
        self.condition_sync(test, node.test)
        guard = self.guard(node.test, test)
        before = self.snapshot()
        self.guards.append(guard)
        first = self.evaluate(node.body)
        after_first = self.snapshot()
        self.restore(before)
        self.guards[-1] = negated(guard)
        second = self.evaluate(node.orelse)
        self.guards.pop()
        self.join([after_first, self.snapshot()])
        joined = join_values(first, second)
        if test.about and joined is not first:
            joined.about |= test.about
        return joined

    def condition_sync(self, value: Value, node: ast.expr) -> None:
        if value.role != "number" and not value.is_constant and value.op != "attribute" and self.tensorish(value):
            self.emit(events.DeviceSync, node, how="bool", value=value)

    def tensorish(self, value: Value) -> bool:
        """Whether the value is (probably) a tensor: made from a model's output or by a torch function."""
        if value.role in ("number", "array", "string", "device", "module", "optimizer") or value.is_constant:
            return False
        if value.role in ("tensor", "parameter"):
            return True
        for ancestor in value.ancestors(limit=25):
            if ancestor.role in ("tensor", "parameter") or ancestor.op == "forward-result":
                return ancestor is not value or ancestor.role is not None
        return False

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
        names: list[str] = []
        for part in node.generators:
            source = self.evaluate(part.iter)
            loop = Loop(self.place(part.iter), "comprehension", source)
            self.emit(events.Iterate, part.iter, subject=loop, iterates=source)
            element = self.element_of(source, part.iter)
            self.loops.append(loop)
            self.iterations.append(0)
            self.assign(part.target, element, node)
            names += [n.id for n in ast.walk(part.target) if isinstance(n, ast.Name)]
            for test in part.ifs:
                value = self.evaluate(test)
                self.guards.append(self.guard(test, value))
        element_node = node.value if isinstance(node, ast.DictComp) else node.elt
        if isinstance(node, ast.DictComp):
            self.evaluate(node.key)
        item = self.evaluate(element_node)
        made.items.append(item)
        made.parents = (item,)
        if shape != "generator":
            self.emit(
                events.Store,
                element_node,
                value=item,
                how="append",
                container=made,
                target=self.text(node)[:40],
                crossing=tuple(self.loops[depth:]),
            )
        del self.loops[depth:]
        del self.iterations[depth:]
        del self.guards[guards:]
        for name in names:
            if name in saved:
                self.frame.env[name] = saved[name]
            else:
                self.frame.env.pop(name, None)
        return made

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


def _asks_whether_set(op: ast.cmpop, right: Value) -> bool:
    """Whether a comparison only tells ranks from what stands for none of them: None or a negative number."""
    if not right.is_constant:
        return False
    limit = right.constant
    if limit is None:
        return isinstance(op, ast.Is | ast.IsNot | ast.Eq | ast.NotEq)
    if not isinstance(limit, int) or isinstance(limit, bool):
        return False
    return (limit < 0 and not isinstance(op, ast.In | ast.NotIn)) or (limit == 0 and isinstance(op, ast.GtE | ast.Lt))
