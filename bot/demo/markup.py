"""Markdown as GitHub shows it: tables, suggestion blocks as diffs, and no HTML beyond a handful of plain tags."""

from __future__ import annotations

import re
from collections.abc import MutableMapping, Sequence
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from markupsafe import Markup
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.lexers.special import TextLexer
from pygments.util import ClassNotFound

PLAIN_TAGS = frozenset(
    ("details", "summary", "sub", "sup", "br", "b", "i", "em", "strong", "code", "kbd", "p", "ul", "ol", "li", "hr")
)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)(\s+open)?\s*/?>")
FENCE = re.compile(r"^(?P<fence>`{3,}|~{3,})suggestion[^\n]*\n(?P<text>.*?)^(?P=fence)\s*$", re.DOTALL | re.MULTILINE)


def plain_html(text: str) -> str:
    """HTML with everything escaped except bare tags that only arrange text; comments vanish."""
    text = COMMENT.sub("", text)
    pieces, end = [], 0
    for match in TAG.finditer(text):
        closing, name, opened = match.groups()
        if name.lower() not in PLAIN_TAGS:
            continue
        pieces.append(escape(text[end : match.start()]))
        pieces.append(f"<{closing}{name.lower()}{' open' if opened and not closing else ''}>")
        end = match.end()
    return "".join([*pieces, escape(text[end:])])


class Renderer(RendererHTML):
    """markdown-it's renderer, with untrusted HTML tamed and suggestion blocks turned into diffs."""

    def html_block(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        return plain_html(tokens[idx].content)

    def html_inline(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        return plain_html(tokens[idx].content)

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        # The page loads nothing from elsewhere.
        return escape(tokens[idx].content)

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        token = tokens[idx]
        info = token.info.split()[0] if token.info.strip() else ""
        path: str = env.get("path", "")
        if info == "suggestion" and "replaced" in env:
            new = token.content.removesuffix("\n").split("\n") if token.content else []
            return suggestion(env["replaced"], new, path)
        return f'<pre class="code">{highlighted(token.content, lexer(info))}</pre>'


def suggestion(old: Sequence[str], new: Sequence[str], path: str) -> str:
    """A suggested change, the way GitHub shows it: what goes in red, what comes in green."""
    language = lexer_for(path)
    rows = [("-", "removed", line) for line in old] + [("+", "added", line) for line in new]
    body = "".join(
        f'<tr class="{kind}"><td class="mark">{mark}</td><td class="line">{highlighted(line, language)}</td></tr>'
        for mark, kind, line in rows
    )
    head = '<div class="suggestion-head">Suggested change</div>'
    return f'<div class="suggestion">{head}<table class="diff">{body}</table></div>'


def lexer(name: str) -> Lexer:
    try:
        return get_lexer_by_name(name, stripnl=False) if name else TextLexer(stripnl=False)
    except ClassNotFound:
        return TextLexer(stripnl=False)


def lexer_for(path: str) -> Lexer:
    try:
        return get_lexer_for_filename(path, stripnl=False)
    except ClassNotFound:
        return TextLexer(stripnl=False)


def highlighted(text: str, language: Lexer) -> str:
    result: str = highlight(text, language, HtmlFormatter(nowrap=True))
    return result.removesuffix("\n")


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": True}, renderer_cls=Renderer)
    return parser.enable(["table", "strikethrough"])


PARSER = _parser()


def rendered(text: str, *, path: str = "", replaced: Sequence[str] | None = None) -> Markup:
    """Markdown as safe HTML. `replaced`: the lines of `path` that a suggestion block in the text would replace."""
    environment: dict[str, Any] = {"path": path}
    if replaced is not None:
        environment["replaced"] = list(replaced)
    tokens = PARSER.parse(text, environment)
    for token in tokens:
        # The page's policy forbids inline styles, which is how a table's columns are aligned.
        if (style := str(token.attrs.pop("style", ""))).startswith("text-align:"):
            token.attrs["class"] = f"align-{style.removeprefix('text-align:')}"
    # The renderer lets no foreign HTML through.
    return Markup(PARSER.renderer.render(tokens, PARSER.options, environment))


def for_terminal(text: str) -> str:
    """Markdown without its HTML, for a renderer that knows none: comments and tags go, summaries become bold."""
    text = COMMENT.sub("", text)
    text = re.sub(r"<summary>\s*(.*?)\s*</summary>", r"\n**\1**\n", text, flags=re.DOTALL)
    return TAG.sub(lambda match: "" if match[2].lower() in PLAIN_TAGS else match[0], text).strip()
