"""Options of a trainer by name, each with the file and line that gave it: YAML, command lines, overrides, defaults."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from engine.memory.shell import Word
    from engine.project import Project


@dataclass(frozen=True)
class Given:
    """A value and where it was written; no path for a trainer's own default."""

    value: Any
    path: str | None = None
    line: int | None = None


class Options:
    """Dotted names to values. Later sources win; names are compared without dashes."""

    def __init__(self, values: Mapping[str, Given] | None = None) -> None:
        self._values: dict[str, Given] = dict(values or {})

    def __contains__(self, name: str) -> bool:
        return self.given(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def given(self, name: str) -> Given | None:
        """The value of one name; a mapping where only names below it are given."""
        found = self._values.get(_plain(name))
        if found is not None:
            return self._resolved(found)
        below = {key: value for key, value in self._values.items() if key.startswith(f"{_plain(name)}.")}
        if not below:
            return None
        first = next(iter(below.values()))
        nested: dict[str, Any] = {}
        for key, value in below.items():
            _put(nested, key[len(_plain(name)) + 1 :].split("."), self._resolved(value).value)
        return Given(nested, first.path, first.line)

    def first(self, names: Iterable[str]) -> Given | None:
        """The first of several spellings that is given and says something."""
        for name in names:
            found = self.given(name)
            if found is not None and found.value is not None and found.value != "":
                return found
        return None

    def value(self, *names: str, default: Any = None) -> Any:
        """The value alone."""
        found = self.first(names)
        return default if found is None else found.value

    def over(self, base: Options) -> Options:
        """These options put over others: texts take the type of the value that they replace."""
        merged = dict(base._values)
        for name, given in self._values.items():
            before = merged.get(name)
            value = cast_like(given.value, before.value if before is not None else None)
            for key in [key for key in merged if key.startswith(f"{name}.")]:
                del merged[key]
            merged[name] = Given(value, given.path, given.line)
        return Options(merged)

    def without(self, names: Iterable[str]) -> Options:
        """All but some names and what is below them."""
        gone = tuple(_plain(name) for name in names)
        return Options(
            {k: v for k, v in self._values.items() if not any(k == name or k.startswith(f"{name}.") for name in gone)}
        )

    def _resolved(self, given: Given, depth: int = 0) -> Given:
        """`${other.name}` of OmegaConf put in."""
        if not isinstance(given.value, str) or "${" not in given.value or depth > 5:
            return given
        whole = re.fullmatch(r"\$\{([\w.]+)\}", given.value.strip())
        if whole is not None:
            target = self._values.get(_plain(whole[1]))
            return given if target is None else Given(self._resolved(target, depth + 1).value, given.path, given.line)

        def put(match: re.Match[str]) -> str:
            target = self._values.get(_plain(match[1]))
            return match[0] if target is None else str(self._resolved(target, depth + 1).value)

        return Given(re.sub(r"\$\{([\w.]+)\}", put, given.value), given.path, given.line)


def _plain(name: str) -> str:
    return name.replace("-", "_")


def _put(nested: dict[str, Any], names: list[str], value: Any) -> None:
    for name in names[:-1]:
        inner = nested.get(name)
        if not isinstance(inner, dict):
            inner = nested[name] = {}
        nested = inner
    nested[names[-1]] = value


def scalar(text: Any) -> Any:
    """A text as YAML 1.2 reads it: numbers (`2e-5` too), truth values, null, lists and mappings; else the text."""
    if not isinstance(text, str):
        return text
    stripped = text.strip()
    if re.fullmatch(r"[+-]?\d+", stripped):
        return int(stripped)
    if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", stripped):
        return float(stripped)
    if stripped.lower() in ("true", "false"):
        return stripped.lower() == "true"
    if stripped.lower() in ("null", "none", "~"):
        return None
    if stripped[:1] in "[{" and stripped[-1:] in "]}":
        try:
            return json.loads(stripped)
        except ValueError:
            try:
                return yaml.safe_load(stripped)
            except yaml.YAMLError:
                return text
    return text


def cast_like(value: Any, before: Any) -> Any:
    """`value` as the type of what it replaces, where it can be that."""
    if not isinstance(value, str):
        return value
    if isinstance(before, str):
        return value
    found = scalar(value)
    if isinstance(before, bool) and isinstance(found, int):
        return bool(found)
    if isinstance(before, float) and isinstance(found, int) and not isinstance(found, bool):
        return float(found)
    return found


class NotAConfiguration(ValueError):
    """The file is no mapping of settings; the message says why."""


def read_file(project: Project, path: str) -> Options:
    """The settings of a YAML or JSON file, nested names dotted."""
    try:
        root = yaml.compose(project.read_text(path), Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as problem:
        raise NotAConfiguration(f"{path} could not be read: {' '.join(str(problem).split())[:200]}") from problem
    if not isinstance(root, yaml.MappingNode):
        raise NotAConfiguration(f"{path} holds no settings")
    values: dict[str, Given] = {}
    try:
        _flatten(root, "", path, values)
    except (yaml.YAMLError, RecursionError) as problem:
        raise NotAConfiguration(f"{path} could not be read: {' '.join(str(problem).split())[:200]}") from problem
    return Options(values)


MOST_NAMES = 5000
"""More settings than any configuration has: aliases within aliases make such numbers."""


def _flatten(node: yaml.MappingNode, prefix: str, path: str, values: dict[str, Given]) -> None:
    for key, value in node.value:
        if len(values) > MOST_NAMES:
            raise NotAConfiguration(f"{path} holds more settings than are read")
        name = _plain(f"{prefix}{key.value}")
        if isinstance(value, yaml.MappingNode) and value.value:
            _flatten(value, f"{name}.", path, values)
        else:
            loader = yaml.SafeLoader("")
            made = loader.construct_object(value, deep=True)
            plain = isinstance(value, yaml.ScalarNode) and value.style is None
            values[name] = Given(scalar(made) if plain else made, path, key.start_mark.line + 1)


_OVERRIDE = re.compile(r"^[+~]{0,2}[A-Za-z_][\w./@-]*=")


def read_words(words: Sequence[Word], path: str, *, positional: Sequence[str] = ()) -> Options:
    """`--name value ...`, `--name=value`, bare flags, `key=value`; what is left takes the `positional` names."""
    values: dict[str, Given] = {}
    left = list(positional)
    index = 0
    while index < len(words):
        text, line = words[index]
        if text.startswith("-") and not re.fullmatch(r"-\d+(\.\d+)?", text):
            name, equals, value = text.lstrip("-").partition("=")
            found: list[str] = [value] if equals else []
            while not equals and index + 1 < len(words) and not _is_option(words[index + 1].text):
                if found and _OVERRIDE.match(words[index + 1].text):
                    break
                index += 1
                found.append(words[index].text)
            negated = name.startswith(("no-", "no_")) and not found
            name = name[3:] if negated else name
            values[_plain(name)] = Given(
                not negated if not found else found[0] if len(found) == 1 else found, path, line
            )
        elif _OVERRIDE.match(text):
            name, _, value = text.lstrip("+~").partition("=")
            values[_plain(name)] = Given(value, path, line)
        elif left:
            values[left.pop(0)] = Given(text, path, line)
        index += 1
    return Options(values)


def _is_option(text: str) -> bool:
    return text.startswith("-") and not re.fullmatch(r"-(\d+\.?\d*|\.\d+)(e-?\d+)?", text)


def typed(options: Options) -> Options:
    """Texts of a command line as the values they spell, for names that no file gave a type."""
    return Options({name: Given(scalar(g.value), g.path, g.line) for name, g in options._values.items()})
