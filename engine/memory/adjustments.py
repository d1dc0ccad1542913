"""Changes of configuration applied to a running program: what a saving would alter, made without touching the source."""  # noqa: E501

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from engine.memory.tensors import namespace

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter


def changes_of(interpreter: Interpreter) -> frozenset[str]:
    """Names of the changes that this run applies."""
    found: frozenset[str] = interpreter.state.get("changes", frozenset())
    return found


def asked_for(overrides: Mapping[str, str]) -> frozenset[str]:
    """The changes that carry out overrides which a program has no option for."""
    return frozenset({"amp-bf16"} if overrides.get("precision") == "amp-bf16" else ())


def apply_to_model(interpreter: Interpreter, model: Any) -> None:
    """At the first call of a model: checkpoint its blocks, or run it under autocast."""
    changes = changes_of(interpreter)
    if "checkpoint-blocks" in changes:
        checkpoint_blocks(model)
    if "liger" in changes:
        from engine.memory.libraries import liger_kernels

        liger_kernels.apply(interpreter, model)
    if "amp-bf16" in changes and not namespace("torch.is_autocast_enabled")():
        # What a library or the program itself turned on stays as it is.
        _inside(model, lambda: namespace("torch.autocast")("cuda", dtype=namespace("torch.bfloat16")))
    if "save-on-cpu" in changes:
        _inside(model, namespace("torch.autograd.graph.save_on_cpu"))


def checkpoint_blocks(model: Any) -> int:
    """Checkpoint every block that a list or sequence of the model repeats; returns how many there are."""
    # A published model checkpoints in training mode alone; elsewhere its blocks are wrapped as anyone's would be.
    if hasattr(model, "gradient_checkpointing_enable") and model.training:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        return 1
    lists = (namespace("torch.nn.ModuleList"), namespace("torch.nn.Sequential"))
    checkpoint = namespace("torch.utils.checkpoint.checkpoint")
    count = 0
    inside: set[int] = set()
    for module in model.modules():
        if id(module) in inside or not isinstance(module, lists):
            continue
        blocks = [child for child in module.children() if any(True for _ in child.children())]
        kinds = [type(block) for block in blocks]
        for block in blocks:
            if kinds.count(type(block)) < 2:
                continue
            inside.update(id(part) for part in block.modules())
            _checkpointed(block, checkpoint)
            count += 1
    return count


def _checkpointed(block: Any, checkpoint: Any) -> None:
    inner = block.forward

    def forward(*args: Any, **kwargs: Any) -> Any:
        return checkpoint(inner, *args, use_reentrant=False, **kwargs)

    block.forward = forward


def _inside(model: Any, context: Any) -> None:
    """Run a model's forward pass inside a context, made anew for each call."""
    inner = model.forward

    def forward(*args: Any, **kwargs: Any) -> Any:
        with context():
            return inner(*args, **kwargs)

    model.forward = forward


def optimizer_class(interpreter: Interpreter, name: str, kind: Any) -> Any:
    """The class that stands for `torch.optim.NAME` in this run."""
    changes = changes_of(interpreter)
    if "zero-1" in changes:
        return _with_own_share(interpreter.device.world_size, kind)
    if name not in ("Adam", "AdamW"):
        return kind
    if "fused-optimizer" in changes:

        def fused(parameters: Any, *args: Any, **options: Any) -> Any:
            options.pop("foreach", None)
            return kind(parameters, *args, **{**options, "fused": True})

        return fused
    if "8bit-optimizer" in changes:
        from engine.memory.libraries.bitsandbytes import optimizer_named

        return optimizer_named(interpreter, "adamw_8bit")
    if "sgd-optimizer" in changes:

        def sgd(parameters: Any, *args: Any, **options: Any) -> Any:
            return namespace("torch.optim.SGD")(parameters, lr=1e-2, momentum=0.9)

        return sgd
    return kind


def _with_own_share(ranks: int, kind: Any) -> Any:
    """An optimizer as ZeroRedundancyOptimizer makes it: states for one rank's parameters, the largest dealt first."""

    def share(parameters: Any, *args: Any, **options: Any) -> Any:
        groups = [group if isinstance(group, dict) else {"params": [group]} for group in parameters]
        everything = [p for group in groups for p in _listed(group["params"])]
        load = [0] * ranks
        own: set[int] = set()
        for p in sorted(everything, key=lambda p: -p.numel()):
            rank = load.index(min(load))
            load[rank] += p.numel()
            if rank == 0:
                own.add(id(p))
        kept = [{**group, "params": [p for p in _listed(group["params"]) if id(p) in own]} for group in groups]
        optimizer = kind([group for group in kept if group["params"]], *args, **options)
        clear = optimizer.zero_grad

        def zero_grad(set_to_none: bool = True) -> None:
            clear(set_to_none=set_to_none)
            for p in everything:
                if set_to_none:
                    p.grad = None

        optimizer.zero_grad = zero_grad
        return optimizer

    return share


def _listed(parameters: Any) -> list[Any]:
    return list(parameters) if isinstance(parameters, list | tuple) else [parameters]
