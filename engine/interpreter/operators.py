"""Operators: arithmetic, comparisons and what is true of unknown values."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from engine.interpreter.attributes import Attributes
from engine.interpreter.guards import negated
from engine.interpreter.state import join_values
from engine.trace import events
from engine.trace.values import Choice, Constant, Container, Value

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
_NUMERIC = ("number", "device", "array")


def _one_process(value: Value) -> bool:
    """Whether a value says that no other process takes part."""
    if value.op != "compare":
        return False
    asked = value.parents[0].made_by if value.parents else ""
    return asked in ("torch.distributed.is_initialized", "torch.distributed.is_available") or (
        "world-size" in value.about and "rank" not in value.about
    )


def _truth_value(value: Value) -> bool:
    """Whether a value is a truth value, and nothing else that has one."""
    return value.op in ("compare", "boolean") or isinstance(value.constant, bool)


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


class Operators(Attributes):
    """`operate`, and the expressions that combine values."""

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
        value.about = value.about | {"remainder"} if value.divisor else value.about - {"remainder"}
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
            about = operand.about ^ {"remainder"} if operand.divisor else operand.about
            result = self.make(node, "compare", (operand,), detached="comparison", about=about)
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
        about = left.about.union(*(o.about for o in others)) - {"remainder"}
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
            # `i % n != 0` holds in all iterations but one of n.
            apart = len(others) == 1 and isinstance(node.ops[0], ast.NotEq) and others[0].is_constant
            result.about |= {"modulo", "remainder"} if apart else {"modulo"}
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
            about |= value.about - {"remainder"}
            alone += _one_process(value)
            divisor = divisor or value.divisor
            if value.is_constant:
                if bool(value.constant) is stop and result is None:
                    self.guards[len(self.guards) - pushed :] = []
                    return value
                if bool(value.constant) is stop and result is not None and all(map(_truth_value, result.options())):
                    # `i < n or True`
                    del self.guards[len(self.guards) - pushed :]
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
