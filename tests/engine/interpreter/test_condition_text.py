"""The text of a condition, by which the interpreter knows it again."""

import ast

import pytest

from engine.interpreter.guards import plain_text

CONDITIONS = (
    "rank", "self.args.rank == 0", "step % 10 == 0", "a is not None", "x in (1, 2)", "isinstance(model, nn.Module)",
    "f(a, b=c)", "f(*a)", "not done", "-1 < x <= 2", "(a == b) == c", "(a == b).all()", "'x' in names", "f(a == b)",
    "1 .real", "values[0] > 1", "(yield)", "f()(x).y", "True is x",
)  # fmt: skip


@pytest.mark.parametrize("text", CONDITIONS)
def test_a_plain_condition_reads_as_unparsed(text: str) -> None:
    node = ast.parse(text, mode="eval").body
    assert plain_text(node) in ("", ast.unparse(node))


def test_most_conditions_are_plain() -> None:
    assert [text for text in CONDITIONS if plain_text(ast.parse(text, mode="eval").body)] == [
        "rank", "self.args.rank == 0", "a is not None", "isinstance(model, nn.Module)", "f(a == b)", "f()(x).y",
        "True is x",
    ]  # fmt: skip
