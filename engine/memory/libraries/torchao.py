"""`torchao`: optimizers whose states are kept in 8 and 4 bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.memory.libraries.bitsandbytes import optimizer_named
from engine.memory.program.namespaces import Namespace
from engine.memory.tensors import namespace

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter


def offloading(interpreter: Interpreter) -> Any:
    """`CPUOffloadOptimizer`: the inner optimizer works on host copies; gradients leave as they arrive, if asked for."""
    base, parameter = namespace("torch.optim.Optimizer"), namespace("torch.nn.Parameter")
    empty = namespace("torch.empty")

    class CPUOffloadOptimizer(base):  # type: ignore[misc, valid-type]
        """torchao/optim/cpu_offload.py."""

        def __init__(
            self, params: Any, optimizer_class: Any = None, *, offload_gradients: bool = False, **options: Any
        ):
            super().__init__(params, {})
            interpreter.state.setdefault("declared", {})["offload"] = "optimizer"
            kind = optimizer_class if optimizer_class is not None else namespace("torch.optim.AdamW")
            if "minimal_size" in options:
                options.pop("minimal_size")
            self.hosts: list[Any] = []
            self.offload_gradients = offload_gradients
            for group in self.param_groups:
                for held in group["params"]:
                    if held.requires_grad:
                        self.hosts.append(parameter(empty(*held.shape, dtype=held.dtype, device="cpu")))
                        if offload_gradients:
                            held.register_post_accumulate_grad_hook(self.leave)
            self.inner = kind(self.hosts, **options)

        def leave(self, held: Any) -> None:
            held.grad = None

        def step(self, closure: Any = None) -> None:
            if closure is not None:
                closure()
            for host in self.hosts:
                host.grad = empty(*host.shape, dtype=host.dtype, device="cpu")
            self.inner.step()

    return CPUOffloadOptimizer


def provide(interpreter: Interpreter, dotted: str) -> Any:
    """`torchao`, and `torchao.optim` under both of its names."""
    members = {
        f"{family}{suffix.title() if suffix == 'fp8' else suffix}": optimizer_named(
            interpreter, f"{family.lower()}_{'8bit' if suffix == 'fp8' else suffix}"
        )
        for family in ("AdamW", "Adam")
        for suffix in ("8bit", "4bit", "fp8")
    }
    members["CPUOffloadOptimizer"] = offloading(interpreter)
    optim = Namespace("torchao.optim", members)
    if dotted in ("torchao.optim", "torchao.prototype.low_bit_optim"):
        return optim
    if dotted == "torchao.prototype":
        return Namespace(dotted, {"low_bit_optim": optim})
    return Namespace(dotted, {"optim": optim}) if dotted == "torchao" else None
