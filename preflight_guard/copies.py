"""Copies of a live model, its optimizers and its batch whose tensors hold no data.

Nothing of the originals changes: the copies have their own modules, containers and hooks, and share what carries no
tensors and cannot be copied (a trainer, a loader, a process group).
"""

from __future__ import annotations

import copy
import types
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.optim import Optimizer
from torch.overrides import TorchFunctionMode
from torch.utils.data import DataLoader, Dataset

SHARED_ROOTS = frozenset(
    {"lightning", "pytorch_lightning", "lightning_fabric", "deepspeed", "wandb", "logging", "threading", "tensorboard"}
)
"""Libraries whose objects hang on modules and hold a whole training: they are shared with the copy."""
HOOKS = (
    "_forward_pre_hooks",
    "_forward_hooks",
    "_backward_pre_hooks",
    "_backward_hooks",
)
SHARDED = frozenset({"FullyShardedDataParallel", "DeepSpeedEngine", "PipelineEngine"})
"""Wrappers whose forward pass waits for other processes."""
_PLAIN = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type, str, int, float, bool, bytes)


class CannotRehearse(Exception):
    """Why a model, an optimizer or a batch cannot be played without data."""


MOST_DESCRIBED = 4
"""Parts of a batch that a message names."""


@dataclass(frozen=True)
class Shape:
    """A tensor that a batch would hold: its sizes and dtype (the model's own where none is given).

    >>> Shape(8, 1024, dtype=torch.long)
    Shape(sizes=(8, 1024), dtype=torch.int64)
    """

    sizes: tuple[int, ...]
    dtype: torch.dtype | None

    def __init__(self, *sizes: int, dtype: torch.dtype | None = None) -> None:
        if any(size < 0 for size in sizes):
            raise ValueError(f"a tensor has no negative sizes: {', '.join(map(str, sizes))}")
        object.__setattr__(self, "sizes", sizes)
        object.__setattr__(self, "dtype", dtype)


class _FakeCopies(TorchFunctionMode):
    """Makes `copy.deepcopy` of a tensor give its fake."""

    def __init__(self, fake: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self._fake = fake

    def __torch_function__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Only the copying of tensors is replaced."""
        if func in (torch.Tensor.__deepcopy__, nn.Parameter.__deepcopy__):
            tensor, memo = args
            if id(tensor) not in memo:
                memo[id(tensor)] = self._fake(tensor)
            return memo[id(tensor)]
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))


class Copies:
    """Makes the copies for one rehearsal: what is copied twice is one object in both."""

    def __init__(self, mode: FakeTensorMode, device: torch.device) -> None:
        self.mode = mode
        self.device = device
        self.notes: dict[str, None] = {}
        self._memo: dict[int, Any] = {}
        self._originals: list[Any] = []

    # -------------------------------------------------------------------------------------------- tensors

    def tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        """The fake of a tensor; those that share a storage share one. CPU tensors stay there."""
        known = self._memo.get(id(tensor))
        if known is None:
            known = self._memo[id(tensor)] = self.mode.from_tensor(tensor, static_shapes=True)
            self._originals.append(tensor)
            known.grad = None
        return known

    def on_device(self, tensor: torch.Tensor) -> torch.Tensor:
        """The fake of a tensor as it is once the training has moved it to the device."""
        if id(tensor) not in self._memo and tensor.device != self.device:
            with self.mode, torch.no_grad():
                moved: torch.Tensor = torch.empty_strided(
                    tensor.size(), tensor.stride(), dtype=tensor.dtype, device=self.device
                )
            if isinstance(tensor, nn.Parameter):
                moved = nn.Parameter(moved, tensor.requires_grad)
            elif tensor.requires_grad and tensor.is_leaf:
                moved.requires_grad_()
            self._memo[id(tensor)] = moved
            self._originals.append(tensor)
        return self.tensor(tensor)

    def any(self, value: Any) -> Any:
        """A copy of any value, its tensors fake. Raises CannotRehearse."""
        try:
            with _FakeCopies(self.tensor):
                return copy.deepcopy(value, self._memo)
        except Exception as problem:
            raise CannotRehearse(f"{type(value).__name__} cannot be copied: {first_line(problem)}") from problem

    # --------------------------------------------------------------------------------------------- models

    def model(self, model: nn.Module) -> nn.Module:
        """The copy of a model, with hooks that write to nothing of the program. Raises CannotRehearse."""
        if any(type(each).__name__ == "DTensor" for each in model.parameters()):
            raise CannotRehearse("its parameters are sharded over processes (DTensor)")
        for module in model.modules():
            if type(module).__name__ in SHARDED:
                raise CannotRehearse(f"it is sharded over processes ({type(module).__name__})")
        for tensor in (*model.parameters(), *model.buffers()):
            self.on_device(tensor)
        self._share_surroundings(model)
        copied: nn.Module = self.any(model)
        for module in copied.modules():
            self._isolate(module)
        return copied

    def _share_surroundings(self, model: nn.Module) -> None:
        for module in model.modules():
            for name, value in vars(module).items():
                if name in ("_parameters", "_buffers", "_modules") or isinstance(value, (nn.Module, torch.Tensor)):
                    continue
                if _is_surrounding(value) or not self._can_copy(value):
                    self._memo[id(value)] = value
                    self._originals.append(value)

    def _can_copy(self, value: Any) -> bool:
        if isinstance(value, (*_PLAIN, type(None), torch.dtype, torch.device)) or not _is_odd(value):
            return True
        try:
            with _FakeCopies(self.tensor):
                copy.deepcopy(value, dict(self._memo))
        except Exception:
            self.notes[f"{type(value).__name__} of the model cannot be copied and is shared with its rehearsal"] = None
            return False
        return True

    def _isolate(self, module: nn.Module) -> None:
        for name in HOOKS:
            hooks: OrderedDict[int, Any] = getattr(module, name)
            for key, hook in list(hooks.items()):
                isolated = self._isolated(hook)
                if isolated is None:
                    self.notes["a hook that writes to variables of the program was left out"] = None
                    hooks.pop(key)
                else:
                    hooks[key] = isolated
        forward = vars(module).get("forward")
        if isinstance(forward, types.FunctionType):
            isolated = self._isolated(forward)
            if isolated is None:
                raise CannotRehearse(f"the forward put on {type(module).__name__} uses variables of the program")
            vars(module)["forward"] = isolated

    def _isolated(self, hook: Any) -> Any:
        """A function with its own copies of what it closes over; None where it uses the program's variables."""
        if not isinstance(hook, types.FunctionType):
            return hook
        for name in hook.__code__.co_names:
            value = hook.__globals__.get(name)
            if value is not None and not isinstance(value, _PLAIN) and not _is_library(hook):
                return None
        if hook.__closure__ is None:
            return hook
        try:
            cells = tuple(types.CellType(self.any(cell.cell_contents)) for cell in hook.__closure__)
        except (CannotRehearse, ValueError):
            return None
        made = types.FunctionType(hook.__code__, hook.__globals__, hook.__name__, hook.__defaults__, cells)
        made.__kwdefaults__ = hook.__kwdefaults__
        return made

    # ----------------------------------------------------------------------------------------- optimizers

    def optimizer(self, optimizer: Optimizer) -> Optimizer:
        """The copy of an optimizer with its state, its hooks left out. Raises CannotRehearse."""
        made: Optimizer = object.__new__(type(optimizer))
        self._memo[id(optimizer)] = made
        for name, value in vars(optimizer).items():
            # Schedulers put a counting `step` on the instance, bound to the original.
            if name == "step" or name.endswith("_hooks"):
                continue
            if isinstance(value, Optimizer):
                vars(made)[name] = self.optimizer(value)
            elif name not in ("state", "param_groups"):
                vars(made)[name] = self.any(value) if _holds_tensors(value) else value
        for name in vars(optimizer):
            if name.endswith("_hooks"):
                vars(made)[name] = OrderedDict()
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                self.on_device(parameter)
        made.param_groups = [self._group(group) for group in optimizer.param_groups]
        made.state = defaultdict(dict)
        for parameter, state in optimizer.state.items():
            key = self._memo.get(id(parameter), parameter)
            made.state[key] = self._state(state, parameter)
        return made

    def _group(self, group: Mapping[str, Any]) -> dict[str, Any]:
        rest = {name: self.any(value) for name, value in group.items() if name != "params"}
        return {"params": [self.on_device(each) for each in group["params"]], **rest}

    def _state(self, state: Any, parameter: Any) -> Any:
        if isinstance(state, torch.Tensor):
            # What stands beside its parameter moves with it; step counts stay on the CPU.
            moves = isinstance(parameter, torch.Tensor) and state.device == parameter.device and state.dim() > 0
            return self.on_device(state) if moves else self.tensor(state)
        if isinstance(state, Mapping):
            return {name: self._state(value, parameter) for name, value in state.items()}
        if isinstance(state, list):
            return [self._state(value, parameter) for value in state]
        return self.any(state)

    # ---------------------------------------------------------------------------------------------- batches

    def batch(self, batch: Any, dtype: torch.dtype) -> Any:
        """New fake tensors for every tensor or Shape of a batch, on the device. Raises CannotRehearse."""
        if isinstance(batch, torch.Tensor):
            with self.mode:
                return torch.empty(batch.size(), dtype=batch.dtype, device=self.device)
        if isinstance(batch, Shape):
            with self.mode:
                return torch.empty(batch.sizes, dtype=batch.dtype or dtype, device=self.device)
        if isinstance(batch, torch.Size) or (isinstance(batch, tuple) and batch and _all_integers(batch)):
            return self.batch(Shape(*batch), dtype)
        if isinstance(batch, Mapping):
            return {name: self.batch(value, dtype) for name, value in batch.items()}
        if isinstance(batch, tuple) and hasattr(batch, "_fields"):
            return type(batch)(*(self.batch(value, dtype) for value in batch))
        if isinstance(batch, (list, tuple)):
            return type(batch)(self.batch(value, dtype) for value in batch)
        if batch is None or isinstance(batch, (str, int, float, bool)):
            return batch
        if not _holds_tensors(batch):
            raise CannotRehearse(
                f"the batch holds a {type(batch).__name__}, which is not understood: give tensors, "
                "preflight_guard.Shape, or lists, tuples and mappings of them"
            )
        return self.any(batch)


def described(batch: Any) -> str:
    """What a batch holds, in a few words: `float32 [8, 16]`, `{images: float32 [8, 3], 2 more}`."""
    if isinstance(batch, torch.Tensor):
        return f"{str(batch.dtype).removeprefix('torch.')} {list(batch.shape)}"
    if isinstance(batch, Mapping):
        parts = [f"{name}: {described(value)}" for name, value in [*batch.items()][:MOST_DESCRIBED]]
        return f"{{{', '.join([*parts, *_more(batch)])}}}"
    if isinstance(batch, (list, tuple)):
        return f"[{', '.join([*map(described, batch[:MOST_DESCRIBED]), *_more(batch)])}]"
    return "None" if batch is None else type(batch).__name__


def _more(batch: Sized) -> list[str]:
    return [f"{len(batch) - MOST_DESCRIBED} more"] if len(batch) > MOST_DESCRIBED else []


def first_line(problem: BaseException) -> str:
    """The first line of what it says, else its kind."""
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0]


def _all_integers(value: Sequence[Any]) -> bool:
    return all(isinstance(each, int) and not isinstance(each, bool) for each in value)


def _is_surrounding(value: Any) -> bool:
    root = (type(value).__module__ or "").partition(".")[0]
    return root in SHARED_ROOTS or isinstance(value, (DataLoader, Dataset)) or "ProcessGroup" in type(value).__name__


def _is_odd(value: Any) -> bool:
    """Whether copying could fail or be long: anything but the plain containers of plain things."""
    if isinstance(value, (list, tuple, set, dict)):
        members = value.values() if isinstance(value, dict) else value
        return any(_is_odd(member) for member in members)
    return not isinstance(value, (*_PLAIN, type(None), nn.Module, torch.Tensor, torch.dtype, torch.device))


def _is_library(function: types.FunctionType) -> bool:
    root = (function.__module__ or "").partition(".")[0]
    return root in ("torch", "peft", "accelerate", "transformers", "timm", "diffusers")


def _holds_tensors(value: Any) -> bool:
    if isinstance(value, (torch.Tensor, nn.Module, Optimizer)):
        return True
    if isinstance(value, Mapping):
        return any(_holds_tensors(each) for each in value.values())
    if isinstance(value, (list, tuple, set)):
        return any(_holds_tensors(each) for each in value)
    return hasattr(value, "__dict__") and any(isinstance(each, torch.Tensor) for each in vars(value).values())


def is_fake(value: Any) -> bool:
    """Whether a value is a tensor without data."""
    return isinstance(value, FakeTensor)
