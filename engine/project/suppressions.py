"""Comments that silence findings: `# preflight: ignore[rule] why`, `# preflight: ignore-file[rule]`, `# noqa: PF101`.

A comment behind code covers its whole statement line; a comment on a line of its own covers the next one.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass

_PREFLIGHT = re.compile(r"#\s*preflight\s*:\s*(ignore-file|ignore)\b\s*(?:\[([^\]]*)\])?[\s:,-]*(.*)", re.IGNORECASE)
_NOQA = re.compile(r"#\s*noqa\s*:\s*((?:[A-Z]+[0-9]+[,\s]*)+)", re.IGNORECASE)
_LIKE_ONE = re.compile(r"#\s*preflight\s*:|#\s*noqa\s*:[^\n]*PF[0-9]", re.IGNORECASE)


@dataclass(frozen=True)
class Suppression:
    """`rules` holds codes and names in lower case, empty for every rule; lines are 1-based and inclusive."""

    rules: frozenset[str]
    comment_line: int
    first_line: int
    last_line: int
    whole_file: bool
    reason: str

    def covers(self, code: str, name: str, line: int) -> bool:
        """Whether a finding of rule `code`, called `name`, on `line` is silenced."""
        if not self.whole_file and not self.first_line <= line <= self.last_line:
            return False
        return not self.rules or code.lower() in self.rules or name.lower() in self.rules


def find_suppressions(text: str) -> Sequence[Suppression]:
    """All suppression comments of a Python text, in order. Strings that look like one do not count."""
    if not _LIKE_ONE.search(text):
        return ()
    found: list[Suppression] = []
    pending: list[tuple[int, bool, tokenize.TokenInfo]] = []
    first: int | None = None
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                pending.append((token.start[0], first is None, token))
            elif token.type == tokenize.NEWLINE:
                start = first if first is not None else token.start[0]
                for _, _, comment in pending:
                    found += _read(comment.string, comment.start[0], start, token.start[0])
                pending, first = [], None
            elif first is None and token.type not in (
                tokenize.NL,
                tokenize.INDENT,
                tokenize.DEDENT,
                tokenize.ENDMARKER,
            ):
                first = token.start[0]
    except (tokenize.TokenError, SyntaxError):
        # The parser has accepted or named this text already; comments up to the trouble count.
        return tuple(found)
    for line, _, comment in pending:
        found += _read(comment.string, line, line, line)
    return tuple(found)


def _read(comment: str, line: int, first: int, last: int) -> list[Suppression]:
    found: list[Suppression] = []
    match = _PREFLIGHT.search(comment)
    if match:
        rules = frozenset(part.strip().lower() for part in (match[2] or "").split(",") if part.strip())
        whole = match[1].lower() == "ignore-file"
        found.append(Suppression(rules, line, first, last, whole, match[3].strip()))
    match = _NOQA.search(comment)
    if match:
        codes = frozenset(code.lower() for code in re.findall(r"PF[0-9]+", match[1], re.IGNORECASE))
        if codes:
            found.append(Suppression(codes, line, first, last, False, ""))
    return found
