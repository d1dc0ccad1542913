"""What GitHub would make of a text that the bot posts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

OWN_MARKUP = re.compile(r"(?:<details>|</details>|<summary>[\w ,-]+</summary>|<!-- preflight:[^<>]*-->|\s)*")
ACTIVE = re.compile(r"@\w|#\d|GH-\d|www\.|evil\.example/")
"""What GitHub makes a link or a mention of, with the host that the hostile texts of the tests name."""
OWN_LINK = re.compile(r"http://(?:127\.0\.0\.1|localhost):\d+/acme/trainer/blob/[0-9a-f]{40}/[\w.~%/-]+(?:#L\d+)?$")
"""The code that a finding rests on, as the stand-in serves it; nothing else is a link."""
REVERSES = "\u202e"


def tokens(markdown: str) -> Iterator[Token]:
    """The parts of a Markdown text, inline ones too."""
    for token in MarkdownIt("commonmark", {"html": True, "linkify": False}).enable("table").parse(markdown):
        yield token
        yield from token.children or ()


def escapes(markdown: str) -> list[str]:
    """What of a text would become more than text: markup, links, mentions, a change of direction."""
    found = []
    for token in tokens(markdown):
        if token.type in {"image", "code_block"}:
            found.append(f"{token.type}: {token.content}")
        if token.type in {"html_block", "html_inline"} and not OWN_MARKUP.fullmatch(token.content):
            found.append(f"markup: {token.content}")
        if token.type == "link_open" and not OWN_LINK.match(str(token.attrs.get("href"))):
            found.append(f"link: {token.attrs.get('href')}")
        if token.type == "text" and (
            ACTIVE.search(token.content) or token.content.strip() == "heading" or REVERSES in token.content
        ):
            found.append(f"text: {token.content}")
    return found
