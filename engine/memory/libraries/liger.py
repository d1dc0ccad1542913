"""`liger_kernel`: the names of the library, and what its patches do to the models of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.memory.libraries import liger_kernels, transformers
from engine.memory.program.namespaces import Namespace
from engine.memory.program.unknown import Unknown
from engine.memory.tensors import namespace

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter


def provide(interpreter: Interpreter, dotted: str) -> Any:
    """`liger_kernel.transformers` and its neighbours."""
    fused = interpreter.state.get("liger functions") or liger_kernels.make_functions(interpreter)
    interpreter.state["liger functions"] = fused
    module = namespace("torch.nn.Module")

    class LigerFusedLinearCrossEntropyLoss(module):  # type: ignore[misc, valid-type]
        """The loss as a module: (head weight, hidden states, targets)."""

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__()

        def forward(self, weight: Any, hidden: Any, target: Any, *args: Any, **options: Any) -> Any:
            return liger_kernels.fused_loss(fused, hidden, weight)

    def everywhere(*args: Any, **options: Any) -> None:
        # Classes are patched before a model is built: every model of the run gets the kernels.
        if "model" in options and options["model"] is not None:
            liger_kernels.apply(interpreter, options["model"])
        else:
            interpreter.state["liger everywhere"] = True

    class AutoLigerKernelForCausalLM:
        """`AutoModelForCausalLM` with the kernels."""

        @staticmethod
        def from_pretrained(*args: Any, **options: Any) -> Any:
            model = transformers.provide(interpreter, "transformers").AutoModelForCausalLM.from_pretrained(
                *args, **options
            )
            if not isinstance(model, Unknown):
                liger_kernels.apply(interpreter, model)
            return model

    def missing(name: str) -> Any:
        if name.startswith("apply_liger_kernel_to_") or name == "_apply_liger_kernel_to_instance":
            return everywhere
        if name in ("LigerCrossEntropyLoss",):
            return namespace("torch.nn.CrossEntropyLoss")
        return provide(interpreter, f"{dotted}.{name}") if name.islower() else None

    return Namespace(
        dotted,
        {
            "LigerFusedLinearCrossEntropyLoss": LigerFusedLinearCrossEntropyLoss,
            "AutoLigerKernelForCausalLM": AutoLigerKernelForCausalLM,
        },
        missing=missing,
    )
