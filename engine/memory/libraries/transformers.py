"""`transformers`: models and configurations from the catalogue, tokenizers, collators, schedules, the Trainer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from engine import architectures
from engine.memory.libraries import published, tokenizers
from engine.memory.program.namespaces import Namespace
from engine.memory.program.stdlib_models import Silent
from engine.memory.program.unknown import Unknown
from engine.memory.tensors import Adafactor

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter


def provide(interpreter: Interpreter, dotted: str) -> Any:
    """`transformers` and its submodules: every public name is found from any of them."""
    members: dict[str, Any] = interpreter.state.setdefault("transformers names", {})
    if not members:
        members.update(_fixed(interpreter))

    def missing(name: str) -> Any:
        if name not in members:
            value = _find(interpreter, name)
            if value is None:
                return provide(interpreter, f"{dotted}.{name}") if name.islower() else None
            members[name] = value
        return members[name]

    return Namespace(dotted, {"__name__": dotted}, missing=missing)


def _find(interpreter: Interpreter, name: str) -> Any:
    if name in architectures.HEADS:
        return _auto_class(interpreter, name)
    found = architectures.find_class(name)
    if found is not None:
        return published.model_class(interpreter, found)
    if name.endswith("Config") and architectures.config_class(name) is not None:
        return _config_class(interpreter, name, str(architectures.config_class(name)))
    if name.endswith(("Tokenizer", "TokenizerFast")):
        return tokenizers.make_tokenizer(interpreter)
    if name.endswith(("Processor", "FeatureExtractor", "ImageProcessorFast")):
        return tokenizers.make_processor(interpreter)
    if name.startswith("get_") and "schedule" in name:
        return lambda *args, **kwargs: SimpleNamespace(
            step=lambda *a: None, get_last_lr=lambda: [0.0], state_dict=lambda: {}
        )
    if name.startswith("is_") and name.endswith("_available"):
        return lambda *args, **kwargs: False
    if name.endswith("Output") or name.startswith(("BaseModelOutput", "CausalLMOutput")):
        return getattr(published.model_file(interpreter, "foundation"), "ModelOutput")  # noqa: B009
    if name in ("PreTrainedModel",):
        return getattr(published.model_file(interpreter, "foundation"), "PreTrainedModel", None)
    if name.endswith("Callback"):
        return type(name, (Silent,), {"__init__": lambda self, *args, **kwargs: None})
    return None


def _auto_class(interpreter: Interpreter, head: str) -> Any:
    def build(config: Any, stored: str, options: dict[str, Any], name: str) -> Any:
        found = architectures.class_for(config.model_type, head)
        if found is None:
            interpreter.note(f"{name}: {head} of {config.model_type} is not in the catalogue")
            return Unknown(f"{head} of {config.model_type} is not in the catalogue")
        kind = published.model_class(interpreter, found)
        return published.finish(interpreter, lambda: kind(config), config, stored, options, name)

    def from_pretrained(name: Any = None, *args: Any, **options: Any) -> Any:
        name = options.pop("pretrained_model_name_or_path", name)
        found = published.find_configuration(interpreter, name, options)
        if isinstance(found, Unknown):
            return found
        return build(found[0], found[1], options, str(name))

    def from_config(config: Any, **options: Any) -> Any:
        if isinstance(config, Unknown):
            return config
        return build(config, "float32", {**options, "plain": True}, str(config.model_type))

    return SimpleNamespace(from_pretrained=from_pretrained, from_config=from_config, register=lambda *a, **k: None)


def _config_class(interpreter: Interpreter, name: str, model_type: str) -> Any:
    def initialise(self: Any, *args: Any, **values: Any) -> None:
        made = published.make_config(model_type, values)
        self.__dict__.update(made.__dict__)

    def from_pretrained(cls: Any, checkpoint: Any, **options: Any) -> Any:
        found = published.find_configuration(interpreter, checkpoint, options)
        return found if isinstance(found, Unknown) else found[0]

    return type(
        name,
        (published.PretrainedConfig,),
        {
            "__init__": initialise,
            "from_pretrained": classmethod(from_pretrained),  # type: ignore[arg-type]
            "from_dict": classmethod(lambda cls, values, **k: cls(**values)),
            "model_type": model_type,
        },
    )


def _fixed(interpreter: Interpreter) -> dict[str, Any]:
    from engine.memory.libraries import trainer

    def config_from(name: Any, **options: Any) -> Any:
        found = published.find_configuration(interpreter, name, options)
        return found if isinstance(found, Unknown) else found[0]

    def for_model(model_type: str, **values: Any) -> Any:
        return published.make_config(model_type, values)

    class BitsAndBytesConfig:
        """`transformers.BitsAndBytesConfig`."""

        open_record = True

        def __init__(self, **options: Any) -> None:
            self.load_in_4bit = self.load_in_8bit = False
            self.__dict__.update(options)

    def pipeline(task: Any = None, model: Any = None, **options: Any) -> Any:
        return Unknown("transformers.pipeline is not modelled")

    def adafactor(parameters: Any, **options: Any) -> Any:
        return Adafactor(parameters, **options)

    class HfArgumentParser:
        """`HfArgumentParser`: dataclasses filled from the launch's arguments and their defaults."""

        def __init__(self, types: Any, **options: Any) -> None:
            self.types = list(types) if isinstance(types, (list, tuple)) else [types]

        def parse_args_into_dataclasses(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
            return tuple(trainer.fill(interpreter, kind) for kind in self.types)

        def parse_json_file(self, path: Any, **kwargs: Any) -> tuple[Any, ...]:
            import json

            from engine.memory.program.files import read_text

            return self.parse_dict(json.loads(read_text(interpreter, path)))

        def parse_yaml_file(self, path: Any, **kwargs: Any) -> tuple[Any, ...]:
            from engine.memory.libraries.configuration_files import load_yaml
            from engine.memory.program.files import read_text

            return self.parse_dict(load_yaml(read_text(interpreter, path)))

        def parse_dict(self, values: Any, **kwargs: Any) -> tuple[Any, ...]:
            return tuple(trainer.fill(interpreter, kind, dict(values)) for kind in self.types)

    silent = Silent()
    members: dict[str, Any] = {
        "AutoConfig": SimpleNamespace(from_pretrained=config_from, for_model=for_model, register=lambda *a, **k: None),
        "PretrainedConfig": published.PretrainedConfig,
        "PreTrainedConfig": published.PretrainedConfig,
        "AutoTokenizer": tokenizers.make_tokenizer(interpreter),
        "BitsAndBytesConfig": BitsAndBytesConfig,
        "GenerationConfig": lambda **values: SimpleNamespace(**values),
        "HfArgumentParser": HfArgumentParser,
        "pipeline": pipeline,
        "Adafactor": adafactor,
        "set_seed": lambda *args, **kwargs: None,
        "logging": silent,
        "EarlyStoppingCallback": lambda *args, **kwargs: silent,
    }
    members.update(tokenizers.collators(interpreter))
    members.update(trainer.names(interpreter))
    for name in ("AutoProcessor", "AutoFeatureExtractor", "AutoImageProcessor"):
        members[name] = tokenizers.make_processor(interpreter)
    return members
