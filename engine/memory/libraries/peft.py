"""`peft`: LoRA adapters as the library adds them, float32 beside a half base."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from engine.memory.libraries import peft_methods
from engine.memory.program.namespaces import Namespace
from engine.memory.program.unknown import Unknown
from engine.memory.tensors import namespace

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter

DEFAULT_TARGETS: dict[str, tuple[str, ...]] = {
    "gpt2": ("c_attn",),
    "gpt_neox": ("query_key_value",),
    "bloom": ("query_key_value",),
    "falcon": ("query_key_value",),
    "chatglm": ("query_key_value",),
    "t5": ("q", "v"),
    "mt5": ("q", "v"),
    "bert": ("query", "value"),
    "roberta": ("query", "value"),
    "xlm-roberta": ("query", "value"),
    "electra": ("query", "value"),
    "deberta": ("in_proj",),
    "deberta-v2": ("query_proj", "value_proj"),
    "vit": ("query", "value"),
    "distilbert": ("q_lin", "v_lin"),
    "phi3": ("qkv_proj",),
    "gpt_bigcode": ("c_attn",),
    "mpt": ("Wqkv",),
    "gptj": ("q_proj", "v_proj"),
}
"""peft's default targets (peft/utils/constants.py); all other families take q_proj and v_proj."""


class LoraConfig:
    """`peft.LoraConfig`."""

    open_record = True

    def __init__(
        self, r: Any = 8, lora_alpha: Any = 8, target_modules: Any = None, lora_dropout: Any = 0.0, **options: Any
    ) -> None:
        self.r, self.lora_alpha, self.target_modules, self.lora_dropout = r, lora_alpha, target_modules, lora_dropout
        self.bias, self.modules_to_save, self.task_type = "none", None, None
        self.use_dora, self.use_rslora = False, False
        self.inference_mode = False
        self.__dict__.update(options)


def make_classes(interpreter: Interpreter) -> dict[str, Any]:
    """Adapter layers and the model wrapper of one run."""
    module = namespace("torch.nn.Module")
    linear, dropout = namespace("torch.nn.Linear"), namespace("torch.nn.Dropout")
    identity, module_dict = namespace("torch.nn.Identity"), namespace("torch.nn.ModuleDict")
    float32 = namespace("torch.float32")

    class LoraLayer(module):  # type: ignore[misc, valid-type]
        """A linear layer beside two low-rank ones."""

        def __init__(self, base: Any, rank: int, alpha: float, probability: float) -> None:
            super().__init__()
            self.base_layer = base
            inside, outside = features(base)
            weight = base.weight
            before = interpreter.device.default_dtype
            interpreter.device.default_dtype = float32
            try:
                first, second = linear(inside, rank, bias=False), linear(rank, outside, bias=False)
            finally:
                interpreter.device.default_dtype = before
            self.lora_dropout = module_dict({"default": dropout(probability) if probability else identity()})
            self.lora_A = module_dict({"default": first.to(weight.device)})
            self.lora_B = module_dict({"default": second.to(weight.device)})
            self.scaling = alpha / rank

        @property
        def weight(self) -> Any:
            return self.base_layer.weight

        def forward(self, x: Any, *args: Any, **options: Any) -> Any:
            result = self.base_layer(x, *args, **options)
            dtype = result.dtype
            first, second = self.lora_A["default"], self.lora_B["default"]
            if x.dtype != first.weight.dtype:
                x = x.to(first.weight.dtype)
            result = result + second(first(self.lora_dropout["default"](x))) * self.scaling
            return result.to(dtype)

    class PeftModel(module):  # type: ignore[misc, valid-type]
        """The base model with adapters; everything else is passed to it."""

        def __init__(self, base: Any, config: Any) -> None:
            super().__init__()
            self.base_model = base
            self.__dict__["peft_config"] = {"default": config}

        @classmethod
        def from_pretrained(cls, model: Any, *args: Any, **options: Any) -> Any:
            return add_adapters(interpreter, model, LoraConfig())

        def forward(self, *args: Any, **options: Any) -> Any:
            return self.base_model(*args, **options)

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except AttributeError:
                if name.startswith("__") or name == "base_model":
                    raise
                return getattr(self.base_model, name)

        @property
        def model(self) -> Any:
            return self.base_model

        def get_base_model(self) -> Any:
            return self.base_model

        def print_trainable_parameters(self) -> None:
            return None

        def get_nb_trainable_parameters(self) -> tuple[int, int]:
            return 1, 1

        def merge_and_unload(self, *args: Any, **options: Any) -> Any:
            return self.base_model

        def save_pretrained(self, *args: Any, **options: Any) -> None:
            return None

    return {"LoraLayer": LoraLayer, "PeftModel": PeftModel}


def features(layer: Any) -> tuple[int, int]:
    """(in, out) of a linear layer; transformers' Conv1D keeps its weight transposed."""
    if hasattr(layer, "in_features"):
        return int(layer.in_features), int(layer.out_features)
    inside, outside = layer.weight.shape
    return int(inside), int(outside)


def _is_linear(layer: Any) -> bool:
    return hasattr(layer, "in_features") or type(layer).__name__ == "Conv1D"


def targeted(name: str, layer: Any, targets: Any, head: Any) -> bool:
    """Whether a module's name is among the targets."""
    if not _is_linear(layer):
        return False
    if targets == "all-linear":
        return layer is not head
    if isinstance(targets, str):
        return re.fullmatch(targets, name) is not None if len(targets) < 500 else False
    return any(name == target or name.endswith(f".{target}") for target in targets)


def add_adapters(interpreter: Interpreter, model: Any, config: Any) -> Any:
    """`get_peft_model`."""
    if isinstance(model, Unknown) or isinstance(config, Unknown):
        return model if isinstance(model, Unknown) else config
    classes = interpreter.state.setdefault("peft classes", None) or make_classes(interpreter)
    interpreter.state["peft classes"] = classes
    if isinstance(config, peft_methods.MethodConfig):
        return _other_method(interpreter, model, config, classes)
    override = interpreter.state.get("overrides", {}).get("lora_rank")
    rank = int(override) if override else int(config.r)
    interpreter.state.setdefault("declared", {})["lora_rank"] = rank
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    targets = config.target_modules
    if targets is None:
        kind = str(getattr(getattr(model, "config", None), "model_type", ""))
        targets = DEFAULT_TARGETS.get(kind, ("q_proj", "v_proj"))
    head = getattr(model, "lm_head", None)
    chosen = [(name, layer) for name, layer in model.named_modules() if targeted(name, layer, targets, head)]
    kept = tuple(config.modules_to_save or ())
    for name, layer in chosen:
        holder_name, _, leaf = name.rpartition(".")
        holder = model.get_submodule(holder_name) if holder_name else model
        if config.use_dora:
            made = peft_methods.layers_of(interpreter).Decomposed(layer, *features(layer), rank, config.lora_dropout)
        else:
            made = classes["LoraLayer"](layer, rank, config.lora_alpha, config.lora_dropout or 0.0)
        setattr(holder, leaf, made)
    names = [name for name, _ in model.named_modules()]
    automatic = ("classifier", "score") if str(config.task_type).endswith(("SEQ_CLS", "TOKEN_CLS")) else ()
    for name in names:
        if name.rpartition(".")[2] in (*kept, *automatic):
            for parameter in model.get_submodule(name).parameters():
                parameter.requires_grad_(True)
    if config.bias in ("all", "lora_only"):
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.requires_grad_(True)
    if not chosen:
        interpreter.note("no module of the model matches the adapter's targets")
    return classes["PeftModel"](model, config)


def _other_method(interpreter: Interpreter, model: Any, config: Any, classes: dict[str, Any]) -> Any:
    """A model under one of the methods beside LoRA."""
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    wrapped = classes["PeftModel"](model, config)
    if config.method == "prompt":
        peft_methods.prompt_forward(interpreter, wrapped, model, config)
        return wrapped
    if config.method == "prefix":
        peft_methods.prefix_forward(interpreter, wrapped, model, config)
        return wrapped

    def chosen(name: str, layer: Any, targets: Any) -> bool:
        return targeted(name, layer, targets, getattr(model, "lm_head", None))

    if not peft_methods.adapt(interpreter, model, config, chosen, features):
        interpreter.note("no module of the model matches the adapter's targets")
    return wrapped


def prepare_for_kbit(
    interpreter: Interpreter,
    model: Any,
    use_gradient_checkpointing: Any = True,
    gradient_checkpointing_kwargs: Any = None,
) -> Any:
    """`prepare_model_for_kbit_training`: freeze, norms and head in float32, checkpoint."""
    if isinstance(model, Unknown):
        return model
    half = (namespace("torch.float16"), namespace("torch.bfloat16"))
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    for parameter in model.parameters():
        if parameter.dtype in half and not getattr(parameter, "logical_numel", None):
            parameter.data = parameter.data.to(namespace("torch.float32"))
    if use_gradient_checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs=gradient_checkpointing_kwargs)
        model.enable_input_require_grads()
    return model


def provide(interpreter: Interpreter, dotted: str) -> Any:
    """`peft`."""
    classes = interpreter.state.get("peft classes") or make_classes(interpreter)
    interpreter.state["peft classes"] = classes

    def get_peft_model(model: Any, config: Any, *args: Any, **options: Any) -> Any:
        return add_adapters(interpreter, model, config)

    def prepare(model: Any, *args: Any, **options: Any) -> Any:
        return prepare_for_kbit(interpreter, model, *args, **options)

    members: dict[str, Any] = {
        "LoraConfig": LoraConfig,
        **peft_methods.CONFIGS,
        "get_peft_model": get_peft_model,
        "prepare_model_for_kbit_training": prepare,
        "prepare_model_for_int8_training": prepare,
        "PeftModel": classes["PeftModel"],
        "PeftModelForCausalLM": classes["PeftModel"],
        "AutoPeftModelForCausalLM": Namespace("AutoPeftModelForCausalLM"),
        "TaskType": Namespace(
            "TaskType",
            {name: name for name in ("CAUSAL_LM", "SEQ_CLS", "SEQ_2_SEQ_LM", "TOKEN_CLS", "FEATURE_EXTRACTION")},
        ),
        "get_peft_model_state_dict": lambda *a, **k: {},
        "set_peft_model_state_dict": lambda *a, **k: None,
    }
    return Namespace(dotted, members)
