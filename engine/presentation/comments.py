"""Review comments with suggestion blocks, and check-run annotations, within what GitHub accepts.

A review is refused as a whole (422) if one comment stands outside the diff: comments are made only for lines that lie
in one hunk, on the right side. Annotations may stand anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from engine.deletions import Deletion
from engine.diff import FileDiff, Hunk
from engine.findings import SEVERITY_ORDER, Annotation, Edit, Evidence, Finding, ReviewComment
from engine.fingerprints import place_order
from engine.fixes.applying import apply_edits, notebook_after
from engine.presentation.markdown import MAX_BODY, clipped, code_span, escape, fenced, prose
from engine.project import Module, Project, UnreadableFile
from engine.project.module import split_cell

MARKER = "<!-- preflight:finding {} -->"
"""Hidden in every comment; by it a comment is recognised on later pushes."""

MAX_TITLE = 255
MAX_MESSAGE = 60_000
"""GitHub takes 64 KB of message and of details; characters may take several bytes."""

MAX_SUGGESTION_LINES = 20
"""Longer suggestions are better read as advice."""

_LEVELS = {"error": "failure", "warning": "warning", "note": "notice"}
_MARKS = {"error": "🛑", "warning": "⚠️", "note": "ℹ️"}


@dataclass(frozen=True)
class _Suggestion:
    first: int
    last: int
    lines: tuple[str, ...]
    """What stands there instead; none where the lines are taken out."""

    @property
    def text(self) -> str:
        """Each line with its end: one blank line is something else than none."""
        return "".join(f"{line}\n" for line in self.lines)


def review_comments(
    findings: Sequence[Finding],
    head: Project,
    diffs: Mapping[str, FileDiff],
    limit: int,
    causes: Mapping[str, Deletion] = MappingProxyType({}),
) -> list[ReviewComment]:
    """Comments for errors and warnings that stand in the diff, the gravest first, at most `limit`.

    One that stands outside of it and comes from deleted lines, by fingerprint in `causes`, stands at these.
    """
    worth = [finding for finding in findings if finding.severity != "note"]
    worth.sort(key=lambda f: (-SEVERITY_ORDER[f.severity], place_order(f)))
    comments: list[ReviewComment] = []
    for finding in worth:
        if len(comments) >= limit:
            break
        comment = _comment(finding, head, diffs) or _at_deletion(finding, causes.get(finding.fingerprint))
        if comment is not None:
            comments.append(comment)
    return comments


def _comment(finding: Finding, head: Project, diffs: Mapping[str, FileDiff]) -> ReviewComment | None:
    path = split_cell(finding.path)[0]
    diff, module = diffs.get(path), _module(head, path)
    if diff is None or module is None:
        return None
    first, last = file_lines(finding, module)
    hunk = diff.hunk_of(first)
    if hunk is None:
        return None
    suggest = _cell_suggestion(finding, head, hunk) if module.is_notebook else _suggestion(finding, module, hunk, first)
    if suggest is not None:
        first, last = suggest.first, suggest.last
    elif not hunk.holds(first, last) or last - first >= MAX_SUGGESTION_LINES:
        last = first
    return ReviewComment(
        path=path,
        line=last,
        start_line=first if first < last else None,
        body=comment_body(finding, suggest.text if suggest is not None else None),
        fingerprint=finding.fingerprint,
    )


def _at_deletion(finding: Finding, cause: Deletion | None) -> ReviewComment | None:
    if cause is None:
        return None
    body = comment_body(finding, None, f" at {code_span(f'{finding.path}:{finding.line}')}")
    return ReviewComment(path=cause.path, line=cause.base_line, side="LEFT", body=body, fingerprint=finding.fingerprint)


def file_lines(finding: Finding, module: Module) -> tuple[int, int]:
    """First and last line of a finding in the file itself; for a notebook, lines of its JSON."""
    first = module.module_line(finding.path, finding.line)
    last = first + max(0, finding.end_line - finding.line)
    return module.file_line(first), module.file_line(last)


def _suggestion(finding: Finding, module: Module, hunk: Hunk, line: int) -> _Suggestion | None:
    """The lines that the fix changes, rewritten; None where they do not all lie in the hunk.

    A suggestion replaces exactly the lines of its comment, which therefore are those of the fix.
    """
    fix = finding.fix
    if fix is None or not fix.safe or not fix.edits:
        return None
    first = min(edit.line for edit in fix.edits)
    last = min(max(map(_last_line, fix.edits)), len(module.lines))
    if not hunk.holds(first, last) or last - first >= MAX_SUGGESTION_LINES:
        return None
    if not first - MAX_SUGGESTION_LINES <= line <= last + MAX_SUGGESTION_LINES:
        return None
    after = apply_edits(module.text, fix.edits).split("\n")
    length = last - first + 1 + len(after) - len(module.lines)
    lines = tuple(after[first - 1 : first - 1 + length])
    if lines == tuple(module.lines[first - 1 : last]):
        return None
    return _Suggestion(first, last, lines)


def _last_line(edit: Edit) -> int:
    """The last line that an edit changes: not the one at whose start it ends, unless it joins what is before to it."""
    whole = edit.text.endswith("\n") or (not edit.text and edit.column == 1)
    return edit.end_line - 1 if edit.end_column == 1 and edit.end_line > edit.line and whole else edit.end_line


def _cell_suggestion(finding: Finding, head: Project, hunk: Hunk) -> _Suggestion | None:
    """The lines of a notebook's JSON that the fix changes, rewritten; None where they do not all lie in the hunk."""
    if finding.fix is None or not finding.fix.safe:
        return None
    path = split_cell(finding.path)[0]
    try:
        raw = head.read_text(path)
        rewritten, _ = notebook_after(raw, [finding])
    except (UnreadableFile, ValueError, LookupError):
        return None
    before, after = raw.split("\n"), rewritten.split("\n")
    same = next((n for n, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), None)
    if same is None:
        return None
    left = 0
    while left < min(len(before), len(after)) - same and before[-1 - left] == after[-1 - left]:
        left += 1
    # What is only put in is suggested with the line before it: a suggestion replaces at least one.
    first = same + 1 if same < len(before) - left else same
    last = len(before) - left
    if last - first >= MAX_SUGGESTION_LINES or not hunk.holds(first, last):
        return None
    return _Suggestion(first, last, tuple(after[first - 1 : len(after) - left]))


def comment_body(finding: Finding, suggestion: str | None, elsewhere: str = "") -> str:
    """Message, chain of evidence, suggestion, and the hidden marker; `elsewhere` names the finding's own place where
    the comment stands at another."""
    cell = split_cell(finding.path)[1]
    where = elsewhere or (f" in cell {cell}, line {finding.line}" if cell else "")
    parts = [f"{_MARKS[finding.severity]} **{escape(finding.name)}** ({finding.rule}){where}: {prose(finding.message)}"]
    if finding.evidence:
        parts.append("How it comes about:\n" + "\n".join(_step(n, e) for n, e in enumerate(finding.evidence, start=1)))
    if suggestion is not None and finding.fix is not None:
        parts.append(f"{prose(finding.fix.description)}\n\n{fenced(suggestion, 'suggestion')}")
    elif finding.fix is not None:
        parts.append(f"Suggested: {prose(finding.fix.description)}")
    body, marker = "\n\n".join(parts), MARKER.format(finding.fingerprint)
    if suggestion is not None and len(body) + len(marker) + 2 > MAX_BODY:
        # Half a suggestion would be taken as a whole one.
        return comment_body(finding, None)
    return clipped(body, keep=marker)


def _step(number: int, evidence: Evidence) -> str:
    return f"{number}. {code_span(f'{evidence.path}:{evidence.line}')} {prose(evidence.message)}"


def check_annotations(findings: Sequence[Finding], head: Project) -> list[Annotation]:
    """One annotation a finding, the gravest first. Columns only where start and end line are the same."""
    ordered = sorted(findings, key=lambda f: (-SEVERITY_ORDER[f.severity], place_order(f)))
    return [_annotation(finding, head) for finding in ordered]


def _annotation(finding: Finding, head: Project) -> Annotation:
    path, cell = split_cell(finding.path)
    module = _module(head, path)
    first, last = file_lines(finding, module) if module is not None else (finding.line, finding.end_line)
    columns = first == last and not cell and finding.end_column > finding.column
    details = [f"{number}. {e.path}:{e.line}  {e.message}" for number, e in enumerate(finding.evidence, start=1)]
    if finding.fix is not None:
        details.append(f"Suggested: {finding.fix.description}")
    place = f"Cell {cell}, line {finding.line}: " if cell else ""
    return Annotation(
        path=path,
        start_line=first,
        end_line=max(first, last),
        start_column=finding.column if columns else None,
        end_column=finding.end_column if columns else None,
        annotation_level=_LEVELS[finding.severity],  # type: ignore[arg-type]
        title=f"{finding.name} ({finding.rule})"[:MAX_TITLE],
        message=(place + finding.message)[:MAX_MESSAGE],
        raw_details="\n".join(details)[:MAX_MESSAGE] or None,
        fingerprint=finding.fingerprint,
    )


def _module(project: Project, path: str) -> Module | None:
    try:
        return project.module(path)
    except UnreadableFile:
        return None
