"""Statements that are moved take their comments along, and leave everything else as it was."""

from __future__ import annotations

from textwrap import dedent

import pytest

from engine import fixes
from engine.project import Module, Project


def module(source: str) -> Module:
    return Project.from_mapping({"a.py": dedent(source).lstrip("\n")}).module("a.py")


def line_of(file: Module, code: str) -> int:
    return next(number for number, line in enumerate(file.lines, 1) if code in line)


def moved(source: str, code: str, before: str = "", after: str = "") -> str:
    file = module(source)
    move = fixes.move_statement_before if before else fixes.move_statement_after
    fix = move(file, line_of(file, code), line_of(file, before or after))
    assert fix is not None
    return fixes.applied(file.text, fix)


def test_comments_go_along_and_empty_lines_stay() -> None:
    before = """
        for x in y:
            loss.backward()

            # Gradients are new in each step.
            opt.zero_grad()  # to None

            # The step.
            opt.step()
        """
    after = """
        for x in y:
            loss.backward()

            # The step.
            opt.step()
            # Gradients are new in each step.
            opt.zero_grad()  # to None
        """
    assert moved(before, "opt.zero_grad()", after="opt.step()") == dedent(after).lstrip("\n")


def test_a_statement_moved_into_a_deeper_block_is_indented_with_its_own_lines() -> None:
    before = """
        for i, x in enumerate(y):
        \tclip(
        \t\tnet,  # all of it
        \t)
        \tif i % 4 == 0:
        \t\topt.step()
        """
    after = """
        for i, x in enumerate(y):
        \tif i % 4 == 0:
        \t\tclip(
        \t\t\tnet,  # all of it
        \t\t)
        \t\topt.step()
        """
    assert moved(before, "clip(", before="opt.step()") == dedent(after).lstrip("\n")


@pytest.mark.parametrize(
    "source",
    [
        "try:\n    pass\nexcept E:\n    a()\n    b()\nelse:\n    pass\n",
        "try:\n    pass\nfinally:\n    a()\n    b()\n",
        "if x:\n    pass\nelif y:\n    pass\nelif z:\n    a()\n    b()\n",
        "if x:\n    pass\nelse:\n    a()\n    b()\n",
        "for x in y:\n    pass\nelse:\n    a()\n    b()\n",
        "match x:\n    case 1:\n        pass\n    case _:\n        a()\n        b()\n",
        "class A:\n    @d\n    async def f(self):\n        async with x:\n            a()\n            b()\n",
        "x = 1; y = 2\na()\nb()",
    ],
)
def test_every_kind_of_block(source: str) -> None:
    result = moved(source, "a()", after="b()")
    assert [line.strip() for line in result.splitlines()] == [
        {"a()": "b()", "b()": "a()"}.get(line.strip(), line.strip()) for line in source.splitlines()
    ]


def test_the_last_statement_of_a_block_leaves_a_pass() -> None:
    source = "for x in y:\n    if x:\n        a()\nb()\n"
    assert moved(source, "a()", before="b()") == "for x in y:\n    if x:\n        pass\na()\nb()\n"


def test_wrapping_leaves_the_comment_above_and_text_in_strings() -> None:
    file = module('x = 1\n\n# Evaluate.\nfor x in y:\n    print("""\n  kept\n""")\n')
    fix = fixes.wrap_with(file, 4, 4, "torch.no_grad()")
    assert fix is not None
    assert fixes.applied(file.text, fix) == (
        'x = 1\n\n# Evaluate.\nwith torch.no_grad():\n    for x in y:\n        print("""\n  kept\n""")\n'
    )


def test_the_last_line_may_lack_its_newline() -> None:
    file = module("a = 1\nb = 2")
    fix = fixes.insert_statement_after(file, 2, "c = 3")
    assert fix is not None
    assert fixes.applied(file.text, fix) == "a = 1\nb = 2\nc = 3"


def test_a_file_that_libcst_cannot_read_gets_no_such_fix() -> None:
    file = module("x = 1\ny = 2\n")
    assert fixes.move_statement_after(file, 1, 1) is None
    assert fixes.insert_statement_after(file, 1, "z = = 3") is None
