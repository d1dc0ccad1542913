"""Plays two training steps of a live model on tensors without data, and hands back the tape of their storages.

Nothing is allocated on a device. The model, its optimizers and the random number generators are as before.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import gc
import inspect
import logging
import random
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.optim.optimizer as optimizers
import torch.utils.checkpoint as checkpointing
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.modules import module as modules
from torch.optim import Optimizer
from torch.utils._pytree import tree_leaves

from hardware_catalog import Gpu
from preflight_guard.copies import CannotRehearse, Copies, described, first_line, is_fake
from preflight_guard.kernels_of_cuda import kernels_of_cuda
from preflight_guard.recording import Recorder
from preflight_guard.tape import Tape

Loss = Callable[[Any, Any], Any]
"""From model and batch to the loss, or to a tuple that begins with it and holds what the training loop keeps."""

COMPILED = frozenset({"bitsandbytes", "apex", "deepspeed", "transformer_engine", "fused_adam"})
"""Libraries whose optimizers call their own kernels on addresses: they cannot run without data."""
BYTES_OF_STATE: Mapping[str, int] = {
    "Adam8bit": 2,
    "AdamW8bit": 2,
    "PagedAdam8bit": 2,
    "PagedAdamW8bit": 2,
    "Lion8bit": 1,
    "PagedLion8bit": 1,
    "SGD8bit": 1,
    "RMSprop8bit": 1,
    "FusedAdam": 8,
    "FusedSGD": 4,
    "FusedLAMB": 8,
}
"""State of those optimizers in bytes a trained parameter, without the blocks' scales."""
LIVE_MODEL = "the loss function uses the live model rather than the one that it is given: call the one it is given"
CPU_AUTOCAST = "autocast was rehearsed without CUDA: the CPU casts other operators, the figures may be a tenth too high"
_CAPABILITY = 80
_WRONG_CALL = (TypeError, ValueError, RuntimeError, KeyError, IndexError, AttributeError)
"""What a model raises that is called with something else than it takes."""


@dataclass(frozen=True)
class Rehearsal:
    """Two steps as they would be: the tape, how large the parts are, and what was assumed. All sizes are bytes."""

    tape: Tape
    parameters: int
    gradients: int
    optimizer_state: int
    inputs: int
    notes: tuple[str, ...]
    upper_bound: bool
    """The figures may be too high, but not too low."""


def rehearse(
    model: nn.Module,
    optimizers_of_model: Sequence[Optimizer],
    batch: Any,
    loss: Loss | None,
    *,
    device: torch.device,
    gpu: Gpu | None,
    autocast: torch.dtype | None = None,
    accumulation_steps: int = 1,
) -> Rehearsal:
    """Play two steps. Raises CannotRehearse, with the reason, where the program cannot run without data."""
    # Where a check of values stops the program, it may be one that has to hold: the other answer is tried.
    doubt = Recorder(device.type, gpu, truth=False)
    try:
        return _rehearse(model, optimizers_of_model, batch, loss, device, gpu, autocast, accumulation_steps, doubt)
    except CannotRehearse:
        if not doubt.asked:
            raise
    trust = Recorder(device.type, gpu, truth=True)
    return _rehearse(model, optimizers_of_model, batch, loss, device, gpu, autocast, accumulation_steps, trust)


def _rehearse(
    model: nn.Module,
    optimizers_of_model: Sequence[Optimizer],
    batch: Any,
    loss: Loss | None,
    device: torch.device,
    gpu: Gpu | None,
    autocast: torch.dtype | None,
    accumulation_steps: int,
    recorder: Recorder,
) -> Rehearsal:
    gradients = [(each, each.grad) for each in model.parameters()]
    try:
        with _left_alone(), _unlogged(), _autocast_on(device.type, recorder.notes), torch.enable_grad():
            copies = Copies(FakeTensorMode(allow_non_fake_inputs=True), device)
            stage = _Stage(copies, recorder, model, optimizers_of_model, gpu)
            stage.play(batch, loss, autocast, accumulation_steps)
            seen = stage.rehearsal()
            del stage, copies
    except CannotRehearse:
        raise
    except Exception as problem:
        told = f"it does not run on tensors without data: {type(problem).__name__}: {first_line(problem)}"
        raise CannotRehearse(told) from None
    finally:
        touched = _restore(gradients)
        _drop_leaks(recorder)
    return dataclasses.replace(seen, notes=(*seen.notes, LIVE_MODEL)) if touched else seen


class _Stage:
    """The copies of one rehearsal, and the steps they go through."""

    def __init__(
        self, copies: Copies, recorder: Recorder, model: nn.Module, originals: Sequence[Optimizer], gpu: Gpu | None
    ) -> None:
        self._copies = copies
        self._recorder = recorder
        self._notes: dict[str, None] = {}
        self._gpu = gpu
        self._model = copies.model(model)
        self._parameters = list(dict.fromkeys(self._model.parameters()))
        self._dtype = next((each.dtype for each in self._parameters if each.is_floating_point()), torch.float32)
        for parameter in self._parameters:
            recorder.track(parameter, "parameters")
        for buffer in self._model.buffers():
            recorder.track(buffer, "buffers")
        self._optimizers = [self._optimizer(each) for each in originals]
        for each in self._optimizers:
            self._name_state(each)
            for group in each.param_groups if isinstance(each, Optimizer) else ():
                for parameter in group["params"]:
                    recorder.track(parameter, "parameters")
        self._current: Any = None
        self._kept: Any = None

    def _optimizer(self, optimizer: Optimizer) -> Optimizer | _Compiled:
        while isinstance(inner := getattr(optimizer, "optimizer", None), Optimizer):
            optimizer = inner
        root = type(optimizer).__module__.partition(".")[0]
        if root in COMPILED:
            return _Compiled(optimizer, self._copies)
        made = self._copies.optimizer(optimizer)
        for group in made.param_groups:
            # On CUDA these run over lists of tensors unless told otherwise; fake tensors do not get it by default.
            rated = isinstance(group.get("lr"), torch.Tensor) and not group.get("capturable")
            chosen = rated or group.get("fused") or group.get("differentiable")
            if group.get("foreach", False) is None and not chosen:
                group["foreach"] = type(made).__name__ != "Adafactor"
        return made

    # ------------------------------------------------------------------------------------------------ steps

    def play(self, batch: Any, loss: Loss | None, autocast: torch.dtype | None, accumulation_steps: int) -> None:
        """Two steps, or two passes without gradients where nothing is trained."""
        handles = [
            each.register_post_accumulate_grad_hook(lambda parameter: self._name_gradient(parameter))
            for each in self._parameters
            if each.requires_grad
        ]
        kernels = contextlib.nullcontext() if torch.cuda.is_available() else kernels_of_cuda(self._capability())
        # Said as programs say it; without a device `_autocast_on` makes it the CPU's.
        cast = contextlib.nullcontext() if autocast is None else torch.autocast("cuda", autocast)
        grad = contextlib.nullcontext() if self._optimizers else torch.no_grad()
        try:
            with self._copies.mode, self._recorder, kernels, grad:
                for step in range(2):
                    if step == 1:
                        self._recorder.tape.begin_steady()
                    self._clear_gradients()
                    for _ in range(min(accumulation_steps, 2)):
                        self._pass(self._batch(batch), loss, cast)
                    for optimizer in self._optimizers:
                        self._step(optimizer, lambda: self._again(loss, cast))
        finally:
            for handle in handles:
                handle.remove()

    def _capability(self) -> int:
        text = None if self._gpu is None else self._gpu.compute_capability
        return int(text.replace(".", "")) if text else _CAPABILITY

    def _batch(self, batch: Any) -> Any:
        self._recorder.phase = "inputs"
        # As in a loop: the batch of the step before is there until the new one is.
        self._current = self._copies.batch(batch, self._dtype)
        self._recorder.phase = "activations"
        return self._current

    def _pass(self, batch: Any, loss: Loss | None, cast: contextlib.AbstractContextManager[Any]) -> None:
        try:
            with cast:
                # What a loop binds stays until it is bound again: outputs are there during the next forward.
                self._kept = _call(self._model, batch) if loss is None else loss(self._model, batch)
        except _WRONG_CALL as problem:
            if self._kept is not None or _needs_data(problem):
                raise
            called = "the model does not take the batch" if loss is None else "the loss function failed on the batch"
            hint = "" if loss is not None else "; loss=lambda model, batch: ... calls it as your loop does"
            told = f"{called} ({described(batch)}): {type(problem).__name__}: {first_line(problem)}{hint}"
            raise CannotRehearse(told) from None
        if not self._optimizers:
            return
        value = self._loss_of(self._kept, stated=loss is not None)
        self._recorder.phase = "temporaries"
        value.backward()
        self._recorder.phase = "activations"

    def _again(self, loss: Loss | None, cast: contextlib.AbstractContextManager[Any]) -> torch.Tensor:
        """What an optimizer that evaluates the loss itself is given to call."""
        self._clear_gradients()
        self._pass(self._current, loss, cast)
        self._recorder.phase = "workspace"
        return self._loss_of(self._kept, stated=loss is not None)

    def _loss_of(self, result: Any, *, stated: bool) -> torch.Tensor:
        if isinstance(result, torch.Tensor) and result.numel() == 1:
            return result
        if stated:
            first = result[0] if isinstance(result, tuple) and result else None
            if isinstance(first, torch.Tensor) and first.numel() == 1:
                return first
            raise CannotRehearse("the loss function returns no scalar tensor, nor a tuple that begins with one")
        named = result.get("loss") if isinstance(result, Mapping) else getattr(result, "loss", None)
        if isinstance(named, torch.Tensor) and named.numel() == 1:
            return named
        outputs = [
            each
            for each in tree_leaves(result)
            if isinstance(each, torch.Tensor) and each.requires_grad and each.is_floating_point()
        ]
        if not outputs:
            raise CannotRehearse("the model returns nothing that carries gradients: give loss=lambda model, batch: ...")
        self._notes["no loss was given: the sum of the model's outputs stands for it"] = None
        total: torch.Tensor = sum(each.float().sum() for each in outputs)
        return total

    def _clear_gradients(self) -> None:
        for parameter in self._parameters:
            parameter.grad = None

    def _name_gradient(self, parameter: torch.Tensor) -> None:
        if parameter.grad is not None:
            self._recorder.track(parameter.grad, "gradients")

    def _step(self, optimizer: Optimizer | _Compiled, again: Callable[[], torch.Tensor]) -> None:
        self._recorder.phase = "workspace"
        if isinstance(optimizer, _Compiled):
            optimizer.step(self._recorder)
        else:
            needed = inspect.signature(optimizer.step).parameters.get("closure")
            optimizer.step(*([again] if needed is not None and needed.default is needed.empty else []))
            self._name_state(optimizer)
        self._recorder.phase = "activations"

    def _name_state(self, optimizer: Optimizer | _Compiled) -> None:
        state = optimizer.held if isinstance(optimizer, _Compiled) else dict(optimizer.state)
        for leaf in tree_leaves(list(state.values())):
            if isinstance(leaf, torch.Tensor):
                self._recorder.track(leaf, "optimizer")

    # ---------------------------------------------------------------------------------------------- figures

    def rehearsal(self) -> Rehearsal:
        """What was seen."""
        notes = [*self._copies.notes, *self._recorder.notes, *self._notes]
        for optimizer in self._optimizers:
            if isinstance(optimizer, _Compiled):
                notes.append(f"the step of {optimizer.name} calls compiled kernels: its temporaries are not counted")
        tape = self._recorder.tape
        sizes: dict[str, int] = {}
        for number, size in tape.events:
            if size and tape.categories[number] in ("parameters", "buffers", "optimizer"):
                sizes[tape.categories[number]] = sizes.get(tape.categories[number], 0) + size
        trained = [each for each in self._parameters if each.requires_grad]
        steady = tape.events[tape.steady_from :]
        return Rehearsal(
            tape=tape,
            parameters=sizes.get("parameters", 0) + sizes.get("buffers", 0),
            gradients=sum(each.numel() * each.element_size() for each in trained) if self._optimizers else 0,
            optimizer_state=sizes.get("optimizer", 0),
            inputs=sum(size for number, size in steady if size and tape.categories[number] == "inputs"),
            notes=tuple(notes),
            upper_bound=any("upper bound" in note for note in notes),
        )


class _Compiled:
    """An optimizer whose step cannot run without data: the state that it holds, or will hold by its class."""

    def __init__(self, optimizer: Optimizer, copies: Copies) -> None:
        self.name = type(optimizer).__name__
        self.param_groups: Sequence[Any] = ()
        self._per_parameter = BYTES_OF_STATE.get(self.name)
        self._mode = copies.mode
        self._device = copies.device
        self._trained = [each.numel() for group in optimizer.param_groups for each in group["params"]]
        self.held: dict[Any, Any] = {}
        if optimizer.state:
            for parameter, state in optimizer.state.items():
                self.held[id(parameter)] = copies.any(dict(state))
        elif self._per_parameter is None:
            raise CannotRehearse(
                f"{self.name} calls compiled kernels and holds no state yet: enter the guard after its first step"
            )

    def step(self, recorder: Recorder) -> None:
        """The first step makes the state; its size is the class's."""
        if self.held:
            return
        with self._mode:
            for index, count in enumerate(self._trained):
                made = torch.empty(count * (self._per_parameter or 0), dtype=torch.uint8, device=self._device)
                recorder.track(made, "optimizer")
                self.held[index] = made


def _call(model: nn.Module, batch: Any) -> Any:
    if isinstance(batch, Mapping):
        return model(**batch)
    if isinstance(batch, (list, tuple)):
        if len(batch) > 1 and _positions(model) == 1:
            # Inputs and targets: the model takes the inputs, and what becomes of the targets is not said.
            return model(batch[0])
        return model(*batch)
    return model(batch)


def _needs_data(problem: BaseException) -> bool:
    """Whether a failure is that of tensors without data, not of the call: they lack values, storages and kernels."""
    if isinstance(problem, NotImplementedError) or type(problem).__module__.startswith("torch._subclasses"):
        return True
    words = str(problem).lower()
    return any(word in words for word in ("fake", "meta tensor", "subclass", "data pointer", "storage", "unbacked"))


def _positions(model: nn.Module) -> int:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(model.forward).parameters.values()
    if any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters):
        return sys.maxsize
    return sum(each.kind in kinds for each in parameters)


# ------------------------------------------------------------------------------------------------ leaving no trace


@contextlib.contextmanager
def _emptied(*tables: MutableMapping[Any, Any]) -> Iterator[None]:
    """Take everything out of some tables, and put it back in order."""
    before = [dict(table) for table in tables]
    for table in tables:
        table.clear()
    try:
        yield
    finally:
        for table, items in zip(tables, before, strict=True):
            table.clear()
            table.update(items)


@contextlib.contextmanager
def _autocast_on(place: str, notes: MutableMapping[str, None]) -> Iterator[None]:
    """Let a program's `torch.autocast("cuda")` cast the tensors of a rehearsal that has no CUDA."""
    if place == "cuda":
        yield
        return
    made = torch.autocast.__init__

    def make(self: Any, device_type: str, dtype: torch.dtype | None = None, *args: Any, **kwargs: Any) -> None:
        if device_type != "cuda":
            made(self, device_type, dtype, *args, **kwargs)
            return
        enabled = args[0] if args else kwargs.get("enabled", True)
        if enabled:
            notes[CPU_AUTOCAST] = None
        made(self, place, dtype or torch.float16, *args, **kwargs)

    torch.autocast.__init__ = make
    try:
        yield
    finally:
        torch.autocast.__init__ = made


@contextlib.contextmanager
def _unlogged() -> Iterator[None]:
    """Keep torch from logging a traceback of what fails without data: it is told in one line."""
    log = logging.getLogger("torch._subclasses.fake_tensor")
    log.addFilter(_nothing)
    try:
        yield
    finally:
        log.removeFilter(_nothing)


def _nothing(record: logging.LogRecord) -> bool:
    return False


@contextlib.contextmanager
def _left_alone() -> Iterator[None]:
    """Keep the generators of random numbers and the hooks of all modules and optimizers out of the rehearsal."""
    states = torch.get_rng_state(), random.getstate()
    numpy = sys.modules.get("numpy")
    drawn = None if numpy is None else numpy.random.get_state()
    devices = torch.cuda.get_rng_state_all() if torch.cuda.is_available() and torch.cuda.is_initialized() else None
    states_of_devices = checkpointing.get_device_states
    # Checkpointing saves the generators of the devices through tensors, which the mode would make fake.
    checkpointing.get_device_states = lambda *args: ([], [])
    try:
        with _emptied(
            modules._global_forward_pre_hooks,
            modules._global_forward_hooks,
            modules._global_backward_pre_hooks,
            modules._global_backward_hooks,
            optimizers._global_optimizer_pre_hooks,
            optimizers._global_optimizer_post_hooks,
        ):
            yield
    finally:
        checkpointing.get_device_states = states_of_devices
        torch.set_rng_state(states[0])
        random.setstate(states[1])
        if numpy is not None:
            numpy.random.set_state(drawn)
        if devices is not None:
            torch.cuda.set_rng_state_all(devices)


def _restore(gradients: Sequence[tuple[nn.Parameter, torch.Tensor | None]]) -> bool:
    touched = False
    for parameter, gradient in gradients:
        if parameter.grad is not gradient:
            parameter.grad = gradient
            touched = True
    return touched


def _drop_leaks(recorder: Recorder) -> None:
    """Empty the caches of functions (functools) that kept tensors without data: a later call would get them."""
    if not recorder.alive():
        return
    gc.collect()
    if not recorder.alive():
        return
    for each in gc.get_objects():
        if type(each) is functools._lru_cache_wrapper and _reaches_fake(each):
            each.cache_clear()


def _reaches_fake(cached: Any) -> bool:
    # The cache's entries are links that hold key and result; results may be tuples.
    found = gc.get_referents(cached)
    for _ in range(3):
        if any(is_fake(each) for each in found):
            return True
        found = [inner for each in found if not inspect.isroutine(each) for inner in gc.get_referents(each)][:10_000]
    return False
