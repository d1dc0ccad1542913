"""Reading settings from files. Nothing in them fails: what is not taken is named with its line."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import yaml
from pydantic import ValidationError

from engine.project import Project, UnreadableFile
from engine.settings.model import Settings, kebab

YAML_PATHS = (".github/preflight.yml", ".github/preflight.yaml")
PYPROJECT_PATH = "pyproject.toml"
ORGANISATION = "organisation:"
"""In front of a path of the organisation's `.github` repository."""
MOST_LAYERS = 8


@dataclass(frozen=True)
class SettingsProblem:
    """A key or value that was not taken; `line` is 1-based, None where it is not known."""

    path: str
    line: int | None
    message: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line is not None else self.path
        return f"{place}: {self.message}"


@dataclass(frozen=True)
class Origin:
    """The place of a setting; `line` is 1-based, None where it is not known."""

    path: str
    line: int | None

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" if self.line is not None else self.path


@dataclass(frozen=True)
class _Read:
    """One file's settings that were taken, what was not, and where each stands."""

    values: dict[str, Any] = field(default_factory=dict)
    problems: list[SettingsProblem] = field(default_factory=list)
    origins: dict[str, Origin] = field(default_factory=dict)


@dataclass(frozen=True)
class LoadedSettings:
    """Settings that hold, where they were read from (None: defaults), and what in there was not taken."""

    settings: Settings
    path: str | None = None
    problems: Sequence[SettingsProblem] = ()
    origins: Mapping[str, Origin] = field(default_factory=dict)
    """Where each setting was read that is not at its default, by field name."""
    missing: Sequence[str] = ()
    """Files of the organisation's repository that are named in `extends` and were not handed in."""


def load_settings(project: Project, organisation: Mapping[str, str] | None = None) -> LoadedSettings:
    """The settings of a project, on top of its organisation's, both optional. Never raises.

    `organisation` holds files of the organisation's `.github` repository by path, None where nothing is known of it.
    """
    own, path = _own(project)
    layers = _Layers(organisation)
    below = layers.under(own, default=True)
    read = _Read({**below.values, **own.values}, [*below.problems, *own.problems], {**below.origins, **own.origins})
    problems = (*read.problems, *layers.problems)
    return LoadedSettings(Settings.model_validate(read.values), path, problems, read.origins, tuple(layers.missing))


def _own(project: Project) -> tuple[_Read, str | None]:
    for path in (*YAML_PATHS, PYPROJECT_PATH):
        if not project.exists(path):
            continue
        try:
            text = project.read_text(path)
        except UnreadableFile as problem:
            return _wrong(path, problem.line, problem.reason), None
        read = _read_pyproject(text) if path == PYPROJECT_PATH else _read_yaml(text, path)
        if read is not None:
            return read, path
    return _Read(), None


class _Layers:
    """The organisation's files under a repository's own, each read once, so that a circle ends."""

    def __init__(self, organisation: Mapping[str, str] | None) -> None:
        self._organisation = organisation
        self._seen: set[str] = set()
        self.missing: dict[str, None] = {}
        self.problems: list[SettingsProblem] = []

    def under(self, read: _Read, *, default: bool) -> _Read:
        """What lies under `read`; where it extends nothing in words, the organisation's common file by `default`."""
        named = read.values.get("extends")
        if named is None:
            common = [path for path in YAML_PATHS if default and path in (self._organisation or {})]
            named = tuple(common[:1])
        below = _Read()
        for name in named:
            layer = self._layer(name, read.origins.get("extends"))
            below = _Read(
                {**below.values, **layer.values},
                [*below.problems, *layer.problems],
                {**below.origins, **layer.origins},
            )
        return below

    def _layer(self, name: str, origin: Origin | None) -> _Read:
        if name in self._seen or len(self._seen) >= MOST_LAYERS:
            return _Read()
        text = (self._organisation or {}).get(name)
        if text is None:
            self.missing[name] = None
            if self._organisation is not None and origin is not None:
                message = f"`extends`: the organisation's `.github` repository has no readable file `{name}`"
                self.problems.append(SettingsProblem(origin.path, origin.line, message))
            return _Read()
        self._seen.add(name)
        read = _read_yaml(text, ORGANISATION + name)
        below = self.under(read, default=False)
        values = {key: value for key, value in read.values.items() if key != "extends"}
        return _Read({**below.values, **values}, [*below.problems, *read.problems], {**below.origins, **read.origins})


def parse_settings(text: str, path: str = YAML_PATHS[0]) -> LoadedSettings:
    """Settings from the text of a YAML file."""
    read = _read_yaml(text, path)
    return LoadedSettings(Settings.model_validate(read.values), path, tuple(read.problems), read.origins)


def _read_yaml(text: str, path: str) -> _Read:
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        document = yaml.safe_load(text)
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        line = mark.line + 1 if mark is not None else None
        return _wrong(path, line, f"is not valid YAML: {getattr(problem, 'problem', problem)}")
    except (RecursionError, ValueError) as problem:
        return _wrong(path, None, f"is not valid YAML: {problem}")
    if document is None:
        return _Read()
    if not isinstance(document, dict) or not isinstance(node, yaml.MappingNode):
        return _wrong(path, 1, "must be a mapping of settings")
    lines = {str(key.value): key.start_mark.line + 1 for key, _ in node.value}
    return _accept(document, path, lines)


def _wrong(path: str, line: int | None, message: str) -> _Read:
    return _Read(problems=[SettingsProblem(path, line, message)])


def _read_pyproject(text: str) -> _Read | None:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        if "tool.preflight" not in text:
            return None
        return _wrong(PYPROJECT_PATH, None, f"is not valid TOML: {problem}")
    table = document.get("tool", {}).get("preflight")
    if not isinstance(table, dict):
        return None
    lines: dict[str, int] = {}
    inside = False
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.strip()
        if stripped.startswith("["):
            inside = stripped.startswith("[tool.preflight")
            name = stripped.strip("[]").removeprefix("tool.preflight").strip(".")
            if inside and name:
                lines.setdefault(name.split(".")[0].strip('"'), number)
        elif inside and "=" in stripped:
            lines.setdefault(stripped.partition("=")[0].strip().strip('"'), number)
    return _accept(table, PYPROJECT_PATH, lines)


def _accept(values: Mapping[Any, Any], path: str, lines: Mapping[str, int]) -> _Read:
    """The values that validate, by field name; one message for each that does not."""
    fields = {kebab(name): name for name in Settings.model_fields}
    taken: dict[str, Any] = {}
    problems: list[SettingsProblem] = []
    origins: dict[str, Origin] = {}
    for raw, value in values.items():
        key, line = str(raw), lines.get(str(raw))
        name = fields.get(kebab(key))
        if name is None:
            close = get_close_matches(kebab(key), fields, n=1)
            hint = f"; did you mean `{close[0]}`?" if close else f"; known are {', '.join(sorted(fields))}"
            problems.append(SettingsProblem(path, line, f"unknown setting `{key}`{hint}"))
            continue
        value, unknown = _known(name, _listed(name, value))
        problems += [SettingsProblem(path, line, f"`{key}`: {message}") for message in unknown]
        try:
            taken[name] = getattr(Settings.model_validate({name: value}), name)
        except ValidationError as problem:
            first = problem.errors()[0]
            where = ".".join(str(part) for part in first["loc"][1:])
            detail = f"{where}: {first['msg']}" if where else first["msg"]
            problems.append(SettingsProblem(path, line, f"`{key}` is not taken, its default holds: {detail}"))
        else:
            origins[name] = Origin(path, line)
    return _Read(taken, problems, origins)


def _known(name: str, value: Any) -> tuple[Any, list[str]]:
    """The value without devices and rules that nobody knows, and a message for each of them."""
    if name == "gpus":
        return _filtered(value, _no_gpu)
    if name in ("select", "ignore"):
        return _filtered(value, _no_rule)
    messages: list[str] = []
    if name == "severity" and isinstance(value, dict):
        known, messages = _filtered(list(value), _no_rule)
        return {rule: value[rule] for rule in known}, messages
    if name == "per_path_ignores" and isinstance(value, dict):
        kept = {}
        for pattern, rules in value.items():
            kept[pattern], found = _filtered(rules, _no_rule)
            messages += found
        return kept, messages
    if name == "entry_points" and isinstance(value, list):
        points = []
        for point in value:
            if isinstance(point, dict) and "gpus" in point:
                gpus, found = _filtered(_one_or_many(point["gpus"]), _no_gpu)
                point, messages = {**point, "gpus": gpus}, messages + found
            points.append(point)
        return points, messages
    return value, messages


def _filtered(names: Any, complaint: Callable[[str], str | None]) -> tuple[Any, list[str]]:
    """The names about which there is no complaint; anything but a list of texts is left to the model."""
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        return names, []
    complaints = {name: complaint(name) for name in names}
    return [name for name in names if complaints[name] is None], [each for each in complaints.values() if each]


def _no_gpu(name: str) -> str | None:
    from hardware_catalog import UnknownGPU, find_gpu

    try:
        find_gpu(name)
    except UnknownGPU as problem:
        return str(problem)
    return None


def _no_rule(entry: str) -> str | None:
    from engine.rules import registry

    if any(Settings().names_rule((entry,), rule.code, rule.name) for rule in registry()):
        return None
    close = get_close_matches(entry.strip().lower(), [rule.name for rule in registry()], n=1)
    return f"no rule named {entry!r}" + (
        f"; did you mean `{close[0]}`?" if close else " (`preflight rules` lists them)"
    )


_LISTS = frozenset({"extends", "select", "ignore", "exclude", "gpus", "skip_labels", "skip_title_words"})


def _one_or_many(value: Any) -> Any:
    """A single name where a list is meant is a list of one."""
    return [value] if isinstance(value, str) else value


def _listed(name: str, value: Any) -> Any:
    if name in _LISTS:
        return _one_or_many(value)
    if name == "per_path_ignores" and isinstance(value, dict):
        return {key: _one_or_many(rules) for key, rules in value.items()}
    if name == "entry_points":
        points = _one_or_many(value)
        return (
            [{"script": each} if isinstance(each, str) else each for each in points]
            if isinstance(points, list)
            else points
        )
    return value
