"""peft's methods beside LoRA: (IA)3, LoHa, VeRA, DoRA, LayerNorm tuning, trainable tokens, prompts and prefixes.

Each layer runs what the library's layer runs, in its types: adapters in float32 beside a half base
(`autocast_adapter_dtype`), results cast back to the base's type.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from engine.memory.tensors import namespace

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter


class MethodConfig:
    """A configuration of one method; what it does not set is None."""

    open_record = True
    method = ""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.target_modules = self.task_type = self.modules_to_save = None
        self.__dict__.update(options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return None


def _config(name: str, kind: str) -> type:
    return type(name, (MethodConfig,), {"method": kind})


CONFIGS: dict[str, type] = {
    "IA3Config": _config("IA3Config", "ia3"),
    "LoHaConfig": _config("LoHaConfig", "loha"),
    "VeraConfig": _config("VeraConfig", "vera"),
    "LNTuningConfig": _config("LNTuningConfig", "norms"),
    "TrainableTokensConfig": _config("TrainableTokensConfig", "tokens"),
    "PromptTuningConfig": _config("PromptTuningConfig", "prompt"),
    "PrefixTuningConfig": _config("PrefixTuningConfig", "prefix"),
}

NORM_TARGETS = ("input_layernorm", "post_attention_layernorm", "norm", "ln_1", "ln_2", "ln_f", "layer_norm")
FEED_FORWARD_TARGETS = ("down_proj", "mlp.c_proj", "wo", "output.dense", "fc2")
IA3_TARGETS = ("k_proj", "v_proj", "down_proj")
"""Defaults of the Llama family and its relatives (peft/utils/constants.py)."""


def parameter(shape: tuple[int, ...], dtype: Any, device: Any) -> Any:
    """A new trainable parameter."""
    return namespace("torch.nn.Parameter")(namespace("torch.zeros")(*shape, dtype=dtype, device=device))


def make_layers(interpreter: Interpreter) -> SimpleNamespace:
    """Layers of one run."""
    module, linear = namespace("torch.nn.Module"), namespace("torch.nn.functional.linear")
    float32, function = namespace("torch.float32"), namespace("torch.autograd.Function")

    class Adapted(module):  # type: ignore[misc, valid-type]
        """What a layer with an adapter has in common."""

        def __init__(self, base: Any) -> None:
            super().__init__()
            self.base_layer = base

        @property
        def weight(self) -> Any:
            return self.base_layer.weight

        @property
        def bias(self) -> Any:
            return self.base_layer.bias

    class Scaled(Adapted):
        """(IA)3: outputs, or the inputs of a feed-forward layer, times a learned vector."""

        def __init__(self, base: Any, size: int, inputs: bool) -> None:
            super().__init__(base)
            self.inputs = inputs
            shape = (1, size) if inputs else (size, 1)
            self.ia3_l = parameter(shape, float32, base.weight.device)

        def forward(self, x: Any) -> Any:
            scale = self.ia3_l.flatten()
            if self.inputs:
                return self.base_layer((x.to(float32) * scale).to(x.dtype))
            result = self.base_layer(x)
            return (result * scale).to(result.dtype)

    class HadamardWeight(function):  # type: ignore[misc, valid-type]
        """(a b) * (c d): the factors are kept, the products made again in backward."""

        @staticmethod
        def forward(context: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
            context.save_for_backward(a, b, c, d)
            return (a @ b) * (c @ d) * 1.0

        @staticmethod
        def backward(context: Any, outer: Any) -> Any:
            a, b, c, d = context.saved_tensors
            outer = outer * 1.0
            inner = outer * (c @ d)
            of_a, of_b = inner @ b.t(), a.t() @ inner
            inner = outer * (a @ b)
            return of_a, of_b, inner @ d.t(), c.t() @ inner

    class Hadamard(Adapted):
        """LoHa: a whole weight difference, the product of two low-rank ones."""

        def __init__(self, base: Any, inside: int, outside: int, rank: int) -> None:
            super().__init__(base)
            device = base.weight.device
            self.hada_w1_a = parameter((outside, rank), float32, device)
            self.hada_w1_b = parameter((rank, inside), float32, device)
            self.hada_w2_a = parameter((outside, rank), float32, device)
            self.hada_w2_b = parameter((rank, inside), float32, device)

        def forward(self, x: Any) -> Any:
            result = self.base_layer(x)
            difference = HadamardWeight.apply(self.hada_w1_a, self.hada_w1_b, self.hada_w2_a, self.hada_w2_b)
            return (result + linear(x.to(difference.dtype), difference)).to(result.dtype)

    class Vector(Adapted):
        """VeRA: frozen projections that all layers share, and two learned vectors."""

        def __init__(self, base: Any, inside: int, outside: int, shared: Any, rank: int) -> None:
            super().__init__(base)
            device = base.weight.device
            self.__dict__["shared"], self.__dict__["sizes"] = shared, (inside, outside)
            self.vera_lambda_d = parameter((rank,), float32, device)
            self.vera_lambda_b = parameter((outside,), float32, device)

        def forward(self, x: Any) -> Any:
            result = self.base_layer(x)
            inside, outside = self.sizes
            down, up = self.shared
            x = x.to(self.vera_lambda_d.dtype)
            inner = self.vera_lambda_d * linear(x, down[:, :inside])
            return (result + self.vera_lambda_b * linear(inner, up[:outside, :])).to(result.dtype)

    class Decomposed(Adapted):
        """DoRA: a learned magnitude over the direction of weight and low-rank difference."""

        def __init__(self, base: Any, inside: int, outside: int, rank: int, dropout: float) -> None:
            super().__init__(base)
            device = base.weight.device
            self.lora_A = parameter((rank, inside), float32, device)
            self.lora_B = parameter((outside, rank), float32, device)
            self.magnitude = parameter((outside,), float32, device)
            self.dropout = namespace("torch.nn.Dropout")(dropout) if dropout else None

        def forward(self, x: Any) -> Any:
            result = self.base_layer(x)
            dtype = result.dtype
            x = x.to(float32)
            kept = result
            if self.dropout is not None:
                x = self.dropout(x)
                kept = None
            identity = namespace("torch.eye")(self.lora_A.shape[1], dtype=x.dtype, device=x.device)
            difference = linear(linear(identity, self.lora_A), self.lora_B).t()
            weight = self.base_layer.weight
            if weight.shape == difference.shape:
                weight = weight.to(x.dtype)
                norm = (weight + difference.detach() * 1.0).detach().norm(dim=1)
            else:
                norm = (difference.detach() * 1.0).norm(dim=1)
            del difference
            scale = (self.magnitude / norm).view(1, -1)
            change = linear(linear(x, self.lora_A), self.lora_B)
            if kept is None:
                kept = linear(x, weight)
            change = (scale - 1) * kept + scale * change * 1.0
            return (result + change).to(dtype)

    class Tokens(Adapted):
        """Trainable tokens: a whole table with the trained rows copied in, made anew in every forward."""

        def __init__(self, base: Any, count: int) -> None:
            super().__init__(base)
            self.delta = parameter((count, base.weight.shape[1]), base.weight.dtype, base.weight.device)

        def merged(self) -> Any:
            table = self.base_layer.weight
            rows = namespace("torch.zeros")(self.delta.shape[0], dtype=namespace("torch.long"), device=table.device)
            return table.index_copy(0, rows, self.delta)

        def forward(self, x: Any) -> Any:
            return namespace("torch.nn.functional.embedding")(x, self.merged())

    return SimpleNamespace(
        Scaled=Scaled, Hadamard=Hadamard, Vector=Vector, Decomposed=Decomposed, Tokens=Tokens, Adapted=Adapted
    )


def layers_of(interpreter: Interpreter) -> SimpleNamespace:
    """The layers of this run, made once."""
    found: SimpleNamespace | None = interpreter.state.get("peft layers")
    if found is None:
        found = interpreter.state["peft layers"] = make_layers(interpreter)
    return found


def _replace(model: Any, name: str, layer: Any) -> None:
    holder_name, _, leaf = name.rpartition(".")
    setattr(model.get_submodule(holder_name) if holder_name else model, leaf, layer)


def _ends(name: str, targets: Any) -> bool:
    if isinstance(targets, str):
        targets = (targets,)
    return any(name == target or name.endswith(f".{target}") for target in targets)


def adapt(interpreter: Interpreter, model: Any, config: Any, targeted: Any, features: Any) -> int:
    """Put the method's layers into a frozen model; returns how many there are."""
    layers, method = layers_of(interpreter), config.method
    named = list(model.named_modules())
    if method == "norms":
        targets = config.target_modules or NORM_TARGETS
        chosen = [part for name, part in named if _ends(name, targets)]
        for part in chosen:
            for trained in part.parameters():
                trained.requires_grad_(True)
        return len(chosen)
    if method == "tokens":
        targets = config.target_modules or "embed_tokens"
        found = [(name, part) for name, part in named if _ends(name, targets)]
        for name, part in found:
            layer = layers.Tokens(part, max(1, len(config.token_indices or ())))
            _replace(model, name, layer)
            head = getattr(model, "lm_head", None)
            if head is not None and head.weight is part.weight:
                head.forward = lambda x, layer=layer: namespace("torch.nn.functional.linear")(x, layer.merged())
        return len(found)
    chosen = [(name, layer) for name, layer in named if targeted(name, layer, config.target_modules or IA3_TARGETS)]
    if not chosen:
        return 0
    sizes = [features(layer) for _, layer in chosen]
    shared = None
    if method == "vera":
        rank, device = int(config.r or 256), chosen[0][1].weight.device
        shape = {"dtype": namespace("torch.float32"), "device": device}
        empty = namespace("torch.empty")
        shared = (empty(rank, max(i for i, _ in sizes), **shape), empty(max(o for _, o in sizes), rank, **shape))
    forward_fed = config.feedforward_modules
    for (name, base), (inside, outside) in zip(chosen, sizes, strict=True):
        if method == "ia3":
            inputs = _ends(name, FEED_FORWARD_TARGETS if forward_fed is None else forward_fed)
            _replace(model, name, layers.Scaled(base, inside if inputs else outside, inputs))
        elif method == "loha":
            _replace(model, name, layers.Hadamard(base, inside, outside, int(config.r or 8)))
        elif method == "vera":
            _replace(model, name, layers.Vector(base, inside, outside, shared, rank))
    return len(chosen)


def prompt_forward(interpreter: Interpreter, wrapper: Any, base: Any, config: Any) -> None:
    """Prompt tuning: learned embeddings before those of the tokens; the labels are padded to match."""
    width, count = base.config.hidden_size, int(config.num_virtual_tokens)
    embeddings = base.get_input_embeddings()
    device = embeddings.weight.device
    wrapper.prompt = parameter((count, width), namespace("torch.float32"), device)
    cat, full = namespace("torch.cat"), namespace("torch.full")

    def forward(input_ids: Any = None, attention_mask: Any = None, labels: Any = None, **options: Any) -> Any:
        batch = input_ids.shape[0]
        inputs = embeddings(input_ids)
        prompts = wrapper.prompt.unsqueeze(0).expand(batch, -1, -1).to(inputs.dtype)
        inputs = cat((prompts, inputs), dim=1)
        if labels is not None:
            labels = cat((full((batch, count), -100, dtype=labels.dtype, device=labels.device), labels), dim=1)
        return base(inputs_embeds=inputs, labels=labels, **options)

    wrapper.forward = forward


def prefix_forward(interpreter: Interpreter, wrapper: Any, base: Any, config: Any) -> None:
    """Prefix tuning: learned keys and values that every layer attends to first."""
    model, count = base.config, int(config.num_virtual_tokens)
    layers = int(model.num_hidden_layers)
    heads = int(getattr(model, "num_key_value_heads", None) or model.num_attention_heads)
    width = int(getattr(model, "head_dim", None) or model.hidden_size // model.num_attention_heads)
    weight = base.get_input_embeddings().weight
    wrapper.prefix = parameter((count, layers * 2 * heads * width), namespace("torch.float32"), weight.device)
    from engine.memory.libraries.published import model_file

    cache_class = model_file(interpreter, "foundation").special("__dict__")["DynamicCache"]

    def forward(input_ids: Any = None, attention_mask: Any = None, labels: Any = None, **options: Any) -> Any:
        batch = input_ids.shape[0]
        past = wrapper.prefix.unsqueeze(0).expand(batch, -1, -1).to(weight.dtype)
        past = past.reshape(batch, count, layers * 2, heads, width).permute(2, 0, 3, 1, 4)
        cache = cache_class()
        for index in range(layers):
            cache.update(past[2 * index], past[2 * index + 1], index)
        del past
        return base(input_ids=input_ids, past_key_values=cache, labels=labels, **options)

    wrapper.forward = forward
