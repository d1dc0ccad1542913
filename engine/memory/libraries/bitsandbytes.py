"""`bitsandbytes`: linear layers in 4 and 8 bits, and optimizers with 8-bit states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.memory.program.namespaces import Namespace
from engine.memory.tensors import namespace

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter

BLOCK = 64
"""Weights that share one absmax in 4 bits (bitsandbytes/functional.py, quantize_4bit)."""
NESTED_BLOCK = 256
"""absmax values that share one scale under double quantisation."""
STATE_BLOCK = 256
"""Elements of an 8-bit optimizer state that share one absmax."""
STATE_BLOCK_OF_4_BITS = 128
"""The same for torchao's 4-bit states (torchao/optim/adam.py)."""
SMALL_STATE = 4096
"""Parameters with fewer elements keep float32 states (bitsandbytes/optim/optimizer.py, min_8bit_size)."""


def make_classes(interpreter: Interpreter) -> dict[str, Any]:
    """Layers of one run."""
    module, parameter = namespace("torch.nn.Module"), namespace("torch.nn.Parameter")
    function, empty = namespace("torch.autograd.Function"), namespace("torch.empty")
    uint8, int8, float32 = namespace("torch.uint8"), namespace("torch.int8"), namespace("torch.float32")
    matmul = namespace("torch.matmul")

    class QuantisedMatMul(function):  # type: ignore[misc, valid-type]
        """x @ W.T with W expanded to the compute dtype for the moment; only the packed weight is kept."""

        @staticmethod
        def forward(context: Any, x: Any, packed: Any, outside: int, inside: int) -> Any:
            context.shape = (outside, inside)
            wide = empty(outside, inside, dtype=x.dtype, device=x.device)
            return matmul(x, wide.t())

        @staticmethod
        def backward(context: Any, gradient: Any) -> Any:
            wide = empty(*context.shape, dtype=gradient.dtype, device=gradient.device)
            return matmul(gradient, wide), None, None, None

    class QuantisedLinear(module):  # type: ignore[misc, valid-type]
        """A linear layer whose weight is packed."""

        def __init__(self, base: Any, bits: int, compute: Any, double: bool) -> None:
            super().__init__()
            self.in_features, self.out_features = int(base.in_features), int(base.out_features)
            self.bits, self.compute_dtype = bits, compute
            count, device = self.in_features * self.out_features, base.weight.device
            if bits == 4:
                packed = empty((count + 1) // 2, 1, dtype=uint8, device=device)
                blocks = -(-count // BLOCK)
                scales = [empty(blocks, dtype=uint8 if double else float32, device=device)]
                if double:
                    scales.append(empty(-(-blocks // NESTED_BLOCK), dtype=float32, device=device))
            else:
                packed = empty(self.out_features, self.in_features, dtype=int8, device=device)
                scales = [empty(self.out_features, dtype=float32, device=device)]
            self.weight = parameter(packed, requires_grad=False)
            self.weight.logical_numel = count
            for index, scale in enumerate(scales):
                self.register_buffer(f"scale{index}", scale)
            self.bias = base.bias

        def forward(self, x: Any) -> Any:
            dtype = x.dtype
            compute = self.compute_dtype if self.compute_dtype is not None else dtype
            if x.dtype != compute and not interpreter.device.autocast:
                x = x.to(compute)
            result = QuantisedMatMul.apply(x, self.weight, self.out_features, self.in_features)
            if self.bias is not None:
                result = result + self.bias.to(result.dtype)
            return result.to(dtype)

    return {"QuantisedLinear": QuantisedLinear}


def option(configuration: Any, name: str, default: Any = None) -> Any:
    """A value of a quantisation configuration, dictionary or object."""
    return (
        configuration.get(name, default) if isinstance(configuration, dict) else getattr(configuration, name, default)
    )


def quantise(interpreter: Interpreter, model: Any, configuration: Any) -> None:
    """Replace every linear layer but the head, as transformers' integration does."""
    bits = 4 if option(configuration, "load_in_4bit") else 8 if option(configuration, "load_in_8bit") else 0
    if not bits:
        return
    classes = interpreter.state.get("quantised classes") or make_classes(interpreter)
    interpreter.state["quantised classes"] = classes
    double = bool(option(configuration, "bnb_4bit_use_double_quant"))
    compute = option(configuration, "bnb_4bit_compute_dtype")
    if isinstance(compute, str):
        compute = namespace(f"torch.{compute}")
    interpreter.state.setdefault("declared", {})["quantization"] = (
        f"{'nf4' if bits == 4 else 'int8'}{'-double' if double else ''}"
    )
    linear = namespace("torch.nn.Linear")
    skipped = {"lm_head", *(option(configuration, "llm_int8_skip_modules") or ())}
    layers = [(name, layer) for name, layer in model.named_modules() if isinstance(layer, linear)]
    for name, layer in layers:
        holder_name, _, leaf = name.rpartition(".")
        if leaf in skipped:
            continue
        holder = model.get_submodule(holder_name) if holder_name else model
        setattr(holder, leaf, classes["QuantisedLinear"](layer, bits, compute, double))
    del layers
    model.is_quantized = True
    model.is_loaded_in_4bit, model.is_loaded_in_8bit = bits == 4, bits == 8
    # Weights are packed as they are loaded, on the device.
    model.to("cuda")


def optimizer_named(interpreter: Interpreter, name: str) -> Any:
    """An optimizer class by the name of its states: adamw_8bit, paged_adamw_32bit, lion_8bit ..."""
    base = namespace("torch.optim.Optimizer")
    empty, uint8, float32 = namespace("torch.zeros"), namespace("torch.uint8"), namespace("torch.float32")
    states = 1 if any(word in name for word in ("lion", "sgd", "momentum", "rmsprop", "adagrad")) else 2
    small = "32bit" not in name and ("8bit" in name or "4bit" in name)
    paged = "paged" in name
    codes, block = (2, STATE_BLOCK_OF_4_BITS) if "4bit" in name else (1, STATE_BLOCK)

    def initialise(self: Any, params: Any, lr: Any = 1e-3, *args: Any, **options: Any) -> None:
        base.__init__(self, params, {"lr": lr})

    def apply(self: Any) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None or self.state.get(parameter):
                    continue
                count = parameter.numel()
                kept: dict[str, Any] = {"step": 1}
                device = "cpu" if paged and count >= SMALL_STATE else parameter.device
                for index in range(states):
                    if small and count >= SMALL_STATE:
                        kept[f"state{index}"] = empty(-(-count // codes), dtype=uint8, device=device)
                        kept[f"absmax{index}"] = empty(-(-count // block), dtype=float32, device=device)
                    else:
                        kept[f"state{index}"] = empty(count, dtype=float32, device=device)
                self.state[parameter] = kept

    def step(self: Any, closure: Any = None) -> Any:
        loss = closure() if closure is not None else None
        machine = interpreter.device
        before = machine.phase
        machine.phase = "optimizer"
        with machine.category("optimizer"):
            apply(self)
        machine.phase = before
        if machine.on_step is not None:
            machine.on_step(self)
        return loss

    return type(name, (base,), {"__init__": initialise, "step": step})


def provide(interpreter: Interpreter, dotted: str) -> Any:
    """`bitsandbytes`."""
    members: dict[str, Any] = {}
    for family in ("AdamW", "Adam", "Lion", "SGD", "RMSprop", "Adagrad"):
        for prefix in ("", "Paged"):
            for suffix in ("8bit", "32bit", ""):
                name = f"{prefix}{family}{suffix}"
                members[name] = optimizer_named(
                    interpreter, f"{prefix.lower()}_{family.lower()}_{suffix or '32bit'}".strip("_")
                )
    optim = Namespace("bitsandbytes.optim", members)
    if dotted == "bitsandbytes.optim":
        return optim
    return Namespace(
        "bitsandbytes",
        {"optim": optim, "nn": Namespace("bitsandbytes.nn", {"Linear4bit": namespace("torch.nn.Linear")})},
    )
