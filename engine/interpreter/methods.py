"""Methods of values: which kind of receiver answers, and what `with` enters."""

from __future__ import annotations

import ast

from engine.frameworks.registry import call_effect, method_effect
from engine.frameworks.torch_methods import MODULE_METHODS, computes
from engine.frameworks.trainers import NOT_MODELS, NOT_TORCH
from engine.interpreter.known_methods import KnownMethods
from engine.interpreter.library_objects import named
from engine.interpreter.state import join_values
from engine.trace import events
from engine.trace.places import Context
from engine.trace.values import Choice, Container, External, FunctionValue, Namespace, Value


class Methods(KnownMethods):
    """`call_method` and `enter_context`."""

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
        if own is None and method == "propagate" and receiver.cls is not None:
            own = self._propagated(receiver, keywords, node)
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

    def _propagated(self, receiver: Value, keywords: dict[str, Value], node: ast.AST) -> Value | None:
        """PyTorch Geometric's `MessagePassing.propagate` calls the class's own `message`, which names what it wants:
        `x_i` and `x_j` are the rows of `x` at both ends of each edge."""
        cls = receiver.cls
        message = cls.method("message") if cls is not None else None
        if not isinstance(message, FunctionValue) or cls is None or not any(_passes_messages(b) for b in cls.bases):
            return None
        given: dict[str, Value] = {}
        for parameter in (*message.node.args.args[1:], *message.node.args.kwonlyargs):
            name = parameter.arg
            source = keywords.get(name.removesuffix("_i").removesuffix("_j"))
            rows = self.make(node, "getitem", (source,) if source is not None else (), role="tensor", name=name)
            given[name] = rows
        sent = self.call_function(self.bind_method(message, receiver), [], given, node)
        return self.make(node, "propagate", (sent, *keywords.values()), role="tensor")

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
        start = len(self.trace.events)
        for option in options or receiver.options():
            one = self.call_method(option, method, a, k, node, discarded)
            result = one if result is None else join_values(result, one)
        assert result is not None
        for event in self.trace.events[start:]:
            if isinstance(event, events.ThroughWrapper) and any(event.wrapper is option for option in options):
                # One object, wrapped or not, is asked of its wrapper in some runs; another may never be wrapped.
                within = event.wrapper.origin
                event.certain = all(option.wrapping or option.origin is within for option in options)
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


def _passes_messages(base: str) -> bool:
    return base.startswith("torch_geometric.nn.") and base.endswith(".MessagePassing")
