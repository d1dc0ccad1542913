"""Reads syntax newer than the running interpreter: respelled through LibCST, line numbers kept.

Type parameters (PEP 695, 696) carry nothing that matters to a training step and are blanked; `type X = ...`
becomes an assignment; `except A, B:` (PEP 758) gets its parentheses. Formatted strings that only PEP 701 allows, and
template strings (PEP 750), keep the expressions they evaluate, which is what matters, and lose their literal text.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst
from libcst import metadata

_BARE_EXCEPT = re.compile(r"^(\s*except\*?[ \t]+)([A-Z][\w.]*(?:[ \t]*,[ \t]*[A-Z][\w.]*)+)([ \t]*:)", re.MULTILINE)
"""`except A, B:` (PEP 758). In Python 2 the last name is a variable, and those begin with a small letter."""

MAX_BRACKETS = 200
"""Python's own limit (`MAXLEVEL` of its tokenizer). LibCST has none: its parser overruns the stack of the process."""

_STAND_IN = "_preflight_formatted_string_"


@dataclass(frozen=True)
class _Replacement:
    start: int
    end: int
    text: str


def parse_newer(text: str) -> ast.Module | None:
    """The standard library's tree of `text`, None if neither LibCST nor `ast` can make sense of it."""
    if _brackets(text) > MAX_BRACKETS:
        return None
    text = _BARE_EXCEPT.sub(r"\1(\2)\3", text)
    try:
        wrapper = metadata.MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
        positions = wrapper.resolve(metadata.PositionProvider)
    except (cst.ParserSyntaxError, cst.CSTValidationError, KeyError):
        # KeyError: LibCST loses places of a tree that is too deep for it.
        return None
    for formatted_strings in (False, True):
        collector = _NewerSyntax(text, positions, formatted_strings)
        wrapper.module.visit(collector)
        try:
            tree = ast.parse(_apply(text, collector.replacements))
        except (SyntaxError, ValueError):
            continue
        restored = _FormattedStrings().visit(tree)
        assert isinstance(restored, ast.Module)
        return ast.fix_missing_locations(restored)
    return None


def _brackets(text: str) -> int:
    """The deepest nesting of brackets; those in strings are counted too, which is as good here."""
    deepest = depth = 0
    for bracket in re.findall(r"[()\[\]{}]", text):
        depth = depth + 1 if bracket in "([{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest


def _apply(text: str, replacements: Sequence[_Replacement]) -> str:
    parts: list[str] = []
    done = 0
    for each in sorted(replacements, key=lambda r: (r.start, -r.end)):
        if each.start < done:
            continue
        parts += [text[done : each.start], each.text]
        done = each.end
    return "".join([*parts, text[done:]])


class _NewerSyntax(cst.CSTVisitor):
    def __init__(self, text: str, positions: metadata.ProviderT | object, formatted_strings: bool) -> None:
        super().__init__()
        self._text = text
        self._positions = positions
        self._formatted_strings = formatted_strings
        self._line_starts = [0]
        for line in text.split("\n"):
            self._line_starts.append(self._line_starts[-1] + len(line) + 1)
        self.replacements: list[_Replacement] = []

    def _span(self, node: cst.CSTNode) -> tuple[int, int]:
        place = self._positions[node]  # type: ignore[index]
        return (
            self._line_starts[place.start.line - 1] + place.start.column,
            self._line_starts[place.end.line - 1] + place.end.column,
        )

    def _replace(self, start: int, end: int, text: str, continued: bool) -> None:
        """Puts `text` in place of a span; the span's own line breaks follow, so that later lines keep their number."""
        breaks = self._text.count("\n", start, end) - text.count("\n")
        self.replacements.append(_Replacement(start, end, text + ("\\\n" if continued else "\n") * breaks))

    def visit_TypeParameters(self, node: cst.TypeParameters) -> bool:
        start, end = self._span(node)
        self._replace(start, end, " ", continued=True)
        return False

    def visit_TypeAlias(self, node: cst.TypeAlias) -> bool:
        start, _ = self._span(node)
        value_start, _ = self._span(node.value)
        self._replace(start, value_start, f"{node.name.value} = ", continued=True)
        return True

    def visit_FormattedString(self, node: cst.FormattedString) -> bool:
        return self._formatted(node)

    def visit_TemplatedString(self, node: cst.CSTNode) -> bool:
        return self._formatted(node)

    def visit_ConcatenatedString(self, node: cst.ConcatenatedString) -> bool:
        return self._formatted(node)

    def _formatted(self, node: cst.CSTNode) -> bool:
        if not self._formatted_strings:
            return True
        expressions = _ExpressionsInside()
        node.visit(expressions)
        if not expressions.found:
            return False
        start, end = self._span(node)
        parts = [f"{_STAND_IN}("]
        line = self._text.count("\n", 0, start)
        for expression in expressions.found:
            first, last = self._span(expression)
            parts.append("\n" * (self._text.count("\n", 0, first) - line))
            inner = self._inner_text(expression, first, last)
            parts.append(f"({inner}),")
            line = self._text.count("\n", 0, last)
        self._replace(start, end, "".join(parts) + ")", continued=False)
        return False

    def _inner_text(self, expression: cst.CSTNode, start: int, end: int) -> str:
        """The text of an expression inside a string, its own formatted strings respelled in turn."""
        inside = _NewerSyntax(self._text, self._positions, formatted_strings=True)
        expression.visit(inside)
        shifted = [_Replacement(r.start - start, r.end - start, r.text) for r in inside.replacements]
        return _apply(self._text[start:end], shifted)


class _ExpressionsInside(cst.CSTVisitor):
    """The outermost expressions that a string evaluates, format specifications included."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[cst.CSTNode] = []

    def _take(self, expression: cst.CSTNode, spec: Sequence[cst.CSTNode] | None) -> bool:
        self.found.append(expression)
        for part in spec or ():
            part.visit(self)
        return False

    def visit_FormattedStringExpression(self, node: cst.FormattedStringExpression) -> bool:
        return self._take(node.expression, node.format_spec)

    def visit_TemplatedStringExpression(self, node: cst.CSTNode) -> bool:
        return self._take(node.expression, node.format_spec)  # type: ignore[attr-defined]


class _FormattedStrings(ast.NodeTransformer):
    """Turns the stand-in calls back into formatted strings."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not (isinstance(node.func, ast.Name) and node.func.id == _STAND_IN):
            return node
        values: list[ast.expr] = [
            ast.copy_location(ast.FormattedValue(value=value, conversion=-1, format_spec=None), value)
            for value in node.args
        ]
        return ast.copy_location(ast.JoinedStr(values=values), node)
