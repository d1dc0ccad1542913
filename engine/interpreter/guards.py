"""Conditions as guards: one text for a condition and its negation, and what it is about."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from engine.trace.places import Guard, Place
from engine.trace.values import Value

#: Attributes and environment variables that libraries define to name a rank. They are facts of those libraries.
RANK_ATTRIBUTES = frozenset(
    [
        "is_main_process",
        "is_local_main_process",
        "is_global_zero",
        "is_world_process_zero",
        "is_local_process_zero",
        "global_rank",
        "local_rank",
        "process_index",
        "local_process_index",
        "rank",
        "is_master",
        "is_rank_zero",
    ]
)
LOCAL_RANK_ATTRIBUTES = frozenset(
    ["is_local_main_process", "local_rank", "local_process_index", "is_local_process_zero"]
)
RANK_VARIABLES = {
    "RANK": "rank",
    "LOCAL_RANK": "local-rank",
    "SLURM_PROCID": "rank",
    "SLURM_LOCALID": "local-rank",
    "WORLD_SIZE": "world-size",
}


def normalised(node: ast.expr) -> tuple[ast.expr, bool]:
    """The condition without its outer negations, and whether it was positive."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner, positive = normalised(node.operand)
        return inner, not positive
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        opposite = {ast.NotEq: ast.Eq, ast.IsNot: ast.Is, ast.NotIn: ast.In}.get(type(node.ops[0]))
        if opposite is not None:
            return ast.Compare(node.left, [opposite()], node.comparators), False
    return node, True


def modulo_divisor(node: ast.expr) -> str:
    """The divisor n where the condition tests `i % n`, else ""."""
    if isinstance(node, ast.Name):
        return ""
    for part in ast.walk(node):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Mod) and not isinstance(part.left, ast.Constant):
            return ast.unparse(part.right)
        if isinstance(part, ast.BoolOp | ast.Call):
            # `a and i % n == 0` gates as well; `a or i % n == 0` only mostly.
            continue
    return ""


@dataclass(frozen=True, slots=True)
class Condition:
    """What a condition's syntax says: its text without outer negations, whether it was positive, and the divisor that
    it tests a remainder of."""

    node: ast.expr
    text: str
    positive: bool
    divisor: str

    @classmethod
    def of(cls, test: ast.expr, place: Place) -> Condition:
        """Read a condition."""
        inner, positive = normalised(test)
        try:
            text = plain_text(inner) or ast.unparse(inner)
        except (RecursionError, ValueError):
            text = f"{place.line}:{place.column}"
        return cls(test, text, positive, modulo_divisor(test))

    def guard(self, value: Value, place: Place) -> Guard:
        """The guard of the branch where the condition holds; `value` is what it evaluated to."""
        divisor = value.divisor or self.divisor
        kinds = value.about | {"modulo"} if divisor else value.about
        # `accumulating = i % n != 0`: what is known of the value holds for the name without its negation.
        named = isinstance(normalised(self.node)[0], ast.Name | ast.Attribute)
        remainder = bool(divisor) and named and ("remainder" in kinds) is self.positive
        kinds = kinds | {"remainder"} if remainder else kinds - {"remainder"}
        return Guard(place, self.text, self.positive, _of_outcome(kinds, self.positive), divisor)


def names_rank(test: ast.expr) -> bool:
    """Whether a condition asks for a rank by one of the names that libraries give it."""
    return any(
        (isinstance(part, ast.Name) and part.id in RANK_ATTRIBUTES)
        or (isinstance(part, ast.Attribute) and part.attr in RANK_ATTRIBUTES)
        for part in ast.walk(test)
    )


def negated(guard: Guard, early: bool = False) -> Guard:
    kinds = _of_outcome(guard.kinds, not guard.holds)
    return Guard(guard.place, guard.text, not guard.holds, kinds, guard.divisor, early)


def _of_outcome(kinds: frozenset[str], holds: bool) -> frozenset[str]:
    """`a or rank != 0` lets others pass too; where it does not hold, one rank is left."""
    if "rank-where-not" not in kinds:
        return kinds
    return kinds - {"rank"} if holds else kinds | {"rank"}


def counts_rounds(node: ast.If) -> bool:
    """Whether the branch is taken when a counter has reached a number, and starts the counter again."""
    test = node.test
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq | ast.GtE):
        return False
    if not isinstance(test.left, ast.Name | ast.Attribute):
        return False
    counter = ast.dump(test.left)
    for statement in node.body:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Constant):
            continue
        names = [ast.dump(target).replace("Store()", "Load()") for target in statement.targets]
        if statement.value.value == 0 and statement.value.value is not False and counter in names:
            return True
    return False


_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip


def plain_text(node: ast.expr) -> str:
    """What `ast.unparse` gives for names, attributes, comparisons and calls of these, ten times sooner; else ""."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = "" if isinstance(node.value, ast.Constant | ast.Compare) else plain_text(node.value)
        return owner and f"{owner}.{node.attr}"
    if isinstance(node, ast.Constant):
        value = node.value
        return repr(value) if value is None or type(value) in (bool, int) else ""
    if isinstance(node, ast.Compare):
        parts = [plain_text(each) for each in (node.left, *node.comparators)]
        if not all(parts) or any(isinstance(each, ast.Compare) for each in (node.left, *node.comparators)):
            return ""
        rest = (f" {_COMPARISONS[type(op)]} {part}" for op, part in zip(node.ops, parts[1:], strict=True))
        return parts[0] + "".join(rest)
    if isinstance(node, ast.Call) and not node.keywords:
        function = "" if isinstance(node.func, ast.Constant | ast.Compare) else plain_text(node.func)
        given = [plain_text(each) for each in node.args]
        return f"{function}({', '.join(given)})" if function and all(given) else ""
    return ""
