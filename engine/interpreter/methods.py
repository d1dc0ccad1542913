"""Methods of values: containers, torch tensors and modules, framework objects, unknown receivers."""

from __future__ import annotations

import ast

from engine.frameworks.registry import call_effect, method_effect
from engine.frameworks.torch_core import ACTIVATION_KINDS, NOT_DIFFERENTIABLE, RANDOM
from engine.frameworks.torch_methods import MODULE_METHODS, TENSOR_METHODS, computes
from engine.frameworks.trainers import NOT_MODELS, NOT_TORCH
from engine.interpreter.framework_methods import FrameworkMethods
from engine.interpreter.library_objects import named
from engine.interpreter.state import join_values
from engine.trace import events
from engine.trace.places import Context
from engine.trace.values import Choice, Constant, Container, External, FunctionValue, Namespace, Value

_SYNCS = frozenset(["item", "cpu", "numpy", "tolist", "nonzero"])
_TRANSFERS = frozenset(["to", "cuda", "cpu"])
_GROWING = frozenset(["append", "add", "appendleft", "extend", "insert", "push", "put"])
_PARAMETER_SETS = frozenset(
    [
        "parameters",
        "named_parameters",
        "buffers",
        "named_buffers",
        "modules",
        "named_modules",
        "children",
        "named_children",
    ]
)
_CONVERSIONS = frozenset(
    ["half", "float", "double", "bfloat16", "type", "requires_grad_", "share_memory", "contiguous"]
)
_REPORTS = {
    "set_description": "progress",
    "set_postfix": "progress",
    "set_postfix_str": "progress",
    "set_description_str": "progress",
    "add_scalar": "writer",
    "add_scalars": "writer",
    "log_metrics": "writer",
    "log_metric": "writer",
    "info": "print",
    "debug": "print",
    "warning": "print",
}


class Methods(FrameworkMethods):
    """`call_method`."""

    def call_method(
        self,
        receiver: Value,
        method: str,
        arguments: list[Value],
        keywords: dict[str, Value],
        node: ast.AST,
        discarded: bool = False,
    ) -> Value:
        if isinstance(receiver, Choice):
            return self._on_each(receiver, method, arguments, keywords, node, discarded)
        if isinstance(receiver, External):
            return self._on_external(receiver, method, arguments, keywords, node, discarded)
        if isinstance(receiver, Namespace):
            return self.call(self.attribute(receiver, method, node), arguments, keywords, node, discarded)
        receiver.use(method)
        own = self.call_own_method(receiver, method, arguments, keywords, node)
        if own is not None:
            self._past_wrapper(receiver, method, arguments, keywords, own, node)
            return own
        stored = self.get_attribute(receiver, method)
        if stored is not None and stored.op != "grad":
            if receiver.wrapped is None and method == "module":
                self.bypasses[id(getattr(node, "func", node))] = receiver
            return self.call(stored, arguments, keywords, node, discarded)
        if isinstance(receiver, Container):
            return self._on_container(receiver, method, arguments, keywords, node)
        if isinstance(receiver, FunctionValue) or receiver.is_constant or receiver.role == "string":
            return self._on_text(receiver, method, arguments, keywords, node)
        role = receiver.role or ""
        if receiver.cls is not None and receiver.cls.family == "lightning-module":
            role = "lightning-module"
        effect = method_effect(role, method)
        if effect is None and receiver.wrapped is not None and receiver.role == "module":
            inner = receiver.origin
            if method == "module" or (inner.cls is not None and inner.cls.method(method) is not None):
                if method == "module":
                    self.bypasses[id(getattr(node, "func", node))] = receiver
                    return self.call(receiver.wrapped, arguments, keywords, node, discarded)
                if receiver.wrapping in ("ddp", "data-parallel") and method not in MODULE_METHODS | {"forward"}:
                    self.emit(events.ThroughWrapper, node, wrapper=receiver, name=method)
                return self.call_method(inner, method, arguments, keywords, node, discarded)
        if effect is not None:
            handled = self._framework_method(receiver, effect.kind, effect.detail, effect.parameters, method,
                                             arguments, keywords, node, discarded)  # fmt: skip
            if handled is not None:
                return handled
        return self.call_known_method(receiver, method, arguments, keywords, node, discarded)

    def _past_wrapper(
        self, receiver: Value, method: str, a: list[Value], k: dict[str, Value], result: Value, node: ast.AST
    ) -> None:
        """A computing method of the project's model, called on what is inside of its wrapper."""
        wrapper = self.bypass_of(node)
        if wrapper is None or receiver.role != "module" or method == "forward" or not computes(method):
            return
        given = (part for value in (*a, *k.values()) for part in value.ancestors(limit=20))
        if not any(part.op == "data-element" for part in given):
            return
        mode, place = self.mode_of(receiver)
        self.emit(
            events.Forward, node, module=receiver, inputs=tuple(a), keywords=k, output=result, method=method,
            mode=mode, mode_set_at=place, bypasses=wrapper,
        )  # fmt: skip

    def _on_each(
        self, receiver: Choice, method: str, a: list[Value], k: dict[str, Value], node: ast.AST, discarded: bool
    ) -> Value:
        options = [o for o in receiver.options() if not (o.is_constant and o.constant is None)]
        result: Value | None = None
        receiver.use(method)
        for option in options or receiver.options():
            one = self.call_method(option, method, a, k, node, discarded)
            result = one if result is None else join_values(result, one)
        assert result is not None
        return result

    def _on_external(
        self, receiver: External, method: str, a: list[Value], k: dict[str, Value], node: ast.AST, discarded: bool
    ) -> Value:
        target = self.attribute(receiver, method, node)
        assert isinstance(target, External)
        if receiver.qualified.startswith("builtins.") and receiver.qualified[9:] in ("dict", "list", "str"):
            return self.make(node, "call", tuple(a))
        # transformers.AutoModel.from_pretrained, torchvision.ops.Mlp.build ...: alternative constructors.
        last = receiver.qualified.rpartition(".")[2]
        is_model = not last.endswith(NOT_MODELS) and not last.startswith(NOT_TORCH)
        if method in ("from_pretrained", "from_config", "load_from_checkpoint") and is_model:
            made = self.make(node, "construct", role="module", made_by=receiver.qualified)
            made.keywords = named(("name",), a, k)
            made.name = last
            made.kind = method
            self.created(made, node)
            return made
        return self.call_external(target.qualified, a, k, node, discarded)

    # ---- containers ----------------------------------------------------------------------------------------------

    # ---- framework objects ---------------------------------------------------------------------------------------

    # ---- methods that torch defines, whatever the receiver is called ---------------------------------------------

    def call_known_method(
        self,
        receiver: Value,
        method: str,
        a: list[Value],
        k: dict[str, Value],
        node: ast.AST,
        discarded: bool = False,
    ) -> Value:
        handler = _KNOWN.get(method)
        if handler is not None:
            result = handler(self, receiver, method, a, k, node, discarded)
            if result is not None:
                return result
        if method in _PARAMETER_SETS and not a:
            return self._parameter_set(receiver, method, node)
        if method in ACTIVATION_KINDS and receiver.role not in ("module", "distribution"):
            dim = k.get("dim") or (a[0] if a else None)
            return self.activation(method, receiver, dim if "oftm" in method else None, node)
        if receiver.role in ("module", "engine") and computes(method):
            return self._module_method(receiver, method, a, k, node)
        if receiver.role == "metric":
            result = self.make(node, "metric", tuple(a), detached="metric")
            self.emit(events.MetricUpdate, node, metric=receiver, values=tuple(a), how=method)
            return result
        if receiver.role == "distribution":
            result = self.make(node, method, (receiver, *a), role="tensor")
            if method == "sample":
                result.detached = "sample"
                self.emit(events.RandomCall, node, source="torch", name="sample")
            return result
        if method in _REPORTS:
            self.emit(events.Report, node, how=_REPORTS[method], values=tuple(a), keywords=k)
            return self.constant(node, None)
        if receiver.role == "generator" and method == "manual_seed":
            if a:
                receiver.keywords = {**receiver.keywords, "seed": a[0]}
            return receiver
        if method in TENSOR_METHODS and receiver.role in (None, "tensor", "parameter", "array", "number"):
            return self._tensor_method(receiver, method, a, k, node, discarded)
        return self._opaque_method(receiver, method, a, k, node, discarded)

    def _opaque_method(
        self, receiver: Value, method: str, a: list[Value], k: dict[str, Value], node: ast.AST, discarded: bool
    ) -> Value:
        if method == "items":
            return self.make(node, "items", (receiver,))
        if method in ("values", "keys", "get"):
            made = self.make(node, method, (receiver,), grad=receiver.grad, role=receiver.role)
            if receiver.op == "data-element":
                made.op = "data-element"
            return made
        self._filled_by_foreign_code(receiver, method, node)
        result = self.make(node, "method-call", (receiver, *a, *k.values()), callee=receiver)
        result.made_by = "." + method
        event = self.emit(
            events.MethodCall,
            node,
            receiver=receiver,
            method=method,
            arguments=tuple(a),
            keywords=k,
            result=result,
            discarded=discarded,
        )
        event.mode, event.mode_set_at = self.mode_of(receiver)
        event.bypasses = self.bypass_of(node)
        return result

    def _module_method(self, receiver: Value, method: str, a: list[Value], k: dict[str, Value], node: ast.AST) -> Value:
        mode, place = self.mode_of(receiver)
        result = self.make(node, "call", (*a, *k.values(), receiver), callee=receiver)
        if method == "generate":
            # transformers' `GenerationMixin.generate` runs without gradients; other libraries' may not.
            result.grad = None
        self.emit(
            events.Forward,
            node,
            module=receiver,
            inputs=tuple(a),
            keywords=k,
            output=result,
            method=method,
            mode=mode,
            mode_set_at=place,
            bypasses=self.bypass_of(node),
        )
        return result

    def _parameter_set(self, receiver: Value, method: str, node: ast.AST) -> Value:
        role = "parameters" if "parameters" in method else None
        made = self.make(node, method, (receiver,), role=role, name=f"{receiver.name}.{method}()")
        if method.endswith("buffers"):
            made.role, made.op = None, method
            made.detached = "buffers"
        if role:
            made.of = (receiver,)
        return made

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

    # ---- handlers of known names ---------------------------------------------------------------------------------

    def _m_backward(
        self, receiver: Value, method: str, a: list[Value], k: dict[str, Value], node: ast.AST, discarded: bool
    ) -> Value | None:
        is_tensor = receiver.role == "tensor" or receiver.op in ("scaled", "operator", "forward-result")
        if a and not is_tensor and self._is_loss(a[0]):
            # `engine.backward(loss)`: the receiver is no tensor if the argument is one.
            return self._framework_backward(receiver, a, k, node)
        bound = named(("gradient", "retain_graph", "create_graph"), a, k)
        via, through = "tensor", None
        loss = receiver
        if receiver.op == "scaled":
            via, through = "scaler", receiver.member_of
            loss = receiver.parents[0]
        elif receiver.role is None:
            receiver.use("backward")
        return self.backward(loss, via, bound, node, through)

    def _framework_backward(self, receiver: Value, a: list[Value], k: dict[str, Value], node: ast.AST) -> Value:
        receiver.use("backward(loss)")
        return self.backward(a[0], "framework", k, node, receiver)

    @staticmethod
    def _is_loss(value: Value) -> bool:
        return (
            not value.is_constant and value.detached not in ("created",) and value.op not in ("ones_like", "full_like")
        )

    def _m_zero_grad(
        self, receiver: Value, method: str, a: list[Value], k: dict[str, Value], node: ast.AST, discarded: bool
    ) -> Value | None:
        self.emit(events.ZeroGrad, node, target=receiver)
        return self.constant(node, None)

    def _m_step(
        self, receiver: Value, method: str, a: list[Value], k: dict[str, Value], node: ast.AST, discarded: bool
    ) -> Value | None:
        if receiver.role == "optimizer":
            closure = a[0] if a else k.get("closure")
            self.emit(events.OptimizerStep, node, optimizer=receiver, via="direct", closure=closure)
            if isinstance(closure, FunctionValue):
                self.call(closure, [], {}, node)
            return self.make(node, "unknown")
        if receiver.role == "scheduler":
            self.emit(events.SchedulerStep, node, scheduler=receiver, arguments=(*a, *k.values()))
            return self.constant(node, None)
        if receiver.role == "scaler" and a:
            self._scaler_step(receiver, a[0], node)
            return self.make(node, "unknown")
        if a and isinstance(a[0], FunctionValue):
            receiver.use("step(closure)")
            result = self._opaque_method(receiver, method, a, k, node, discarded)
            self.call(a[0], [], {}, node)
            return result
        if a and "scale" in receiver.uses:
            receiver.role = receiver.role or "scaler"
            self._scaler_step(receiver, a[0], node)
            return self.make(node, "unknown")
        return None

    def _scaler_step(self, scaler: Value, optimizer: Value, node: ast.AST) -> None:
        for option in optimizer.options():
            if option.role is None and not option.is_constant:
                option.role = "optimizer"
        self.emit(events.ScalerStep, node, scaler=scaler, optimizer=optimizer)
        self.emit(events.OptimizerStep, node, optimizer=optimizer, via="scaler", scaler=scaler)

    def _m_scale(
        self, receiver: Value, method: str, a: list[Value], k: dict[str, Value], node: ast.AST, discarded: bool
    ) -> Value | None:
        if not a or receiver.role not in (None, "scaler"):
            return None
        return self.make(node, "scaled", (a[0],), role="tensor", member_of=receiver)

    def _m_unscale(
        self, receiver: Value, method: str, a: list[Value], k: dict[str, Value], node: ast.AST, discarded: bool
    ) -> Value | None:
        receiver.role = receiver.role or "scaler"
        for option in a[0].options() if a else ():
            if option.role is None and not option.is_constant:
                option.role = "optimizer"
        self.emit(events.Unscale, node, scaler=receiver, optimizer=a[0] if a else None)
        return self.constant(node, None)

    def _m_update(
        self, receiver: Value, method: str, a: list[Value], k: dict[str, Value], node: ast.AST, discarded: bool
    ) -> Value | None:
        if receiver.role == "scaler":
            self.emit(events.ScalerUpdate, node, scaler=receiver)
            return self.constant(node, None)
        return None

    def _m_mode(
        self, receiver: Value, method: str, a: list[Value], k: dict[str, Value], node: ast.AST, discarded: bool
    ) -> Value | None:
        if receiver.role not in (None, "module", "engine") or len(a) + len(k) > 1:
            return None
        given = a[0] if a else k.get("mode")
        if method == "train" and given is not None and not (given.is_constant or given.role in (None, "number")):
            return None
        mode = method
        if method == "train" and given is not None:
            mode = ("train" if given.constant else "eval") if given.is_constant else "restored"
        place = self.place(node)
        self.emit(events.ModeChange, node, module=receiver, mode=mode)
        self.set_mode(receiver, mode, place)
        return receiver

    def _m_transfer(
        self, receiver: Value, method: str, a: list[Value], k: dict[str, Value], node: ast.AST, discarded: bool
    ) -> Value | None:
        target = a[0] if a else k.get("device")
        device = {"cuda": "cuda", "cpu": "cpu"}.get(method, "")
        if target is not None and target.is_constant and isinstance(target.constant, str):
            device = target.constant.split(":")[0]
        elif target is not None and target.keyword("type") is not None:
            kind = target.keyword("type")
            device = str(kind.constant).split(":")[0] if kind is not None and kind.is_constant else ""
        blocking = k.get("non_blocking")
        non_blocking = False if blocking is None else (bool(blocking.constant) if blocking.is_constant else None)
        if isinstance(target, External) and target.qualified.startswith("torch."):
            device = "dtype"
        ambiguous = receiver.role in (None, "module", "engine", "metric", "optimizer") and receiver.op not in (
            "data-element", "getattr", "getitem", "element", "method-call",
        )  # fmt: skip
        if receiver.role == "module" or ambiguous:
            result: Value = receiver
        else:
            result = self.make(
                node, method, (receiver,), role=receiver.role, kind=receiver.kind, dim=receiver.dim, of=receiver.of
            )
            result.shape = receiver.shape
            result.name = receiver.name
            if receiver.op == "data-element":
                result.op = "data-element"
        if device != "dtype":
            self.emit(
                events.Transfer, node, value=receiver, result=result, how=method, device=device, destination=target,
                non_blocking=non_blocking, discarded=discarded,
            )  # fmt: skip
        if method == "cpu" and receiver.role not in ("module", "number"):
            self.emit(events.DeviceSync, node, how="cpu", value=receiver)
        return result

    def _m_detach(
        self, receiver: Value, method: str, a: list[Value], k: dict[str, Value], node: ast.AST, discarded: bool
    ) -> Value | None:
        result = self.make(
            node, "detach", (receiver,), role=receiver.role if receiver.role != "parameter" else "tensor",
            detached="detach", kind=receiver.kind, dim=receiver.dim,
        )  # fmt: skip
        result.shape = receiver.shape
        self.emit(events.Detach, node, value=receiver, output=result, how=method)
        if method == "detach_" and receiver.role == "parameter":
            # In place on a leaf: it no longer requires gradients.
            receiver.requires_grad = False
            for module in receiver.of:
                module.requires_grad = False
        return result

    def _m_read(
        self, receiver: Value, method: str, a: list[Value], k: dict[str, Value], node: ast.AST, discarded: bool
    ) -> Value | None:
        if receiver.role in ("module", "optimizer"):
            return None
        role = {"item": "number", "tolist": "number", "numpy": "array"}.get(method, "number")
        if receiver.role not in ("number", "array", "string"):
            self.emit(events.DeviceSync, node, how=method, value=receiver)
        result = self.make(node, method, (receiver,), role=role, detached=method)
        self.emit(events.Detach, node, value=receiver, output=result, how=method)
        return result

    def _m_requires_grad(
        self, receiver: Value, method: str, a: list[Value], k: dict[str, Value], node: ast.AST, discarded: bool
    ) -> Value | None:
        given = a[0] if a else k.get("requires_grad")
        enabled = True if given is None else (bool(given.constant) if given.is_constant else None)
        receiver.requires_grad = enabled
        if receiver.role == "parameter" and enabled is False:
            for module in receiver.of:
                module.requires_grad = False
        self.emit(events.RequiresGradChange, node, target=receiver, enabled=enabled)
        return receiver

    def _m_convert(
        self, receiver: Value, method: str, a: list[Value], k: dict[str, Value], node: ast.AST, discarded: bool
    ) -> Value | None:
        if receiver.role in ("module", "engine"):
            self.emit(
                events.MethodCall, node, receiver=receiver, method=method, arguments=tuple(a), keywords=k,
                result=receiver, discarded=discarded,
            )  # fmt: skip
            return receiver
        if receiver.role is None and receiver.op in ("parameter-of-function", "attribute", "unknown") and discarded:
            self._opaque_method(receiver, method, a, k, node, discarded)
            return receiver
        if receiver.role is None and receiver.op == "call" and all(p.is_constant for p in receiver.parents[:-1]):
            # What a factory returned: a module by how it is used, and then it is changed in place.
            receiver.use(method)
            self.emit(
                events.MethodCall, node, receiver=receiver, method=method, arguments=tuple(a), keywords=k,
                result=receiver, discarded=discarded,
            )  # fmt: skip
            return receiver
        return None

    def _m_state_dict(
        self, receiver: Value, method: str, a: list[Value], k: dict[str, Value], node: ast.AST, discarded: bool
    ) -> Value | None:
        return self.make(node, "state_dict", (receiver,), detached="state_dict", of=())

    def _m_load_state_dict(
        self, receiver: Value, method: str, a: list[Value], k: dict[str, Value], node: ast.AST, discarded: bool
    ) -> Value | None:
        self.emit(events.LoadStateDict, node, target=receiver, state=a[0] if a else None)
        return self.make(node, "unknown")

    def _m_set_epoch(
        self, receiver: Value, method: str, a: list[Value], k: dict[str, Value], node: ast.AST, discarded: bool
    ) -> Value | None:
        self.emit(events.SetEpoch, node, target=receiver)
        return self.constant(node, None)

    def _m_register(
        self, receiver: Value, method: str, a: list[Value], k: dict[str, Value], node: ast.AST, discarded: bool
    ) -> Value | None:
        if len(a) < 2:
            return None
        place = self.place(node)
        name, value = str(a[0].constant) if a[0].is_constant else f"{method}@{place.line}", a[1]
        value.buffer = method == "register_buffer"
        self.set_attribute(receiver, name, value)
        if value.role is None and method in ("add_module", "register_module"):
            value.role = "module"
        return self.constant(node, None)

    def _m_checkpointing(
        self, receiver: Value, method: str, a: list[Value], k: dict[str, Value], node: ast.AST, discarded: bool
    ) -> Value | None:
        self.emit(events.CheckpointingEnabled, node, module=receiver, enabled=method.endswith("enable"))
        return self.constant(node, None)

    def _m_hook(
        self, receiver: Value, method: str, a: list[Value], k: dict[str, Value], node: ast.AST, discarded: bool
    ) -> Value | None:
        self.emit(events.HookRegistered, node, name=method, target=receiver, function_value=a[0] if a else None)
        return self.make(node, "unknown")

    def _m_param_group(
        self, receiver: Value, method: str, a: list[Value], k: dict[str, Value], node: ast.AST, discarded: bool
    ) -> Value | None:
        if a:
            receiver.of = tuple(dict.fromkeys((*receiver.of, *self.holds(a[0]))))
            receiver.parents = (*receiver.parents, a[0])
        return self._opaque_method(receiver, method, a, k, node, discarded)

    def _m_no_sync(
        self, receiver: Value, method: str, a: list[Value], k: dict[str, Value], node: ast.AST, discarded: bool
    ) -> Value | None:
        made = self.make(node, "context", role="context", kind="no_sync" if method != "accumulate" else "accumulate")
        made.member_of = receiver
        made.parents = tuple(a)
        made.keywords = {"enabled": self.constant(node, True)}
        return made

    # ---- contexts ------------------------------------------------------------------------------------------------

    def enter_context(self, value: Value, node: ast.AST) -> tuple[Context | None, Value]:
        """The context that `with value` activates, and what `as` binds."""
        place = self.place(node)
        if isinstance(value, External):
            effect = call_effect(value.qualified)
            if effect is not None and effect.kind == "grad-mode":
                # The class itself is no context manager: Python raises here.
                self.emit(events.GradModeChange, node, how=effect.detail, uncalled=True)
            return self.grad_context(value.qualified, [], {}, node), value
        if value.op == "context":
            enabled = value.keywords["enabled"].constant if "enabled" in value.keywords else True
            if value.kind in ("no_grad", "inference_mode", "set_grad_enabled", "enable_grad"):
                self.emit(events.GradModeChange, node, enabled=enabled, how=value.kind)
            context = Context(
                value.kind, place, enabled, value.member_of, value.divisor, self.text(node) if self.frames else ""
            )
            return context, value
        if value.role == "nullcontext":
            entered = value.parents[0] if value.parents else value
            return Context("nullcontext", place, True, value), entered
        if value.cls is not None:
            enter = value.cls.method("__enter__")
            if isinstance(enter, FunctionValue):
                entered = self.call_function(self.bind_method(enter, value), [], {}, node)
                return Context("other", place, None, value, text=self.text(node)), entered
        if isinstance(value, Container) and value.shape_name == "generator":
            return Context("other", place, None, value), self.item_among(value, node)
        return Context("other", place, None, value, text=self.text(node)), value


_KNOWN = {
    "backward": Methods._m_backward,
    "zero_grad": Methods._m_zero_grad,
    "step": Methods._m_step,
    "scale": Methods._m_scale,
    "unscale_": Methods._m_unscale,
    "update": Methods._m_update,
    "eval": Methods._m_mode,
    "train": Methods._m_mode,
    "to": Methods._m_transfer,
    "cuda": Methods._m_transfer,
    "cpu": Methods._m_transfer,
    "detach": Methods._m_detach,
    "detach_": Methods._m_detach,
    "item": Methods._m_read,
    "numpy": Methods._m_read,
    "tolist": Methods._m_read,
    "requires_grad_": Methods._m_requires_grad,
    "half": Methods._m_convert,
    "float": Methods._m_convert,
    "double": Methods._m_convert,
    "bfloat16": Methods._m_convert,
    "state_dict": Methods._m_state_dict,
    "load_state_dict": Methods._m_load_state_dict,
    "set_epoch": Methods._m_set_epoch,
    "register_buffer": Methods._m_register,
    "register_parameter": Methods._m_register,
    "add_module": Methods._m_register,
    "register_module": Methods._m_register,
    "save_pretrained": Methods._m_save_pretrained,
    "gradient_checkpointing_enable": Methods._m_checkpointing,
    "gradient_checkpointing_disable": Methods._m_checkpointing,
    "register_post_accumulate_grad_hook": Methods._m_hook,
    "register_hook": Methods._m_hook,
    "add_param_group": Methods._m_param_group,
    "no_sync": Methods._m_no_sync,
    "accumulate": Methods._m_no_sync,
}
__all__ = ["MODULE_METHODS", "Constant", "Methods"]
