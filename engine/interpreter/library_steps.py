"""Calls that act: backward, clipping, saving and loading, collectives, wrapping."""

from __future__ import annotations

import ast

from engine.frameworks.effects import Effect
from engine.interpreter.library_objects import LibraryObjects
from engine.interpreter.state import join_values
from engine.trace import events
from engine.trace.values import Choice, Constant, Container, FunctionValue, Value


class LibrarySteps(LibraryObjects):
    """What library calls do to the objects of training."""

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
        # `checkpoint_sequential(functions, segments, input)`
        inputs = [*a[2:], *(k[name] for name in ("input",) if name in k)] if effect.detail == "sequential" else a[1:]
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
