"""The summary of a review: what is new, what is fixed, what stays, and whether the run still fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from engine.findings import SEVERITY_ORDER, FailedFile, Finding, MemoryChange
from engine.fingerprints import place_order
from engine.presentation.markdown import clipped, code_span, escape, prose
from engine.presentation.memory import (
    VERDICT_WORDS,
    memory_change,
    memory_in_words,
    no_longer_fitting,
    programs_table,
)

MAX_LISTED = 30
MAX_IN_HEADLINE = 3
MAX_FAILED = 20

_MARKS = {"error": "🛑", "warning": "⚠️", "note": "ℹ️"}


def summary_markdown(
    introduced: Sequence[Finding],
    fixed: Sequence[Finding],
    existing: int,
    memory: MemoryChange,
    failed: Sequence[FailedFile],
    programs: Sequence[MemoryChange] = (),
    *,
    known: Collection[str] = (),
    since: Sequence[str] = (),
) -> str:
    """The Markdown of the summary comment and of the check run; everything from the repository is escaped.

    `known` are fingerprints of findings that an earlier push brought, `since` lines of Markdown about findings that
    were said and are gone again.
    """
    parts = [f"## Preflight: {headline(introduced, fixed, failed)}{_memory_news(memory, programs)}"]
    notes = [finding for finding in introduced if finding.severity == "note"]
    grave = [finding for finding in introduced if finding.severity != "note"]
    repaired = [finding for finding in fixed if finding.severity != "note"]
    new = [finding for finding in grave if finding.fingerprint not in known]
    open_still = [finding for finding in grave if finding.fingerprint in known]
    if new:
        heading = "### New since the last push" if open_still or since else "### New in this change"
        parts.append(f"{heading}\n\n{_listed(new)}")
    if open_still:
        parts.append("### Still open\n\n" + _listed(open_still))
    if since:
        parts.append("### Fixed since it was said\n\n" + "\n".join(since[:MAX_LISTED]))
    if repaired:
        parts.append("### Fixed by this change\n\n" + _listed(repaired, struck=True))
    if notes:
        title = f"<details><summary>{_count(len(notes), 'note')} on tuning</summary>"
        parts.append(f"{title}\n\n{_listed(notes)}\n\n</details>")
    if existing:
        word = "finding was" if existing == 1 else "findings were"
        parts.append(f"{existing} {word} there before in the files that this change touches or reaches.")
    if len(programs) > 1:
        parts.append(programs_table(programs))
    if memory.script is not None:
        section = memory_change(memory.script, memory.base, memory.head)
        if section:
            parts.append(section)
    if failed:
        parts.append(_failures(failed))
    return clipped("\n\n".join(parts))


def headline(introduced: Sequence[Finding], fixed: Sequence[Finding], failed: Sequence[FailedFile]) -> str:
    """One line that says the verdict."""
    counts = Counter(finding.severity for finding in introduced)
    new = ", ".join(_count(counts[level], level) for level in ("error", "warning", "note") if counts[level])
    text = f"{new} introduced" if new else "nothing new found"
    repaired = sum(finding.severity != "note" for finding in fixed)
    if repaired:
        text += f", {repaired} fixed"
    if failed:
        text += f", {_not_analysed(failed)}"
    return text


def _memory_news(memory: MemoryChange, programs: Sequence[MemoryChange]) -> str:
    """What the verdict says of memory: programs that no longer fit where they did, or surely did; else how the peak
    moves. It is news as much as any finding."""
    worse = dict.fromkeys(
        f"{code_span(program.script or '')} {VERDICT_WORDS[target.verdict]} on {code_span(target.gpu)}"
        if target.verdict == "borderline"
        else f"{code_span(program.script or '')} {VERDICT_WORDS[target.verdict]} {code_span(target.gpu)}"
        for program in programs or (memory,)
        for target in no_longer_fitting(program.base, program.head)
    )
    if worse:
        shown = list(worse)[:MAX_IN_HEADLINE]
        more = f" and {len(worse) - len(shown)} more" if len(worse) > len(shown) else ""
        return f"; {', '.join(shown)}{more} now"
    moved = memory_in_words(memory.base, memory.head).partition(";")[0].rstrip(".").removeprefix("The ")
    return f"; the {moved}" if moved else ""


def _not_analysed(failed: Sequence[FailedFile]) -> str:
    files = sum(each.is_file for each in failed)
    parts = [f"{_count(files, 'file')} not analysed"] if files else []
    if files < len(failed):
        parts.append(f"{_count(len(failed) - files, 'rule or plug-in', 'rules or plug-ins')} not working")
    return ", ".join(parts)


def _count(number: int, word: str, several: str = "") -> str:
    return f"{number} {word if number == 1 else several or word + 's'}"


def _listed(findings: Sequence[Finding], struck: bool = False) -> str:
    ordered = sorted(findings, key=lambda f: (-SEVERITY_ORDER[f.severity], place_order(f)))
    lines = []
    for finding in ordered[:MAX_LISTED]:
        place = code_span(f"{finding.path}:{finding.line}")
        if struck:
            lines.append(f"- {place} ~~{escape(finding.name)}~~ ({finding.rule})")
        else:
            lines.append(f"- {_MARKS[finding.severity]} {place} **{escape(finding.name)}**: {prose(finding.message)}")
    if len(ordered) > MAX_LISTED:
        lines.append(f"- and {len(ordered) - MAX_LISTED} more, in the check run's annotations")
    return "\n".join(lines)


def _failures(failed: Sequence[FailedFile]) -> str:
    lines = [f"- {code_span(each.path)} {escape(each.reason)}" for each in failed[:MAX_FAILED]]
    if len(failed) > MAX_FAILED:
        lines.append(f"- and {len(failed) - MAX_FAILED} more")
    title = f"<details><summary>{_not_analysed(failed)}</summary>"
    return f"{title}\n\n" + "\n".join(lines) + "\n\n</details>"
