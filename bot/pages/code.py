"""Source text as HTML, line by line."""

from __future__ import annotations

from pathlib import PurePosixPath

from markupsafe import Markup
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers.configs import TOMLLexer
from pygments.lexers.data import JsonLexer, YamlLexer
from pygments.lexers.python import PythonLexer
from pygments.lexers.shell import BashLexer
from pygments.lexers.special import TextLexer

from engine.project.module import split_cell

_LEXERS: dict[str, type[Lexer]] = {
    ".py": PythonLexer,
    ".yaml": YamlLexer,
    ".yml": YamlLexer,
    ".json": JsonLexer,
    ".toml": TOMLLexer,
    ".sh": BashLexer,
}
"""Only what is reviewed: a file name must not choose among hundreds of grammars."""
LONGEST_LINE = 1_000
"""Longer lines are data."""


def highlighted_lines(text: str, path: str) -> list[Markup]:
    """Return the lines of a text with its syntax marked; everything in it is escaped."""
    file, cell = split_cell(path)
    kind = PythonLexer if cell else _LEXERS.get(PurePosixPath(file).suffix.lower(), TextLexer)
    lines = [line[:LONGEST_LINE] for line in text.split("\n")]
    html: str = highlight("\n".join(lines), kind(stripnl=False, ensurenl=False), HtmlFormatter(nowrap=True))
    # The formatter closes its marks at the end of each line.
    return [Markup(line) for line in html.split("\n")]
