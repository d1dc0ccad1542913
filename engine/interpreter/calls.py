"""Calls: what a callable value gives, and what modules compute."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from engine.frameworks.torch_core import ACTIVATION_CLASSES, ACTIVATION_KINDS, LOSS_CLASSES, RECURRENT
from engine.frameworks.torchvision import classifier_head
from engine.interpreter.functions import Functions
from engine.interpreter.state import join_values
from engine.trace import events
from engine.trace.values import Choice, ClassValue, Container, External, FunctionValue, Value


class Calls(Functions):
    """`call` and following."""

    def call(
        self, callee: Value, arguments: list[Value], keywords: dict[str, Value], node: ast.AST, discarded: bool = False
    ) -> Value:
        callee.use("()")
        if isinstance(callee, Choice):
            options = [o for o in callee.options() if not o.is_constant] or list(callee.options())
            result: Value | None = None
            before = self.alternatives
            # What one of several losses is given may be meant for another.
            self.alternatives = before or len({o.made_by for o in options if o.role == "module"}) > 1
            for option in options:
                one = self.call(option, arguments, keywords, node, discarded)
                result = one if result is None else join_values(result, one)
            self.alternatives = before
            assert result is not None
            return result
        if isinstance(callee, FunctionValue):
            return self.call_function(callee, arguments, keywords, node)
        if isinstance(callee, ClassValue):
            return self.instantiate(callee, arguments, keywords, node)
        if isinstance(callee, External):
            return self.call_external(callee.qualified, arguments, keywords, node, discarded)
        if callee.op == "context" and len(arguments) == 1 and isinstance(arguments[0], FunctionValue):
            return arguments[0].under(callee)
        if callee.op == "partial":
            bound = {**callee.keywords, **keywords}
            return self.call(callee.parents[0], [*callee.parents[1:], *arguments], bound, node, discarded)
        if callee.role in ("module", "engine"):
            return self.forward(callee, arguments, keywords, node)
        if callee.cls is not None:
            method = callee.cls.method("__call__")
            if method is not None:
                return self.call_method(callee, "__call__", arguments, keywords, node, discarded)
        if callee.role == "metric":
            result = self.make(node, "metric", tuple(arguments), detached="metric")
            self.emit(events.MetricUpdate, node, metric=callee, values=tuple(arguments), how="forward")
            return result
        return self.opaque_call(callee, arguments, keywords, node, discarded)

    def opaque_call(
        self, callee: Value, arguments: list[Value], keywords: dict[str, Value], node: ast.AST, discarded: bool
    ) -> Value:
        """A call of something unknown. What it was shows at the end, by how it and its result are used."""
        self.call_back(arguments, keywords, node)
        parents = (*arguments, *keywords.values(), callee)
        result = self.make(node, "call", parents, callee=callee)
        event = self.emit(
            events.FunctionCall,
            node,
            callee=callee,
            arguments=tuple(arguments),
            keywords=keywords,
            result=result,
            discarded=discarded,
        )
        event.mode, event.mode_set_at = self.mode_of(callee)
        event.bypasses = self.bypass_of(node)
        return result

    def call_back(self, arguments: list[Value], keywords: dict[str, Value], node: ast.AST) -> None:
        """Functions of the project handed to unknown code: they stay roots of their own."""

    def bypass_of(self, node: ast.AST) -> Value | None:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            direct = self.bypasses.get(id(node.func))
            if direct is not None:
                return direct
            return self.bypasses.get(id(node.func.value))
        return None

    # ---- modules -------------------------------------------------------------------------------------------------

    def forward(
        self, module: Value, arguments: list[Value], keywords: dict[str, Value], node: ast.AST, method: str = "__call__"
    ) -> Value:
        """A module is called."""
        mode, mode_set_at = self.mode_of(module)
        event = self.emit(
            events.Forward,
            node,
            module=module,
            inputs=tuple(arguments),
            keywords=keywords,
            output=module,
            method=method,
            mode=mode,
            mode_set_at=mode_set_at,
            bypasses=self.bypass_of(node),
        )
        inner = module
        while inner.wrapped is not None and inner.cls is None:
            inner = inner.wrapped
        event.output = self._compute(inner, arguments, keywords, node)
        return event.output

    def _compute(self, module: Value, arguments: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
        if module.cls is not None:
            method = module.cls.method("forward") or module.cls.method("__call__")
            if isinstance(method, FunctionValue):
                inside = self._forward_of_class(method, module, arguments, keywords, node)
                return self._as_result(module, inside, node, (*arguments, *keywords.values()))
            if "torch.nn.Sequential" in module.cls.bases:
                return self._sequential(module, arguments, node)
        last = module.made_by.rsplit(".", 1)[-1]
        if module.made_by.startswith("torch.nn."):
            first = arguments[0] if arguments else next(iter(keywords.values()), None)
            if last in LOSS_CLASSES:
                target = arguments[1] if len(arguments) > 1 else keywords.get("target")
                first = keywords.get("input", first)
                return self.loss(LOSS_CLASSES[last], first, target, module.keywords, node, module)
            if last in ACTIVATION_CLASSES:
                kind = ACTIVATION_CLASSES[last]
                dim = module.keyword("dim", "0") if "oftm" in last.lower() else None
                return self.activation(kind, first, dim, node, module)
            if last == "Sequential":
                return self._sequential(module, arguments, node)
        result = self.make(node, "call", (*arguments, *keywords.values(), module), callee=module)
        if last in RECURRENT and module.made_by.startswith("torch.nn."):
            output = self.make(node, "call", (*arguments, module), callee=module, role="tensor")
            state = self.make(node, "call", (*arguments, module), callee=module)
            return self.container(node, "tuple", [output, state])
        if module.made_by.startswith("torch.nn."):
            result.role = "tensor"
            if last.startswith(("Linear", "Conv", "Bilinear", "LazyLinear")):
                result.kind = "logits"
            if arguments and arguments[0].shape is not None and last == "Linear":
                result.shape = (*arguments[0].shape[:-1], None)
            elif last in ("Dropout", "LayerNorm", "Identity", "BatchNorm1d") and arguments:
                result.shape = arguments[0].shape
                if last in ("Dropout", "Identity"):
                    result.kind, result.dim = arguments[0].kind, arguments[0].dim
        head = classifier_head(module.made_by)
        return self._through_head(module, head, result, node) if head is not None else result

    def _through_head(self, module: Value, head: str, result: Value, node: ast.AST) -> Value:
        """What a model of a zoo returns, by its last layers: its own, which are linear, or those that replace them."""
        result.role = result.role or "tensor"
        replaced = module.attributes.get(head)
        if replaced is None:
            result.kind = "logits"
        elif replaced.role == "module" and len(replaced.options()) == 1:
            return self._as_result(module, self._compute_quietly(replaced, result, node), node)
        elif [part.made_by for part in replaced.attributes.values()] == ["torch.nn.Linear"]:
            result.kind = "logits"
        return result

    def _forward_of_class(
        self, method: FunctionValue, module: Value, a: list[Value], k: dict[str, Value], node: ast.AST
    ) -> Value:
        """The body of a class's forward, played once per instance and grad mode, and for few instances of a class.

        A network is made of many instances of few classes: their bodies say the same."""
        # Whether an input is cut from its graph tells a discriminator's pass from the generator's.
        shapes = tuple((v.role, v.kind, v.is_constant, type(v).__name__, bool(v.detached)) for v in (*a, *k.values()))
        own = (id(method.node), id(module), self.grad, shapes)
        found = self.forwards.get(own)
        if found is not None:
            return found
        shared = (id(method.node), self.grad, module.has_parameters is not False, shapes)
        count, known = self.forwards_by_class.get(shared, (0, None))
        if known is not None and count >= 2:
            return known
        start = len(self.trace.events)
        inside = self.call_function(self.bind_method(method, module), a, k, node)
        if self._keeps_graph(module, start):
            # The next call starts from what this one has left.
            return inside
        self.forwards[own] = inside
        self.forwards_by_class[shared] = (count + 1, inside)
        return inside

    def _keeps_graph(self, module: Value, start: int) -> bool:
        """Whether a call of a module that was just played has kept on it what it computed with gradients."""
        return any(
            isinstance(event, events.Store)
            and event.how == "attribute"
            and event.container is module
            and event.grad is True
            and event.previous is not None
            and not (event.value.is_constant or event.value.detached or event.value.role in ("number", "module"))
            for event in self.trace.events[start:]
        )

    forwards: dict[tuple[Any, ...], Value]
    forwards_by_class: dict[tuple[Any, ...], tuple[int, Value | None]]

    def _sequential(self, module: Value, arguments: list[Value], node: ast.AST) -> Value:
        value = arguments[0] if arguments else self.make(node, "unknown")
        children = [c for k, c in module.attributes.items() if k.isdigit() or c.role == "module" or "()" in c.uses]
        for child in children:
            child.use("()")
            for option in child.options():
                if option.role == "module":
                    computed = self._compute_quietly(option, value, node)
                    value = join_values(value, computed) if id(option) in self.conditional else computed
                else:
                    value = self.make(node, "call", (value, option), callee=option)
        if not children or not any(c.role == "module" for c in children):
            return self.make(node, "call", (*arguments, module), callee=module)
        return self._as_result(module, value, node)

    def _compute_quietly(self, module: Value, value: Value, node: ast.AST) -> Value:
        return self._compute(module, [value], {}, node)

    def _as_result(self, module: Value, inside: Value, node: ast.AST, inputs: tuple[Value, ...] = ()) -> Value:
        """What a module returned: the inner value, seen as the module's output. `inputs` are ancestors too."""
        if isinstance(inside, Container) and inside.shape_name in ("tuple", "list", "dict") and inside.elements():
            made = self.container(
                node, inside.shape_name, [self._as_result(module, i, node, inputs) for i in inside.items]
            )
            made.entries = {k: self._as_result(module, v, node, inputs) for k, v in inside.entries.items()}
            made.parents = (*made.items, *made.entries.values(), inside)
            made.open = inside.open
            return made
        if inside.is_constant or inside.role in ("number", "array", "module"):
            return inside
        made_result = self.make(
            node, "forward-result", (inside, *inputs), callee=module, role=inside.role, kind=inside.kind, dim=inside.dim
        )
        made_result.shape = inside.shape
        return made_result

    def activation(
        self, kind: str, operand: Value | None, dim: Value | None, node: ast.AST, made: Value | None = None
    ) -> Value:
        """Softmax and the like, however it was called."""
        parents = (operand,) if operand is not None else ()
        result = self.make(node, kind, parents, role="tensor", kind=ACTIVATION_KINDS.get(kind, kind))
        if operand is not None and operand.role in ("number", "array"):
            result.role = operand.role
        known = dim.constant if dim is not None and isinstance(dim.constant, int) else None
        result.dim = known
        result.shape = operand.shape if operand is not None else None
        self.emit(
            events.Activation,
            node,
            kind=kind,
            input=operand,
            output=result,
            dim=known,
            dim_given=dim is not None,
            made_at=made.place if made is not None else None,
        )
        return result

    def loss(
        self,
        kind: str,
        operand: Value | None,
        target: Value | None,
        keywords: Mapping[str, Value],
        node: ast.AST,
        made: Value | None = None,
    ) -> Value:
        """A torch loss, functional or as a module."""
        parents = tuple(v for v in (operand, target, *(keywords.values() if made is None else ())) if v is not None)
        result = self.make(node, kind, parents, role="tensor")
        result.keywords = dict(keywords)
        reduction = keywords.get("reduction")
        if reduction is None or reduction.constant in ("mean", "sum", "batchmean"):
            result.shape = ()
        self.emit(
            events.LossCall,
            node,
            kind=kind,
            input=operand,
            target=target,
            keywords=keywords,
            output=result,
            made_at=made.place if made is not None else None,
            alternative=self.alternatives,
        )
        return result
