"""Which names a function, class or comprehension binds, captures and shares, as Python's symbol table decides."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
ComprehensionNode = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
ScopeNode = ast.Module | ast.ClassDef | FunctionNode | ComprehensionNode


@dataclass(eq=False)
class Scope:
    """One namespace. `cells` are its own names that inner functions capture; `free` are captured from outside."""

    node: ScopeNode
    kind: str
    parent: Scope | None
    bound: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)
    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)
    children: list[Scope] = field(default_factory=list)
    cells: set[str] = field(default_factory=set)
    free: set[str] = field(default_factory=set)
    is_generator: bool = False

    def is_local(self, name: str) -> bool:
        """Whether a plain local variable of this scope (not shared with an inner function)."""
        return name in self.bound and name not in self.cells and name not in self.globals and name not in self.free

    def is_shared(self, name: str) -> bool:
        """Whether it lives in a cell."""
        return name in self.cells or name in self.free


def analyse(tree: ast.Module) -> dict[ast.AST, Scope]:
    """Scope of the module and of every function, class and comprehension in it, by node."""
    scopes: dict[ast.AST, Scope] = {}
    root = Scope(tree, "module", None)
    scopes[tree] = root
    for statement in tree.body:
        _visit(statement, root, scopes)
    _resolve(root)
    return scopes


def _open(node: ScopeNode, kind: str, parent: Scope, scopes: dict[ast.AST, Scope]) -> Scope:
    scope = Scope(node, kind, parent)
    scopes[node] = scope
    parent.children.append(scope)
    return scope


def _arguments(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from arguments.posonlyargs
    yield from arguments.args
    if arguments.vararg:
        yield arguments.vararg
    yield from arguments.kwonlyargs
    if arguments.kwarg:
        yield arguments.kwarg


_OPERATORS = (ast.boolop, ast.operator, ast.unaryop, ast.cmpop)
_PLAIN: frozenset[type] = frozenset(
    set[type]((type(None), str, int, bool, float, complex, bytes, type(...))).union(
        (ast.Constant, ast.Pass, ast.Break, ast.Continue, ast.Load, ast.Store, ast.Del),
        (kind for group in _OPERATORS for kind in group.__subclasses__()),
    )
)
"""What stands in the fields of nodes and neither binds nor uses a name."""


def _visit(node: ast.AST, scope: Scope, scopes: dict[ast.AST, Scope]) -> None:
    # Every node of every file that a run imports comes through here: a table of the few kinds that matter, no
    # generators.
    handle = _HANDLERS.get(type(node))
    if handle is not None and handle(node, scope, scopes):
        return
    for name in node._fields:
        value: Any = getattr(node, name, None)
        kind = type(value)
        if kind is list:
            for item in value:
                if type(item) not in _PLAIN:
                    _visit(item, scope, scopes)
        elif kind not in _PLAIN:
            _visit(value, scope, scopes)


def _visit_name(node: ast.Name, scope: Scope, scopes: dict[ast.AST, Scope]) -> bool:
    if type(node.ctx) is ast.Load:
        scope.used.add(node.id)
    else:
        scope.bound.add(node.id)
    if node.id == "super":
        scope.used.add("__class__")
    return True


def _visit_class(node: ast.ClassDef, scope: Scope, scopes: dict[ast.AST, Scope]) -> bool:
    scope.bound.add(node.name)
    for outer in (*node.decorator_list, *node.bases, *node.keywords):
        _visit(outer, scope, scopes)
    inner = _open(node, "class", scope, scopes)
    for statement in node.body:
        _visit(statement, inner, scopes)
    return True


def _visit_walrus(node: ast.NamedExpr, scope: Scope, scopes: dict[ast.AST, Scope]) -> bool:
    owner = scope
    while owner.kind == "comprehension" and owner.parent is not None:
        owner = owner.parent
    owner.bound.add(node.target.id)
    if owner is not scope:
        scope.used.add(node.target.id)
    _visit(node.value, scope, scopes)
    return True


def _visit_declaration(node: ast.Global | ast.Nonlocal, scope: Scope, scopes: dict[ast.AST, Scope]) -> bool:
    (scope.globals if isinstance(node, ast.Global) else scope.nonlocals).update(node.names)
    return True


def _visit_import(node: ast.Import | ast.ImportFrom, scope: Scope, scopes: dict[ast.AST, Scope]) -> bool:
    for alias in node.names:
        scope.bound.add(alias.asname or alias.name.split(".")[0])
    return True


def _bind_own_name(
    node: ast.ExceptHandler | ast.MatchAs | ast.MatchStar, scope: Scope, scopes: dict[ast.AST, Scope]
) -> bool:
    if node.name:
        scope.bound.add(node.name)
    return False


def _bind_rest(node: ast.MatchMapping, scope: Scope, scopes: dict[ast.AST, Scope]) -> bool:
    if node.rest:
        scope.bound.add(node.rest)
    return False


def _mark_generator(node: ast.expr, scope: Scope, scopes: dict[ast.AST, Scope]) -> bool:
    scope.is_generator = True
    return False


def _visit_function(node: FunctionNode, scope: Scope, scopes: dict[ast.AST, Scope]) -> bool:
    if not isinstance(node, ast.Lambda):
        scope.bound.add(node.name)
        for decorator in node.decorator_list:
            _visit(decorator, scope, scopes)
        if node.returns is not None:
            _visit(node.returns, scope, scopes)
    for default in (*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)):
        _visit(default, scope, scopes)
    inner = _open(node, "function", scope, scopes)
    for argument in _arguments(node.args):
        inner.bound.add(argument.arg)
        if argument.annotation is not None:
            _visit(argument.annotation, scope, scopes)
    for statement in [node.body] if isinstance(node, ast.Lambda) else node.body:
        _visit(statement, inner, scopes)
    return True


def _visit_comprehension(node: ComprehensionNode, scope: Scope, scopes: dict[ast.AST, Scope]) -> bool:
    # The first iterable is evaluated outside; everything else inside.
    _visit(node.generators[0].iter, scope, scopes)
    inner = _open(node, "comprehension", scope, scopes)
    for index, generator in enumerate(node.generators):
        if index:
            _visit(generator.iter, inner, scopes)
        _visit(generator.target, inner, scopes)
        for condition in generator.ifs:
            _visit(condition, inner, scopes)
    for part in [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]:
        _visit(part, inner, scopes)
    return True


_HANDLERS: dict[type[ast.AST], Callable[..., bool]] = {
    ast.Name: _visit_name,
    ast.ClassDef: _visit_class,
    ast.NamedExpr: _visit_walrus,
    **dict.fromkeys((ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda), _visit_function),
    **dict.fromkeys((ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp), _visit_comprehension),
    **dict.fromkeys((ast.Global, ast.Nonlocal), _visit_declaration),
    **dict.fromkeys((ast.Import, ast.ImportFrom), _visit_import),
    **dict.fromkeys((ast.ExceptHandler, ast.MatchAs, ast.MatchStar), _bind_own_name),
    ast.MatchMapping: _bind_rest,
    **dict.fromkeys((ast.Yield, ast.YieldFrom), _mark_generator),
}
"""What binds, uses or opens a scope. True: the parts of the node have been seen to."""


def _resolve(scope: Scope) -> None:
    names = (scope.used | scope.nonlocals) - (scope.bound - scope.nonlocals) - scope.globals
    if scope.kind == "class":
        # A class body reads an enclosing function's variable only where it does not bind it; reading both is rare.
        names = (scope.used | scope.nonlocals) - scope.globals
    if scope.kind != "module":
        for name in names:
            _capture(scope, name)
    for child in scope.children:
        _resolve(child)


def _capture(scope: Scope, name: str) -> None:
    """Make `name` reach this scope from the enclosing function (or class, for `__class__`) that binds it."""
    passed = [scope]
    owner = scope.parent
    while owner is not None and owner.kind != "module":
        if owner.kind == "class":
            if name == "__class__":
                owner.cells.add(name)
                break
        elif name in owner.globals:
            return
        elif name in owner.bound and name not in owner.nonlocals:
            owner.cells.add(name)
            break
        passed.append(owner)
        owner = owner.parent
    else:
        return
    for inner in passed:
        inner.free.add(name)
