"""ZeRO: optimizer states, gradients and parameters partitioned over data-parallel ranks.

The model trains in half precision where that is enabled; each rank keeps float32 masters and states of its partition.
Gradients pass through flat buckets (deepspeed/runtime/zero/stage_1_and_2.py), and in stage 3 parameters are gathered
module by module and kept where their next use is near (deepspeed/runtime/zero/partitioned_param_coordinator.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.memory.tensors import dtypes, machine
from engine.memory.tensors.dtypes import DType
from engine.memory.tensors.nn.module import Module
from engine.memory.tensors.nn.sharding import Sharding, ShardingPlan, shard_model
from engine.memory.tensors.tensor import Parameter, Tensor, new


@dataclass(frozen=True)
class ZeroPlan:
    """One engine's settings; bucket and distances in elements, with DeepSpeed's defaults."""

    stage: int
    world: int
    dtype: DType | None = None
    offload_optimizer: bool = False
    offload_parameters: bool = False
    reduce_bucket: int = 500_000_000
    overlap: bool = False
    reuse_distance: int = 1_000_000_000


class ZeroOptimizer:
    """The partitioned optimizer around the one that was given."""

    def __init__(self, model: Module, optimizer: Any, plan: ZeroPlan) -> None:
        self.model, self.optimizer, self.plan = model, optimizer, plan
        self.trained = [p for p in model.parameters() if p.requires_grad]
        if plan.dtype is not None:
            model.to(plan.dtype)
            model.register_forward_pre_hook(self._cast_inputs, with_kwargs=True)
        model.to("cpu" if plan.stage == 3 and plan.offload_parameters else "cuda")
        self.sharding: Sharding | None = None
        if plan.stage == 3:
            self.sharding = shard_model(
                model,
                ShardingPlan(world=plan.world, offload=plan.offload_parameters, reuse_distance=plan.reuse_distance),
                lambda name, module: any(p is not None for p in module._parameters.values()),
            )
        self.masters: list[Tensor] = []
        self.halves: list[Tensor | None] = []
        device = "cpu" if plan.offload_optimizer else "cuda"
        for group in optimizer.param_groups:
            count = -(-sum(_elements(p) for p in group["params"]) // plan.world)
            with machine.current.category("optimizer"):
                master = Parameter(new((count,), dtypes.float32, device))
            master.storage.relabel("optimizer")
            group["params"] = [master]
            self.masters.append(master)
            self.halves.append(None)
        self.buckets: list[Tensor] = []
        if plan.stage == 2:
            for p in self.trained:
                p.register_post_accumulate_grad_hook(self._arrive)

    def _cast_inputs(self, module: Module, args: Any, kwargs: Any) -> Any:
        dtype = self.plan.dtype

        def cast(value: Any) -> Any:
            return value.to(dtype) if isinstance(value, Tensor) and value.dtype.kind == 2 else value

        return tuple(cast(value) for value in args), {name: cast(value) for name, value in kwargs.items()}

    def begin_backward(self) -> None:
        """Stages 1 and 2 take their buckets anew for every backward."""
        if self.plan.stage == 3:
            return
        dtype = self.plan.dtype or dtypes.float32
        with machine.current.category("communication"):
            self.buckets = [
                new((self.plan.reduce_bucket,), dtype, "cuda") for _ in range(2 if self.plan.overlap else 1)
            ]

    def end_backward(self) -> None:
        """The buckets have been reduced."""
        self.buckets = []

    def _arrive(self, parameter: Tensor) -> None:
        # Copied into the bucket; after its reduction the rank keeps its own partition.
        for index, half in enumerate(self.halves):
            if half is None and not self.plan.offload_optimizer:
                with machine.current.category("gradients"):
                    self.halves[index] = new(self.masters[index].shape, parameter.dtype, "cuda")
        parameter.grad = None

    def step(self, *args: Any) -> None:
        """Float32 gradients of the partition, the inner step, and half weights gathered in place."""
        for master in self.masters:
            with machine.current.category("gradients"):
                master.grad = new(master.shape, dtypes.float32, master.storage.device)
        for p in self.trained:
            p.grad = None
        self.halves = [None] * len(self.halves)
        self.optimizer.step()
        for master in self.masters:
            master.grad = None

    def zero_grad(self, *args: Any, **options: Any) -> None:
        for p in self.trained:
            p.grad = None
        self.halves = [None] * len(self.halves)

    @property
    def param_groups(self) -> Any:
        return self.optimizer.param_groups

    @property
    def state(self) -> Any:
        return self.optimizer.state

    def state_dict(self) -> dict[str, Any]:
        return {}


def _elements(parameter: Tensor) -> int:
    return int(parameter.__dict__.get("logical_numel") or parameter.numel())
