"""What one walk over a file's syntax tells: which names are called, and which functions yield."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from engine.project import Module

_WITHOUT_PARTS = frozenset(
    (ast.Name, ast.Constant, ast.Pass, ast.Break, ast.Continue, ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom,
     ast.Load, ast.Store, ast.Del, *ast.operator.__subclasses__(), *ast.unaryop.__subclasses__(),
     *ast.cmpop.__subclasses__(), *ast.boolop.__subclasses__(), str, int, float, complex, bool, bytes, type(None),
     type(...))
)  # fmt: skip
"""Nodes and fields below which nothing is called."""
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_ASKED_OF_MODULES = frozenset(["parameters", "named_parameters"])


@dataclass(frozen=True)
class Outline:
    """`called`: each called name (or name handed on as an argument) with the functions, by node id, that do so; 0 is
    the top level. `generators`: functions and lambdas, by node id, whose own body yields."""

    called: dict[str, set[int]] = field(default_factory=dict)
    generators: set[int] = field(default_factory=set)
    #: Functions, by node id, with the names whose `parameters()` they ask for: modules, from the first line on.
    modules: set[tuple[int, str]] = field(default_factory=set)

    @classmethod
    def of(cls, module: Module) -> Outline:
        """Walk the tree once."""
        outline = cls()
        called, generators = outline.called, outline.generators
        stack: list[tuple[ast.AST, int, int]] = [(module.tree, 0, 0)]
        while stack:
            node, owner, scope = stack.pop()
            kind = type(node)
            if kind is ast.Call:
                assert isinstance(node, ast.Call)
                function = node.func
                if isinstance(function, ast.Name):
                    called.setdefault(function.id, set()).add(owner)
                elif isinstance(function, ast.Attribute):
                    called.setdefault(function.attr, set()).add(owner)
                    if function.attr in _ASKED_OF_MODULES and isinstance(function.value, ast.Name):
                        outline.modules.add((owner, function.value.id))
                for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
                    # A function handed on as an argument is called by whoever takes it.
                    if isinstance(argument, ast.Name):
                        called.setdefault(argument.id, set()).add(owner)
            elif kind in _SCOPES:
                scope = id(node)
                owner = owner if kind is ast.Lambda else scope
            elif kind is ast.ClassDef:
                scope = 0
            elif kind is ast.Yield or kind is ast.YieldFrom:
                generators.add(scope)
            for value in node.__dict__.values():
                kind = type(value)
                if kind is list:
                    stack += [(item, owner, scope) for item in value if type(item) not in _WITHOUT_PARTS]
                elif kind not in _WITHOUT_PARTS:
                    stack.append((value, owner, scope))
        return outline
