"""`torchao`: optimizers whose states are kept in 8 and 4 bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.memory.libraries.bitsandbytes import optimizer_named
from engine.memory.program.namespaces import Namespace

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter


def provide(interpreter: Interpreter, dotted: str) -> Any:
    """`torchao`, and `torchao.optim` under both of its names."""
    members = {
        f"{family}{suffix.title() if suffix == 'fp8' else suffix}": optimizer_named(
            interpreter, f"{family.lower()}_{'8bit' if suffix == 'fp8' else suffix}"
        )
        for family in ("AdamW", "Adam")
        for suffix in ("8bit", "4bit", "fp8")
    }
    optim = Namespace("torchao.optim", members)
    if dotted in ("torchao.optim", "torchao.prototype.low_bit_optim"):
        return optim
    if dotted == "torchao.prototype":
        return Namespace(dotted, {"low_bit_optim": optim})
    return Namespace(dotted, {"optim": optim}) if dotted == "torchao" else None
