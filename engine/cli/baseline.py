"""Baselines: the findings that were there when a project began to be checked, so that only new ones are reported.

A baseline is a JSON file for the repository. It names findings by their fingerprints, which survive moved lines; rule,
path and message stand beside them for people who read its diff.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from engine.cli.usage import WrongUse
from engine.findings import CheckReport, Finding


class KnownFinding(BaseModel):
    """One entry: what a finding is recognised by, and what people recognise it by."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    fingerprint: str
    rule: str
    path: str
    message: str


class Baseline(BaseModel):
    """The file."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True, serialize_by_alias=True)

    schema_version: int = Field(alias="schema", ge=1, le=1)
    findings: tuple[KnownFinding, ...]
    malformed: tuple[str, ...] = ()
    """Files that did not parse."""


@dataclass(frozen=True)
class Compared:
    """A report without what the baseline knows, how many those were, and how many entries are found no longer."""

    report: CheckReport
    known: int
    gone: int


def write_baseline(path: Path, findings: Sequence[Finding], malformed: Sequence[str] = ()) -> None:
    """Writes a baseline of these findings and files that do not parse. Raises WrongUse where it can not be written."""
    entries = sorted(findings, key=lambda finding: (finding.path, finding.line, finding.rule, finding.fingerprint))
    known = [
        KnownFinding(fingerprint=each.fingerprint, rule=each.rule, path=each.path, message=each.message)
        for each in entries
    ]
    baseline = Baseline.model_validate({"schema": 1, "findings": known, "malformed": sorted(malformed)})
    try:
        path.write_text(json.dumps(baseline.model_dump(), indent=2) + "\n", encoding="utf-8")
    except OSError as problem:
        raise WrongUse(f"the baseline can not be written: {problem}") from problem


def without_known(report: CheckReport, path: Path, checked: Sequence[str] | None = None) -> Compared:
    """The report without the findings that the baseline at `path` knows. `checked` are the paths that were asked for:
    entries of other files are not gone, they were not looked at. Raises WrongUse."""
    known = {entry.fingerprint: entry for entry in _read(path).findings}
    left = tuple(finding for finding in report.findings if finding.fingerprint not in known)
    found = {finding.fingerprint for finding in report.findings}
    gone = [entry for name, entry in known.items() if name not in found and _is_below(entry.path, checked)]
    return Compared(report.model_copy(update={"findings": left}), len(report.findings) - len(left), len(gone))


def known_malformed(path: Path) -> frozenset[str]:
    """The files of which the baseline at `path` knows that they do not parse. Raises WrongUse."""
    return frozenset(_read(path).malformed)


def _is_below(path: str, folders: Sequence[str] | None) -> bool:
    named = [folder.rstrip("/") for folder in folders or ()]
    return not named or "." in named or any(path == each or path.startswith(f"{each}/") for each in named)


def _read(path: Path) -> Baseline:
    try:
        return Baseline.model_validate_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError as problem:
        raise WrongUse(f"there is no baseline {path} yet; --update-baseline writes it") from problem
    except ValidationError as problem:
        first = problem.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "its text"
        raise WrongUse(
            f"{path} is not a baseline of this version ({where}: {first['msg']}); --update-baseline writes it anew"
        ) from problem
    except (OSError, ValueError) as problem:
        raise WrongUse(f"{path} can not be read as a baseline: {problem}") from problem
