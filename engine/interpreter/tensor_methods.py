"""Methods of tensors: what they return, and its shape where the operation alone tells it."""

from __future__ import annotations

import ast

from engine.frameworks.torch_core import NOT_DIFFERENTIABLE, RANDOM
from engine.interpreter.framework_methods import FrameworkMethods
from engine.interpreter.library_objects import named
from engine.trace import events
from engine.trace.values import Container, Value


class TensorMethods(FrameworkMethods):
    """Methods that torch defines for tensors."""

    def _tensor_method(
        self, receiver: Value, method: str, a: list[Value], k: dict[str, Value], node: ast.AST, discarded: bool
    ) -> Value:
        inplace = method.endswith("_") and not method.endswith("__")
        if inplace:
            self.emit(events.InPlaceUpdate, node, target=receiver, how=method, operands=tuple(a))
            if method in ("zero_", "fill_") or (method == "mul_" and a and a[0].constant == 0):
                if receiver.op == "grad" and receiver.member_of is not None:
                    self.emit(events.ZeroGrad, node, target=receiver.member_of, how="grad")
                self.mark_reset(receiver)
            else:
                receiver.parents = (*receiver.parents, *a)
            return receiver
        role: str | None = receiver.role if receiver.role in ("array", "number") else "tensor"
        if receiver.role is None and receiver.op in ("parameter-of-function", "attribute", "unknown"):
            role = None if method in ("size", "max", "min", "sum", "mean", "any", "all", "sort", "mode") else "tensor"
        if receiver.role is None and receiver.op == "data-element":
            role = "tensor"
        result = self.make(node, method, (receiver, *a), role=role)
        result.keywords = named((), a, k)
        result.name = ""
        if method in NOT_DIFFERENTIABLE:
            result.detached = method
            if method in ("argmax", "argmin"):
                result.kind = "class-indices"
            if method in ("size", "dim", "numel", "is_floating_point", "stride", "nelement", "element_size"):
                result.role = "number"
        if method in RANDOM:
            self.emit(events.RandomCall, node, source="torch", name=method, generator=k.get("generator"))
        if method in ("div", "mul", "true_divide", "multiply", "divide") and a:
            result.op = "operator/" if "div" in method else "operator*"
            argument = node.args[0] if isinstance(node, ast.Call) and node.args else node
            self.emit(
                events.Divided, node, value=receiver, by=a[0], by_text=self.text(argument), output=result,
                operator="/" if "div" in method else "*",
            )  # fmt: skip
        if method == "log" or (method in ("matmul", "bmm", "mm") and a):
            self.emit(
                events.FunctionCall, node, name="torch." + method, arguments=(receiver, *a), keywords=k, result=result
            )
        self.infer_shape(result, method, receiver, a, k)
        return result

    def infer_shape(self, result: Value, op: str, operand: Value | None, a: list[Value], k: dict[str, Value]) -> None:
        """The result's shape, where the operation alone tells the number of dimensions."""
        if op in ("bmm",):
            result.shape = (None, None, None)
        elif op in ("mm", "cdist"):
            result.shape = (None, None)
        elif op in ("matmul",) and operand is not None:
            other = a[-1] if a else None
            self.infer_matmul_shape(result, operand, other if other is not None else operand)
        elif op in ("view", "reshape"):
            sizes = a
            if operand is not None and sizes and sizes[0] is operand:
                sizes = sizes[1:]
            if len(sizes) == 1 and isinstance(sizes[0], Container):
                sizes = list(sizes[0].items)
            if sizes and not any(s.op == "starred" for s in sizes):
                result.shape = tuple(s.constant if isinstance(s.constant, int) else None for s in sizes)
        elif op == "einsum":
            equation = operand.constant if operand is not None else None
            if isinstance(equation, str) and "->" in equation and "." not in equation:
                result.shape = (None,) * len(equation.split("->")[1].replace(" ", ""))
                result.keywords = {**result.keywords, "equation": operand}  # type: ignore[dict-item]
        elif op in ("mean", "sum", "max", "min", "norm") and len(a) + len(k) == 0:
            result.shape = ()
        elif operand is not None and operand.shape is not None:
            if op == "unsqueeze":
                result.shape = (*operand.shape, None)
            elif op in ("transpose", "permute", "t", "softmax", "float", "clone", "detach", "contiguous", "exp", "mul",
                        "div", "add", "sub", "masked_fill", "clamp", "relu", "tanh", "sigmoid", "to"):  # fmt: skip
                result.shape = (
                    operand.shape if op not in ("transpose", "permute", "t") else (None,) * len(operand.shape)
                )
            elif op == "flatten" and not a and not k:
                result.shape = (None,)

    def infer_matmul_shape(self, value: Value, left: Value, right: Value) -> None:
        for side in (left, right):
            if side.shape is not None and len(side.shape) > 1:
                value.shape = (*side.shape[:-2], None, None)
                return
