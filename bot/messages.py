"""Everything the bot says to people that the engine does not: one place, so that the tone is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from bot import markers
from engine.findings import FailedFile, ReviewReport
from engine.presentation.markdown import code_span, prose
from engine.presentation.memory import VERDICT_WORDS, uses_device

BODY_LIMIT = 65_536
"""Characters that GitHub takes in a comment or a review."""
CHECK_LIMIT = 65_535
"""Characters that GitHub takes in a check run's summary and in its text."""
TITLE_LIMIT = 255
_CUT = "\n\n… cut: GitHub takes no longer text here.\n"

Skipped = Literal["draft", "bot", "label", "title", "paused"]

IN_PROGRESS_TITLE = "Reading the change"
IN_PROGRESS_SUMMARY = "Preflight reads the training code on both sides of this pull request."
ANNOTATING_TITLE = "Writing annotations"
SUPERSEDED_TITLE = "Superseded by a newer push"
SUPERSEDED_SUMMARY = "The pull request moved on while this commit was being read. Nothing was published for it."
NOTHING_TITLE = "No training code changed"
NOTHING_SUMMARY = "This pull request changes no Python file, notebook, or training configuration. Nothing was reviewed."
NO_FINDINGS_SUMMARY = "Nothing in this change will silently go wrong, as far as Preflight can tell."
MERGE_GROUP_TITLE = "Reviewed on the pull request"
MERGE_GROUP_SUMMARY = "Preflight reviews pull requests. The merge queue's own commit is not reviewed again."
BROKEN_TITLE = "Not reviewed: Preflight failed"


def broken_summary(reason: str) -> str:
    """Say that the bot itself failed; this never blocks a merge."""
    return (
        f"Preflight could not review this commit: {prose(reason)}.\n\n"
        "This is no statement about the code, and it does not block merging. "
        "Use **Re-run** to try again, or push."
    )


def annotating(there: int, all_: int) -> str:
    """Say how far a check run is whose annotations take many requests."""
    return f"The review is done. Its annotations are being written: {there:,} of {all_:,} so far."


def count(number: int, noun: str) -> str:
    """Return `1 finding`, `2 findings`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def check_title(
    report: ReviewReport, skipped: Skipped | None, limited: Sequence[str] = (), remarks: Sequence[str] = ()
) -> str:
    """Return the one line that stands beside the check; `remarks` are on its configuration."""
    notes = sum(finding.severity == "note" for finding in report.introduced)
    new = len(report.introduced) - notes
    fixed = sum(finding.severity != "note" for finding in report.fixed)
    parts = [count(new, "new finding") if new else "No new findings"]
    if notes:
        parts.append(f"{count(notes, 'note')} on tuning")
    if fixed:
        parts.append(f"{fixed} fixed")
    if report.failed:
        parts.append(f"{count(len(report.failed), 'file')} not analysed")
    parts += [*limited, *remarks]
    verdict = memory_title(report)
    if verdict:
        parts.append(verdict)
    if skipped:
        parts.append(_SKIPPED[skipped])
    return ", ".join(parts)[:TITLE_LIMIT]


_SKIPPED: dict[Skipped, str] = {
    "draft": "no comments on a draft",
    "bot": "no comments on a bot's pull request",
    "label": "skipped by label",
    "title": "skipped by title",
    "paused": "paused",
}

SKIPPED_ENTIRELY: dict[Skipped, str] = {
    "label": "Skipped: a label of this pull request turns the review off. Nothing was reviewed.",
    "title": "Skipped: a word in the title turns the review off. Nothing was reviewed.",
    "draft": "Skipped: drafts are not reviewed here.",
    "bot": "Skipped: pull requests of bots are not reviewed here.",
    "paused": "Paused: the command `resume` turns the reviews of this pull request on again. Nothing was reviewed.",
}

RERUN_ACTION = "rerun"
IGNORE_ACTION = "ignore-findings"


def check_actions(ignorable: bool) -> list[dict[str, str]]:
    """Return the buttons of a check run, within what GitHub takes: 20 characters of label, 40 of description."""
    again = {"label": "Re-run", "description": "Review this commit again", "identifier": RERUN_ACTION}
    ignore = {
        "label": "Ignore findings",
        "description": "Ignore these findings on this PR",
        "identifier": IGNORE_ACTION,
    }
    return [again, ignore] if ignorable else [again]


def memory_title(report: ReviewReport) -> str:
    """Return the peak memory in a few words, or nothing where it is not known or not asked for."""
    head = report.memory.head
    if head is None or head.memory is None or not uses_device(head):
        return ""
    others = [
        f"{program.script} {VERDICT_WORDS[target.verdict]} {target.gpu}"
        for program in report.entry_points
        if program.script != report.memory.script and program.head is not None
        for target in program.head.targets
        if target.verdict in ("does-not-fit", "borderline")
    ]
    text = f"{gibibytes(head.memory.occupied.low)}–{gibibytes(head.memory.occupied.high)} GiB"
    verdicts = [f"{target.verdict.replace('-', ' ')} {target.gpu}" for target in head.targets]
    told = f"{text}: {', '.join(verdicts)}" if verdicts else f"peak {text}"
    return ", ".join([told, *others])


def on_configuration(in_force: int, proposed: int) -> tuple[str, ...]:
    """Return the title's words on mistakes in the configuration: in that which holds, and in the pull request's own."""
    remarks = [f"{count(in_force, 'mistake')} in the configuration"] if in_force else []
    if proposed:
        remarks.append(f"{count(proposed, 'mistake')} in the new configuration")
    return tuple(remarks)


def not_looked_at(limited: Sequence[str]) -> str:
    """Return the summary's word on what of a change was left out; empty where nothing was."""
    told = "; ".join(prose(each) for each in limited)
    return f"Not looked at: {told}. The reasons stand in the check run, under its summary." if limited else ""


def gibibytes(size: int) -> str:
    """Return bytes as GiB with one decimal."""
    return f"{size / 2**30:.1f}"


def check_text(
    *,
    problems: Sequence[str],
    change: str = "",
    annotations: tuple[int, int] = (0, 0),
    notes: Sequence[str] = (),
    failed: Sequence[FailedFile] = (),
    left_out: Sequence[str] = (),
    truncated: bool = False,
    capped_files: bool = False,
) -> str | None:
    """Return the part of the check run that tells what was not looked at, and what is wrong with the configuration."""
    parts: list[str] = [prose(note) for note in notes]
    if problems:
        lines = "\n".join(f"- {prose(problem)}" for problem in problems)
        parts.append(f"### Configuration\n\nThese settings were not taken; the defaults apply.\n\n{lines}")
    if change:
        parts.append(change)
    there, most = annotations
    if there > most:
        parts.append(f"There are {there:,} findings; the gravest {most:,} of them are annotated.")
    if failed:
        lines = "\n".join(f"- {code_span(file.path)}: {prose(file.reason)}" for file in failed)
        parts.append(f"### Not analysed\n\n{lines}")
    if left_out:
        lines = "\n".join(f"- {code_span(path)}" for path in left_out[:50])
        more = f"\n- and {len(left_out) - 50} more" if len(left_out) > 50 else ""
        parts.append(
            f"### Not read\n\nToo large, beyond the limits of one review, or missing on GitHub.\n\n{lines}{more}"
        )
    if truncated:
        parts.append("GitHub did not list all files of this repository; findings may be missing where code is split.")
    if capped_files:
        parts.append("GitHub lists 3,000 changed files at most; the rest was not reviewed.")
    return cut("\n\n".join(parts), CHECK_LIMIT) if parts else None


def review_body(comments: int, elsewhere: int) -> str:
    """Return the text above a review's comments."""
    text = f"Preflight found {count(comments, 'problem')} on the changed lines."
    if elsewhere:
        verb = "is" if elsewhere == 1 else "are"
        text += f" {count(elsewhere, 'more finding')} {verb} in the check run."
    return text


def summary_comment(text: str, said: Sequence[str], folded: Sequence[str]) -> str:
    """Return the sticky comment: `text`, with the marks by which it is found again and remembers."""
    tail = f"\n\n{markers.said(said)}\n{markers.folded(folded)}\n"
    room = BODY_LIMIT - len(tail) - len(markers.SUMMARY) - 1
    return f"{markers.SUMMARY}\n{cut(text.strip(), room)}{tail}"


def all_clear(fixed: int) -> str:
    """Return the sticky comment's text where a former push had findings and this one has none."""
    what = f" {count(fixed, 'finding')} fixed." if fixed else ""
    return f"### Preflight\n\nNo findings left in this pull request.{what}"


def cut(text: str, limit: int) -> str:
    """Shorten a text to `limit` characters without leaving a code fence open."""
    if len(text) <= limit:
        return text
    room = limit - len(_CUT) - 16
    kept = text[:room].rsplit("\n", 1)[0]
    fence = _open_fence(kept)
    closing = f"\n{fence}" if fence else ""
    return f"{kept}{closing}{_CUT}"


def _open_fence(text: str) -> str | None:
    fence: str | None = None
    for line in text.splitlines():
        stripped = line.lstrip(" ")
        run = stripped[: len(stripped) - len(stripped.lstrip("`"))]
        if len(run) < 3:
            continue
        if fence is None:
            fence = run
        elif run.startswith(fence) and not stripped[len(run) :].strip():
            fence = None
    return fence


def answer(comment_id: int, text: str) -> str:
    """Return the answer to a command, with its mark."""
    return f"{markers.answer(comment_id)}\n{cut(text, BODY_LIMIT - 100)}"
