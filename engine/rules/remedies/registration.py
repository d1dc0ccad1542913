"""Layers, parameters and tensors of a module are put where PyTorch sees them."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from engine import fixes
from engine.findings import Fix
from engine.fixes.imports import spelled
from engine.fixes.locating import first_line, statement_at
from engine.fixes.making import edit_over, made
from engine.project import Module
from engine.rules.facts.text import in_file
from engine.rules.remedies.syntax import call_at, class_at, dotted, function_at, names_read, parents_of
from engine.rules.rule import FixMaker
from engine.trace import Container, Place, Value

_LIST_METHODS = frozenset({"append", "extend", "insert"})
_CALLS = frozenset({"len", "enumerate", "zip", "reversed", "list", "tuple", "iter", "sum", "map", "range"})
"""What a list is used for that a ModuleList or ParameterList does as well."""


def registered_list(attribute: str, kind: str, value: Value, place: Place) -> FixMaker | None:
    """`self.layers = [...]` becomes a `ModuleList` or `ParameterList`, where it is used as these can be."""
    if not isinstance(value, Container) or value.shape_name != "list":
        return None
    role = "module" if kind == "module" else "parameter"
    if any(part.role != role for part in value.elements()):
        return None

    def build(module: Module) -> Fix | None:
        owner = class_at(module, place.line)
        node = _assigned(module, place.line, attribute)
        if owner is None or not isinstance(node, ast.List | ast.ListComp) or not _used_as_list(owner, attribute):
            return None
        if not _after_super(module, place.line):
            return None
        qualified = "torch.nn.ModuleList" if kind == "module" else "torch.nn.ParameterList"
        naming = spelled(module, qualified)
        if naming is None or naming.added is not None:
            return None
        empty = isinstance(node, ast.List) and not node.elts
        code = f"{naming.code}({'' if empty else module.source(node)})"
        told = f"Keep them in a `{naming.code}`, where PyTorch sees them."
        return made(module, told, True, [edit_over(module.span(node), code)])

    return in_file(place, build)


def registered_buffer(attribute: str, value: Value, path: str) -> FixMaker:
    """`self.mask = tensor` becomes a buffer that is not saved, so that checkpoints stay as they are."""

    def build(module: Module) -> Fix | None:
        owner = class_at(module, value.place.line)
        node = _assigned(module, value.place.line, attribute)
        function = function_at(module, value.place.line)
        if owner is None or node is None or function is None or function.name != "__init__":
            return None
        if len(_stores(owner, attribute)) != 1 or not _after_super(module, value.place.line):
            return None
        code = f'self.register_buffer("{attribute}", {module.source(node)}, persistent=False)'
        told = "Register it as a buffer, which `.to()` on the module moves along."
        return fixes.replace_statement(module, value.place.line, code, safe=True, description=told)

    place = Place(path, value.place.line, value.place.column, value.place.end_line, value.place.end_column)
    return in_file(place, build)


def built_once(place: Place) -> FixMaker:
    """A layer that `forward` builds is built at the end of `__init__`, where its arguments are known there."""

    def build(module: Module) -> Fix | None:
        owner, call = class_at(module, place.line), call_at(module, place)
        method = function_at(module, place.line)
        if owner is None or call is None or method is None or method not in owner.body:
            return None
        maker = next((n for n in owner.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
        if maker is None or isinstance(maker.body[-1], ast.Return):
            return None
        known = {f"self.{name}" for name in _attributes(maker)}
        arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
        if any(not names_read(argument) <= known for argument in arguments):
            return None
        if any(isinstance(part, ast.Call | ast.Starred) for argument in arguments for part in ast.walk(argument)):
            return None
        attribute = _free(owner, dotted(call.func).rpartition(".")[2])
        if attribute is None or parents_of(method).get(id(call)) is None:
            return None
        code = f"self.{attribute} = {module.source(call)}"
        return fixes.combine(
            module,
            fixes.insert_statement_after(module, first_line(maker.body[-1]), code, safe=True),
            fixes.replace_expression(module, place, f"self.{attribute}", safe=True),
            description="Build the layer once, in `__init__`.",
        )

    return in_file(place, build)


def _after_super(module: Module, line: int) -> bool:
    """Whether the method has called `super().__init__()` before a line: a module can hold nothing earlier."""
    function = function_at(module, line)
    return function is not None and any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "__init__"
        and node.lineno < line
        for node in ast.walk(function)
    )


def _assigned(module: Module, line: int, attribute: str) -> ast.expr | None:
    """The value of `self.attribute = ...` on a line, where that is all the statement does."""
    located = statement_at(module, line)
    node = located.node if located is not None else None
    if isinstance(node, ast.Assign) and [dotted(target) for target in node.targets] == [f"self.{attribute}"]:
        return node.value
    return None


def _stores(owner: ast.ClassDef, attribute: str) -> list[ast.Attribute]:
    return [node for node in _mentions(owner, attribute) if not isinstance(node.ctx, ast.Load)]


def _mentions(owner: ast.ClassDef, attribute: str) -> list[ast.Attribute]:
    return [node for node in ast.walk(owner) if isinstance(node, ast.Attribute) and node.attr == attribute]


def _used_as_list(owner: ast.ClassDef, attribute: str) -> bool:
    """Whether the class assigns the attribute once, and iterates, indexes or appends otherwise."""
    if len(_stores(owner, attribute)) != 1:
        return False
    parents = parents_of(owner)
    for node in _mentions(owner, attribute):
        if not isinstance(node.ctx, ast.Load):
            continue
        outer = parents.get(id(node))
        if isinstance(outer, ast.For | ast.comprehension) and outer.iter is node:
            continue
        if isinstance(outer, ast.Subscript) and outer.value is node and isinstance(outer.ctx, ast.Load):
            continue
        if isinstance(outer, ast.Call) and node in outer.args and dotted(outer.func) in _CALLS:
            continue
        if isinstance(outer, ast.Attribute) and outer.attr in _LIST_METHODS:
            continue
        return False
    return True


def _attributes(maker: ast.FunctionDef) -> Sequence[str]:
    """Attributes that a method's own block assigns, whatever path it takes."""
    return [
        node.attr
        for statement in maker.body
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        for node in ast.walk(statement)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and dotted(node) == f"self.{node.attr}"
    ]


def _free(owner: ast.ClassDef, cls: str) -> str | None:
    """A name for the layer that the class does not use yet."""
    name = cls.lower()
    taken = {node.attr for node in ast.walk(owner) if isinstance(node, ast.Attribute)}
    taken |= {node.name for node in owner.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    return name if name.isidentifier() and name not in taken and name not in ("train", "eval") else None
