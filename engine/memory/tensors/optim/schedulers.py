"""Learning-rate schedulers and weight averaging: no device memory beyond the averaged copy."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from engine.memory.tensors import machine
from engine.memory.tensors.nn.module import Module


class LRScheduler:
    """Keeps the learning rates it finds; memory does not depend on them."""

    def __init__(self, optimizer: Any, *args: Any, **kwargs: Any) -> None:
        self.optimizer = optimizer
        self.last_epoch = 0
        self.base_lrs = [g.get("lr", 0.0) for g in getattr(optimizer, "param_groups", [])]
        for group in getattr(optimizer, "param_groups", []):
            group.setdefault("initial_lr", group.get("lr", 0.0))

    def step(self, *args: Any, **kwargs: Any) -> None:
        self.last_epoch += 1

    def get_last_lr(self) -> list[Any]:
        return [g.get("lr", 0.0) for g in self.optimizer.param_groups]

    def get_lr(self) -> list[Any]:
        return self.get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        return {"last_epoch": self.last_epoch}

    def load_state_dict(self, state_dict: Any) -> None:
        return None


_NAMES = (
    "LambdaLR",
    "MultiplicativeLR",
    "StepLR",
    "MultiStepLR",
    "ConstantLR",
    "LinearLR",
    "ExponentialLR",
    "PolynomialLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "OneCycleLR",
    "ReduceLROnPlateau",
)
SCHEDULERS: dict[str, Any] = {name: type(name, (LRScheduler,), {}) for name in _NAMES}
SCHEDULERS["LRScheduler"] = SCHEDULERS["_LRScheduler"] = LRScheduler


class SequentialLR(LRScheduler):
    pass


class ChainedScheduler(LRScheduler):
    def __init__(self, schedulers: Any, optimizer: Any = None) -> None:
        super().__init__(optimizer or schedulers[0].optimizer)


SCHEDULERS.update(SequentialLR=SequentialLR, ChainedScheduler=ChainedScheduler)


class AveragedModel(Module):
    """``torch.optim.swa_utils.AveragedModel``: a deep copy of the model, averaged in place."""

    def __init__(
        self, model: Module, device: Any = None, avg_fn: Any = None, multi_avg_fn: Any = None, use_buffers: bool = False
    ) -> None:
        super().__init__()
        self.module = deepcopy(model)
        if device is not None:
            self.module.to(device)
        self.avg_fn = avg_fn

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        with machine.current.category("temporaries"):
            if self.avg_fn is not None:
                for p in self.module.parameters():
                    held = p.fresh_copy()
                    del held


class SWALR(LRScheduler):
    pass


def get_ema_multi_avg_fn(decay: float = 0.999) -> Any:
    return lambda *args: None


def update_bn(loader: Any, model: Any, device: Any = None) -> None:
    return None


WEIGHT_AVERAGING: dict[str, Any] = {
    "AveragedModel": AveragedModel,
    "SWALR": SWALR,
    "get_ema_multi_avg_fn": get_ema_multi_avg_fn,
    "get_swa_multi_avg_fn": get_ema_multi_avg_fn,
    "get_ema_avg_fn": lambda decay=0.999: lambda *args: None,
    "update_bn": update_bn,
}
