"""What a shadow run shows about the program's configuration: shapes fed to the model, precision, optimizer, steps."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.memory.adjustments import apply_to_model, changes_of
from engine.memory.evidence import LIBRARY_STEP, MASTERS_UNSEEN

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter


@dataclass(frozen=True)
class Observations:
    """Facts of one run; None where the run did not show them."""

    model_name: str = "unknown"
    parameters: int | None = None
    trainable: int | None = None
    evidence: str = "unknown"
    batch_size: int | None = None
    sequence_length: int | None = None
    image_size: int | None = None
    precision: str | None = None
    optimizer: str | None = None
    fused: bool = False
    gradient_checkpointing: bool = False
    attention: str | None = None
    accumulation_steps: int = 1
    steps: int = 0
    backwards: int = 0
    model_calls: int = 0
    generated: bool = False
    declared: tuple[tuple[str, Any], ...] = ()
    """Values that a library's model named (lora_rank, quantization, max_new_tokens, sharding, offload ...)."""

    @property
    def saw_nothing(self) -> bool:
        """Whether the model was fed tensors without elements: data whose size could not be followed."""
        return 0 in (self.batch_size, self.sequence_length, self.image_size)


class Watcher:
    """Listens to the shadow machine's hooks."""

    def __init__(self, interpreter: Interpreter, machine: Any) -> None:
        self.interpreter = interpreter
        self.machine = machine
        self.autocast: set[str] = set()
        self.inputs: list[tuple[tuple[int, ...], bool]] = []
        self.roots: dict[int, Any] = {}
        self.optimizer_names: list[str] = []
        self.fused = False
        self.checkpointing = False

    def on_call(self, moment: str, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A module is called, or returns."""
        activity = self.interpreter.activity
        if moment == "end":
            activity.depth -= 1
            problem = sys.exc_info()[1]
            if problem is not None and self.machine.phase != "load":
                # A model that fails cannot be passed over.
                problem.fatal_to_run = True  # type: ignore[attr-defined]
            return
        activity.depth += 1
        if self.machine.in_backward:
            # What checkpoints compute again.
            return
        if activity.depth == 1:
            activity.model_calls += 1
            activity.calls_of[id(module)] = activity.calls_of.get(id(module), 0) + 1
            if self.machine.phase == "load":
                self.machine.phase = "forward"
                self.machine.reset_peak()
            if id(module) not in self.roots and next(iter(module.parameters()), None) is not None:
                self.roots[id(module)] = module
                if self.interpreter.state.get("changes"):
                    apply_to_model(self.interpreter, module)
                    if self.machine.autocast is None and "amp-bf16" in changes_of(self.interpreter):
                        self.autocast.add("bfloat16")
                self._see_inputs(args, kwargs)
        if self.machine.autocast is not None and not self.autocast:
            self.autocast.add(str(self.machine.autocast).removeprefix("torch."))

    def _see_inputs(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for value in (*args, *kwargs.values()):
            shape = getattr(value, "shape", None)
            if shape and hasattr(value, "dtype") and all(isinstance(size, int) for size in shape):
                self.inputs.append((tuple(shape), "int" in str(value.dtype)))

    def on_step(self, optimizer: Any) -> None:
        """An optimizer has stepped."""
        name = type(optimizer).__name__
        if name not in self.optimizer_names:
            self.optimizer_names.append(name)
        if any(group.get("fused") for group in getattr(optimizer, "param_groups", [])):
            self.fused = True
        self._see_masters(optimizer)
        self.interpreter.after_step(optimizer)

    def _see_masters(self, optimizer: Any) -> None:
        # Autocast is for float32 weights: half ones under it mean that a run may hold its masters elsewhere.
        if self.autocast and self.interpreter.activity.steps == 0 and LIBRARY_STEP not in self.interpreter.notes:
            stepped = [p for group in getattr(optimizer, "param_groups", []) for p in group["params"]]
            if any(p.dtype.kind == 2 and p.dtype.itemsize == 2 for p in stepped):
                self.interpreter.note(MASTERS_UNSEEN)

    def on_backward(self, moment: str) -> None:
        """A backward pass begins or ends."""
        if moment == "begin":
            self.interpreter.activity.backwards += 1

    def finish(self) -> Observations:
        """Everything seen."""
        activity, state = self.interpreter.activity, self.interpreter.state
        modules = self._top_modules()
        # Counted once however often they are shared between the models of a run.
        parameters = {id(p): p for module in modules for p in module.parameters()}
        counts = {key: int(getattr(p, "logical_numel", None) or p.numel()) for key, p in parameters.items()}
        name, evidence = "unknown", "unknown"
        if modules:
            largest = max(modules, key=lambda m: sum(p.numel() for p in m.parameters()))
            name = str(state.get("model name") or type(largest).__name__)
            evidence = str(state.get("model evidence") or "source")
        batch, sequence, image = self._shapes()
        declared = dict(state.get("declared", {}))
        steps = activity.steps
        return Observations(
            model_name=name,
            parameters=sum(counts.values()) if modules else None,
            trainable=sum(counts[key] for key, p in parameters.items() if p.requires_grad) if modules else None,
            evidence=evidence,
            batch_size=batch,
            sequence_length=sequence,
            image_size=image,
            precision=self._precision(list(parameters.values())),
            optimizer="+".join(dict.fromkeys(n.lower() for n in self.optimizer_names)) or None,
            fused=self.fused,
            gradient_checkpointing=bool(getattr(self.machine, "checkpoints", 0)) or self.checkpointing,
            attention="+".join(sorted(self.machine.sdpa_used)) or None,
            accumulation_steps=max(1, round(activity.backwards / steps))
            if steps and len(self.optimizer_names) == 1
            else 1,
            steps=steps,
            backwards=activity.backwards,
            model_calls=activity.model_calls,
            generated=activity.generated,
            declared=tuple(declared.items()),
        )

    def _top_modules(self) -> list[Any]:
        inner: set[int] = set()
        for module in self.roots.values():
            inner.update(id(child) for child in module.modules() if child is not module)
        return [module for key, module in self.roots.items() if key not in inner]

    def _shapes(self) -> tuple[int | None, int | None, int | None]:
        images = [shape for shape, whole in self.inputs if len(shape) == 4 and not whole]
        tokens = [shape for shape, whole in self.inputs if len(shape) == 2 and whole]
        if tokens:
            return tokens[0][0], tokens[0][1], images[0][-1] if images else None
        if images:
            return images[0][0], None, images[0][-1]
        shaped = [shape for shape, _ in self.inputs if shape]
        if not shaped:
            return None, None, None
        return shaped[0][0], shaped[0][1] if len(shaped[0]) == 3 else None, None

    def _precision(self, parameters: list[Any]) -> str | None:
        if not parameters:
            return None
        if self.autocast:
            return {"float16": "amp-fp16", "bfloat16": "amp-bf16"}.get(next(iter(self.autocast)), "fp32")
        sizes: dict[str, int] = {}
        for parameter in parameters:
            key = str(parameter.dtype).removeprefix("torch.")
            sizes[key] = sizes.get(key, 0) + parameter.numel()
        main = max(sizes, key=lambda key: sizes[key])
        return {"float16": "pure-fp16", "bfloat16": "pure-bf16", "float32": "fp32"}.get(main, main)
