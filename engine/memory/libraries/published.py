"""Published models: the catalogue's model files, read by the interpreter, and what `from_pretrained` makes of them."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from engine import architectures
from engine.memory.adjustments import changes_of
from engine.memory.evidence import OF_ITS_TIME, OLDEST_CURRENT
from engine.memory.program.files import is_file, read_text
from engine.memory.program.frames import Frame
from engine.memory.program.functions import Code
from engine.memory.program.namespaces import Namespace
from engine.memory.program.scopes import Scope, analyse
from engine.memory.program.statements import StatementCompiler
from engine.memory.program.unknown import Unknown
from engine.memory.tensors import machine as machines
from engine.memory.tensors import namespace

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter

PREFIX = "engine.architectures.models."
DEPTHS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
"""What configurations call the number of their equal blocks."""

LOADER_OPTIONS = frozenset(
    [
        "trust_remote_code",
        "low_cpu_mem_usage",
        "use_safetensors",
        "cache_dir",
        "ignore_mismatched_sizes",
        "revision",
        "torch_dtype",
        "dtype",
        "attn_implementation",
        "device_map",
        "quantization_config",
        "load_in_4bit",
        "load_in_8bit",
        "config",
        "token",
        "use_auth_token",
        "local_files_only",
        "force_download",
        "variant",
        "subfolder",
        "max_memory",
        "offload_folder",
        "use_flash_attention_2",
        "output_loading_info",
        "state_dict",
        "proxies",
        "from_tf",
        "resume_download",
        "code_revision",
        "adapter_kwargs",
        "use_kernels",
        "tp_plan",
    ]
)
"""Arguments of from_pretrained that are not overrides of the configuration."""


OF_THEIR_TIME = frozenset({"qwen"})
"""Model types whose code lies beside the checkpoint and was written for one version of transformers (4.32 to 4.37)."""


class PretrainedConfig:
    """A configuration object: attributes, with a model type's further spellings."""

    open_record = True

    def __init__(self, **values: Any) -> None:
        model_type = str(values.get("model_type", type(self).__dict__.get("model_type", "")))
        self.__dict__["_aliases"] = dict(architectures.attribute_aliases(model_type))
        self.__dict__.setdefault("model_type", model_type)
        for name, value in values.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "attn_implementation":
            name = "_attn_implementation"
        if isinstance(value, dict) and value.get("model_type"):
            value = PretrainedConfig(**value)
        self.__dict__[self.__dict__.get("_aliases", {}).get(name, name)] = value

    def __getattr__(self, name: str) -> Any:
        aliases = self.__dict__.get("_aliases", {})
        if name in aliases and aliases[name] in self.__dict__:
            return self.__dict__[aliases[name]]
        if name == "use_return_dict":
            return True
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __contains__(self, name: str) -> bool:
        return hasattr(self, name)

    def to_dict(self) -> dict[str, Any]:
        """The values as a dictionary."""
        return {name: value for name, value in self.__dict__.items() if name != "_aliases"}

    def update(self, values: Mapping[str, Any]) -> None:
        """Set several values."""
        for name, value in values.items():
            setattr(self, name, value)

    def save_pretrained(self, *args: Any, **kwargs: Any) -> None:
        """Nothing is written."""

    def get_text_config(self, *args: Any, **kwargs: Any) -> Any:
        """The part that describes the language model."""
        return self.__dict__.get("text_config", self)


def make_config(model_type: str, values: Mapping[str, Any] | None = None) -> PretrainedConfig:
    """A configuration of a model type, nested ones made objects too."""
    merged = architectures.configuration(model_type, values)
    config = PretrainedConfig(model_type=model_type)
    for name, value in merged.items():
        if isinstance(value, dict) and (name.endswith("_config") or "hidden_size" in value or "d_model" in value):
            inner = PretrainedConfig(**value)
            for key, fallback in (("_attn_implementation", merged.get("_attn_implementation", "sdpa")),):
                inner.__dict__.setdefault(key, fallback)
            value = inner
        setattr(config, name, value)
    _at_depth(config)
    return config


def _at_depth(config: PretrainedConfig) -> None:
    """Note how many equal blocks a model has, and have it made with fewer in a run that asks for that."""
    state = machines.current
    for name in DEPTHS:
        depth = config.__dict__.get(name)
        if isinstance(depth, int):
            state.depths.add(depth)
            if state.made_with is not None:
                config.__dict__[name] = state.made_with


@cache
def _tree(module: str) -> tuple[ast.Module, dict[ast.AST, Scope]]:
    """A model file and its scopes: the same in all runs."""
    tree = ast.parse(architectures.source(module))
    return tree, analyse(tree)


def provide(interpreter: Interpreter, dotted: str) -> Any:
    """A model file as a module."""
    if not dotted.startswith(PREFIX):
        return None
    return model_file(interpreter, dotted.removeprefix(PREFIX))


def model_file(interpreter: Interpreter, module: str) -> Namespace:
    """The module object of `models/MODULE.py`, executed once a run."""
    loaded: dict[str, Namespace] = interpreter.state.setdefault("model files", {})
    if module in loaded:
        return loaded[module]
    tree, scopes = _tree(module)
    variables: dict[str, Any] = {"__name__": PREFIX + module}
    result = loaded[module] = Namespace(PREFIX + module, variables)
    path = f"<{module}>"
    compiler = StatementCompiler(interpreter, path, scopes)
    body = compiler.block(tree.body, compiler.scopes[tree])
    frame = Frame(variables, variables, {})
    interpreter.enter(Code("<module>", "<module>", path, 1, (), 0, (), None, None, (), (), lambda: body, None), frame)
    try:
        body(frame)
    finally:
        interpreter.leave()
    if "attended_everywhere" in variables:
        padded = bool(interpreter.state.get("padded"))
        variables["attended_everywhere"] = lambda mask: not padded
    if "use_fused_attn" in variables:
        variables["use_fused_attn"] = lambda *args, **options: _fused_since(interpreter.state.get("timm names", {}))
    for value in list(variables.values()):
        if isinstance(value, type) and "PreTrainedModel" in value.__name__ and "from_pretrained" not in value.__dict__:
            _equip(interpreter, value)
    return result


def _fused_since(timm: Mapping[str, Any]) -> bool:
    """Whether the timm that a program demands calls scaled_dot_product_attention: 0.9 and later do."""
    demanded = str(timm.get("__version__", "1.0")).split(".")
    return (int(demanded[0]), int(demanded[1])) >= (0, 9) if all(part.isdigit() for part in demanded[:2]) else True


def offered(interpreter: Interpreter, modules: Iterable[str], name: str) -> Any:
    """What the first of the model files that has it calls so; None where none has, or keeps it to itself."""
    if name.startswith("__"):
        return None
    for module in modules:
        found = model_file(interpreter, module)._preflight_members.get(name)
        if found is not None and not isinstance(found, Namespace):
            return found
    return None


def _equip(interpreter: Interpreter, base: Any) -> None:
    """Give a model base class the class methods of transformers' PreTrainedModel."""

    def from_pretrained(cls: Any, name: Any = None, *args: Any, **options: Any) -> Any:
        found = find_configuration(interpreter, name, options)
        if isinstance(found, Unknown):
            return found
        config, stored = found
        return finish(interpreter, lambda: cls(config, *args), config, stored, options, str(name))

    def from_config(cls: Any, config: Any, **options: Any) -> Any:
        return finish(interpreter, lambda: cls(config), config, "float32", {**options, "plain": True}, cls.__name__)

    base.from_pretrained = classmethod(from_pretrained)
    base.from_config = base._from_config = classmethod(from_config)  # type: ignore[arg-type]
    for name in ("save_pretrained", "push_to_hub", "warnings_issued"):
        if not hasattr(base, name):
            setattr(base, name, lambda self, *args, **kwargs: None)


def model_class(interpreter: Interpreter, found: architectures.ModelClass) -> Any:
    """The class object of a catalogue entry."""
    return getattr(model_file(interpreter, found.module), found.name)


def find_configuration(interpreter: Interpreter, name: Any, options: Mapping[str, Any]) -> Any:
    """(configuration, stored dtype) of a checkpoint name, a folder of the project, or a given config; else Unknown."""
    overrides = {
        key: value for key, value in options.items() if key not in LOADER_OPTIONS and not isinstance(value, Unknown)
    }
    given = options.get("config")
    if isinstance(given, PretrainedConfig):
        for key, value in overrides.items():
            setattr(given, key, value)
        checkpoint = architectures.lookup(name, library="transformers") if isinstance(name, str) else None
        return given, checkpoint.dtype if checkpoint is not None else "float32"
    if not isinstance(name, str):
        return name if isinstance(name, Unknown) else Unknown("a checkpoint whose name is not known")
    checkpoint = architectures.lookup(name, library="transformers")
    if checkpoint is not None:
        interpreter.state["model name"], interpreter.state["model evidence"] = name, "catalogue"
        if checkpoint.model_type in OF_THEIR_TIME:
            interpreter.note(f"{name} {OF_ITS_TIME}")
        config = make_config(checkpoint.model_type, {**_nested(checkpoint, overrides)})
        config.name_or_path = config._name_or_path = name
        config.architectures = [checkpoint.architecture]
        return config, checkpoint.dtype
    values = _config_file(interpreter, name)
    if values is None:
        close = architectures.suggestions(name)
        hint = f"; known names like it: {', '.join(close)}" if close else ""
        interpreter.note(f"the checkpoint {name} is not in the catalogue{hint}")
        return Unknown(f"the checkpoint {name} is not in the catalogue")
    model_type = str(values.get("model_type", ""))
    if architectures.family(model_type) is None:
        interpreter.note(f"{name}: the model type {model_type!r} is not in the catalogue")
        return Unknown(f"the model type {model_type!r} is not in the catalogue")
    interpreter.state["model name"], interpreter.state["model evidence"] = name, "config"
    config = make_config(model_type, {**values, **overrides})
    return config, str(values.get("dtype") or values.get("torch_dtype") or "float32")


def _nested(checkpoint: architectures.Checkpoint, overrides: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in checkpoint.configuration(overrides).items() if key != "model_type"}


def _config_file(interpreter: Interpreter, name: str) -> dict[str, Any] | None:
    path = f"{name.rstrip('/')}/config.json"
    if is_file(interpreter, path):
        values = json.loads(read_text(interpreter, path))
        return values if isinstance(values, dict) else None
    fetch = interpreter.state.get("fetch_config")
    if fetch is None:
        return None
    fetched = fetch(name)
    return dict(fetched) if fetched is not None else None


def wanted_dtype(options: Mapping[str, Any], stored: str) -> Any:
    """The dtype that weights are loaded in: asked for, else the checkpoint's own (transformers 5)."""
    asked = options.get("dtype", options.get("torch_dtype"))
    if options.get("weights-bf16"):
        return namespace("torch.bfloat16")
    if asked is None and options.get("plain"):
        return namespace("torch.float32")
    if asked is None or asked == "auto":
        asked = stored
    if isinstance(asked, str):
        asked = namespace(f"torch.{asked.removeprefix('torch.')}")
    return namespace("torch.float32") if asked is None or isinstance(asked, Unknown) else asked


def finish(interpreter: Interpreter, make: Any, config: Any, stored: str, options: Mapping[str, Any], name: str) -> Any:
    """Build the model in its dtype, place it and quantise it as the loader's options say."""
    attention = options.get("attn_implementation")
    if options.get("use_flash_attention_2"):
        attention = "flash_attention_2"
    override = interpreter.state.get("overrides", {}).get("attention")
    if override in ("sdpa", "eager", "flash_attention_2"):
        attention = override
    if attention is None and interpreter.device.compute < 10 * OLDEST_CURRENT:
        # transformers took up scaled_dot_product_attention from 4.36 on, for most families later.
        attention = "eager"
    if isinstance(attention, str):
        config._attn_implementation = attention
        for inner in vars(config).values():
            if isinstance(inner, PretrainedConfig):
                inner._attn_implementation = attention
    machine = interpreter.device
    before = machine.default_dtype
    if "weights-bf16" in changes_of(interpreter):
        options = {**options, "weights-bf16": True}
    machine.default_dtype = wanted_dtype(options, stored)
    try:
        model = make()
    finally:
        machine.default_dtype = before
    changes = changes_of(interpreter)
    if options.get("plain"):
        return _changed(interpreter, model, changes)
    quantization = options.get("quantization_config")
    if options.get("load_in_4bit") or options.get("load_in_8bit"):
        quantization = {"load_in_4bit": options.get("load_in_4bit"), "load_in_8bit": options.get("load_in_8bit")}
    if quantization is not None and not isinstance(quantization, Unknown):
        from engine.memory.libraries.bitsandbytes import quantise

        quantise(interpreter, model, quantization)
    model = _changed(interpreter, model, changes)
    if interpreter.state.get("liger everywhere"):
        from engine.memory.libraries import liger_kernels

        liger_kernels.apply(interpreter, model)
    model.eval()
    if options.get("device_map") is not None:
        model.to("cuda")
    return model


def _changed(interpreter: Interpreter, model: Any, changes: frozenset[str]) -> Any:
    """The model under the changes that a saving asks for."""
    if "nf4" in changes:
        from engine.memory.libraries.bitsandbytes import quantise

        quantise(interpreter, model, {"load_in_4bit": True})
    if "lora-16" in changes:
        from engine.memory.libraries.peft import LoraConfig, add_adapters

        adapted = add_adapters(interpreter, model, LoraConfig(r=16, lora_alpha=32, target_modules="all-linear"))
        adapted.enable_input_require_grads()
        return adapted
    return model
