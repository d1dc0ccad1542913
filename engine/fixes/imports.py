"""How a file spells something of a library, and the import that it needs for that."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from engine.findings import Fix
from engine.fixes.locating import first_line, last_line
from engine.fixes.making import edit_at, made
from engine.project import Module


@dataclass(frozen=True)
class Spelling:
    """The code that names an object in a file; `added` is the import that has to come with it, None if it is there."""

    code: str
    added: Fix | None = None


def spelled(module: Module, qualified: str) -> Spelling | None:
    """`torch.nn.ModuleList` as the file writes it (`nn.ModuleList`); None where the name means something else there."""
    bound = _imports(module)
    parts = qualified.split(".")
    taken = _rebound(module)
    for length in range(len(parts), 0, -1):
        alias = bound.get(".".join(parts[:length]))
        if alias is not None and alias not in taken:
            return Spelling(".".join([alias, *parts[length:]]))
    root = parts[0]
    if root in taken or root in bound.values():
        return None
    added = _added(module, root)
    return Spelling(qualified, added) if added is not None else None


def _imports(module: Module) -> dict[str, str]:
    """Qualified names that imports at the top of the file bind, and what they are called there."""
    found: dict[str, str] = {}
    for node in module.tree.body:
        if isinstance(node, ast.Import):
            for each in node.names:
                name = each.name if each.asname else each.name.partition(".")[0]
                found.setdefault(name, each.asname or name)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for each in node.names:
                found.setdefault(f"{node.module}.{each.name}", each.asname or each.name)
    return found


def _rebound(module: Module) -> set[str]:
    """Names that the file binds to something else than an import."""
    found: set[str] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
    return found


def _added(module: Module, root: str) -> Fix | None:
    """`import root` below the imports at the top of the file, else above its first statement."""
    body = module.tree.body
    start = 1 if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) else 0
    imports = start
    while imports < len(body) and isinstance(body[imports], ast.Import | ast.ImportFrom):
        imports += 1
    told = f"Import `{root}`."
    if imports > start:
        line = last_line(body[imports - 1]) + 1
        return made(module, told, True, [edit_at(line, 1, f"import {root}\n")]) if line <= len(module.lines) else None
    if start >= len(body):
        return None
    line = first_line(body[start])
    while line > 1 and module.lines[line - 2].startswith("#") and not _belongs_on_top(module.lines[line - 2]):
        line -= 1
    return made(module, told, True, [edit_at(line, 1, f"import {root}\n\n\n")])


def _belongs_on_top(comment: str) -> bool:
    return comment.startswith("#!") or "coding" in comment
