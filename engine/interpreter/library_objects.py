"""Calls that make the objects of training: modules, optimizers, loaders, samplers, seeds."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from engine.frameworks.effects import Effect
from engine.frameworks.registry import call_effect
from engine.frameworks.torch_core import CONTAINERS, COPIES_DATA, NOT_DIFFERENTIABLE, RANDOM
from engine.interpreter.builtin_calls import BuiltinCalls
from engine.trace import events
from engine.trace.values import ClassValue, Container, FunctionValue, Value


def named(parameters: Sequence[str], arguments: Sequence[Value], keywords: dict[str, Value]) -> dict[str, Value]:
    """Arguments under their parameters' names; positions without a name are "0", "1" ..."""
    result: dict[str, Value] = {}
    for index, value in enumerate(arguments):
        result[parameters[index] if index < len(parameters) else str(index)] = value
    result.update(keywords)
    return result


class LibraryObjects(BuiltinCalls):
    """What library calls make. Some are given by later rooms of the interpreter."""

    def activation(
        self, kind: str, operand: Value | None, dim: Value | None, node: ast.AST, made: Value | None = None
    ) -> Value:
        raise NotImplementedError

    def loss(
        self,
        kind: str,
        operand: Value | None,
        target: Value | None,
        keywords: dict[str, Value],
        node: ast.AST,
        made: Value | None = None,
    ) -> Value:
        raise NotImplementedError

    def created(self, module: Value, node: ast.AST) -> None:
        raise NotImplementedError

    def instantiate(self, cls: ClassValue, arguments: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
        raise NotImplementedError

    def infer_shape(self, result: Value, op: str, operand: Value | None, a: list[Value], k: dict[str, Value]) -> None:
        raise NotImplementedError

    def _record(
        self,
        qualified: str,
        arguments: list[Value],
        keywords: dict[str, Value],
        result: Value,
        node: ast.AST,
        discarded: bool = False,
    ) -> None:
        self.emit(
            events.FunctionCall,
            node,
            name=qualified,
            arguments=tuple(arguments),
            keywords=keywords,
            result=result,
            discarded=discarded,
        )

    def _unknown_external(
        self, qualified: str, arguments: list[Value], keywords: dict[str, Value], node: ast.AST, discarded: bool
    ) -> Value:
        of = tuple(dict.fromkeys(m for a in arguments for m in a.of))
        result = self.make(node, "library-call", (*arguments, *keywords.values()), made_by=qualified, of=of)
        result.keywords = named((), arguments, keywords)
        if of:
            result.role = "parameters"
        if any(option.role == "module" for argument in arguments for option in argument.options()):
            # A report on a model, or a pass through it: which of them is the library's affair.
            result.grad = None
        last = qualified.rsplit(".", 1)[-1]
        if qualified in ("os.environ.get", "os.getenv") and arguments and arguments[0].is_constant:
            return self.environment(str(arguments[0].constant), node)
        if qualified.startswith("functools.") and last in ("wraps", "lru_cache", "cache"):
            return result
        self._record(qualified, arguments, keywords, result, node, discarded)
        if last in ("run", "map", "spawn", "launch") or qualified.endswith((".spawn", "notebook_launcher")):
            self._run_callback(arguments, keywords, node)
        return result

    def _run_callback(self, arguments: list[Value], keywords: dict[str, Value], node: ast.AST) -> None:
        """`mp.spawn(main, args=(...))`: the function runs with these arguments, the rank in front."""
        function = next((a for a in arguments if isinstance(a, FunctionValue)), None)
        if function is None:
            return
        passed = keywords.get("args") or next((a for a in arguments if isinstance(a, Container)), None)
        rank = self.make(node, "rank", role="number", about=frozenset(["rank", "local-rank"]))
        rest = list(passed.items) if isinstance(passed, Container) else []
        self.call(function, [rank, *rest], {}, node)

    def _construct(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                   bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        made = self.make(node, "construct", role=effect.detail, made_by=qualified)
        made.keywords = bound
        made.name = qualified.rsplit(".", 1)[-1]
        if effect.detail == "trainer":
            library = qualified.split(".", 1)[0]
            self.emit(events.FrameworkTrainer, node, library=library, what="built", trainer=made, keywords=bound)
        elif effect.detail == "training-arguments":
            self.emit(
                events.FrameworkTrainer, node, library="transformers", what="arguments", trainer=made, keywords=bound
            )
        elif effect.detail in ("accelerator", "fabric") and not _one_device(k):
            self.emit(events.ProcessGroupInit, node, how=effect.detail)
        return made

    def _module(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        last = qualified.rsplit(".", 1)[-1]
        if not last[:1].isupper() and not effect.detail:
            return self._tensor(effect, qualified, a, k, bound, node, discarded)
        made = self.make(node, "construct", role="module", made_by=qualified)
        made.name = last
        made.keywords = named(("num_features",) if "Norm" in last else (), a, k)
        if last in CONTAINERS:
            children = list(a)
            if len(a) == 1 and isinstance(a[0], Container):
                children = list(a[0].elements())
                if a[0].shape_name == "dict" or a[0].entries:
                    for key, value in a[0].entries.items():
                        self.set_attribute(made, str(key), value)
                    children = [] if a[0].entries else children
                made.parents = (a[0],)
            elif len(a) == 1 and a[0].op in ("starred",):
                children = [self.element_of(p, node) for p in a[0].parents]
            for index, child in enumerate(children):
                if child.op == "starred":
                    child = self.element_of(child.parents[0], node) if child.parents else child
                child.use("()")
                self.set_attribute(made, str(index), child)
            for value in a:
                if isinstance(value, Container):
                    value.registered = True
        self.created(made, node)
        return made

    def _optimizer(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                   bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        last = qualified.rsplit(".", 1)[-1]
        if not last[:1].isupper() and not last.startswith("create_"):
            return self._unknown_external(qualified, a, k, node, discarded)
        made = self.make(node, "construct", role="optimizer", made_by=qualified)
        made.keywords, made.name = bound, last
        parameters = bound.get("params") or bound.get("0")
        made.of = self.holds(parameters) if parameters is not None else ()
        made.parents = (parameters,) if parameters is not None else ()
        self.emit(events.OptimizerCreated, node, optimizer=made, parameters=parameters)
        return made

    def holds(self, value: Value, depth: int = 0) -> tuple[Value, ...]:
        """The modules whose parameters a value (a generator, list, list of groups) holds."""
        if depth > 6:
            return ()
        found = list(value.of)
        if value.role == "module":
            found.append(value)
        if value.role == "parameter" and not value.of:
            found.append(value)
        if isinstance(value, Container):
            for item in value.elements():
                found.extend(self.holds(item, depth + 1))
        for option in value.options():
            if option is not value:
                found.extend(self.holds(option, depth + 1))
        return tuple(dict.fromkeys(found))

    def _scheduler(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                   bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        made = self.make(node, "construct", role="scheduler", made_by=qualified)
        made.keywords, made.name = bound, qualified.rsplit(".", 1)[-1]
        optimizer = bound.get("optimizer") or (a[0] if a else None)
        self.emit(events.SchedulerCreated, node, scheduler=made, optimizer=optimizer)
        return made

    def _scaler(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        made = self.make(node, "construct", role="scaler", made_by=qualified)
        made.keywords, made.name = bound, "GradScaler"
        given = bound.get("enabled")
        enabled = True if given is None else (bool(given.constant) if given.is_constant else None)
        self.emit(events.ScalerCreated, node, scaler=made, enabled=enabled)
        return made

    def _loader(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        made = self.make(node, "construct", role="loader", made_by=qualified)
        made.name = "DataLoader"
        self.loader_built(made, qualified, a, k, node)
        return made

    def loader_built(self, made: Value, qualified: str, a: list[Value], k: dict[str, Value], node: ast.AST) -> None:
        """Record a DataLoader with its arguments under their names."""
        effect = call_effect(qualified)
        bound = named(effect.parameters if effect else (), a, {key: v for key, v in k.items() if key != "**"})
        made.keywords = bound
        dataset = bound.get("dataset")
        made.parents = (dataset,) if dataset is not None else ()
        self.emit(events.LoaderBuilt, node, loader=made, complete="**" not in k)

    def _sampler(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                 bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        made = self.make(node, "construct", role="sampler", made_by=qualified)
        made.keywords, made.name, made.kind = bound, qualified.rsplit(".", 1)[-1], effect.detail
        self.emit(events.SamplerBuilt, node, sampler=made, complete="**" not in k)
        return made

    def _dataset(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                 bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        made = self.make(node, "construct", tuple(a), role="dataset", made_by=qualified)
        made.keywords, made.kind, made.name = bound, effect.detail, qualified.rsplit(".", 1)[-1]
        return made

    def _split(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
               bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        self.emit(events.RandomCall, node, source="torch", name="random_split", generator=bound.get("generator"))
        count = 2
        lengths = bound.get("lengths")
        if isinstance(lengths, Container) and not lengths.open:
            count = max(1, len(lengths.items))
        parts = []
        for _ in range(count):
            part = self.make(node, "construct", tuple(a[:1]), role="dataset", made_by=qualified)
            part.kind = "subset"
            parts.append(part)
        return self.container(node, "tuple", parts)

    def _seed(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
              bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        value = bound.get("seed")
        dependent: bool | None = None
        if value is not None:
            dependent = bool({"rank", "local-rank"} & value.about) or (False if value.is_constant else None)
        specific = bound.get("device_specific")
        if specific is not None and specific.constant:
            dependent = True
        self.emit(
            events.Seed,
            node,
            what=frozenset(effect.detail.split()),
            value=value,
            rank_dependent=dependent,
            how=qualified,
        )
        return self.make(node, "construct", role="generator")

    def _random(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        last = qualified.rsplit(".", 1)[-1]
        if last in ("default_rng", "RandomState", "Random", "Generator"):
            made = self.make(node, "construct", role="generator", made_by=qualified)
            made.keywords = named((), a, k)
            self._record(qualified, a, k, made, node, discarded)
            return made
        self.emit(events.RandomCall, node, source=effect.detail, name=last)
        role = "array" if effect.detail == "numpy" else "number"
        return self.make(node, last, tuple(a), role=role, detached=effect.detail)

    def _parameter(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                   bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        data = bound.get("data")
        result = self.make(node, "construct", tuple(a[:1]), role="parameter", made_by="torch.nn.Parameter")
        result.shape = data.shape if data is not None else None
        requires = bound.get("requires_grad")
        result.requires_grad = not (requires is not None and requires.is_constant and not requires.constant)
        return result

    def _variable(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                  bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        result = self.make(node, "variable", tuple(a[:1]), role="tensor")
        requires = bound.get("requires_grad")
        if requires is not None and requires.constant:
            result.requires_grad = True
        return result

    def _create(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        name = effect.detail
        result = self.make(node, name, tuple(a), role="tensor", made_by=qualified)
        result.keywords = named((), a, k)
        result.detached = "copied" if name in COPIES_DATA else "created"
        requires = k.get("requires_grad")
        if requires is not None and requires.constant:
            result.requires_grad = True
        if name in RANDOM:
            self.emit(events.RandomCall, node, source="torch", name=name, generator=k.get("generator"))
        device = k.get("device")
        result.device = str(device.constant) if device is not None and device.is_constant else ""
        if name in ("zeros", "ones", "empty", "full", "rand", "randn"):
            sizes = a[0].items if a and isinstance(a[0], Container) else a
            if name != "full" or (a and isinstance(a[0], Container)):
                result.shape = tuple(s.constant if isinstance(s.constant, int) else None for s in sizes)
        if name in ("tensor", "as_tensor") and a and isinstance(a[0].constant, int | float):
            result.shape = ()
        if name in COPIES_DATA and a and any_grad_source(a[0]):
            self.emit(events.Detach, node, value=a[0], output=result, how=f"torch.{name}")
        self.emit(
            events.TensorCreated,
            node,
            name=name,
            output=result,
            arguments=tuple(a),
            device_given=device is not None,
        )
        return result

    def _tensor(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        last = qualified.rsplit(".", 1)[-1]
        if last[:1].isupper() or qualified.startswith(("torch.nn.init", "torch.__")) or last.startswith("is_"):
            return self._plain(effect, qualified, a, k, bound, node, discarded)
        parents = (*a, *(v for key, v in k.items() if key not in ("dim", "keepdim", "device", "dtype")))
        operand = a[0] if a else None
        result = self.make(node, last, parents, role="tensor")
        result.keywords = named((), a, k)
        if last in NOT_DIFFERENTIABLE:
            result.detached = last
            if last in ("argmax", "argmin"):
                result.kind = "class-indices"
        if last in RANDOM:
            self.emit(events.RandomCall, node, source="torch", name=last, generator=k.get("generator"))
        if last == "linear":
            result.kind = "logits"
        if last == "normalize":
            result.kind = "normalized"
        self.infer_shape(result, last, operand, a, k)
        self._record(qualified, a, k, result, node, discarded)
        if last.endswith("_") and not last.endswith("__") and operand is not None:
            self.emit(events.InPlaceUpdate, node, target=operand, how=last, operands=tuple(a[1:]))
        return result

    def _plain(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
               bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        result = self.make(node, "library-call", (*a, *k.values()), made_by=qualified, detached="library")
        last = qualified.rsplit(".", 1)[-1]
        if last.startswith(("is_", "device_count", "get_")):
            result.role = "number"
        self._record(qualified, a, k, result, node, discarded)
        if last in ("spawn", "start_processes"):
            self._run_callback(a, k, node)
        return result


def _one_device(keywords: Mapping[str, Value]) -> bool:
    """Whether a Fabric is asked for a single device: it starts no other process."""
    devices = keywords.get("devices")
    return devices is not None and devices.constant == 1 and "num_nodes" not in keywords


def any_grad_source(value: Value) -> bool:
    """Whether data copied from it might have carried a graph."""
    return not (value.is_constant or value.role in ("number", "array"))
