"""What people dismissed, applied to what the analysis found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.storage.remembered import Dismissal
from engine.findings import Finding, ReviewReport
from engine.presentation.markdown import clipped, code_span, escape
from engine.presentation.summary import summary_markdown
from engine.settings import Settings

MOST_LISTED = 20


@dataclass(frozen=True)
class Considered:
    """A report without what was dismissed by command or button; its summary lists everything dismissed."""

    report: ReviewReport
    section: str = ""
    """That list."""
    silent: tuple[str, ...] = ()
    """Fingerprints that need no comment, those of resolved threads included."""


def consider(report: ReviewReport, dismissals: Sequence[Dismissal], settings: Settings) -> Considered:
    """Leave out what was dismissed. Findings of resolved threads are not said again, and count as before."""
    by_subject = {dismissal.subject: dismissal for dismissal in dismissals}
    pairs = [(finding, _dismissal(finding, by_subject)) for finding in report.introduced]
    dismissed = [(finding, dismissal) for finding, dismissal in pairs if dismissal is not None]
    if not dismissed:
        return Considered(report)
    silent = tuple(finding.fingerprint for finding, _ in dismissed)
    gone = {finding.fingerprint for finding, dismissal in dismissed if dismissal.counts}
    kept = tuple(finding for finding in report.introduced if finding.fingerprint not in gone)
    section = _section(dismissed)
    text, conclusion = report.summary_markdown, report.conclusion
    if gone:
        text = summary_markdown(kept, report.fixed, report.existing, report.memory, report.failed, report.entry_points)
        conclusion = settings.conclude([finding.severity for finding in kept], incomplete=bool(report.failed))
    update = {
        "introduced": kept,
        "review_comments": tuple(each for each in report.review_comments if each.fingerprint not in gone),
        "annotations": tuple(each for each in report.annotations if each.fingerprint not in gone),
        "summary_markdown": clipped(f"{text.strip()}\n\n{section}"),
        "conclusion": conclusion,
    }
    return Considered(report.model_copy(update=update), section, silent)


def _dismissal(finding: Finding, by_subject: dict[str, Dismissal]) -> Dismissal | None:
    """The dismissal that says most: by command or button before the resolved thread."""
    found = [by_subject.get(finding.fingerprint), by_subject.get(finding.rule)]
    present = [dismissal for dismissal in found if dismissal is not None]
    return next((each for each in present if each.counts), present[0] if present else None)


def _section(dismissed: Sequence[tuple[Finding, Dismissal]]) -> str:
    lines = []
    for finding, dismissal in dismissed[:MOST_LISTED]:
        how = "its thread was resolved by" if dismissal.means == "thread" else "ignored by"
        reason = f": {escape(dismissal.reason)}" if dismissal.reason else ""
        place = code_span(f"{finding.path}:{finding.line}")
        lines.append(f"- {place} {escape(finding.name)} ({finding.rule}), {how} {code_span(dismissal.login)}{reason}")
    if len(dismissed) > MOST_LISTED:
        lines.append(f"- and {len(dismissed) - MOST_LISTED} more")
    word = "finding" if len(dismissed) == 1 else "findings"
    title = f"<details><summary>{len(dismissed)} {word} dismissed</summary>"
    return f"{title}\n\n" + "\n".join(lines) + "\n\n</details>"
