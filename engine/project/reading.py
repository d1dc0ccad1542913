"""From the bytes of a file to its text, and from text to a syntax tree; every failure names its line."""

from __future__ import annotations

import ast
import codecs
import io
import re
import tokenize
import warnings
from collections.abc import Iterator, Sequence

MAX_NESTING = 900
"""Deepest syntax tree that is handed on. Deeper ones are generated code, and walking them would exhaust the stack."""

_LINE_END = re.compile("\r+\n")
_PYTHON_2 = re.compile(
    r"Missing parentheses in call to '(print|exec)'|multiple exception types must be parenthesized"
    r"|leading zeros in decimal integer|inconsistent use of tabs"
)
_PYTHON_2_LINE = re.compile(
    r"^\s*(print\s+[^(=\s]|print\s*>>|exec\s+['\"\w]|raise\s+\w+\s*,|except\s+\w[\w.]*\s*,\s*\w+\s*:)|<>|\d[lL]\b"
)


class UnreadableFile(Exception):
    """A file that cannot be analysed. `line` is 1-based, None where the failure has no line.

    `malformed`: it is not what its name says, Python 3 or a notebook; otherwise it is one that Preflight leaves out,
    for its size or its language.
    """

    def __init__(self, path: str, reason: str, line: int | None = None, *, malformed: bool = False) -> None:
        super().__init__(path, reason, line)
        self.path = path
        self.reason = reason
        self.line = line
        self.malformed = malformed

    def __str__(self) -> str:
        place = f" (line {self.line})" if self.line is not None else ""
        return f"{self.reason}{place}"


def decode(path: str, data: bytes) -> str:
    """The text of a file: PEP 263 declarations in Python files, UTF-8 otherwise, newlines as `\\n`.

    Raises UnreadableFile for null bytes, unknown encodings and undecodable bytes, with the line.
    """
    null = data.find(b"\0")
    if null >= 0 and not data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UnreadableFile(path, "contains null bytes", data.count(b"\n", 0, null) + 1, malformed=True)
    encoding = "utf-8-sig"
    if path.endswith((".py", ".pyi", ".pyw")):
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        except SyntaxError as problem:
            raise UnreadableFile(path, f"cannot be decoded: {problem.msg}", 1, malformed=True) from problem
    elif data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise UnreadableFile(path, f"is not {encoding} text: {problem.reason}", line, malformed=True) from problem
    except (LookupError, UnicodeError) as problem:
        raise UnreadableFile(path, f"cannot be decoded: {problem}", 1, malformed=True) from problem
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise UnreadableFile(path, "contains null bytes", line, malformed=True)
    # A line that ends in several carriage returns, as bad copies do, is one line, as it is to git.
    return _LINE_END.sub("\n", text.removeprefix("\ufeff")).replace("\r", "\n")


def parse(path: str, text: str) -> ast.Module:
    """The syntax tree of Python source, also where its syntax is newer than the running interpreter.

    Raises UnreadableFile with the line of the first error.
    """
    try:
        tree = _parse_here(text)
    except SyntaxError as problem:
        rewritten = _older_spelling(text)
        if rewritten is None:
            older = _is_python_2(problem, text)
            reason = f"is Python 2, which is not analysed: {problem.msg}" if older else f"does not parse: {problem.msg}"
            raise UnreadableFile(path, reason, problem.lineno, malformed=not older) from problem
        tree = rewritten
    except (RecursionError, MemoryError) as problem:
        raise UnreadableFile(path, "is nested too deeply to parse", None) from problem
    except ValueError as problem:
        raise UnreadableFile(path, f"cannot be parsed: {problem}", None, malformed=True) from problem
    deepest = _too_deep(tree, text)
    if deepest is not None:
        raise UnreadableFile(path, f"is nested more than {MAX_NESTING} levels deep", deepest)
    return tree


def _parse_here(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def _older_spelling(text: str) -> ast.Module | None:
    """The tree by way of LibCST, None where the text is no Python of any version that LibCST knows."""
    from engine.project.newer_syntax import parse_newer

    try:
        return parse_newer(text)
    except (RecursionError, MemoryError):
        return None


def _is_python_2(problem: SyntaxError, text: str) -> bool:
    lines = text.split("\n")
    at = problem.lineno or 0
    line = lines[at - 1] if 0 < at <= len(lines) else ""
    return bool(_PYTHON_2.search(problem.msg or "") or _PYTHON_2_LINE.search(line))


def _too_deep(tree: ast.Module, text: str) -> int | None:
    """The line at which the tree gets deeper than MAX_NESTING.

    Each level of an expression takes a character at least, so only statements that are long enough are walked; level by
    level, so no recursion.
    """
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    blocks: list[tuple[Sequence[ast.AST], int]] = [(tree.body, 1)]
    while blocks:
        block, depth = blocks.pop()
        for node in block:
            inner = [part for name in _BLOCKS if (part := getattr(node, name, None)) and isinstance(part, list)]
            blocks += [(part, depth + 1) for part in inner]
            first = min([node, *getattr(node, "decorator_list", ())], key=_line)
            last = _line(inner[0][0]) if inner else getattr(node, "end_lineno", None) or _line(node)
            characters = starts[min(last, len(starts) - 1)] - starts[max(_line(first) - 1, 0)]
            if depth + characters >= MAX_NESTING:
                deepest = _deeper(node, MAX_NESTING - depth)
                if deepest is not None:
                    return deepest
    return None


_BLOCKS = ("body", "handlers", "orelse", "finalbody")


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 1)


def _deeper(node: ast.AST, levels: int) -> int | None:
    """The line at which the tree below a node has more levels than these."""
    level = [node]
    for _ in range(levels):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            return None
    return next((each.lineno for each in level if hasattr(each, "lineno")), 1)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            if value._fields:
                yield value
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, ast.AST):
                    yield item
