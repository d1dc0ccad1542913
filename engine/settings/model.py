"""The settings themselves: keys, values, defaults, and what they mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Literal

import pathspec
from pydantic import BaseModel, ConfigDict, Field

from engine.findings import SEVERITY_ORDER, Conclusion, Severity

COMMENT_LIMIT = 25
"""Most review comments of one push. Above about 30 GitHub answered 502 (reviewdog/reviewdog#355)."""

FailOn = Literal["error", "warning", "note", "never"]

DEFAULT_EXCLUDE = (
    "tests/", "test/", "test_*.py", "*_test.py", "conftest.py",
    "vendor/", "third_party/", "third-party/", "*_pb2.py", "*_pb2_grpc.py", "docs/",
)  # fmt: skip
"""Tests break training rules on purpose, vendored and generated code is somebody else's."""


MOST_ENTRY_POINTS = 20
MOST_DEVICES = 65_536


def kebab(name: str) -> str:
    """A key as YAML files write it; both spellings are taken."""
    return name.replace("_", "-")


class EntryPoint(BaseModel):
    """A program of the repository that trains, and what it has to fit."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=kebab, populate_by_name=True)

    script: str = Field(
        min_length=1, max_length=500, description="Python file, notebook, launch script or trainer's file"
    )
    gpus: tuple[str, ...] = Field(default=(), description="devices that it has to fit; empty for the common ones")
    world_size: int | None = Field(default=None, ge=1, le=MOST_DEVICES, description="number of devices it runs on")

    def __str__(self) -> str:
        size = f" on {self.world_size} devices" if self.world_size is not None else ""
        fitting = f" ({' '.join(self.gpus)})" if self.gpus else ""
        return f"{self.script}{size}{fitting}"


class Settings(BaseModel):
    """The configuration with its defaults. Rules are named by code (`PF101`), the front of one (`PF1`), or name
    (`retained-graph`)."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=kebab, populate_by_name=True)

    extends: tuple[str, ...] | None = Field(
        default=None,
        description="files of the organisation's `.github` repository to build on, later ones in force over earlier; by"
        " default its .github/preflight.yml, and nothing with an empty list",
    )
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
    world_size: int | None = Field(
        default=None, ge=1, le=MOST_DEVICES, description="number of devices, where the launch scripts do not say it"
    )
    entry_points: tuple[EntryPoint, ...] = Field(
        default=(), max_length=MOST_ENTRY_POINTS, description="programs to estimate; empty to find them"
    )
    review_drafts: bool = Field(default=False, description="review draft pull requests too")
    review_bots: bool = Field(default=False, description="review pull requests opened by bots too")
    skip_labels: tuple[str, ...] = Field(default=("skip-preflight",), description="labels that turn the review off")
    skip_title_words: tuple[str, ...] = Field(default=(), description="words in the title that turn the review off")

    @property
    def named_scripts(self) -> tuple[str, ...]:
        """The scripts of the entry points; empty where they are to be found."""
        return tuple(each.script for each in self.entry_points)

    def entry_point(self, script: str) -> EntryPoint:
        """The entry point of a script, with the common targets where it has none of its own."""
        own = next((each for each in self.entry_points if each.script == script), EntryPoint(script=script))
        return EntryPoint(script=script, gpus=own.gpus or self.gpus, world_size=own.world_size or self.world_size)

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


def show_value(value: object) -> str:
    """A setting's value in a line."""
    if isinstance(value, tuple):
        return ", ".join(str(each) for each in value) or "(none)"
    if isinstance(value, dict):
        return ", ".join(f"{key}: {show_value(each)}" for key, each in value.items()) or "(none)"
    if value is None:
        return "(not set)"
    return str(value).lower() if isinstance(value, bool) else str(value)
