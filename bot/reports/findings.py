"""Findings with their evidence laid over the source."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from bot.pages.code import highlighted_lines
from engine.findings import SEVERITY_ORDER, Finding
from engine.fixes.applying import apply_edits
from engine.project.module import split_cell

CONTEXT_LINES = 3
"""Lines shown around a place."""
MOST_LINES = 120
MOST_FIX_LINES = 30
LONGEST_FIX = 400
"""Lines between a fix's first and last change; comparing more takes too long."""


@dataclass(frozen=True)
class Step:
    """One place of a chain, numbered; the finding itself is the last."""

    number: int
    path: str
    line: int
    message: str
    link: str | None
    last: bool = False


@dataclass(frozen=True)
class Line:
    """One line of source, with the steps that stand on it; `gap` where lines are left out before it."""

    number: int
    html: Markup
    kind: str = ""
    steps: Sequence[Step] = ()
    gap: bool = False


@dataclass(frozen=True)
class Excerpt:
    """The part of a file that a chain goes through."""

    path: str
    link: str
    lines: Sequence[Line]


@dataclass(frozen=True)
class FixShown:
    """A suggested change as a small diff: mark, kind and line."""

    description: str
    safe: bool
    rows: Sequence[tuple[str, str, Markup]]


@dataclass(frozen=True)
class FindingShown:
    """A finding as the page has it; without source there are only its steps."""

    finding: Finding
    anchor: str
    steps: Sequence[Step]
    excerpts: Sequence[Excerpt]
    fix: FixShown | None = None


@dataclass
class _Texts:
    """Texts and their highlighted lines, made once."""

    texts: Mapping[str, str]
    made: dict[str, list[Markup]] = field(default_factory=dict)

    def lines(self, path: str) -> list[Markup]:
        if path not in self.made:
            self.made[path] = highlighted_lines(self.texts[path], path) if path in self.texts else []
        return self.made[path]


def paths_of(findings: Sequence[Finding]) -> list[str]:
    """Return the files and cells that chains go through, those of the gravest findings first."""
    ordered = sorted(findings, key=lambda finding: -SEVERITY_ORDER[finding.severity])
    paths = [path for finding in ordered for path in (finding.path, *(step.path for step in finding.evidence))]
    return list(dict.fromkeys(paths))


def shown(
    findings: Sequence[Finding], texts: Mapping[str, str], link: Callable[[str, int | None], str]
) -> list[FindingShown]:
    """Lay findings over the source, the gravest first. `link` leads to a place at GitHub."""
    known = _Texts(texts)
    ordered = sorted(findings, key=lambda finding: (-SEVERITY_ORDER[finding.severity], finding.path, finding.line))
    return [_shown(finding, f"finding-{index}", known, link) for index, finding in enumerate(ordered, start=1)]


def _shown(finding: Finding, anchor: str, known: _Texts, link: Callable[[str, int | None], str]) -> FindingShown:
    def place(path: str, line: int | None) -> str:
        # Lines of a notebook count in its cell, where GitHub has no address for them.
        file, cell = split_cell(path)
        return link(file, None if cell else line)

    steps = [
        Step(number, step.path, step.line, step.message, place(step.path, step.line))
        for number, step in enumerate(finding.evidence, start=1)
    ]
    last = Step(
        len(steps) + 1, finding.path, finding.line, finding.message, place(finding.path, finding.line), last=True
    )
    steps.append(last)
    excerpts = []
    for path in dict.fromkeys(step.path for step in steps):
        if known.lines(path):
            excerpts.append(_excerpt(path, finding, [step for step in steps if step.path == path], known, place))
    return FindingShown(finding, anchor, steps, excerpts, _fix(finding, known))


def _excerpt(
    path: str, finding: Finding, steps: Sequence[Step], known: _Texts, link: Callable[[str, int | None], str]
) -> Excerpt:
    lines = known.lines(path)
    span = range(finding.line, max(finding.line, finding.end_line) + 1) if path == finding.path else range(0)
    focus = {step.line for step in steps} | set(span[:MOST_LINES])
    wanted = sorted(
        {
            number
            for line in focus
            for number in range(line - CONTEXT_LINES, line + CONTEXT_LINES + 1)
            if 1 <= number <= len(lines)
        }
    )[:MOST_LINES]
    # Blank lines at the edges say nothing.
    while wanted and wanted[0] not in focus and not lines[wanted[0] - 1].strip():
        wanted.pop(0)
    while wanted and wanted[-1] not in focus and not lines[wanted[-1] - 1].strip():
        wanted.pop()
    by_line: dict[int, list[Step]] = {}
    for step in steps:
        # A finding over several lines is explained below its last.
        line = span[-1] if step.last and len(span) else step.line
        by_line.setdefault(line, []).append(step)
    found, before = [], 0
    for number in wanted:
        kind = "here" if number in span else "step" if number in focus else ""
        gap = before != 0 and number != before + 1
        found.append(Line(number, lines[number - 1], kind, by_line.get(number, ()), gap))
        before = number
    return Excerpt(path, link(path, steps[0].line), found)


def _fix(finding: Finding, known: _Texts) -> FixShown | None:
    fix, text = finding.fix, known.texts.get(finding.path)
    if fix is None or text is None:
        return None
    old, new = text.split("\n"), apply_edits(text, fix.edits).split("\n")
    first = next((at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), 0)
    ends = zip(reversed(old[first:]), reversed(new[first:]), strict=False)
    same = next((at for at, (one, other) in enumerate(ends) if one != other), min(len(old), len(new)) - first)
    old_end, new_end = len(old) - same, len(new) - same
    if max(old_end, new_end) - first > LONGEST_FIX:
        return None
    before, after = known.lines(finding.path), highlighted_lines("\n".join(new), finding.path)
    matcher = difflib.SequenceMatcher(None, old[first:old_end], new[first:new_end], autojunk=False)
    rows: list[tuple[str, str, Markup]] = []
    for tag, left, right, start, end in matcher.get_opcodes():
        if tag == "equal":
            # What lies between two changes: otherwise they would read as one.
            between = before[first + left : first + right]
            rows += (
                [("", "", line) for line in between] if len(between) <= CONTEXT_LINES else [("", "gap", Markup("⋯"))]
            )
        else:
            rows += [("−", "removed", line) for line in before[first + left : first + right]]
            rows += [("+", "added", line) for line in after[first + start : first + end]]
    if not rows or len(rows) > MOST_FIX_LINES:
        return None
    return FixShown(fix.description, fix.safe, rows)
