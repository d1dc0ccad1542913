"""Readers of configuration files: YAML, OmegaConf, TOML, EasyDict, over the project's own files."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import yaml

from engine.memory.program.files import read_text
from engine.memory.program.namespaces import Namespace
from engine.memory.program.unknown import Unknown

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter

MAX_TEXT = 2_000_000


class _Loader(yaml.SafeLoader):
    """Safe loader: tags of other libraries become plain values, aliases cannot explode (bounded text)."""


def _any_tag(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    return loader.construct_scalar(node) if isinstance(node, yaml.ScalarNode) else None


_Loader.add_multi_constructor("!", _any_tag)
_Loader.add_multi_constructor("tag:", _any_tag)


def load_yaml(source: Any, *args: Any, **kwargs: Any) -> Any:
    """`yaml.safe_load` of text or an open file."""
    if isinstance(source, Unknown):
        return source
    text = source.read() if hasattr(source, "read") else source
    if isinstance(text, bytes):
        text = text.decode()
    return yaml.load(text[:MAX_TEXT], Loader=_Loader)


class AttributeDict(dict[Any, Any]):
    """A dictionary whose keys are attributes: OmegaConf's DictConfig, EasyDict."""

    open_record = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        for key, value in dict(*args, **kwargs).items():
            self[key] = as_attributes(value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in self:
            if type(self).missing_is_none:
                return None
            raise AttributeError(name)
        return _interpolated(self[name], self)

    missing_is_none = False

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = as_attributes(value)

    def __delattr__(self, name: str) -> None:
        self.pop(name, None)

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of a key."""
        return super().get(key, default)


def _interpolated(value: Any, scope: Any) -> Any:
    return value


def as_attributes(value: Any) -> Any:
    """Nested dictionaries as AttributeDict."""
    if isinstance(value, AttributeDict):
        return value
    if isinstance(value, dict):
        return AttributeDict(value)
    if isinstance(value, (list, tuple)):
        return type(value)([as_attributes(item) for item in value]) if not hasattr(value, "_fields") else value
    return value


def merge(base: Any, over: Any) -> Any:
    """`over` upon `base`, nested."""
    if isinstance(base, dict) and isinstance(over, dict):
        result = AttributeDict(base)
        for key, value in over.items():
            result[key] = merge(base[key], value) if key in base else as_attributes(value)
        return result
    return as_attributes(over)


def from_dotlist(items: Any) -> AttributeDict:
    """`["a.b=1"]` as a nested configuration."""
    result = AttributeDict()
    for item in items:
        key, _, text = str(item).partition("=")
        target = result
        parts = key.lstrip("+-").split(".")
        for part in parts[:-1]:
            target = target.setdefault(part, AttributeDict())
        target[parts[-1]] = as_attributes(load_yaml(text)) if text else None
    return result


def resolve(root: Any, value: Any = None) -> Any:
    """Replace `${a.b}` interpolations by what they name in `root`."""
    value = root if value is None else value
    if isinstance(value, dict):
        for key in list(value):
            value[key] = resolve(root, value[key]) if value[key] is not None else None
        return value
    if isinstance(value, list):
        return [resolve(root, item) if item is not None else None for item in value]
    if isinstance(value, str) and "${" in value:
        whole = _INTERPOLATION.fullmatch(value)
        if whole is not None:
            found = _named(root, whole[1])
            return resolve(root, found) if isinstance(found, str) and found != value else found
        return _INTERPOLATION.sub(lambda match: str(_named(root, match[1])), value)
    return value


_INTERPOLATION = re.compile(r"\$\{([\w.]+)\}")


def _named(root: Any, dotted: str) -> Any:
    found = root
    for part in dotted.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def make_omegaconf(interpreter: Interpreter) -> Namespace:
    """`omegaconf`."""

    def load(path: Any) -> Any:
        text = path.read() if hasattr(path, "read") else read_text(interpreter, path)
        return resolve(as_attributes(load_yaml(text) or {}))

    def create(value: Any = None) -> Any:
        if isinstance(value, str):
            value = load_yaml(value)
        return resolve(as_attributes(value if value is not None else {}))

    def combine(*parts: Any) -> Any:
        result: Any = AttributeDict()
        for part in parts:
            if isinstance(part, (list, tuple)):
                part = from_dotlist(part)
            if not isinstance(part, (dict, Unknown)):
                part = dict(vars(part)) if not isinstance(part, type) else {}
            if isinstance(part, dict):
                result = merge(result, part)
        return resolve(result)

    def plain(value: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        return [plain(item) for item in value] if isinstance(value, list) else value

    def select(config: Any, key: str, default: Any = None) -> Any:
        for part in key.split("."):
            if not isinstance(config, dict) or part not in config:
                return default
            config = config[part]
        return config

    def update(config: Any, key: str, value: Any, **kwargs: Any) -> None:
        parts = key.split(".")
        for part in parts[:-1]:
            config = config.setdefault(part, AttributeDict())
        config[parts[-1]] = as_attributes(value)

    nothing = lambda *args, **kwargs: None  # noqa: E731
    facade = SimpleNamespace(
        load=load,
        create=create,
        merge=combine,
        to_container=plain,
        structured=lambda kind: as_attributes(dict(vars(kind() if isinstance(kind, type) else kind))),
        from_cli=lambda arguments=None: from_dotlist(interpreter.arguments if arguments is None else arguments),
        from_dotlist=from_dotlist,
        to_yaml=lambda config, **kwargs: yaml.safe_dump(plain(config)),
        set_struct=nothing,
        set_readonly=nothing,
        resolve=nothing,
        save=nothing,
        register_new_resolver=nothing,
        is_config=lambda value: isinstance(value, AttributeDict),
        is_dict=lambda value: isinstance(value, AttributeDict),
        is_list=lambda value: isinstance(value, list),
        select=select,
        update=update,
    )
    return Namespace(
        "omegaconf", {"OmegaConf": facade, "DictConfig": AttributeDict, "ListConfig": list, "MISSING": "???"}
    )


def provide(interpreter: Interpreter, dotted: str) -> Any:
    """A module of one of these libraries."""
    top = dotted.split(".")[0]
    nothing = lambda *args, **kwargs: None  # noqa: E731
    if top == "yaml":
        members: dict[str, Any] = dict.fromkeys(("safe_load", "load", "full_load", "unsafe_load"), load_yaml)
        members.update(dump=lambda *a, **k: "", safe_dump=lambda *a, **k: "", YAMLError=yaml.YAMLError)
        members.update(SafeLoader=None, FullLoader=None, Loader=None, CSafeLoader=None, CLoader=None, UnsafeLoader=None)
        return Namespace(
            "yaml",
            {key: (value if value is not None else type("Loader", (_Loader,), {})) for key, value in members.items()},
        )
    if top == "ruamel":
        reader = SimpleNamespace(load=load_yaml, dump=nothing)
        return Namespace(
            dotted, {"yaml": Namespace("ruamel.yaml", {"YAML": lambda *a, **k: reader}), "YAML": lambda *a, **k: reader}
        )
    if top == "omegaconf":
        return make_omegaconf(interpreter)
    if top == "toml":
        import tomllib

        return Namespace(
            "toml",
            {
                "load": lambda file: tomllib.loads(
                    file.read() if hasattr(file, "read") else read_text(interpreter, file)
                ),
                "loads": tomllib.loads,
            },
        )
    if top == "easydict":
        return Namespace("easydict", {"EasyDict": AttributeDict})
    return None
