"""Renaming everything that a program names itself, to names that mean nothing."""

from __future__ import annotations

import ast

# What torch, its frameworks and Python look up by name: a method of the project may carry such a name because something
# outside calls it.
_PROTOCOL = frozenset(
    """
    step zero_grad backward train eval forward update scale item detach to cuda cpu mean sum add
    append training_step validation_step test_step predict_step configure_optimizers
    on_train_epoch_end on_validation_epoch_end log load train_dataloader val_dataloader compute
    reset state_dict load_state_dict parameters automatic_optimization compute_loss args module
    config use_cache loss logits grad data training device shape apply clear pop push fit run test
    validate predict save main values items keys get close index count
    """.split()  # noqa: SIM905
)


class _Defined(ast.NodeVisitor):
    def __init__(self) -> None:
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.kept: set[str] = set()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.names.add(node.name)
        self.attributes.add(node.name)
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            self.names.add(argument.arg)
        self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.names.add(node.name)
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self.names.add(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name) and node.value.id == "self":
            self.attributes.add(node.attr)
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        self.kept.add(node.arg or "")
        self.generic_visit(node)

    def visit_alias(self, node: ast.alias) -> None:
        self.kept.add((node.asname or node.name).partition(".")[0])

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.generic_visit(node)

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        self.kept |= set(node.names)

    visit_Nonlocal = visit_Global  # type: ignore[assignment]


class _Renamer(ast.NodeTransformer):
    def __init__(self, names: dict[str, str], attributes: dict[str, str]) -> None:
        self.names, self.attributes = names, attributes

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        table = self.attributes if node.name in self.attributes else self.names
        node.name = table.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self.names.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self.names.get(node.arg, node.arg)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        node.attr = self.attributes.get(node.attr, node.attr)
        return self.generic_visit(node)


def renamed(text: str) -> str:
    """The program with meaningless names for its variables, attributes, functions and classes."""
    tree = ast.parse(text)
    defined = _Defined()
    defined.visit(tree)
    kept = defined.kept | _PROTOCOL | {"self", "cls", "super", "_"}

    def usable(name: str) -> bool:
        return name not in kept and not name.startswith("__")

    both = defined.names | defined.attributes
    table = {name: f"n{number}" for number, name in enumerate(sorted(both)) if usable(name)}
    return ast.unparse(
        _Renamer(
            {name: new for name, new in table.items() if name in defined.names},
            {name: new for name, new in table.items() if name in defined.attributes},
        ).visit(tree)
    )
