"""Calls of library functions, by the frameworks' tables."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from engine.frameworks.effects import Effect
from engine.frameworks.registry import call_effect
from engine.frameworks.torch_core import ACTIVATION_KINDS, CONTAINERS, COPIES_DATA, NOT_DIFFERENTIABLE, RANDOM
from engine.interpreter.builtin_calls import BuiltinCalls
from engine.interpreter.state import join_values
from engine.trace import events
from engine.trace.places import Context
from engine.trace.values import Choice, ClassValue, Constant, Container, External, FunctionValue, Value


def named(parameters: Sequence[str], arguments: Sequence[Value], keywords: dict[str, Value]) -> dict[str, Value]:
    """Arguments under their parameters' names; positions without a name are "0", "1" ..."""
    result: dict[str, Value] = {}
    for index, value in enumerate(arguments):
        result[parameters[index] if index < len(parameters) else str(index)] = value
    result.update(keywords)
    return result


class Library(BuiltinCalls):
    """`call_external`: one small handler for each kind of effect."""

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
        effect = call_effect(qualified)
        if effect is None:
            return self._unknown_external(qualified, arguments, keywords, node, discarded)
        handler = _HANDLERS.get(effect.kind)
        bound = named(effect.parameters, arguments, keywords)
        if handler is None:
            return self._unknown_external(qualified, arguments, keywords, node, discarded)
        result: Value = handler(self, effect, qualified, arguments, keywords, bound, node, discarded)
        if not result.made_by and not result.is_constant and result not in arguments:
            result.made_by = qualified
        return result

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

    # ---- construction --------------------------------------------------------------------------------------------

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

    # ---- seeds, randomness ---------------------------------------------------------------------------------------

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
            return made
        self.emit(events.RandomCall, node, source=effect.detail, name=last)
        role = "array" if effect.detail == "numpy" else "number"
        return self.make(node, last, tuple(a), role=role, detached=effect.detail)

    # ---- tensors -------------------------------------------------------------------------------------------------

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

    def infer_shape(self, result: Value, op: str, operand: Value | None, a: list[Value], k: dict[str, Value]) -> None:
        raise NotImplementedError

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

    def _variable(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                  bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        result = self.make(node, "variable", tuple(a[:1]), role="tensor")
        requires = bound.get("requires_grad")
        if requires is not None and requires.constant:
            result.requires_grad = True
        return result

    def _parameter(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                   bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        data = bound.get("data")
        result = self.make(node, "construct", tuple(a[:1]), role="parameter", made_by="torch.nn.Parameter")
        result.shape = data.shape if data is not None else None
        requires = bound.get("requires_grad")
        result.requires_grad = not (requires is not None and requires.is_constant and not requires.constant)
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

    # ---- gradients, saving, devices ------------------------------------------------------------------------------

    def _autograd_grad(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                       bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        create = bound.get("create_graph")
        creates = (
            bool(create.constant) if create is not None and create.is_constant else (False if create is None else None)
        )
        retain = bound.get("retain_graph")
        self.emit(
            events.AutogradGrad,
            node,
            output=bound.get("outputs"),
            inputs=bound.get("inputs"),
            create_graph=creates,
            retain_graph=creates if retain is None else (bool(retain.constant) if retain.is_constant else None),
        )
        result = self.make(node, "autograd-grad", tuple(a[:2]), role="tensor")
        result.detached = "" if creates else "autograd.grad"
        return result

    def _backward(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                  bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        return self.backward(bound.get("loss") or (a[0] if a else None), effect.detail, bound, node, None)

    def backward(
        self, loss: Value | None, via: str, bound: dict[str, Value], node: ast.AST, through: Value | None
    ) -> Value:
        """A backward from `loss`; an option of bound named retain_graph, create_graph or gradient is kept."""

        def flag(name: str) -> bool | None:
            given = bound.get(name)
            if given is None:
                return False
            return bool(given.constant) if given.is_constant else None

        if loss is not None:
            self.emit(
                events.Backward,
                node,
                loss=loss,
                via=via,
                through=through,
                retain_graph=flag("retain_graph"),
                create_graph=flag("create_graph"),
                gradient=bound.get("gradient"),
                loss_place=self._loss_place(node, via),
            )
        return self.constant(node, None)

    def _loss_place(self, node: ast.AST, via: str):  # type: ignore[no-untyped-def]
        if not isinstance(node, ast.Call):
            return None
        if via == "tensor" and isinstance(node.func, ast.Attribute):
            return self.place(node.func.value)
        if via == "scaler" and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
            return self.place(node.func.value.args[0]) if node.func.value.args else None
        return self.place(node.args[0]) if node.args else None

    def _clip(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
              bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        return self.clip(bound, effect.detail, node)

    def clip(self, bound: dict[str, Value], how: str, node: ast.AST) -> Value:
        """Gradient clipping."""
        parameters = next((bound[n] for n in ("parameters", "module", "optimizer") if n in bound), None)
        limit = next(
            (bound[n] for n in ("max_norm", "clip_value", "clip_val", "gradient_clip_val") if n in bound), None
        )
        infinite = limit is not None and (limit.constant == float("inf") or limit.kind == "infinity")
        self.emit(
            events.ClipGradients,
            node,
            parameters=parameters,
            of=self.holds(parameters) if parameters is not None else (),
            limit=limit,
            how=how,
            measures_only=infinite,
        )
        return self.make(node, "grad-norm", role="tensor", detached="grad-norm")

    def _sync(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
              bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        self.emit(events.DeviceSync, node, how=effect.detail)
        return self.constant(node, None)

    def _set_device(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                    bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        self.emit(events.SetDevice, node, device=a[0] if a else None)
        return self.constant(node, None)

    def _save(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
              bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        self.emit(events.Save, node, value=bound.get("obj"), target=bound.get("f"), how=effect.detail)
        return self.constant(node, None)

    def _load(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
              bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        result = self.make(node, "load", detached="loaded", made_by=qualified)
        if effect.kind == "load-module":
            result.role, result.detached = "module", ""
        self.emit(
            events.Load,
            node,
            source=bound.get("f"),
            map_location=bound.get("map_location"),
            result=result,
            how=qualified,
        )
        return result

    def _checkpoint(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                    bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        target = a[0] if a else None
        reentrant = k.get("use_reentrant")
        inputs = a[1:]
        self.emit(
            events.CheckpointCall,
            node,
            target=target,
            inputs=tuple(inputs),
            use_reentrant=bool(reentrant.constant) if reentrant is not None and reentrant.is_constant else None,
        )
        if target is None or effect.detail == "sequential":
            return self.make(node, "call", tuple(a), callee=target)
        return self.call(target, list(inputs), {}, node)

    def _collective(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                    bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        name, _, autograd = effect.detail.partition(":")
        library = "accelerate" if qualified.startswith("accelerate") else "torch"
        return self.collective(name, library, a, k, node, bool(autograd))

    def collective(
        self, name: str, library: str, a: list[Value], k: dict[str, Value], node: ast.AST, differentiable: bool = False
    ) -> Value:
        """A call that every rank must make."""
        result = self.make(node, "collective", tuple(a), detached="" if differentiable else "collective")
        self.emit(events.Collective, node, name=name, values=tuple(a), keywords=k, result=result, library=library)
        if a and isinstance(a[0], Container) and name.startswith("gather_for"):
            return self.container(
                node, "tuple", [self.make(node, "collective", (i,), detached="collective") for i in a[0].items]
            )
        return result

    def _process_group(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                       bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        backend = bound.get("backend")
        self.emit(
            events.ProcessGroupInit,
            node,
            how=effect.detail,
            backend=str(backend.constant) if backend is not None and backend.is_constant else "",
            backend_value=backend,
        )
        return self.constant(node, None)

    def _rank(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
              bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        return self.make(node, "rank", role="number", about=frozenset([effect.detail]), name=qualified)

    def _wrap(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
              bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        inner = bound.get("module") or (a[0] if a else None)
        if inner is None or isinstance(inner, FunctionValue):
            return inner or self.make(node, "unknown")
        if isinstance(inner, Choice):
            result: Value | None = None
            for option in inner.options():
                one = self._wrap(effect, qualified, [option], k, {**bound, "module": option}, node, discarded)
                result = one if result is None else join_values(result, one)
            assert result is not None
            return result
        if qualified.endswith(".fully_shard"):
            # Changes the module that it is given, and returns it.
            inner.role, inner.wrapping = inner.role or "module", effect.detail
            self.emit(events.Wrapped, node, how=effect.detail, module=inner, wrapper=inner)
            return inner
        made = self.make(node, "construct", (inner,), role="module", made_by=qualified)
        made.wrapped, made.wrapping, made.keywords = inner, effect.detail, bound
        self.wrapped_under[id(made)] = tuple(self.guards)
        made.name = inner.name
        if inner.role is None:
            inner.role = "module"
        self.emit(events.Wrapped, node, how=effect.detail, module=inner, wrapper=made)
        return made

    def _copy(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
              bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        if not a or isinstance(a[0], Container | Constant):
            return a[0] if a else self.constant(node, None)
        inner = a[0]
        made = self.make(node, "construct", (inner,), role=inner.role, made_by=qualified, cls=inner.cls)
        made.wrapped, made.wrapping, made.name = inner, "copy", inner.name
        for name, child in inner.attributes.items():
            if name not in made.attributes:
                made.put(name, child)
        if inner.role == "tensor" or self.tensorish(inner):
            made.wrapped, made.wrapping = None, ""
        return made

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

    def _deepspeed(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                   bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        model = bound.get("model")
        engine = self.make(node, "construct", (model,) if model else (), role="engine", made_by=qualified)
        engine.wrapped, engine.wrapping, engine.keywords = model, "deepspeed", bound
        if model is not None and model.role is None:
            model.role = "module"
        optimizer = self.make(node, "construct", role="optimizer", made_by=qualified, member_of=engine)
        loader = self.make(node, "construct", role="loader", made_by=qualified, prepared=engine)
        scheduler = self.make(node, "construct", role="scheduler", made_by=qualified, member_of=engine)
        self.emit(events.ProcessGroupInit, node, how="deepspeed")
        self._record(qualified, a, k, engine, node)
        return self.container(node, "tuple", [engine, optimizer, loader, scheduler])

    def _ignite(self, effect: Effect, qualified: str, a: list[Value], k: dict[str, Value],
                bound: dict[str, Value], node: ast.AST, discarded: bool) -> Value:  # fmt: skip
        made = self.make(node, "construct", role="trainer", made_by=qualified)
        made.keywords = bound
        self.emit(events.FrameworkTrainer, node, library="ignite", what="built", trainer=made, keywords=bound)
        return made

    # ---- builtins ------------------------------------------------------------------------------------------------


def _one_device(keywords: Mapping[str, Value]) -> bool:
    """Whether a Fabric is asked for a single device: it starts no other process."""
    devices = keywords.get("devices")
    return devices is not None and devices.constant == 1 and "num_nodes" not in keywords


def any_grad_source(value: Value) -> bool:
    """Whether data copied from it might have carried a graph."""
    return not (value.is_constant or value.role in ("number", "array"))


_HANDLERS = {
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
__all__ = ["ACTIVATION_KINDS", "Library", "named"]
