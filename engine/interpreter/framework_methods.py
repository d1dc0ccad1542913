"""Methods of framework objects, by the frameworks' tables."""

from __future__ import annotations

import ast

from engine.frameworks.torch_methods import MODULE_METHODS
from engine.interpreter.container_methods import ContainerMethods
from engine.interpreter.library_objects import named
from engine.trace import events
from engine.trace.values import ClassValue, FunctionValue, Value


class FrameworkMethods(ContainerMethods):
    """Accelerate, Fabric, Lightning, DeepSpeed."""

    def _framework_method(
        self,
        receiver: Value,
        kind: str,
        detail: str,
        parameters: tuple[str, ...],
        method: str,
        a: list[Value],
        k: dict[str, Value],
        node: ast.AST,
        discarded: bool,
    ) -> Value | None:
        bound = named(parameters, a, k)
        if kind == "prepare":
            return self._prepare(receiver, detail, method, a, node)
        if kind == "backward":
            return self.backward(bound.get("loss"), detail, bound, node, receiver)
        if kind == "clip":
            return self.clip(bound, detail, node)
        if kind == "collective":
            return self.collective(detail, receiver.role or "lightning", a, k, node)
        if kind in ("context", "autocast"):
            made = self.make(
                node, "context", tuple(a), role="context", kind=detail if kind == "context" else "autocast"
            )
            made.keywords = {"enabled": self.constant(node, True)}
            made.member_of = receiver
            return made
        if kind == "unwrap":
            return a[0].wrapped or a[0] if a else None
        if kind == "save":
            self.emit(events.Save, node, value=bound.get("obj"), target=bound.get("f"), how=detail)
            return self.constant(node, None)
        if kind == "report":
            self.emit(events.Report, node, how=detail, values=tuple(a), keywords=k, through=receiver)
            return self.constant(node, None)
        if kind == "seed":
            seed = bound.get("seed")
            self.emit(
                events.Seed, node, what=frozenset(detail.split()), value=seed,
                rank_dependent=seed is not None and bool({"rank", "local-rank"} & seed.about), how=method,
            )  # fmt: skip
            return self.constant(node, None)
        if kind == "process-group":
            self.emit(events.ProcessGroupInit, node, how=detail)
            if a and isinstance(a[0], FunctionValue):
                # `fabric.launch(main, ...)` calls main(fabric, ...) in every process.
                return self.call(a[0], [receiver, *a[1:]], k, node)
            return self.constant(node, None)
        if kind in ("optimizers", "schedulers"):
            role = "optimizer" if kind == "optimizers" else "scheduler"
            stored = self.get_attribute(receiver, f"{kind}()")
            if stored is None:
                stored = self.make(node, kind, role=role, made_by=f"lightning.{kind}", name=f"self.{kind}()")
                stored.member_of = receiver
                receiver.put(f"{kind}()", stored)
            return stored
        if kind == "engine-step":
            self.emit(events.OptimizerStep, node, optimizer=receiver, via="engine")
            return self.constant(node, None)
        if kind == "trainer-run":
            self.emit(
                events.FrameworkTrainer, node, library=receiver.made_by.split(".")[0], what=detail, trainer=receiver,
                keywords=named(("model", "train_dataloaders", "val_dataloaders"), a, k),
            )  # fmt: skip
            self._ask_data_module((*a, *k.values()), node)
            return self.make(node, "unknown")
        return None

    def _ask_data_module(self, given: tuple[Value, ...], node: ast.AST) -> None:
        """The loaders that Lightning's Trainer asks the data module for that it is handed."""
        for value in given:
            if value.cls is None or value.cls.family != "lightning-data" or value.op != "construct":
                continue
            for name in ("prepare_data", "setup", "train_dataloader", "val_dataloader", "test_dataloader"):
                if isinstance(value.cls.method(name), FunctionValue):
                    self.call_own_method(value, name, [], {}, node)

    def _m_save_pretrained(
        self, receiver: Value, method: str, a: list[Value], k: dict[str, Value], node: ast.AST, discarded: bool
    ) -> Value | None:
        """Weights and configuration of a model of the Hugging Face libraries, written into a folder."""
        if receiver.role != "module":
            return None
        bound = named(("save_directory", "is_main_process"), a, k)
        self.emit(events.Save, node, value=receiver, target=bound.get("save_directory"), how=method, keywords=bound)
        return self.constant(node, None)

    def _filled_by_foreign_code(self, receiver: Value, method: str, node: ast.AST) -> None:
        """A method inherited from another library may fill what its object holds as None: that is no longer known.

        `Trainer.create_optimizer_and_scheduler` makes the optimizer and the schedule that its caller left out.
        """
        cls = receiver.cls
        if cls is None or isinstance(receiver, ClassValue) or not (cls.bases or cls.bases_unknown):
            return
        if receiver.role == "module" and method in MODULE_METHODS:
            return
        for name in tuple(receiver.attributes):
            held = self.get_attribute(receiver, name)
            if held is not None and held.is_constant and held.constant is None:
                filled = self.make(node, "attribute", (receiver,), name=name, callee=receiver)
                filled.member_of = receiver
                self.set_attribute(receiver, name, filled)

    def _prepare(self, framework: Value, library: str, method: str, a: list[Value], node: ast.AST) -> Value:
        """Prepared objects stay the same objects; what prepared them is noted on them."""
        for value in a:
            for option in value.options():
                option.prepared = framework
                if library == "fabric" and method in ("setup", "setup_module") and value is a[0]:
                    option.role = option.role or "module"
                if method == "setup_dataloaders" and option.role is None:
                    option.role = "loader"
        result = a[0] if len(a) == 1 else self.container(node, "tuple", a)
        self.emit(events.Prepare, node, framework=framework, objects=tuple(a), results=tuple(a), library=library)
        return result
