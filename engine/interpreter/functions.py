"""Following calls into the project's own functions: parameters, decorators, what was played before."""

from __future__ import annotations

import ast
from typing import Any

from engine.interpreter.library import Library
from engine.interpreter.machine import MAX_DEPTH
from engine.interpreter.state import Flow, Frame, WithBody, join_values
from engine.trace import events
from engine.trace.places import Context
from engine.trace.values import Constant, External, FunctionValue, Value

_MANAGERS = frozenset(["contextlib.contextmanager", "contextlib.asynccontextmanager"])
#: Statements spent in a function, all its calls together, after which further callers are not followed into it.
COSTLY = 6_000
#: Events that say nothing about training: a function with only these is not played again for the same plain data.
_DULL_EVENTS = frozenset(
    [events.FunctionCall, events.MethodCall, events.Return, events.Iterate, events.Divided, events.Store, events.Report]
)


class Functions(Library):
    """`call_function`."""

    shared_instances: dict[int, Value]

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
        self.trace.functions[function.path, function.qualified] = function.place
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

    functions: list[FunctionValue]


def _left_to_subclasses(definition: Any) -> bool:
    """Whether a method has no body of its own: what it returns is up to classes that derive from this one."""
    if isinstance(definition, ast.Lambda):
        return False
    return all(
        isinstance(statement, ast.Pass | ast.Raise)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        for statement in definition.body
    )
