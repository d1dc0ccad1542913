"""Calls of library functions, by the frameworks' tables."""

from __future__ import annotations

import ast

from engine.frameworks.effects import Effect
from engine.frameworks.registry import call_effect
from engine.interpreter.library_objects import named
from engine.interpreter.library_steps import LibrarySteps
from engine.trace import events
from engine.trace.places import Context
from engine.trace.values import ClassValue, External, FunctionValue, Value

_TENSOR = "torch.Tensor."


class Library(LibrarySteps):
    """`call_external`: one small handler for each kind of effect."""

    def call_known_method(
        self, receiver: Value, method: str, arguments: list[Value], keywords: dict[str, Value], node: ast.AST
    ) -> Value:
        """A method that torch defines: see Methods."""
        raise NotImplementedError

    def call_external(
        self, qualified: str, arguments: list[Value], keywords: dict[str, Value], node: ast.AST, discarded: bool
    ) -> Value:
        for value in (*arguments, *keywords.values()):
            value.use("arg:" + qualified)
        if qualified.startswith("builtins."):
            return self._builtin(qualified[9:], arguments, keywords, node, discarded)
        if qualified.startswith("collections."):
            made = self._collection(qualified[12:], arguments, keywords, node)
            if made is not None:
                return made
        if qualified.startswith(_TENSOR) and arguments:
            # `map(torch.Tensor.detach, states)`: a method of tensors, as a function.
            method = qualified.removeprefix(_TENSOR)
            return self.call_known_method(arguments[0], method, arguments[1:], keywords, node)
        effect = call_effect(qualified)
        if effect is None:
            return self._unknown_external(qualified, arguments, keywords, node, discarded)
        handler = HANDLERS.get(effect.kind)
        bound = named(effect.parameters, arguments, keywords)
        if handler is None:
            return self._unknown_external(qualified, arguments, keywords, node, discarded)
        result: Value = handler(self, effect, qualified, arguments, keywords, bound, node, discarded)
        if not result.made_by and not result.is_constant and result not in arguments:
            result.made_by = qualified
        return result

    def _activation(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                    bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        dim = bound.get("dim") if effect.detail in ("softmax", "log_softmax", "softmin", "gumbel_softmax") else None
        return self.activation(effect.detail, bound.get("input"), dim, node)

    def _loss(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
              bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        rest = {key: v for key, v in bound.items() if key not in ("input", "target")}
        return self.loss(effect.detail, bound.get("input"), bound.get("target"), rest, node)

    def _dropout(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                 bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        result = self.make(node, effect.detail, tuple(a), role="tensor")
        operand = bound.get("input") or (a[0] if a else None)
        if operand is not None and effect.detail == "dropout":
            result.shape, result.kind, result.dim = operand.shape, operand.kind, operand.dim
        owner = next((f.owner for f in reversed(self.frames) if f.owner is not None and f.owner.role == "module"), None)
        self.emit(
            events.FunctionalDropout,
            node,
            kind=effect.detail,
            input=operand,
            training=bound.get("training"),
            probability=bound.get("p") or bound.get("dropout_p"),
            in_module=owner,
        )
        return result

    def _numpy(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
               bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        result = self.make(node, qualified.rsplit(".", 1)[-1], tuple(a), role="array", detached="numpy")
        self._record(qualified, a, k, result, node, discarded)
        return result

    def _passthrough(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                     bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        inner = bound.get("module") or bound.get("iterable") or (a[0] if a else None)
        if inner is None:
            return self.make(node, "passthrough", made_by=qualified)
        if qualified.startswith("tqdm"):
            made = self.make(node, "tqdm", (inner,), made_by=qualified)
            made.role = "progress"
            return made
        if isinstance(inner, ClassValue):
            # `skip_init(Block, width)`: the class is handed over to be built.
            return self.instantiate(inner, a[1:], k, node)
        return inner

    def _nullcontext(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                     bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        return self.make(node, "construct", tuple(a), role="nullcontext")

    def _partial(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                 bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        if not a:
            return self.make(node, "unknown")
        made = self.make(node, "partial", tuple(a))
        made.keywords = k
        return made

    def _report(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        self.emit(events.Report, node, how=qualified, values=tuple(a), keywords=k)
        return self.make(node, "unknown", made_by=qualified)

    def _distribution(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                      bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        made = self.make(node, "construct", (*a, *k.values()), role="distribution", made_by=qualified)
        made.keywords = named((), a, k)
        return made

    def _functional_call(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                         bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        module = bound.get("module")
        result = self.make(node, "call", (*a, *k.values()), callee=module, makes_graph=True)
        if module is not None:
            mode, place = self.mode_of(module)
            self.emit(
                events.Forward,
                node,
                module=module,
                inputs=tuple(a[1:]),
                keywords=k,
                output=result,
                method="functional_call",
                mode=mode,
                mode_set_at=place,
            )
        return result

    def _init(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
              bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        self.emit(events.RandomCall, node, source="torch", name="init")
        return a[0] if a else self.constant(node, None)

    def _grad_mode(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                   bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        if effect.detail != "set_grad_enabled" and a and isinstance(a[0], FunctionValue):
            # `torch.no_grad(f)`
            return a[0].under(External(self.place(node), op="external", qualified=qualified))
        context = self.grad_context(qualified, a, k, node)
        assert context is not None
        if discarded:
            self.emit(events.GradModeChange, node, enabled=context.enabled, how=effect.detail, discarded=True)
            if effect.detail == "set_grad_enabled":
                self.grad = context.enabled
        made = self.make(node, "context", tuple(a), role="context", kind=context.kind)
        made.keywords = {"enabled": self.constant(node, context.enabled)}
        made.made_by = qualified
        return made

    def grad_context(self, qualified: str, a: list[Value], k: dict[str, Value], node: ast.AST) -> Context | None:
        """The Context that a grad-mode or autocast callable gives, None for anything else."""
        effect = call_effect(qualified)
        if effect is None or effect.kind not in ("grad-mode", "autocast"):
            return None
        bound = named(effect.parameters, a, k)
        place = self.place(node)
        given = bound.get("mode") if effect.kind == "grad-mode" else bound.get("enabled")
        enabled: bool | None = True
        if given is not None:
            enabled = bool(given.constant) if given.is_constant else None
        if effect.kind == "grad-mode":
            return Context(effect.detail, place, enabled, text=qualified)
        dtype = bound.get("dtype")
        name = dtype.qualified.rsplit(".", 1)[-1] if isinstance(dtype, External) else ""
        return Context("autocast", place, enabled, dtype=name, text=qualified)

    def _autocast(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                  bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        context = self.grad_context(qualified, a, k, node)
        assert context is not None
        made = self.make(node, "context", tuple(a), role="context", kind="autocast")
        made.keywords = {"enabled": self.constant(node, context.enabled)}
        made.divisor = context.dtype
        return made


HANDLERS = {
    "construct": Library._construct,
    "module": Library._module,
    "optimizer": Library._optimizer,
    "scheduler": Library._scheduler,
    "scaler": Library._scaler,
    "loader": Library._loader,
    "sampler": Library._sampler,
    "dataset": Library._dataset,
    "random-split": Library._split,
    "seed": Library._seed,
    "random": Library._random,
    "tensor": Library._tensor,
    "create": Library._create,
    "variable": Library._variable,
    "parameter": Library._parameter,
    "activation": Library._activation,
    "loss": Library._loss,
    "dropout": Library._dropout,
    "numpy": Library._numpy,
    "autograd-grad": Library._autograd_grad,
    "backward": Library._backward,
    "clip": Library._clip,
    "sync": Library._sync,
    "set-device": Library._set_device,
    "save": Library._save,
    "load": Library._load,
    "load-module": Library._load,
    "checkpoint": Library._checkpoint,
    "collective": Library._collective,
    "process-group": Library._process_group,
    "rank": Library._rank,
    "wrap": Library._wrap,
    "copy": Library._copy,
    "passthrough": Library._passthrough,
    "nullcontext": Library._nullcontext,
    "partial": Library._partial,
    "report": Library._report,
    "plain": Library._plain,
    "distribution": Library._distribution,
    "functional-call": Library._functional_call,
    "init": Library._init,
    "grad-mode": Library._grad_mode,
    "autocast": Library._autocast,
    "deepspeed-initialize": Library._deepspeed,
    "ignite-engine": Library._ignite,
}
__all__ = ["HANDLERS", "Library"]
