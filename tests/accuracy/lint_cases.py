"""The labelled programs of `tests/cases/lint`: what `check` says of each, against what is known of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from engine.check import check
from engine.findings import CheckReport, Finding
from engine.project import Project

CASES = Path(__file__).parent.parent / "cases"


@cache
def groups() -> dict[str, list[str]]:
    """Each family of defects, with the names that it accepts."""
    loaded: dict[str, list[str]] = json.loads((CASES / "families.json").read_text("utf-8"))
    return loaded


def accepted_names(family: str) -> set[str]:
    """Rule names that are right for a case of a family."""
    names = {family}
    for group, members in groups().items():
        if family == group or family in members:
            names |= {group, *members}
    return names


@dataclass(frozen=True)
class Case:
    """One labelled program. `places` are the (path, line) that a person would point at; empty for correct programs."""

    name: str
    defect: bool
    family: str
    files: dict[str, str]
    places: frozenset[tuple[str, int]]
    main_file: str
    fix_known: bool

    def hits(self, report: CheckReport) -> list[Finding]:
        names = accepted_names(self.family)
        return [f for f in report.findings if f.name in names and (_file(f), f.line) in self.places]

    def extra(self, report: CheckReport) -> list[Finding]:
        """Findings of a defective program that are no note and belong to another family."""
        names = accepted_names(self.family)
        return [f for f in report.findings if f.severity != "note" and f.name not in names]


def _file(finding: Finding) -> str:
    return finding.path.partition("#")[0]


def cases() -> Iterator[Case]:
    """All cases, by name."""
    for description in sorted((CASES / "lint").glob("*/case.json")):
        known = json.loads(description.read_text("utf-8"))
        files = {
            path.relative_to(description.parent).as_posix(): path.read_text("utf-8")
            for path in sorted(description.parent.rglob("*"))
            if path.is_file() and path.name != "case.json"
        }
        places = {(known["file"], line) for line in known["acceptable_lines"]}
        places |= {(other["file"], other["line"]) for other in known.get("acceptable_elsewhere", [])}
        yield Case(
            known["id"],
            known["kind"] == "bug",
            known["family"],
            files,
            frozenset(places),
            known["file"],
            known.get("fix") is not None,
        )


def judge(files: dict[str, str]) -> CheckReport:
    """What `check` says of a program held in memory."""
    return check(Project.from_mapping(files))


def fixed(files: dict[str, str], finding: Finding) -> dict[str, str]:
    """The files after the edits of a finding's fix."""
    assert finding.fix is not None
    path = _file(finding)
    lines = files[path].splitlines(keepends=True)
    for edit in sorted(finding.fix.edits, key=lambda edit: (-edit.line, -edit.column)):
        first, last = edit.line - 1, edit.end_line - 1
        while len(lines) <= last:
            lines.append("")
        text = lines[first][: edit.column - 1] + edit.text + lines[last][edit.end_column - 1 :]
        lines[first : last + 1] = text.splitlines(keepends=True) or [""]
    return {**files, path: "".join(lines)}
