"""FSDP as the Trainer and accelerate set it up: their options read into a sharding plan, and the model sharded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.memory.program.files import is_file, read_text
from engine.memory.tensors import namespace
from engine.memory.tensors.nn.sharding import ShardingPlan, repeated_blocks, shard_model

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter

ASSUMED_WORLD = 2
"""The fewest devices that shard: taken where a sharded run is started by no launcher that is known."""


@dataclass(frozen=True)
class FsdpSettings:
    """The options of both libraries; `layers` empty means the model's repeated blocks."""

    strategy: str = "full_shard"
    wraps: bool = True
    layers: tuple[str, ...] = ()
    fewest_parameters: int = 0
    offload: bool = False
    prefetch: bool = False
    checkpoints: bool = False


def _names(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(name.strip() for name in value.split(",") if name.strip())
    return tuple(str(name) for name in value) if isinstance(value, (list, tuple, set)) else ()


def _true(value: Any) -> bool:
    return value is True or str(value).lower() in ("true", "1", "yes")


def options_of(interpreter: Interpreter, given: Any) -> dict[str, Any]:
    """A dictionary of options, or the JSON file that holds it; keys without their `fsdp_` prefix."""
    if isinstance(given, str) and is_file(interpreter, given):
        given = json.loads(read_text(interpreter, given))
    if not isinstance(given, Mapping):
        return {}
    return {str(key).removeprefix("fsdp_"): value for key, value in given.items()}


STRATEGIES: Mapping[str, str] = {"1": "full_shard", "2": "shard_grad_op", "3": "no_shard", "4": "hybrid_shard"}


def trainer_settings(interpreter: Interpreter, arguments: Any) -> FsdpSettings:
    """`TrainingArguments(fsdp="full_shard auto_wrap offload", fsdp_config=...)`."""
    words = set(str(arguments.fsdp).replace(",", " ").replace("[", " ").replace("'", " ").replace("]", " ").split())
    options = options_of(interpreter, arguments.fsdp_config)
    strategies = [word for word in words if word in (*STRATEGIES.values(), "hybrid_shard_zero2")]
    layers = _names(options.get("transformer_layer_cls_to_wrap") or arguments.fsdp_transformer_layer_cls_to_wrap)
    fewest = int(options.get("min_num_params") or arguments.fsdp_min_num_params or 0)
    return FsdpSettings(
        strategy=strategies[0] if strategies else "full_shard",
        wraps="auto_wrap" in words or bool(layers) or fewest > 0,
        layers=layers,
        fewest_parameters=fewest,
        offload="offload" in words or _true(options.get("offload_params")),
        prefetch=str(options.get("backward_prefetch", "no")).lower().startswith("backward")
        or str(options.get("version", 1)) == "2",
        checkpoints=_true(options.get("activation_checkpointing")),
    )


def accelerate_settings(given: Mapping[str, Any]) -> FsdpSettings:
    """`fsdp_config` of an accelerate configuration file, or a plugin's arguments."""
    options = {str(key).removeprefix("fsdp_"): value for key, value in given.items()}
    second = str(options.get("version", 1)) == "2"
    strategy = str(options.get("sharding_strategy") or options.get("reshard_after_forward") or "full_shard").lower()
    strategy = STRATEGIES.get(strategy, strategy)
    if strategy == "false":
        strategy = "shard_grad_op"
    policy = str(options.get("auto_wrap_policy", "")).lower()
    prefetch = str(options.get("backward_prefetch") or options.get("backward_prefetch_policy") or "no").lower()
    return FsdpSettings(
        strategy=strategy,
        wraps=bool(policy) and "no_wrap" not in policy,
        layers=_names(options.get("transformer_layer_cls_to_wrap")),
        fewest_parameters=int(options.get("min_num_params") or 0) if "size" in policy else 0,
        offload=_true(options.get("offload_params")) or _true(options.get("cpu_offload")),
        prefetch=second or prefetch.startswith("backward"),
        checkpoints=_true(options.get("activation_checkpointing")),
    )


def world_of(interpreter: Interpreter, what: str) -> int:
    """The devices that shard; two, said to be assumed, where the launch names no processes."""
    size = int(interpreter.device.world_size)
    if size < ASSUMED_WORLD:
        size = interpreter.device.world_size = ASSUMED_WORLD
        interpreter.note(
            f"{what} needs several processes and no launch names how many: {size} are assumed, with more each device "
            "needs less than this"
        )
    return size


def shard(interpreter: Interpreter, model: Any, settings: FsdpSettings, dtype: Any) -> None:
    """Shard `model` in place, in mixed precision where `dtype` is given."""
    declared = interpreter.state.setdefault("declared", {})
    world = world_of(interpreter, "FSDP")
    declared["sharding"] = "fsdp"
    if settings.offload:
        declared["offload"] = "parameters, gradients and optimizer"
    if dtype is not None:
        float32 = namespace("torch.float32")
        for parameter in model.parameters():
            # Under mixed precision accelerate trains float32 masters whatever type was loaded.
            if parameter.requires_grad and parameter.dtype.itemsize == 2:
                parameter.data = parameter.data.to(float32)
    kinds = set(settings.layers)
    present = {type(module).__name__ for module in model.modules()}
    blocks = repeated_blocks(model)
    named = kinds & present
    if kinds - present and not named:
        interpreter.note(f"no module is a {', '.join(sorted(kinds))}: the model's repeated blocks are sharded as units")

    def chooses(name: str, module: Any) -> bool:
        if not settings.wraps:
            return False
        if settings.fewest_parameters:
            return bool(sum(p.numel() for p in module.parameters()) >= settings.fewest_parameters)
        return type(module).__name__ in named if named else id(module) in blocks

    if settings.checkpoints:
        checkpoint_units(model, [m for name, m in model.named_modules() if name and chooses(name, m)])
    plan = ShardingPlan(
        world=1 if settings.strategy == "no_shard" else world,
        reshard_after_forward=settings.strategy in ("full_shard", "hybrid_shard", "true"),
        backward_prefetch=settings.prefetch,
        offload=settings.offload,
        compute_dtype=dtype,
    )
    interpreter.state["sharding"] = shard_model(model, plan, chooses)
    interpreter.device.allocator.empty_cache()


def checkpoint_units(model: Any, modules: list[Any]) -> None:
    """accelerate's `activation_checkpointing`: every wrapped module recomputes its forward."""
    checkpoint = namespace("torch.utils.checkpoint.checkpoint")
    for module in modules:
        inner = module.forward

        def forward(*args: Any, inner: Any = inner, **kwargs: Any) -> Any:
            return checkpoint(inner, *args, use_reentrant=False, **kwargs)

        module.forward = forward
