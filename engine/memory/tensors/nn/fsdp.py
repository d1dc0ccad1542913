"""`torch.distributed.fsdp`: the wrapper class, `fully_shard`, and the policies that choose units."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

from engine.memory.tensors import machine
from engine.memory.tensors.nn.functions import clip_grad_norm_
from engine.memory.tensors.nn.module import Module
from engine.memory.tensors.nn.sharding import Chooses, Sharding, ShardingPlan, shard_model

DEFAULT_SIZE = 100_000_000
"""Parameters from which the size-based policy wraps (torch/distributed/fsdp/wrap.py)."""


class ModuleWrapPolicy:
    """Units are the modules of these classes."""

    def __init__(self, module_classes: Any) -> None:
        self.classes = tuple(module_classes)

    def __call__(self, module: Module, recurse: bool = False, *args: Any, **kwargs: Any) -> bool:
        return recurse or isinstance(module, self.classes)


class CustomPolicy:
    """Units are what the function says."""

    def __init__(self, lambda_fn: Any) -> None:
        self.function = lambda_fn

    def __call__(self, module: Module, recurse: bool = False, *args: Any, **kwargs: Any) -> bool:
        return recurse or bool(self.function(module))


def transformer_auto_wrap_policy(
    module: Module, recurse: bool = False, nonwrapped_numel: int = 0, transformer_layer_cls: Any = ()
) -> bool:
    return recurse or isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(
    module: Module, recurse: bool = False, nonwrapped_numel: int = 0, min_num_params: int = DEFAULT_SIZE, **kwargs: Any
) -> bool:
    return recurse or nonwrapped_numel >= int(min_num_params)


def lambda_auto_wrap_policy(
    module: Module, recurse: bool = False, nonwrapped_numel: int = 0, lambda_fn: Any = None
) -> bool:
    return recurse or bool(lambda_fn(module))


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    return True


def chooser(policy: Any) -> Chooses:
    """What a policy wraps below the root."""
    if policy is None:
        return lambda name, module: False
    if isinstance(policy, (set, frozenset, list, tuple)):
        policy = ModuleWrapPolicy(policy)

    def chooses(name: str, module: Module) -> bool:
        size = sum(p.numel() for p in module.parameters())
        return bool(policy(module=module, recurse=False, nonwrapped_numel=size))

    return chooses


class ShardingStrategy:
    """Names of the strategies."""

    FULL_SHARD, SHARD_GRAD_OP, NO_SHARD = "FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD"
    HYBRID_SHARD, _HYBRID_SHARD_ZERO2 = "HYBRID_SHARD", "_HYBRID_SHARD_ZERO2"


class BackwardPrefetch:
    """Names of the orders in which the next unit is gathered."""

    BACKWARD_PRE, BACKWARD_POST = "BACKWARD_PRE", "BACKWARD_POST"


def _record(**defaults: Any) -> Any:
    names = list(defaults)

    def make(*args: Any, **values: Any) -> SimpleNamespace:
        return SimpleNamespace(**{**defaults, **dict(zip(names, args, strict=False)), **values})

    return make


def _dtypes(policy: Any) -> dict[str, Any]:
    return {
        "compute_dtype": getattr(policy, "param_dtype", None),
        "reduce_dtype": getattr(policy, "reduce_dtype", None),
    }


class FullyShardedDataParallel(Module):
    """The wrapper of the first generation; inside of a wrapped model it marks a unit."""

    def __init__(
        self,
        module: Module,
        process_group: Any = None,
        sharding_strategy: Any = None,
        cpu_offload: Any = None,
        auto_wrap_policy: Any = None,
        backward_prefetch: Any = BackwardPrefetch.BACKWARD_PRE,
        mixed_precision: Any = None,
        ignored_modules: Any = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self.module = module
        strategy = str(sharding_strategy or ShardingStrategy.FULL_SHARD)
        offload = bool(cpu_offload is True or getattr(cpu_offload, "offload_params", False))
        if machine.current.world_size < 2 or strategy == ShardingStrategy.NO_SHARD:
            machine.current.note("FSDP over one process or without sharding keeps the model whole")
            module.to("cuda")
            return
        plan = ShardingPlan(
            world=machine.current.world_size,
            reshard_after_forward=strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.HYBRID_SHARD),
            backward_prefetch=backward_prefetch is not None,
            offload=offload,
            **_dtypes(mixed_precision),
        )
        shard_model(module, plan, chooser(auto_wrap_policy))

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name.startswith("__") or name == "module":
                raise
            return getattr(self.module, name)

    def clip_grad_norm_(self, max_norm: Any, *args: Any) -> Any:
        return clip_grad_norm_(list(self.parameters()), max_norm)

    def no_sync(self) -> Any:
        machine.current.note("whole gradients under FSDP's no_sync are not modelled: the run needs more than this")
        return nullcontext()

    @staticmethod
    def state_dict_type(*args: Any, **kwargs: Any) -> Any:
        return nullcontext()

    set_state_dict_type = summon_full_params = state_dict_type

    @staticmethod
    def optim_state_dict(*args: Any, **kwargs: Any) -> dict[str, Any]:
        return {}


def fully_shard(
    module: Module,
    *,
    mesh: Any = None,
    reshard_after_forward: Any = True,
    mp_policy: Any = None,
    offload_policy: Any = None,
    **options: Any,
) -> Module:
    """The second generation: the module's parameters that no inner call has taken become a unit.

    Called from the inside out; the outermost call is the root, which is known only when forward runs. All calls of a
    program share one order of units.
    """
    state = machine.current
    modules = list(module) if isinstance(module, (list, tuple)) else [module]
    if state.world_size < 2:
        state.note("fully_shard over one process keeps the model whole")
        for m in modules:
            m.to("cuda")
        return module
    plan = ShardingPlan(
        world=state.world_size,
        reshard_after_forward=bool(reshard_after_forward),
        offload=bool(getattr(offload_policy, "offloads", False)),
        **_dtypes(mp_policy),
    )
    sharding = state.open_sharding
    if sharding is None:
        sharding = state.open_sharding = Sharding(plan, finds_root=True)
    own = [p for m in modules for p in m.parameters() if "_sharded" not in p.__dict__]
    sharding.add(modules, list(dict.fromkeys(own)), plan=plan)
    for m in modules:
        m.__dict__.setdefault("set_requires_gradient_sync", lambda *args, **kwargs: None)
    return module


FSDP: dict[str, Any] = {
    "FullyShardedDataParallel": FullyShardedDataParallel,
    "fully_shard": fully_shard,
    "ShardingStrategy": ShardingStrategy,
    "BackwardPrefetch": BackwardPrefetch,
    "MixedPrecision": _record(param_dtype=None, reduce_dtype=None, buffer_dtype=None),
    "MixedPrecisionPolicy": _record(param_dtype=None, reduce_dtype=None, output_dtype=None),
    "CPUOffload": _record(offload_params=False),
    "CPUOffloadPolicy": _record(offloads=True),
    "OffloadPolicy": _record(offloads=False),
    "StateDictType": SimpleNamespace(FULL_STATE_DICT="full", SHARDED_STATE_DICT="sharded", LOCAL_STATE_DICT="local"),
    "FullStateDictConfig": _record(offload_to_cpu=False, rank0_only=False),
    "FullOptimStateDictConfig": _record(offload_to_cpu=False, rank0_only=False),
    "ShardedStateDictConfig": _record(offload_to_cpu=False),
}
WRAP: dict[str, Any] = {
    "ModuleWrapPolicy": ModuleWrapPolicy,
    "CustomPolicy": CustomPolicy,
    "transformer_auto_wrap_policy": transformer_auto_wrap_policy,
    "size_based_auto_wrap_policy": size_based_auto_wrap_policy,
    "lambda_auto_wrap_policy": lambda_auto_wrap_policy,
    "always_wrap_policy": always_wrap_policy,
    "_or_policy": lambda module, recurse=False, nonwrapped_numel=0, policies=(): any(
        policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel) for policy in policies
    ),
    "enable_wrap": lambda *args, **kwargs: nullcontext(),
    "wrap": lambda module, **kwargs: module,
}
"""Names of `torch.distributed.fsdp` and of its `wrap` module."""
