"""`hydra`: configurations composed from defaults lists, groups and overrides, and objects made from them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from engine.memory.libraries.configuration_files import (
    AttributeDict,
    as_attributes,
    load_yaml,
    merge,
    resolve,
)
from engine.memory.program.attributes import read
from engine.memory.program.files import is_file, read_text
from engine.memory.program.namespaces import Namespace
from engine.memory.program.stdlib_models import Silent
from engine.memory.program.unknown import Unknown

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter

GLOBAL_PACKAGE = "@package _global_"
_OWN_OPTIONS = {"--config-name": "name", "-cn": "name", "--config-path": "path", "-cp": "path", "--config-dir": "path"}
_OWN_KEYS = ("_target_", "_partial_", "_recursive_", "_convert_", "_args_")


class Composer:
    """Composes the configuration of one run: `folder` holds the files, `stored` what a ConfigStore was given."""

    def __init__(self, interpreter: Interpreter, folder: str, overrides: list[str], stored: Mapping[str, Any]) -> None:
        self.interpreter, self.folder, self.stored = interpreter, folder, stored
        self.choices: dict[str, str | None] = {}
        self.values: list[tuple[str, str | None]] = []
        for text in overrides:
            name, equals, value = text.partition("=")
            plain = name.lstrip("+~")
            if not equals:
                if name.startswith("~"):
                    self.values.append((plain, None))
            elif self._is_group(plain, value):
                self.choices[plain.split("@")[0]] = value
            else:
                self.values.append((plain, value))

    def _is_group(self, name: str, value: str) -> bool:
        return self._find(f"{name.split('@')[0]}/{value}") is not None

    def _find(self, name: str) -> Any:
        path = f"{self.folder}/{name.removesuffix('.yaml')}".lstrip("/")
        for ending in (".yaml", ".yml"):
            if is_file(self.interpreter, path + ending):
                return path + ending
        return name if name in self.stored else None

    def compose(self, name: str) -> AttributeDict:
        """The configuration of a primary file with the run's overrides."""
        # What a later file chooses anew counts from the beginning: the first pass only collects the choices.
        self._files(name)
        config = self._files(name)
        for key, text in self.values:
            _put(config, key.split("."), text)
        composed: AttributeDict = resolve(as_attributes(config))
        return composed

    def _files(self, name: str) -> AttributeDict:
        used: set[str] = set()
        config = self._load(name, "", used)
        for group, choice in list(self.choices.items()):
            if group not in used and choice is not None and not group.startswith("hydra"):
                config = merge(config, self._placed(f"{group}/{choice}", group, None, used))
        return config

    def _load(self, name: str, group: str, used: set[str]) -> AttributeDict:
        found = self._find(name)
        if found is None:
            self.interpreter.note(f"hydra: the configuration {name} was not found")
            return AttributeDict()
        if found in self.stored:
            own = _structured(self.stored[found])
        else:
            own = as_attributes(load_yaml(read_text(self.interpreter, found)) or {})
        defaults = own.pop("defaults", None) or []
        config, placed = AttributeDict(), False
        for entry in defaults:
            if entry == "_self_":
                config, placed = merge(config, own), True
            elif isinstance(entry, str):
                config = merge(config, self._load(f"{group}/{entry}".lstrip("/"), group, used))
            elif isinstance(entry, dict):
                for key, choice in entry.items():
                    config = merge(config, self._default(str(key), choice, group, used))
        return config if placed else merge(config, own)

    def _default(self, key: str, choice: Any, group: str, used: set[str]) -> AttributeDict:
        words = key.split()
        if words[0] == "override":
            # What another file of the list chose is chosen anew.
            self.choices.setdefault(words[-1].lstrip("/"), choice)
            return AttributeDict()
        name, _, package = words[-1].partition("@")
        path = name.lstrip("/") if name.startswith("/") or not group else f"{group}/{name}"
        used.add(path)
        choice = self.choices.get(path, choice)
        parts = choice if isinstance(choice, list) else [choice]
        config = AttributeDict()
        for part in parts:
            if part not in (None, "null"):
                config = merge(config, self._placed(f"{path}/{part}", path, package or None, used))
        return config

    def _placed(self, name: str, group: str, package: str | None, used: set[str]) -> AttributeDict:
        """A group's configuration under its package: the group's name unless the file or the list says another."""
        config = self._load(name, group, used)
        found = self._find(name)
        if package == "_global_" or (
            found is not None
            and found not in self.stored
            and GLOBAL_PACKAGE in read_text(self.interpreter, found).split("\n", 1)[0]
        ):
            return config
        for part in reversed((package or group).replace("/", ".").split(".")):
            config = AttributeDict({part: config}) if part != "_group_" else config
        return config


def _structured(node: Any) -> AttributeDict:
    values = node if isinstance(node, dict) else dict(vars(node() if isinstance(node, type) else node))
    made: AttributeDict = as_attributes(dict(values))
    return made


def _put(config: AttributeDict, names: list[str], text: str | None) -> None:
    for name in names[:-1]:
        inner = config.get(name)
        if not isinstance(inner, dict):
            inner = config[name] = AttributeDict()
        config = inner
    if text is None:
        config.pop(names[-1], None)
    else:
        value = load_yaml(text)
        before = config.get(names[-1])
        if isinstance(value, str) and isinstance(before, (int, float)):
            value = number(value)
        config[names[-1]] = as_attributes(value)


def number(text: str) -> Any:
    """`2e-5`, which YAML 1.1 takes for a text, as the number that OmegaConf reads."""
    try:
        return float(text)
    except ValueError:
        return text


def locate(interpreter: Interpreter, dotted: str) -> Any:
    """The object of a dotted name."""
    parts = dotted.split(".")
    for index in range(len(parts) - 1, 0, -1):
        try:
            found = interpreter.import_module(".".join(parts[:index]), interpreter.entry, True, whole=True)
        except ImportError:
            continue
        for part in parts[index:]:
            found = read(found, part)
        return found
    return Unknown(f"{dotted} was not found")


def instantiate(interpreter: Interpreter, config: Any, *args: Any, **given: Any) -> Any:
    """`hydra.utils.instantiate`: inner configurations with a target first."""
    if isinstance(config, list):
        return [instantiate(interpreter, item) for item in config]
    if not isinstance(config, dict):
        return config
    deep = given.pop("_recursive_", config.get("_recursive_", True))
    given.pop("_convert_", None)
    make: Callable[[Any], Any] = (lambda value: instantiate(interpreter, value)) if deep else (lambda value: value)
    merged = {**{key: make(value) for key, value in config.items() if key not in _OWN_KEYS}, **given}
    if "_target_" not in config:
        return AttributeDict(merged)
    target = config["_target_"]
    function = locate(interpreter, target) if isinstance(target, str) else target
    partial = merged.pop("_partial_", config.get("_partial_", False))
    positional = [*(make(value) for value in config.get("_args_", ())), *args]
    if partial:
        return functools.partial(
            lambda *more, **late: interpreter.call(function, [*positional, *more], {**merged, **late})
        )
    return interpreter.call(function, positional, merged)


def provide(interpreter: Interpreter, dotted: str) -> Any:
    """`hydra` and its submodules."""
    stored: dict[str, Any] = interpreter.state.setdefault("hydra store", {})
    where: dict[str, str] = interpreter.state.setdefault("hydra folder", {"folder": ""})

    def arguments() -> tuple[dict[str, str], list[str]]:
        own: dict[str, str] = {}
        overrides: list[str] = []
        words = [str(word) for word in interpreter.arguments]
        while words:
            word, _, value = words.pop(0).partition("=")
            if word in _OWN_OPTIONS:
                own[_OWN_OPTIONS[word]] = value or (words.pop(0) if words else "")
            elif not word.startswith("--"):
                overrides.append(f"{word}={value}" if _ else word)
        return own, overrides

    def beside(path: Any) -> str:
        folder = interpreter.place()[0].rpartition("/")[0]
        parts = [part for part in f"{folder}/{path or ''}".split("/") if part not in ("", ".")]
        kept: list[str] = []
        for part in parts:
            if part == ".." and kept:
                kept.pop()
            else:
                kept.append(part)
        return "/".join(kept)

    def main(config_path: Any = None, config_name: Any = None, version_base: Any = None) -> Any:
        folder = beside(config_path)

        def decorate(function: Any) -> Any:
            def run(*given: Any) -> Any:
                if given:
                    return interpreter.call(function, list(given), {})
                own, overrides = arguments()
                chosen = beside(own["path"]) if "path" in own else folder
                composer = Composer(interpreter, chosen, overrides, stored)
                return interpreter.call(function, [composer.compose(own.get("name", config_name or "config"))], {})

            return run

        return decorate

    def initialize(config_path: Any = None, *args: Any, **options: Any) -> Any:
        where["folder"] = beside(config_path)
        return Silent()

    def compose(config_name: Any = None, overrides: Any = (), **options: Any) -> Any:
        return Composer(interpreter, where["folder"], [str(item) for item in overrides or ()], stored).compose(
            config_name
        )

    def store(group: Any = None, name: Any = None, node: Any = None, **options: Any) -> None:
        stored[f"{group}/{name}" if group else str(name)] = node

    make = lambda config, *args, **given: instantiate(interpreter, config, *args, **given)  # noqa: E731
    found = lambda name: locate(interpreter, name)  # noqa: E731
    members = {
        "main": main,
        "initialize": initialize,
        "initialize_config_dir": initialize,
        "compose": compose,
        "instantiate": make,
        "call": make,
        "get_class": found,
        "get_method": found,
        "get_object": found,
        "get_original_cwd": lambda: ".",
        "to_absolute_path": lambda path: path,
        "ConfigStore": SimpleNamespace(instance=lambda: SimpleNamespace(store=store)),
        "HydraConfig": SimpleNamespace(get=Silent, initialized=lambda: False),
        "GlobalHydra": SimpleNamespace(instance=Silent),
    }
    return Namespace(
        dotted,
        {**members, "__name__": dotted},
        missing=lambda name: provide(interpreter, f"{dotted}.{name}") if name.islower() else None,
    )
