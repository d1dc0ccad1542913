"""The statements of a file through LibCST: inserted, moved and wrapped together with their comments and white space.

The standard library's tree says where a statement stands; LibCST's tree, walked in step with it, is what is rewritten.
The result comes back as edits of the lines that differ. LibCST is loaded only when a file gets such a fix.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Any

import libcst as cst

from engine.findings import Edit
from engine.fixes.locating import first_line, last_line
from engine.project import Module

Line = cst.SimpleStatementLine | cst.BaseCompoundStatement
"""A statement on lines of its own."""

Suite = cst.Module | cst.IndentedBlock


class NotRewritable(ValueError):
    """LibCST cannot read the file, or a statement shares its line with another one."""


@dataclass
class Slot:
    """A statement of a changed block; `key` names the statement it was before, 0 where it is new."""

    key: int
    line: Line


@dataclass(frozen=True)
class Placed:
    """A statement in LibCST's tree: its block, its position there, and the nodes that lead to the block."""

    suite: Suite
    position: int
    trail: tuple[cst.CSTNode, ...]


class StatementTree:
    """A file's statements, by their node in the standard library's tree. Its methods raise NotRewritable."""

    def __init__(self, module: Module, nodes: Sequence[ast.stmt]) -> None:
        """Reads only the outermost statements that hold `nodes`: LibCST takes its time."""
        block, first, last = _around(module, nodes)
        ending = "\n" if last < len(module.lines) or module.text.endswith("\n") else ""
        self._text = "\n".join(module.lines[first - 1 : last]) + ending
        self._first_line = first
        try:
            self.root = cst.parse_module(self._text)
        except (cst.ParserSyntaxError, cst.CSTValidationError, RecursionError) as problem:
            raise NotRewritable(str(problem)) from problem
        self._placed: dict[int, Placed] = {}
        self._bodies: dict[int, list[Slot]] = {}
        self._visited: set[int] = set()
        self._pair(block, self.root, (self.root,))

    def insert_before(self, node: ast.stmt, lines: Sequence[Line]) -> None:
        """Puts statements above another, under the empty lines that stand there and above its comments."""
        body, at = self._slot(node)
        fresh = [Slot(0, without_blank_lines(line)) for line in lines]
        slot = body[at]
        fresh[0].line = below_blank_lines(blank_lines(slot.line), fresh[0].line)
        if not isinstance(slot.line, cst.FunctionDef | cst.ClassDef):
            slot.line = without_blank_lines(slot.line)
        body[at:at] = fresh

    def insert_after(self, node: ast.stmt, lines: Sequence[Line]) -> None:
        """Puts statements directly below another."""
        body, at = self._slot(node)
        body[at + 1 : at + 1] = [Slot(0, without_blank_lines(line)) for line in lines]

    def take(self, node: ast.stmt) -> Line:
        """Removes a statement with its comments; the empty lines above stay, an emptied block keeps a `pass`."""
        body, at = self._slot(node)
        taken = body.pop(at).line
        if not body:
            body.append(Slot(0, self.parsed("pass")[0]))
        elif 0 < at < len(body) and not body[at].line.leading_lines:
            body[at].line = below_blank_lines(blank_lines(taken), body[at].line)
        return without_blank_lines(taken)

    def remove(self, node: ast.stmt) -> None:
        """`take`, and nothing is made of it."""
        self.take(node)

    def parsed(self, code: str) -> list[Line]:
        """Statements from source text."""
        return _lines(cst.parse_module(code + "\n"))

    def exchange(self, one: ast.stmt, other: ast.stmt) -> None:
        """Exchanges two statements with their comments; the empty lines stay in their places."""
        (body, at), (there, position) = self._slot(one), self._slot(other)
        upper, lower = body[at].line, there[position].line
        body[at].line = below_blank_lines(blank_lines(upper), lower)
        there[position].line = below_blank_lines(blank_lines(lower), upper)
        body[at].key, there[position].key = there[position].key, body[at].key

    def wrap(self, nodes: Sequence[ast.stmt], context: str) -> None:
        """Puts neighbours of one block under `with context:`; comments above the first stay above."""
        body, at = self._slot(nodes[0])
        last_body, last = self._slot(nodes[-1])
        if last_body is not body or last < at:
            raise NotRewritable("the statements stand in different blocks")
        header = self.parsed(f"with {context}:\n    pass")[0]
        first, *others = [slot.line for slot in body[at : last + 1]]
        inside = cst.IndentedBlock(body=[_with_leading(first, ()), *others])
        around = header.with_changes(leading_lines=first.leading_lines, body=inside)
        assert isinstance(around, cst.With)
        body[at : last + 1] = [Slot(0, around)]

    def edits(self) -> list[Edit]:
        """The lines that differ after the changes."""
        rebuilt = self.root.visit(_Rebuild(self._visited, self._bodies))
        assert isinstance(rebuilt, cst.Module)
        return line_edits(self._text, rebuilt.code, self._first_line)

    def _slot(self, node: ast.stmt) -> tuple[list[Slot], int]:
        """The block of a statement, to be changed in place, and where the statement is now."""
        placed = self._placed.get(id(node))
        if placed is None:
            raise NotRewritable(f"line {node.lineno} holds more than this statement")
        self._visited.update(id(part) for part in placed.trail)
        slots = self._bodies.setdefault(id(placed.suite), [Slot(id(line), line) for line in _lines(placed.suite)])
        key = id(placed.suite.body[placed.position])
        return slots, next(index for index, slot in enumerate(slots) if slot.key == key)

    def _pair(self, block: Sequence[ast.stmt], suite: Suite, trail: tuple[cst.CSTNode, ...]) -> None:
        position = 0
        for index, line in enumerate(suite.body):
            if isinstance(line, cst.SimpleStatementLine):
                if len(line.body) == 1 and position < len(block):
                    self._placed[id(block[position])] = Placed(suite, index, trail)
                position += len(line.body)
                continue
            if position >= len(block):
                break
            node = block[position]
            position += 1
            self._placed[id(node)] = Placed(suite, index, trail)
            self._enter(node, line, (*trail, line))
        if position != len(block):
            raise NotRewritable("the two trees differ")

    def _enter(self, node: ast.AST, line: cst.CSTNode, trail: tuple[cst.CSTNode, ...]) -> None:
        for block, holder in _blocks(node, line):
            if isinstance(holder, cst.If) and holder is not line:
                # `elif`: one node with an `if` of its own, which stands in no block.
                self._enter(block[0], holder, (*trail, holder))
                continue
            suite = getattr(holder, "body", None)
            if isinstance(suite, cst.IndentedBlock):
                between = () if holder is line else (holder,)
                self._pair(block, suite, (*trail, *between, suite))


def _blocks(node: ast.AST, line: cst.CSTNode) -> Iterator[tuple[Sequence[ast.stmt], cst.CSTNode]]:
    """The blocks of a compound statement, each with the LibCST node whose `body` it is."""
    if isinstance(node, ast.Match):
        for case, other in zip(node.cases, getattr(line, "cases", ()), strict=False):
            yield case.body, other
        return
    yield getattr(node, "body", []), line
    for handler, other in zip(getattr(node, "handlers", []), getattr(line, "handlers", ()), strict=False):
        yield handler.body, other
    for theirs in ("orelse", "finalbody"):
        block, other = getattr(node, theirs, None), getattr(line, theirs, None)
        if block and other is not None:
            yield block, other


class _Rebuild(cst.CSTTransformer):
    """Puts changed blocks in place, visiting only the nodes that lead to them."""

    def __init__(self, visited: set[int], bodies: dict[int, list[Slot]]) -> None:
        super().__init__()
        self._visited, self._bodies = visited, bodies

    def on_visit(self, node: cst.CSTNode) -> bool:
        return id(node) in self._visited

    def on_leave(self, original_node: Any, updated_node: Any) -> Any:
        body = self._bodies.get(id(original_node))
        if body is None:
            return updated_node
        # A statement that stayed, with other lines above it perhaps, may hold a changed block.
        fresh = {id(old): new for old, new in zip(original_node.body, updated_node.body, strict=True)}
        lines = [
            _with_leading(fresh[slot.key], slot.line.leading_lines) if slot.key in fresh else slot.line for slot in body
        ]
        return updated_node.with_changes(body=lines)


def blank_lines(line: Line) -> Sequence[cst.EmptyLine]:
    """The empty lines above a statement, up to its first comment."""
    return list(takewhile(lambda empty: empty.comment is None, line.leading_lines))


def without_blank_lines(line: Line) -> Line:
    """The statement with the comments above it, without the empty lines above those."""
    return _with_leading(line, line.leading_lines[len(blank_lines(line)) :])


def below_blank_lines(blank: Iterable[cst.EmptyLine], line: Line) -> Line:
    """The statement under these empty lines, in place of its own."""
    return _with_leading(line, [*blank, *without_blank_lines(line).leading_lines])


def _with_leading(line: Line, leading: Sequence[cst.EmptyLine]) -> Line:
    changed = line.with_changes(leading_lines=leading)
    assert isinstance(changed, cst.SimpleStatementLine | cst.BaseCompoundStatement)
    return changed


def _lines(suite: Suite) -> list[Line]:
    return [line for line in suite.body if isinstance(line, cst.SimpleStatementLine | cst.BaseCompoundStatement)]


def rewritten(module: Module, nodes: Sequence[ast.stmt], change: Callable[[StatementTree], None]) -> list[Edit]:
    """The edits of a change to the statements `nodes`; empty where it cannot be made without guessing."""
    try:
        tree = StatementTree(module, nodes)
        change(tree)
        return tree.edits()
    except (NotRewritable, cst.CSTValidationError, cst.ParserSyntaxError):
        return []


def _around(module: Module, nodes: Sequence[ast.stmt]) -> tuple[Sequence[ast.stmt], int, int]:
    """The file's outermost statements from the first to the last that holds one of `nodes`, and their lines."""
    top, bottom = min(map(first_line, nodes)), max(map(last_line, nodes))
    outer = module.tree.body
    inside = [n for n, node in enumerate(outer) if last_line(node) >= top and first_line(node) <= bottom]
    if not inside:
        raise NotRewritable("the statements are not in this file")
    low, high = inside[0], inside[-1]
    first = last_line(outer[low - 1]) + 1 if low else 1
    last = first_line(outer[high + 1]) - 1 if high + 1 < len(outer) else len(module.lines)
    if first > first_line(outer[low]) or last < last_line(outer[high]):
        raise NotRewritable("outermost statements share a line")
    while last > last_line(outer[high]) and not module.lines[last - 1].strip():
        last -= 1
    return outer[low : high + 1], first, last


def line_edits(before: str, after: str, at: int = 1) -> list[Edit]:
    """Edits of whole lines that turn one text into the other; `before` starts on line `at` of its file."""
    old, new = _split(before), _split(after)
    shorter = min(len(old), len(new))
    start = next((n for n in range(shorter) if old[n] != new[n]), shorter)
    end = next((n for n in range(shorter - start) if old[-1 - n] != new[-1 - n]), shorter - start)
    middle, other = old[start : len(old) - end], new[start : len(new) - end]
    edits: list[Edit] = []
    for kind, first, last, low, high in SequenceMatcher(None, middle, other, autojunk=False).get_opcodes():
        if kind != "equal":
            line, end_line = at + start + first, at + start + last
            edits.append(Edit(line=line, column=1, end_line=end_line, end_column=1, text="".join(other[low:high])))
    return edits


def _split(text: str) -> list[str]:
    parts = [f"{line}\n" for line in text.split("\n")]
    last = parts.pop().removesuffix("\n")
    return [*parts, last] if last else parts
