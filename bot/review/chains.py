"""How each finding comes about, as the check run's text tells it: the places of its chain, each a link to the code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from bot.messages import CHECK_LIMIT
from engine.findings import SEVERITY_ORDER, Finding
from engine.fingerprints import place_order
from engine.presentation.markdown import code_span, escape, prose
from engine.project.module import split_cell

HEADING = "### How each finding comes about"


@dataclass(frozen=True)
class Source:
    """Where GitHub shows the code of one commit."""

    repository_url: str
    """The page of the repository that the pull request goes to: of a fork's commits it shows the code too."""
    sha: str

    def link(self, path: str, line: int) -> str:
        """Return a place as code, and as a link where the repository's page is known.

        Lines in a notebook count in its cell, for which GitHub's page has no anchor.
        """
        shown = code_span(f"{path}:{line}")
        if not self.repository_url:
            return shown
        file, cell = split_cell(path)
        anchor = "" if cell else f"#L{line}"
        address = quote(file, errors="replace")
        # Brackets and parentheses of a path are quoted with all else, so that none of them ends the link.
        return f"[{shown}]({self.repository_url}/blob/{self.sha}/{address}{anchor})"


def with_chains(text: str | None, findings: Sequence[Finding], source: Source) -> str | None:
    """Return a check run's text with the chains below, as many as there is room for."""
    parts = [text] if text else []
    parts.append(chains(findings, source, CHECK_LIMIT - len(text or "") - 2))
    return "\n\n".join(part for part in parts if part) or None


def chains(findings: Sequence[Finding], source: Source, room: int) -> str:
    """Return the section of the chains, the gravest findings first, in at most `room` characters; the rest is counted.

    A finding whose chain has no place but its own is told by its annotation.
    """
    told = [finding for finding in findings if _explains(finding)]
    told.sort(key=lambda finding: (-SEVERITY_ORDER[finding.severity], place_order(finding)))
    parts = [HEADING]
    left = room - len(HEADING) - len(_rest(len(told))) - 4
    for finding in told:
        part = _chain(finding, source)
        if len(part) + 2 > left:
            break
        parts.append(part)
        left -= len(part) + 2
    shown = len(parts) - 1
    if not shown:
        return ""
    if shown < len(told):
        parts.append(_rest(len(told) - shown))
    return "\n\n".join(parts)


def _explains(finding: Finding) -> bool:
    steps = finding.evidence
    return len(steps) > 1 or any((step.path, step.line) != (finding.path, finding.line) for step in steps)


def _rest(number: int) -> str:
    return f"The chains of {number:,} more findings stand in their annotations, under the details."


def _chain(finding: Finding, source: Source) -> str:
    place = source.link(finding.path, finding.line)
    steps = [
        f"{number}. {source.link(step.path, step.line)} {prose(step.message)}"
        for number, step in enumerate(finding.evidence, start=1)
    ]
    return f"**{escape(finding.name)}** ({finding.rule}) at {place}\n\n" + "\n".join(steps)
