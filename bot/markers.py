"""Hidden marks in the bot's own texts, by which it recognises on the next push what it has said.

GitHub's comments have no idempotency key. A mark counts only in a text whose author is this App, and there only the
last one on a line of its own: a text may quote names and code of the repository that look like one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

SUMMARY = "<!-- preflight:summary -->"
_FINDING = re.compile(r"^<!-- preflight:finding ([0-9A-Za-z:._-]+) -->\s*$", re.MULTILINE)
_SAID = re.compile(r"^<!-- preflight:said ([0-9A-Za-z:._ -]*) -->\s*$", re.MULTILINE)
_FOLDED = re.compile(r"^<!-- preflight:folded ([0-9A-Za-z_= -]*) -->\s*$", re.MULTILINE)
_TITLE = re.compile(r"\*\*([a-z0-9-]+)\*\* \((PF\d{3,4})\)")
_RULE = re.compile(r"\((PF\d{3,4})\)")
MOST_SAID = 400
"""Marks of one kind that the summary remembers: about 7,000 characters."""


def finding(fingerprint: str) -> str:
    """Return the mark of a comment about one finding."""
    return f"<!-- preflight:finding {fingerprint} -->"


def finding_of(body: str) -> str | None:
    """Return the fingerprint of the finding that a comment is about."""
    return _last(_FINDING, body)


def title_of(body: str) -> str:
    """Return name and code of the rule that the bot's own comment is about, empty where it names none."""
    found = _TITLE.search(body)
    return f"{found[1]} ({found[2]})" if found else ""


def rule_of(body: str) -> str:
    """Return the code of the rule that the bot's own comment is about, empty where it names none."""
    found = _RULE.search(body)
    return found[1] if found else ""


def said(fingerprints: Iterable[str]) -> str:
    """Return the mark that remembers what was said in comments, also of those that somebody deleted."""
    return f"<!-- preflight:said {' '.join(list(fingerprints)[-MOST_SAID:])} -->"


def said_in(body: str) -> tuple[str, ...]:
    """Return the fingerprints that a summary remembers, oldest first."""
    return tuple((_last(_SAID, body) or "").split())


def folded(node_ids: Iterable[str]) -> str:
    """Return the mark that remembers which comments were folded away, as reading them does not tell."""
    return f"<!-- preflight:folded {' '.join(list(node_ids)[-MOST_SAID:])} -->"


def folded_in(body: str) -> tuple[str, ...]:
    """Return the comments that a summary remembers as folded away."""
    return tuple((_last(_FOLDED, body) or "").split())


def answer(comment_id: int) -> str:
    """Return the mark of the answer to a command."""
    return f"<!-- preflight:answer {comment_id} -->"


def _last(mark: re.Pattern[str], body: str) -> str | None:
    found = mark.findall(body)
    return found[-1] if found else None
