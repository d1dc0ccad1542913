"""Findings as Markdown, for the summary page of a CI job. Everything from the repository is escaped."""

from __future__ import annotations

from collections import Counter

from engine.findings import SEVERITY_ORDER, CheckReport
from engine.fingerprints import place_order
from engine.presentation.markdown import code_span, escape, prose

LIMIT = 200
"""Findings listed; GitHub takes a megabyte for a step's summary."""

_MARKS = {"error": "🛑", "warning": "⚠️", "note": "ℹ️"}


def job_summary(report: CheckReport) -> str:
    """A heading with the counts, a list of findings, and what could not be analysed."""
    counts = Counter[str](finding.severity for finding in report.findings)
    told = ", ".join(f"{counts[level]} {level}{'' if counts[level] == 1 else 's'}" for level in _MARKS if counts[level])
    files = f"{report.files.read} file{'' if report.files.read == 1 else 's'} read"
    parts = [f"## Preflight: {told or 'nothing found'}", f"{files}, {report.files.skipped} without training code."]
    ordered = sorted(report.findings, key=lambda f: (-SEVERITY_ORDER[f.severity], place_order(f)))
    parts.append(
        "\n".join(
            f"- {_MARKS[each.severity]} {code_span(f'{each.path}:{each.line}')} {each.rule} "
            f"**{escape(each.name)}**: {prose(each.message)}"
            for each in ordered[:LIMIT]
        )
    )
    if len(ordered) > LIMIT:
        parts.append(f"And {len(ordered) - LIMIT} more.")
    if report.files.failed:
        lines = [f"- {code_span(each.path)} {escape(each.reason)}" for each in report.files.failed[:LIMIT]]
        parts.append("Not analysed:\n\n" + "\n".join(lines))
    return "\n\n".join(part for part in parts if part) + "\n\n"
