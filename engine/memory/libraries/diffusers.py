"""`diffusers`: the transformers and networks of the catalogue, built from published configurations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine import architectures
from engine.memory.libraries import published
from engine.memory.program.namespaces import Namespace
from engine.memory.program.unknown import Unknown

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter


def found_type(kind: Any) -> str:
    """The model type of a class of the catalogue."""
    found = architectures.find_class(kind.__name__)
    return found.model_type if found is not None else ""


def _equipped(interpreter: Interpreter, found: architectures.ModelClass) -> Any:
    """A model class with the class methods of diffusers' ModelMixin."""
    kind = published.model_class(interpreter, found)
    base = published.model_file(interpreter, "diffusion").special("__dict__")["DiffusionPreTrainedModel"]
    if "add_adapter" in base.__dict__:
        return kind

    def build(cls: Any, values: dict[str, Any], stored: str, options: dict[str, Any], name: str) -> Any:
        config = published.PretrainedConfig(**values)
        return published.finish(interpreter, lambda: cls(config), config, stored, options, name)

    def from_pretrained(cls: Any, name: Any = None, *args: Any, **options: Any) -> Any:
        checkpoint = architectures.lookup(name, library="diffusers") if isinstance(name, str) else None
        if checkpoint is not None and checkpoint.architecture != cls.__name__:
            # one repository holds several networks; the autoencoder is the same in all that are listed
            values = {**architectures.configuration(found_type(cls)), "model_type": found_type(cls)}
            return build(cls, values, "float32", options, name)
        if checkpoint is None:
            interpreter.note(f"the checkpoint {name} is not in the catalogue")
            return Unknown(f"the checkpoint {name} is not in the catalogue")
        interpreter.state["model name"], interpreter.state["model evidence"] = name, "catalogue"
        overrides = {key: value for key, value in options.items() if key not in published.LOADER_OPTIONS}
        values = {**checkpoint.configuration(overrides), "model_type": checkpoint.model_type}
        # unlike transformers, diffusers loads float32 unless a dtype is asked for
        return build(cls, values, "float32", options, name)

    def add_adapter(self: Any, config: Any, *args: Any, **options: Any) -> None:
        from engine.memory.libraries.peft import add_adapters

        add_adapters(interpreter, self, config)

    base.from_pretrained = classmethod(from_pretrained)
    base.add_adapter = add_adapter
    base.save_pretrained = lambda self, *args, **options: None
    base.from_config = classmethod(lambda cls, values, **options: cls(**{**_plain(values), **options}))
    return kind


def _plain(values: Any) -> dict[str, Any]:
    return values.to_dict() if isinstance(values, published.PretrainedConfig) else dict(values)


def _buildable(interpreter: Interpreter, found: architectures.ModelClass) -> Any:
    """The class as a program calls it: with the values of its configuration as keywords."""
    built: dict[str, Any] = interpreter.state.setdefault("diffusers classes", {})
    if found.name not in built:
        kind = _equipped(interpreter, found)

        def initialise(self: Any, config: Any = None, **values: Any) -> None:
            if config is None:
                merged = architectures.configuration(found.model_type, values)
                config = published.PretrainedConfig(**{**merged, "model_type": found.model_type})
            kind.__init__(self, config)

        built[found.name] = type(found.name, (kind,), {"__init__": initialise})
    return built[found.name]


def provide(interpreter: Interpreter, dotted: str) -> Any:
    """`diffusers` and its submodules: every public name is found from any of them."""

    def missing(name: str) -> Any:
        found = architectures.find_class(name)
        family = architectures.family(found.model_type) if found is not None else None
        if found is not None and family is not None and family.library == "diffusers":
            return _buildable(interpreter, found)
        return provide(interpreter, f"{dotted}.{name}") if name.islower() else None

    return Namespace(dotted, {"__name__": dotted}, missing=missing)
