"""Questions to the syntax of the file that a fix rewrites: where a name is read, what surrounds a line."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from engine.fixes.locating import Located, blocks, expression_at, first_line, last_line, statement_at
from engine.project import Module
from engine.trace import Place

Function = ast.FunctionDef | ast.AsyncFunctionDef


def speakable(name: str) -> bool:
    """Whether a text is a plain dotted name, which can be written again on another line."""
    return bool(name) and all(part.isidentifier() for part in name.split("."))


def call_at(module: Module, place: Place) -> ast.Call | None:
    """The call at a place."""
    node = expression_at(module, place, ast.Call)
    return node if isinstance(node, ast.Call) else None


def callee_name(module: Module, place: Place) -> str:
    """`net` of the call `net(x)` at a place; empty unless it is a plain dotted name."""
    call = call_at(module, place)
    text = module.source(call.func) if call is not None else ""
    return text if speakable(text) else ""


def argument_of(call: ast.Call, position: int, keyword: str) -> ast.expr | None:
    """An argument by keyword, else by position."""
    for given in call.keywords:
        if given.arg == keyword:
            return given.value
    before = call.args[: position + 1]
    return before[position] if len(before) > position and not any(isinstance(a, ast.Starred) for a in before) else None


def function_at(module: Module, line: int) -> Function | None:
    """The innermost function that a line stands in."""
    located = statement_at(module, line, (ast.FunctionDef, ast.AsyncFunctionDef))
    node = located.node if located is not None else None
    return node if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None


def class_at(module: Module, line: int) -> ast.ClassDef | None:
    """The innermost class that a line stands in."""
    located = statement_at(module, line, (ast.ClassDef,))
    return located.node if located is not None and isinstance(located.node, ast.ClassDef) else None


def scope_at(module: Module, line: int) -> ast.AST:
    """What the names of a line belong to: its function, else the file."""
    return function_at(module, line) or module.tree


def same_function(module: Module, first: Place, second: Place) -> bool:
    """Whether two places stand in one function of one file."""
    return first.path == second.path == module.path and scope_at(module, first.line) is scope_at(module, second.line)


def around(module: Module, line: int) -> Iterator[Located]:
    """The statements that cover a line, innermost first."""
    found: list[Located] = []
    pending: list[ast.AST] = [module.tree]
    while pending:
        owner = pending.pop()
        for block in blocks(owner):
            for position, node in enumerate(block):
                if first_line(node) <= line <= last_line(node):
                    found.append(Located(node, block, position, owner))
                    pending.append(node)
        pending += [*getattr(owner, "handlers", []), *getattr(owner, "cases", [])]
    yield from reversed(found)


def beside(module: Module, line: int, other_line: int) -> tuple[Located, Located] | None:
    """The statement of `line`, and the one that holds `other_line` in the block of it or of a statement around it.

    The first is as far in as it can be. None where the two share no block but the first holds the second.
    """
    others = {id(located.block): located for located in around(module, other_line)}
    for located in around(module, line):
        other = others.get(id(located.block))
        if other is not None:
            return (located, other) if other.node is not located.node else None
    return None


def reads(scope: ast.AST, name: str) -> list[ast.expr]:
    """Where a plain dotted name is read below a node, as an expression."""
    found: list[ast.expr] = []
    for node in ast.walk(scope):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load) and dotted(node) == name:
            found.append(node)
    return found


def writes(scope: ast.AST, name: str) -> list[ast.expr]:
    """Where a plain dotted name is bound below a node."""
    return [
        node
        for node in ast.walk(scope)
        if isinstance(node, ast.Name | ast.Attribute)
        and isinstance(node.ctx, ast.Store | ast.Del)
        and dotted(node) == name
    ]


def dotted(node: ast.AST) -> str:
    """`a.b.c` of an expression; empty if it is none."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = dotted(node.value)
        return f"{inner}.{node.attr}" if inner else ""
    return ""


def names_read(node: ast.AST) -> set[str]:
    """The plain names, and the attributes of `self`, that an expression reads."""
    found: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            found.add(part.id)
        elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "self":
            found.add(f"self.{part.attr}")
    return found - {"self"}


def names_bound(node: ast.AST) -> set[str]:
    """The plain names, and the attributes of `self`, that a statement binds."""
    found: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name | ast.Attribute) and isinstance(part.ctx, ast.Store | ast.Del):
            found.add(dotted(part))
        elif isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(part.name)
    return found


def parents_of(scope: ast.AST) -> dict[int, ast.AST]:
    """The parent of each node below a node, by identity."""
    return {id(child): node for node in ast.walk(scope) for child in ast.iter_child_nodes(node)}


def leaves_early(node: ast.AST) -> bool:
    """Whether a `return` stands in a statement, functions inside of it apart."""
    pending: list[ast.AST] = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, ast.Return):
            return True
        pending += [
            child
            for child in ast.iter_child_nodes(part)
            if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda)
        ]
    return False
