"""The context manager: predict on entering, stop what cannot fit, compare on leaving."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Sequence
from numbers import Real
from types import TracebackType
from typing import Any, Literal

import torch
from torch import nn
from torch.optim import Optimizer
from torch.utils._pytree import tree_leaves

from preflight_guard import capacity as capacities
from preflight_guard.capacity import Capacity
from preflight_guard.copies import CannotRehearse
from preflight_guard.rehearsal import CPU_AUTOCAST, Loss, Rehearsal, rehearse
from preflight_guard.report import Peaks, Range, Report, Verdict
from preflight_guard.tape import AllocatorSettings, allocator_settings, replay, runs_within

OnRisk = Literal["raise", "warn", "ignore"]

ALLOCATED_LOW, ALLOCATED_HIGH = -0.02, 0.07
RESERVED_LOW, RESERVED_HIGH = -0.07, 0.07
"""How far real runs lie from a followed program's figure, relative to it: the 90 % quantiles of the calibration's
class `followed` (155 and 29 runs), rounded outwards. Kernels' own workspaces make the upper side."""


COMPILED_MODEL = (
    "a compiled model was rehearsed as it is written: fused operators need less, the figures are an upper bound"
)
AUTOCAST_LOW = -0.15
"""The lower side where autocast was rehearsed without CUDA: a checkpointed GPT under bfloat16 came out 12.6 % high."""


class VRAMRisk(RuntimeError):
    """The run cannot fit its device, or with `strict` probably will not; `report` says by how much."""

    def __init__(self, report: Report) -> None:
        super().__init__(str(report))
        self.report = report


class VRAMWarning(UserWarning):
    """A risk that was to be a warning, or a run that could not be checked."""


class VRAMGuard:
    """Checks before a training that its step fits the device, by a rehearsal on tensors without data.

    >>> with VRAMGuard(model, optimizer, batch=next(iter(loader)), loss=step) as guard:  # doctest: +SKIP
    ...     train()
    >>> print(guard.report)  # doctest: +SKIP

    `batch` is an example: tensors, `Shape`s or tuples of sizes, in lists, tuples and mappings. `loss(model, batch)`
    returns the loss, or a tuple that begins with it and holds what the training loop keeps besides (its outputs);
    without it the model is called as the batch suggests. With no optimizer a forward pass without gradients is
    rehearsed. `autocast` is the dtype of an autocast around the forward pass.

    The device is the model's, or the present CUDA device; `device` may name another, or one of the catalogue, and
    `device_bytes` says how many bytes are left for torch. `VRAMRisk` is raised where not even the low end fits;
    `strict` raises where the run probably does not, and `on_risk="warn"` warns instead. A program that cannot be
    rehearsed gets a `VRAMWarning` and runs on, unless `on_problem="raise"`.

    On entering, CUDA's peak counters are reset, so that what they say on leaving is of this run; nothing else of the
    program changes.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: Optimizer | Sequence[Optimizer] | None = None,
        *,
        batch: Any,
        loss: Loss | None = None,
        device: str | torch.device | None = None,
        device_bytes: int | None = None,
        autocast: torch.dtype | None = None,
        accumulation_steps: int = 1,
        strict: bool = False,
        on_risk: OnRisk = "raise",
        on_problem: OnRisk = "warn",
    ) -> None:
        if on_risk not in ("raise", "warn", "ignore") or on_problem not in ("raise", "warn", "ignore"):
            raise ValueError("on_risk and on_problem take raise, warn or ignore")
        if accumulation_steps < 1:
            raise ValueError("accumulation_steps counts the batches of one step: 1 or more")
        if device_bytes is not None and (not isinstance(device_bytes, Real) or device_bytes <= 0):
            raise ValueError(f"device_bytes is a number of bytes, not {device_bytes!r}")
        if autocast is not None and not isinstance(autocast, torch.dtype):
            raise TypeError(f"autocast takes a dtype such as torch.bfloat16, not {autocast!r}")
        if not isinstance(model, nn.Module):
            raise TypeError(f"the model is to be an nn.Module, not {model!r}")
        self._model = _unwrapped(model)
        self._compiled = any(hasattr(each, "_orig_mod") for each in (model, getattr(model, "module", None)))
        self._optimizers = _listed(optimizer)
        self._batch, self._loss = batch, loss
        self._autocast, self._accumulation = autocast, accumulation_steps
        self._strict, self._on_risk, self._on_problem = strict, on_risk, on_problem
        self._place = _place(self._model, device)
        self._capacity = _capacity(self._place, device, device_bytes)
        self._report: Report | None = None

    @property
    def report(self) -> Report:
        """The prediction, with torch's peaks once the guard was left. It is made when first asked for."""
        if self._report is None:
            self._report = self._predict()
        return self._report

    def __enter__(self) -> VRAMGuard:
        report = self.report
        if report.problem is not None:
            self._say(report, self._on_problem)
        elif report.verdict == "does-not-fit" or (report.verdict == "unlikely" and self._strict):
            self._say(report, self._on_risk)
        elif report.verdict == "unlikely" and self._on_risk == "warn":
            self._say(report, "warn")
        if self._place.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self._place)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._place.type == "cuda":
            self._report = dataclasses.replace(self.report, measured=_peaks(self._place))
        # What was handed in may be large, and is not needed any more.
        del self._batch, self._loss

    def _say(self, report: Report, how: OnRisk) -> None:
        if how == "raise":
            raise VRAMRisk(report)
        if how == "warn":
            warnings.warn(str(report), VRAMWarning, stacklevel=3)

    # --------------------------------------------------------------------------------------------- prediction

    def _predict(self) -> Report:
        room = self._capacity
        if room is None:
            reason = "no CUDA device here: give device= (a name of the catalogue) or device_bytes="
            return Report("unknown", "no device", 0, problem=reason)
        try:
            seen = rehearse(
                self._model,
                self._optimizers,
                self._batch,
                self._loss,
                device=self._place,
                gpu=room.gpu,
                autocast=self._autocast,
                accumulation_steps=self._accumulation,
            )
        except CannotRehearse as reason:
            return Report("unknown", room.name, room.low, problem=str(reason))
        settings = allocator_settings(os.environ)
        # The tape brings the model and what belongs to it; all else that is live now stays beside it.
        other = max(0, room.allocated_now - _live_bytes(self._model, self._optimizers, self._place))
        held = (other,) if other else ()
        peaks = replay(seen.tape, settings, held=held)
        notes = (*seen.notes, COMPILED_MODEL) if self._compiled else seen.notes
        otherwise = CPU_AUTOCAST in notes
        allocated = _around(peaks.allocated, AUTOCAST_LOW if otherwise else ALLOCATED_LOW, ALLOCATED_HIGH)
        reserved = _around(peaks.reserved, AUTOCAST_LOW if otherwise else RESERVED_LOW, RESERVED_HIGH)
        return Report(
            _verdict(seen, room, allocated, reserved, settings, held, above=seen.upper_bound or self._compiled),
            room.name,
            room.low,
            allocated,
            reserved,
            parameters=seen.parameters,
            gradients=seen.gradients,
            optimizer_state=seen.optimizer_state,
            inputs=seen.inputs,
            at_peak=peaks.categories,
            other=other,
            notes=notes,
        )


def _verdict(
    seen: Rehearsal,
    room: Capacity,
    allocated: Range,
    reserved: Range,
    settings: AllocatorSettings,
    held: Sequence[int],
    *,
    above: bool,
) -> Verdict:
    if reserved.high <= room.low:
        return "fits"
    if above:
        # An upper bound can prove that a run fits, never that it does not.
        return "borderline"
    # Cached blocks are given back before torch fails: what must fit is what is allocated.
    if allocated.low > room.high:
        return "does-not-fit"
    return "borderline" if runs_within(room.low, seen.tape, settings, held) else "unlikely"


def _around(expected: int, low: float, high: float) -> Range:
    return Range(int(expected * (1 + low)), expected, int(expected * (1 + high)))


def _listed(optimizer: Optimizer | Sequence[Optimizer] | None) -> list[Optimizer]:
    if optimizer is None:
        return []
    optimizers = list(optimizer) if isinstance(optimizer, (list, tuple)) else [optimizer]
    for each in optimizers:
        if not hasattr(each, "param_groups"):
            raise TypeError(f"optimizer takes an optimizer of torch or a list of them, not {each!r}")
    return optimizers


def _unwrapped(model: nn.Module) -> nn.Module:
    """The model inside of DataParallel's wrappers, which run the same step on each device, and of `torch.compile`."""
    while True:
        if type(model).__name__ in ("DataParallel", "DistributedDataParallel"):
            model = model.module
        elif isinstance(written := getattr(model, "_orig_mod", None), nn.Module):
            model = written
        else:
            return model


def _place(model: nn.Module, device: str | torch.device | None) -> torch.device:
    """Where the tensors of the rehearsal are said to be."""
    if isinstance(device, torch.device):
        return device
    if isinstance(device, str) and device.partition(":")[0] in ("cuda", "cpu"):
        return torch.device(device)
    own = next((each.device for each in model.parameters()), torch.device("cpu"))
    if own.type == "cuda":
        return own
    return torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else torch.device("cpu")


def _capacity(place: torch.device, device: str | torch.device | None, device_bytes: int | None) -> Capacity | None:
    if device_bytes is not None:
        return capacities.of_bytes(device_bytes)
    if isinstance(device, str) and device.partition(":")[0] not in ("cuda", "cpu"):
        return capacities.of_gpu(device)
    return capacities.of_device(place) if place.type == "cuda" else None


def _live_bytes(model: nn.Module, optimizers: Sequence[Optimizer], place: torch.device) -> int:
    """Bytes of the storages on the device that the rehearsal brings itself, and of gradients that a step clears."""
    tensors = [*model.parameters(), *model.buffers()]
    tensors += [each.grad for each in model.parameters() if each.grad is not None]
    for optimizer in optimizers:
        tensors += tree_leaves(list(optimizer.state.values()))
    storages = {
        each.untyped_storage().data_ptr(): each.untyped_storage().nbytes()
        for each in tensors
        if isinstance(each, torch.Tensor) and each.device == place
    }
    return sum(-(-size // 512) * 512 for size in storages.values())


def _peaks(place: torch.device) -> Peaks:
    torch.cuda.synchronize(place)
    free, total = torch.cuda.mem_get_info(place)
    return Peaks(
        allocated=torch.cuda.max_memory_allocated(place),
        reserved=torch.cuda.max_memory_reserved(place),
        device=torch.cuda.get_device_name(place),
        total=total,
        context=max(0, total - free - torch.cuda.memory_reserved(place)),
        torch=torch.__version__,
    )
