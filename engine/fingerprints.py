"""Names for findings that survive moved lines: what is said again on a later push is recognised, and said once.

A fingerprint covers the rule, the path, the enclosing function, and the code of the finding's statement with its
spelling normalised; equal ones are told apart by their order in the file. It does not cover line numbers.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.findings import Finding
from engine.project import Module, Project, UnreadableFile
from engine.project.module import split_cell

_LENGTH = 16


@dataclass(frozen=True)
class Context:
    """Where a finding stands: the qualified name of the function or class around it, and its statement's code."""

    scope: str
    statement: str


class Contexts:
    """The contexts of one module's lines."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._statements: list[tuple[int, int, str, ast.stmt]] = []
        self._collect(module.tree.body, "")

    def _collect(self, body: Sequence[ast.stmt], scope: str) -> None:
        pending: list[tuple[Sequence[ast.stmt], str]] = [(body, scope)]
        while pending:
            statements, inside = pending.pop()
            for node in statements:
                first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
                self._statements.append((first, node.end_lineno or node.lineno, inside, node))
                below = inside
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    below = f"{inside}.{node.name}" if inside else node.name
                for nested in _bodies(node):
                    pending.append((nested, below))

    def at(self, line: int) -> Context:
        """The context of a line of the module."""
        around = [entry for entry in self._statements if entry[0] <= line <= entry[1]]
        if not around:
            lines = self._module.lines
            return Context("", " ".join((lines[line - 1] if 0 < line <= len(lines) else "").split()))
        _, _, scope, node = min(around, key=lambda entry: (entry[1] - entry[0], -len(entry[2])))
        return Context(scope, _header(node))

    def statement(self, line: int) -> ast.stmt | None:
        """The innermost statement that covers a line."""
        around = [entry for entry in self._statements if entry[0] <= line <= entry[1]]
        return min(around, key=lambda entry: (entry[1] - entry[0], -len(entry[2])))[3] if around else None


def _bodies(node: ast.stmt) -> Iterable[Sequence[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        nested = getattr(node, name, None)
        if isinstance(nested, list):
            yield nested
    for handler in getattr(node, "handlers", ()):
        yield handler.body
    for case in getattr(node, "cases", ()):
        yield case.body


def _header(node: ast.stmt) -> str:
    """The code of a statement without the statements inside it; comments, spacing and quotes do not count."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return f"{type(node).__name__} {node.name}"
    if any(True for _ in _bodies(node)):
        parts = [
            ast.unparse(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr | ast.withitem)
        ]
        return f"{type(node).__name__} {' '.join(parts)}"
    return ast.unparse(node)


class ContextIndex:
    """Contexts by path, made when first asked for."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._known: dict[str, Contexts | None] = {}

    def of(self, path: str) -> Contexts | None:
        """The contexts of a file, None where it cannot be parsed."""
        if path not in self._known:
            try:
                self._known[path] = Contexts(self._project.module(path))
            except UnreadableFile:
                self._known[path] = None
        return self._known[path]

    def at(self, path: str, line: int) -> Context:
        """The context of a line in module coordinates."""
        contexts = self.of(path)
        return contexts.at(line) if contexts is not None else Context("", "")


def fingerprint(rule: str, path: str, context: Context, occurrence: int) -> str:
    """16 hexadecimal digits."""
    text = "\0".join((rule, path, context.scope, context.statement, str(occurrence)))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_LENGTH]


def with_fingerprints(findings: Iterable[tuple[Finding, Context]], path_of: str | None = None) -> list[Finding]:
    """The findings, sorted by place and each with its fingerprint. `path_of` replaces the path, for a renamed file."""
    ordered = sorted(findings, key=lambda pair: place_order(pair[0]))
    seen: Counter[tuple[str, str, Context]] = Counter()
    named: list[Finding] = []
    for finding, context in ordered:
        path = path_of or split_cell(finding.path)[0]
        key = (finding.rule, path, context)
        named.append(finding.model_copy(update={"fingerprint": fingerprint(finding.rule, path, context, seen[key])}))
        seen[key] += 1
    return named


def place_order(finding: Finding) -> tuple[str, int, int, int, str]:
    """Sort key: path, notebook cell, line, column, rule."""
    path, cell = split_cell(finding.path)
    return path, int(cell or 0), finding.line, finding.column, finding.rule
