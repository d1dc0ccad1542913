"""Calling the project's own functions and classes, and modules."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from engine.frameworks.torch_core import ACTIVATION_CLASSES, ACTIVATION_KINDS, LOSS_CLASSES, RECURRENT
from engine.interpreter.library import Library
from engine.interpreter.machine import MAX_DEPTH
from engine.interpreter.state import Flow, Frame, WithBody, join_values
from engine.trace import events
from engine.trace.places import Context
from engine.trace.values import Choice, ClassValue, Constant, Container, External, FunctionValue, Value

#: Lightning calls these without gradients and in eval mode.
_LIGHTNING_EVALUATION = (
    "validation_step", "test_step", "predict_step", "on_validation_epoch_end", "on_test_epoch_end",
    "validation_epoch_end", "test_epoch_end", "on_validation_batch_end", "on_test_batch_end",
)  # fmt: skip


_MANAGERS = frozenset(["contextlib.contextmanager", "contextlib.asynccontextmanager"])
#: Statements spent in a function, all its calls together, after which further callers are not followed into it.
COSTLY = 6_000


class Calls(Library):
    """`call` and following."""

    shared_instances: dict[int, Value]

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
        inside = self.call_function(self.bind_method(method, module), a, k, node)
        self.forwards[own] = inside
        self.forwards_by_class[shared] = (count + 1, inside)
        return inside

    forwards: dict[tuple[Any, ...], Value]
    forwards_by_class: dict[tuple[Any, ...], tuple[int, Value | None]]

    def _sequential(self, module: Value, arguments: list[Value], node: ast.AST) -> Value:
        value = arguments[0] if arguments else self.make(node, "unknown")
        children = [c for k, c in module.attributes.items() if k.isdigit() or c.role == "module" or "()" in c.uses]
        for child in children:
            child.use("()")
            for option in child.options():
                if option.role == "module":
                    value = self._compute_quietly(option, value, node)
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

    # ---- functions -----------------------------------------------------------------------------------------------

    def bind_method(self, method: FunctionValue, receiver: Value) -> FunctionValue:
        return FunctionValue(
            place=method.place,
            name=method.name,
            node=method.node,
            path=method.path,
            qualified=method.qualified,
            bound=receiver if method.kind_of_method != "static" else None,
            owner=method.owner,
            closure=method.closure,
            decorators=method.decorators,
            kind_of_method=method.kind_of_method,
        )

    def call_function(
        self, function: FunctionValue, arguments: list[Value], keywords: dict[str, Value], node: ast.AST
    ) -> Value:
        """Follow a call into a function of the project."""
        definition = function.node
        self.reached.add(id(definition))
        if len(self.frames) >= MAX_DEPTH or self.active_functions.count(id(definition)) >= 1 or self.budget < 40:
            return self.make(node, "call", (*arguments, *keywords.values()), callee=function)
        if function.owner is not None and _left_to_subclasses(definition):
            return self.make(node, "call", (*arguments, *keywords.values()), callee=function)
        wrapped = self._decorated(function, node)
        if wrapped is not None:
            if function.bound is not None:
                arguments = [function.bound, *arguments]
            return self.call(wrapped, arguments, keywords, node)
        place = self.place(node)
        body = self._with_body(function, node)
        key = self._dull_key(function, arguments, keywords) if body is None else None
        if key is not None:
            times, known = self.dull.get(key, (0, None))
            if times >= 2 and known is not None:
                return known
        times_followed, cost = self.costs.get(id(definition), (0, 0))
        if times_followed >= 3 and cost > COSTLY and body is None:
            # Its own events stand in the trace already, from three callers.
            return self.make(node, "call", (*arguments, *keywords.values()), callee=function)
        start, left = len(self.trace.events), self.budget
        frame = self.new_frame(function)
        frame.with_body = body
        self.bind_parameters(frame, function, arguments, keywords, node)
        self.stack.append(place)
        try:
            result = self.run_function(frame, function, node)
        finally:
            self.stack.pop()
            self.costs[id(definition)] = (times_followed + 1, cost + left - self.budget)
        if key is not None:
            quiet = all(type(e) in _DULL_EVENTS for e in self.trace.events[start:])
            if quiet and (result.role in ("number", "string", None) and type(result) in (Constant, Value)):
                self.dull[key] = (self.dull.get(key, (0, None))[0] + 1, result)
        return result

    def _with_body(self, function: FunctionValue, node: ast.AST) -> WithBody | None:
        """The body that waits for this call, where it is a `contextlib.contextmanager` in a `with` statement."""
        if not self.with_bodies or self.with_bodies[-1].call is not node:
            return None
        managed = any(isinstance(d, External) and d.qualified in _MANAGERS for d in function.decorators)
        return self.with_bodies[-1] if managed else None

    dull: dict[tuple[Any, ...], tuple[int, Value | None]]
    templates: dict[tuple[Any, ...], tuple[int, Value]]
    #: For each function: how often it was followed, and the statements that took in all.
    costs: dict[int, tuple[int, int]]

    @staticmethod
    def _dull_key(
        function: FunctionValue, arguments: list[Value], keywords: dict[str, Value]
    ) -> tuple[Any, ...] | None:
        """A key for calls whose result can only depend on plain data, None for others."""
        kinds: list[Any] = [id(function.node), id(function.bound) if function.bound is not None else 0]
        for name, value in (*enumerate(arguments), *keywords.items()):
            if value.is_constant:
                kinds.append((name, repr(value.constant)[:60]))
            elif value.role in ("number", "string", "device") or value.op in (
                "library-call",
                "text",
                "format",
                "slice",
            ):
                kinds.append((name, value.role))
            else:
                return None
        return tuple(kinds)

    def new_frame(self, function: FunctionValue) -> Frame:
        closure: Any = function.closure
        return Frame(
            path=function.path,
            env={},
            globals=closure.globals if closure is not None else self.load_module(function.path),
            function=function,
            parent=closure if closure is not None and closure.function is not None else None,
            qualified=function.qualified,
            owner=function.bound,
            defining_class=function.owner,
            guard_base=len(self.guards),
        )

    def _decorated(self, function: FunctionValue, node: ast.AST) -> Value | None:
        """The function that a decorator of the project puts in place of this one, or None."""
        for decorator in function.decorators:
            if isinstance(decorator, FunctionValue) and id(decorator.node) not in self.active_functions:
                plain = FunctionValue(
                    place=function.place,
                    name=function.name,
                    node=function.node,
                    path=function.path,
                    qualified=function.qualified,
                    owner=function.owner,
                    closure=function.closure,
                    decorators=tuple(d for d in function.decorators if not isinstance(d, FunctionValue)),
                )
                made = self.call_function(decorator, [plain], {}, node)
                if isinstance(made, FunctionValue) and made.node is not function.node:
                    return made
                if decorated := self._under_contexts(plain, made, node):
                    return decorated
        return None

    def _under_contexts(self, plain: FunctionValue, made: Value, node: ast.AST) -> FunctionValue | None:
        """The function where a decorator gave it back inside of contexts, perhaps on some paths only."""
        options = [option for option in made.options() if isinstance(option, FunctionValue)]
        if len(options) != len(made.options()) or any(option.node is not plain.node for option in options):
            return None
        inside = [option for option in options if len(option.decorators) > len(plain.decorators)]
        if not inside:
            return None
        if len(inside) == len(options):
            return inside[0]
        context = inside[0].decorators[0]
        maybe = self.make(node, "context", role="context", kind=context.kind)
        maybe.keywords = {"enabled": self.constant(node, None)}
        return plain.under(maybe)

    def run_function(self, frame: Frame, function: FunctionValue, node: ast.AST) -> Value:
        """Execute a function's body in a prepared frame."""
        definition = function.node
        contexts, grad, guards = len(self.contexts), self.grad, len(self.guards)
        self.frames.append(frame)
        self.active_functions.append(id(definition))
        try:
            self._enter_decorators(function)
            if isinstance(definition, ast.Lambda):
                return self.evaluate(definition.body)
            flow = self.execute(definition.body)
            if flow == Flow.NORMAL:
                if frame.return_states:
                    frame.return_states.append(self.snapshot())
                if not frame.returned:
                    frame.returned.append(self.constant(definition, None))
            if len(frame.return_states) > 1 or (frame.return_states and flow != Flow.RETURN):
                self.join(frame.return_states)
        finally:
            self.frames.pop()
            self.active_functions.pop()
            del self.contexts[contexts:]
            del self.guards[guards:]
            self.grad = grad
        if id(definition) in self.outline(function.path).generators:
            made = self.container(node, "generator", frame.yielded[:12])
            made.open = True
            return made
        result = frame.returned[0] if frame.returned else self.constant(node, None)
        for other in frame.returned[1:]:
            result = join_values(result, other)
        return result

    def _enter_decorators(self, function: FunctionValue) -> None:
        for decorator in function.decorators:
            for option in decorator.options():
                context = None
                if isinstance(option, External):
                    # `@torch.no_grad` without a call works for functions too.
                    context = self.grad_context(option.qualified, [], {}, function.node)
                elif option.op == "context":
                    context = Context(
                        str(option.kind), option.place, option.keywords["enabled"].constant, dtype=option.divisor
                    )
                if context is not None:
                    self.contexts.append(context)
                    self._apply_grad(context)

    def bind_parameters(
        self, frame: Frame, function: FunctionValue, arguments: list[Value], keywords: dict[str, Value], node: ast.AST
    ) -> None:
        """Bind a call's arguments to parameters; missing ones take their default."""
        spec: ast.arguments = function.node.args
        positional = [*spec.posonlyargs, *spec.args]
        values = list(arguments)
        if function.bound is not None:
            values.insert(0, function.bound)
        spread = next((v for v in values if v.op == "starred"), None)
        values = [v for v in values if v.op != "starred"]
        rest = dict(keywords)
        unknown = rest.pop("**", None)
        self.frames.append(frame)
        try:
            offset = len(positional) - len(spec.defaults)
            for index, parameter in enumerate(positional):
                name = parameter.arg
                if index < len(values):
                    frame.env[name] = values[index]
                elif name in rest:
                    frame.env[name] = rest.pop(name)
                elif spread is not None:
                    frame.env[name] = self.make(parameter, "element", spread.parents, of=spread.of)
                elif index >= offset and unknown is None:
                    frame.env[name] = self.evaluate(spec.defaults[index - offset])
                else:
                    frame.env[name] = self.make(parameter, "unknown", name=name)
            if spec.vararg is not None:
                extra = self.container(spec.vararg, "tuple", values[len(positional) :])
                extra.open = spread is not None
                frame.env[spec.vararg.arg] = extra
            for parameter, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
                if parameter.arg in rest:
                    frame.env[parameter.arg] = rest.pop(parameter.arg)
                elif default is not None:
                    frame.env[parameter.arg] = self.evaluate(default)
                else:
                    frame.env[parameter.arg] = self.make(parameter, "unknown", name=parameter.arg)
            if spec.kwarg is not None:
                extra = self.container(spec.kwarg, "dict", list(rest.values()))
                extra.entries = dict(rest)
                extra.open = unknown is not None
                frame.env[spec.kwarg.arg] = extra
        finally:
            self.frames.pop()

    # ---- classes -------------------------------------------------------------------------------------------------

    functions: list[FunctionValue]

    # ---- methods of classes --------------------------------------------------------------------------------------


#: Events that say nothing about training: a function with only these is not played again for the same plain data.
_DULL_EVENTS = frozenset(
    [events.FunctionCall, events.MethodCall, events.Return, events.Iterate, events.Divided, events.Store, events.Report]
)

LIGHTNING_EVALUATION = _LIGHTNING_EVALUATION


def _left_to_subclasses(definition: Any) -> bool:
    """Whether a method has no body of its own: what it returns is up to classes that derive from this one."""
    if isinstance(definition, ast.Lambda):
        return False
    return all(
        isinstance(statement, ast.Pass | ast.Raise)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        for statement in definition.body
    )
