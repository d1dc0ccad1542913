"""What a repository or an organisation configures: `.github/preflight.yml`, or `[tool.preflight]` in pyproject.toml.

Settings never fail a review: an unknown key or a bad value is named with its line, and the default holds for it.
Read them from the base branch, so that a pull request cannot reconfigure its own review.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Literal

import pathspec
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from engine.findings import SEVERITY_ORDER, Conclusion, Severity
from engine.project import Project, UnreadableFile

YAML_PATHS = (".github/preflight.yml", ".github/preflight.yaml")
PYPROJECT_PATH = "pyproject.toml"

COMMENT_LIMIT = 25
"""Most review comments of one push. Above about 30 GitHub answered 502 (reviewdog/reviewdog#355)."""

FailOn = Literal["error", "warning", "note", "never"]

DEFAULT_EXCLUDE = (
    "tests/", "test/", "test_*.py", "*_test.py", "conftest.py",
    "vendor/", "third_party/", "third-party/", "*_pb2.py", "*_pb2_grpc.py", "docs/",
)  # fmt: skip
"""Tests break training rules on purpose, vendored and generated code is somebody else's."""


def _kebab(name: str) -> str:
    return name.replace("_", "-")


class Settings(BaseModel):
    """The configuration with its defaults. Rules are named by code (`PF101`), the front of one (`PF1`), or name
    (`retained-graph`)."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=_kebab, populate_by_name=True)

    select: tuple[str, ...] = Field(default=(), description="only these rules; empty for all")
    ignore: tuple[str, ...] = Field(default=(), description="never these rules")
    per_path_ignores: dict[str, tuple[str, ...]] = Field(default={}, description="glob to rules silenced there")
    severity: dict[str, Severity] = Field(default={}, description="rule to error, warning or note")
    exclude: tuple[str, ...] = Field(default=DEFAULT_EXCLUDE, description="globs never analysed, as in .gitignore")
    gate: FailOn = Field(
        default="never", description="the check run of a pull request fails at this severity and above"
    )
    fail_on: FailOn = Field(default="error", description="`preflight check` fails at this severity and above")
    max_comments: int = Field(default=COMMENT_LIMIT, ge=0, le=COMMENT_LIMIT, description="review comments per push")
    ignore_button: bool = Field(default=True, description="the check run has a button to ignore its findings")
    memory: bool = Field(default=True, description="estimate peak GPU memory")
    gpus: tuple[str, ...] = Field(default=(), description="devices that the run has to fit, by any common name")
    memory_scripts: tuple[str, ...] = Field(default=(), description="entry scripts to estimate; empty to find them")
    review_drafts: bool = Field(default=False, description="review draft pull requests too")
    review_bots: bool = Field(default=False, description="review pull requests opened by bots too")
    skip_labels: tuple[str, ...] = Field(default=("skip-preflight",), description="labels that turn the review off")
    skip_title_words: tuple[str, ...] = Field(default=(), description="words in the title that turn the review off")

    def names_rule(self, entries: Iterable[str], code: str, name: str) -> bool:
        """Whether one of `entries` means the rule: its code, its name, or a prefix of the code such as `PF1`."""
        return any(_means(entry, code, name) for entry in entries)

    def enabled(self, code: str, name: str) -> bool:
        """Whether a rule runs at all."""
        if self.names_rule(self.ignore, code, name):
            return False
        return not self.select or self.names_rule(self.select, code, name)

    def severity_of(self, code: str, name: str, default: Severity) -> Severity:
        """The configured severity of a rule, or its own."""
        return next((level for entry, level in self.severity.items() if _means(entry, code, name)), default)

    def excludes(self, path: str) -> bool:
        """Whether a path is never analysed on its own account."""
        return _matches(self.exclude, path)

    def silences(self, path: str, code: str, name: str) -> bool:
        """Whether a rule is silenced for a path."""
        return any(
            _matches((pattern,), path) and self.names_rule(rules, code, name)
            for pattern, rules in self.per_path_ignores.items()
        )

    def fails(self, severities: Iterable[Severity]) -> bool:
        """Whether findings of these severities reach `fail_on`."""
        return _reaches(severities, self.fail_on)

    def conclude(self, severities: Sequence[Severity], *, incomplete: bool) -> Conclusion:
        """The verdict on a change that introduces findings of these severities.

        Failure where one reaches the gate; neutral for all others but notes, and where part was not looked at.
        """
        if _reaches(severities, self.gate):
            return "failure"
        return "neutral" if incomplete or any(severity != "note" for severity in severities) else "success"


def _reaches(severities: Iterable[Severity], level: FailOn) -> bool:
    return level != "never" and any(SEVERITY_ORDER[each] >= SEVERITY_ORDER[level] for each in severities)


def _means(entry: str, code: str, name: str) -> bool:
    wanted = entry.strip().lower()
    if wanted in ("all", name.lower()):
        return True
    # The letters of a code belong together: `A` does not mean every rule whose code begins with it.
    letters = code.rstrip("0123456789").lower()
    return wanted.startswith(letters) and code.lower().startswith(wanted)


@lru_cache(maxsize=256)
def _spec(patterns: tuple[str, ...]) -> pathspec.PathSpec[Any]:
    return pathspec.PathSpec.from_lines("gitignore", patterns)


@lru_cache(maxsize=20_000)
def _matches(patterns: tuple[str, ...], path: str) -> bool:
    return bool(patterns) and bool(_spec(patterns).match_file(path))


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


def load_settings(project: Project, organisation_yaml: str | None = None) -> LoadedSettings:
    """The settings of a project, on top of its organisation's, both optional. Never raises."""
    below = _Read()
    if organisation_yaml is not None:
        below = _read_yaml(organisation_yaml, "organisation:.github/preflight.yml")
    problems = list(below.problems)
    for path in (*YAML_PATHS, PYPROJECT_PATH):
        if not project.exists(path):
            continue
        try:
            text = project.read_text(path)
        except UnreadableFile as problem:
            problems.append(SettingsProblem(path, problem.line, problem.reason))
            break
        own = _read_pyproject(text) if path == PYPROJECT_PATH else _read_yaml(text, path)
        if own is None:
            continue
        settings = Settings.model_validate({**below.values, **own.values})
        return LoadedSettings(settings, path, (*problems, *own.problems), {**below.origins, **own.origins})
    return LoadedSettings(Settings.model_validate(below.values), None, tuple(problems), below.origins)


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
    fields = {_kebab(name): name for name in Settings.model_fields}
    taken: dict[str, Any] = {}
    problems: list[SettingsProblem] = []
    origins: dict[str, Origin] = {}
    for raw, value in values.items():
        key, line = str(raw), lines.get(str(raw))
        name = fields.get(_kebab(key))
        if name is None:
            close = get_close_matches(_kebab(key), fields, n=1)
            hint = f"; did you mean `{close[0]}`?" if close else f"; known are {', '.join(sorted(fields))}"
            problems.append(SettingsProblem(path, line, f"unknown setting `{key}`{hint}"))
            continue
        if name == "gpus":
            value, unknown = _known_gpus(value)
            problems += [SettingsProblem(path, line, f"`{key}`: {message}") for message in unknown]
        try:
            taken[name] = getattr(Settings.model_validate({name: _listed(name, value)}), name)
        except ValidationError as problem:
            first = problem.errors()[0]
            where = ".".join(str(part) for part in first["loc"][1:])
            detail = f"{where}: {first['msg']}" if where else first["msg"]
            problems.append(SettingsProblem(path, line, f"`{key}` is not taken, its default holds: {detail}"))
        else:
            origins[name] = Origin(path, line)
    return _Read(taken, problems, origins)


def _known_gpus(value: object) -> tuple[object, list[str]]:
    """The devices that the catalogue knows, and a message for each other."""
    from hardware_catalog import UnknownGPU, find_gpu

    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return value, []
    known: list[str] = []
    messages: list[str] = []
    for name in names:
        try:
            find_gpu(name)
        except UnknownGPU as problem:
            messages.append(str(problem))
        else:
            known.append(name)
    return known, messages


_LISTS = frozenset({"select", "ignore", "exclude", "gpus", "memory_scripts", "skip_labels", "skip_title_words"})


def _listed(field: str, value: object) -> object:
    """A single name where a list is meant is a list of one."""
    if field in _LISTS and isinstance(value, str):
        return (value,)
    if field == "per_path_ignores" and isinstance(value, dict):
        return {key: (rules,) if isinstance(rules, str) else rules for key, rules in value.items()}
    return value
