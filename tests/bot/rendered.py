"""What GitHub would make of a text that the bot posts."""

from __future__ import annotations

from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token


def tokens(markdown: str) -> Iterator[Token]:
    """The parts of a Markdown text, inline ones too."""
    for token in MarkdownIt("commonmark", {"html": True, "linkify": False}).enable("table").parse(markdown):
        yield token
        yield from token.children or ()
