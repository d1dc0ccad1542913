"""`mamba_ssm`: the mixer and the language model with its fused kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine import architectures
from engine.memory.libraries import published
from engine.memory.program.namespaces import Namespace
from engine.memory.program.unknown import Unknown

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter


def _mixer(interpreter: Interpreter) -> Any:
    kind = published.model_file(interpreter, "mamba").special("__dict__")["MambaMixer"]

    def initialise(
        self: Any,
        d_model: int,
        d_state: int = 16,
        d_conv: int = 4,
        expand: int = 2,
        dt_rank: Any = "auto",
        conv_bias: bool = True,
        bias: bool = False,
        **options: Any,
    ) -> None:
        values = {
            "hidden_size": d_model,
            "state_size": d_state,
            "conv_kernel": d_conv,
            "expand": expand,
            "time_step_rank": None if dt_rank == "auto" else dt_rank,
            "use_conv_bias": conv_bias,
            "use_bias": bias,
            "fused": True,
        }
        kind.__init__(self, published.make_config("mamba", values))

    return type("Mamba", (kind,), {"__init__": initialise})


def _language_model(interpreter: Interpreter) -> Any:
    kind = published.model_file(interpreter, "mamba").special("__dict__")["MambaForCausalLM"]

    def from_pretrained(cls: Any, name: Any = None, device: Any = None, dtype: Any = None, **options: Any) -> Any:
        given = {"dtype": dtype} if dtype is not None else {}
        found = published.find_configuration(interpreter, name, {})
        if isinstance(found, Unknown):
            return found
        config, stored = found
        config.fused = True
        model = published.finish(interpreter, lambda: cls(config), config, stored, given, str(name))
        return model.to(device) if device is not None else model

    return type("MambaLMHeadModel", (kind,), {"from_pretrained": classmethod(from_pretrained)})  # type: ignore[arg-type]


def provide(interpreter: Interpreter, dotted: str) -> Any:
    """`mamba_ssm` and its submodules; names without a model are Unknown."""
    members: dict[str, Any] = interpreter.state.setdefault("mamba_ssm names", {})
    if not members and architectures.family("mamba") is not None:
        members["Mamba"] = _mixer(interpreter)
        members["MambaLMHeadModel"] = _language_model(interpreter)

    def missing(name: str) -> Any:
        return Namespace(f"{dotted}.{name}", members, missing=missing) if name in _MODULES else None

    return Namespace(dotted, dict(members), missing=missing)


_MODULES = frozenset({"modules", "mamba_simple", "models", "mixer_seq_simple"})
