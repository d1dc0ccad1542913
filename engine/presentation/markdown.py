"""Markdown that untrusted text cannot break out of: no HTML, links, mentions, references, commands or open fences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

MAX_BODY = 65_536
"""GitHub's limit for comment and review bodies, in characters; longer ones are refused with 422."""

_ZERO_WIDTH = "\u200b"
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~$])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_BACKTICKS = re.compile(r"`+")


def escape(text: str) -> str:
    """Plain text in one line, shown as it is. Mentions, issue references and bare links do not come alive."""
    flat = " ".join(_CONTROL.sub("\ufffd", text).split())
    flat = flat.replace("&", "&amp;")
    flat = _SPECIAL.sub(r"\\\1", flat)
    flat = flat.replace("@", f"@{_ZERO_WIDTH}").replace("\\#", f"\\#{_ZERO_WIDTH}")
    flat = re.sub(r"(?i)\b(https?|ftp|mailto)(:)", rf"\1{_ZERO_WIDTH}\2", flat)
    flat = re.sub(r"(?i)\b(www)(\.)", rf"\1{_ZERO_WIDTH}\2", flat)
    return re.sub(r"(?i)\b(GH)(-)(?=\d)", rf"\1{_ZERO_WIDTH}\2", flat)


def code_span(text: str, table: bool = False) -> str:
    """`text` as inline code, whatever backticks it holds. In a table cell, pipes are escaped."""
    flat = " ".join(_CONTROL.sub("\ufffd", text).split()) or " "
    fence = "`" * (max((len(run) for run in _BACKTICKS.findall(flat)), default=0) + 1)
    pad = " " if flat[0] == "`" or flat[-1] == "`" else ""
    span = f"{fence}{pad}{flat}{pad}{fence}"
    return span.replace("|", "\\|") if table else span


def prose(message: str) -> str:
    """A rule's message: what stands between backticks becomes code, the rest plain text."""
    parts = message.split("`")
    if len(parts) % 2 == 0:
        # An unpaired backtick: everything is text.
        return escape(message)
    rendered = []
    for position, part in enumerate(parts):
        if position % 2:
            rendered.append(code_span(part) if part.strip() else "")
        else:
            lead = " " if part[:1].isspace() else ""
            tail = " " if part[-1:].isspace() and part.strip() else ""
            rendered.append(f"{lead}{escape(part)}{tail}")
    return "".join(rendered).strip()


def fenced(text: str, info: str = "") -> str:
    """A fenced block that `text` cannot close: the fence is longer than any run of backticks in it."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    body = text if text.endswith("\n") or not text else f"{text}\n"
    return f"{fence}{info}\n{body}{fence}"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> str:
    """A table of cells that are Markdown already; columns in `right` are aligned to the right."""
    rule = ["---:" if column in right else "---" for column in range(len(headings))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, rule, *rows))


def clipped(body: str, limit: int = MAX_BODY, keep: str = "") -> str:
    """`body` within GitHub's limit: cut at a line, open fences closed, `keep` (a marker) at its end."""
    ending = f"\n\n{keep}" if keep else ""
    if len(body) + len(ending) <= limit:
        return body + ending
    note = "\n\n_Cut: this is longer than GitHub takes. The check run's annotations have everything._"
    room = limit - len(ending) - len(note) - 64
    cut = body[:room].rpartition("\n")[0]
    fence = _open_fence(cut)
    closing = f"\n{fence}" if fence else ""
    opened = max(0, cut.count("<details>") - cut.count("</details>"))
    return cut + closing + "\n\n</details>" * opened + note + ending


def _open_fence(text: str) -> str:
    fence = ""
    for line in text.split("\n"):
        match = re.match(r"^ {0,3}(`{3,})", line)
        if match and not fence:
            fence = match[1]
        elif match and len(match[1]) >= len(fence) and line.strip() == match[1]:
            fence = ""
    return fence
