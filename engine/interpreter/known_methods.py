"""Methods that torch and its libraries define, whatever the receiver is called: by the method's own name."""

from __future__ import annotations

import ast

from engine.frameworks.torch_core import ACTIVATION_KINDS
from engine.frameworks.torch_methods import TENSOR_METHODS, computes
from engine.interpreter.library_objects import named
from engine.interpreter.tensor_methods import TensorMethods
from engine.trace import events
from engine.trace.values import External, FunctionValue, Value

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


class KnownMethods(TensorMethods):
    """`call_known_method`, and a handler for each name that means one thing."""

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
            self._stepped(receiver, node)
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

    def _m_step_hook(
        self, receiver: Value, method: str, a: list[Value], k: dict[str, Value], node: ast.AST, discarded: bool
    ) -> Value | None:
        """`optimizer.register_step_post_hook(hook)`: `hook(optimizer, args, kwargs)` runs with each step."""
        hook = a[0] if a else k.get("hook")
        if receiver.role is None:
            receiver.role = "optimizer"
        if receiver.role != "optimizer" or not isinstance(hook, FunctionValue):
            return self._m_hook(receiver, method, a, k, node, discarded)
        receiver.put(f"{method}()", hook)
        return self.make(node, "unknown")

    def _stepped(self, optimizer: Value, node: ast.AST) -> None:
        """What hooks do after a step of an optimizer."""
        for option in optimizer.options():
            hook = option.attributes.get("register_step_post_hook()")
            if hook is not None:
                rest = [self.container(node, "tuple"), self.container(node, "dict")]
                self.call(hook, [option, *rest], {}, node)

    def _scaler_step(self, scaler: Value, optimizer: Value, node: ast.AST) -> None:
        for option in optimizer.options():
            if option.role is None and not option.is_constant:
                option.role = "optimizer"
        self.emit(events.ScalerStep, node, scaler=scaler, optimizer=optimizer)
        self.emit(events.OptimizerStep, node, optimizer=optimizer, via="scaler", scaler=scaler)
        self._stepped(optimizer, node)

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
        if result is receiver and any(_half(value) for value in (*a, *k.values())):
            self.emit(
                events.MethodCall, node, receiver=receiver, method="half", arguments=(), keywords={}, result=receiver,
                discarded=discarded,
            )  # fmt: skip
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


def _half(value: Value) -> bool:
    """Whether an argument of `.to()` is torch's float16."""
    return isinstance(value, External) and value.qualified in ("torch.float16", "torch.half")


_KNOWN = {
    "backward": KnownMethods._m_backward,
    "zero_grad": KnownMethods._m_zero_grad,
    "step": KnownMethods._m_step,
    "scale": KnownMethods._m_scale,
    "unscale_": KnownMethods._m_unscale,
    "update": KnownMethods._m_update,
    "eval": KnownMethods._m_mode,
    "train": KnownMethods._m_mode,
    "to": KnownMethods._m_transfer,
    "cuda": KnownMethods._m_transfer,
    "cpu": KnownMethods._m_transfer,
    "detach": KnownMethods._m_detach,
    "detach_": KnownMethods._m_detach,
    "item": KnownMethods._m_read,
    "numpy": KnownMethods._m_read,
    "tolist": KnownMethods._m_read,
    "requires_grad_": KnownMethods._m_requires_grad,
    "half": KnownMethods._m_convert,
    "float": KnownMethods._m_convert,
    "double": KnownMethods._m_convert,
    "bfloat16": KnownMethods._m_convert,
    "state_dict": KnownMethods._m_state_dict,
    "load_state_dict": KnownMethods._m_load_state_dict,
    "set_epoch": KnownMethods._m_set_epoch,
    "register_buffer": KnownMethods._m_register,
    "register_parameter": KnownMethods._m_register,
    "add_module": KnownMethods._m_register,
    "register_module": KnownMethods._m_register,
    "save_pretrained": KnownMethods._m_save_pretrained,
    "gradient_checkpointing_enable": KnownMethods._m_checkpointing,
    "gradient_checkpointing_disable": KnownMethods._m_checkpointing,
    "register_post_accumulate_grad_hook": KnownMethods._m_hook,
    "register_hook": KnownMethods._m_hook,
    "register_step_post_hook": KnownMethods._m_step_hook,
    "register_step_pre_hook": KnownMethods._m_step_hook,
    "add_param_group": KnownMethods._m_param_group,
    "no_sync": KnownMethods._m_no_sync,
    "accumulate": KnownMethods._m_no_sync,
}
