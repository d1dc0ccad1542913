"""Comments that silence findings, and what they cover."""

from __future__ import annotations

from engine.project import Project, Suppression


def suppressions(text: str) -> list[Suppression]:
    return list(Project.from_mapping({"a.py": text}).module("a.py").suppressions)


def test_a_comment_behind_code_covers_its_whole_statement() -> None:
    (found,) = suppressions("x = f(\n    loss,\n)  # preflight: ignore[retained-graph] on purpose\ny = 1\n")
    assert (found.first_line, found.last_line, found.reason) == (1, 3, "on purpose")
    assert found.covers("PF101", "retained-graph", 2)
    assert not found.covers("PF101", "retained-graph", 4)
    assert not found.covers("PF102", "other", 2)


def test_a_comment_on_its_own_line_covers_the_next_statement() -> None:
    (found,) = suppressions("x = 1\n# preflight: ignore[PF101, stuck-in-eval]\n\nloss.backward()\n")
    assert found.covers("PF101", "retained-graph", 4)
    assert found.covers("PF107", "stuck-in-eval", 4)
    assert not found.covers("PF101", "retained-graph", 1)


def test_whole_file_bare_and_noqa() -> None:
    text = "# preflight: ignore-file[PF101]\nx = 1  # preflight: ignore\ny = 1  # noqa: E501, PF102\nz = 1  # noqa\n"
    whole, bare, noqa = suppressions(text)
    assert whole.covers("PF101", "a", 400)
    assert not whole.covers("PF102", "a", 400)
    assert bare.covers("PF999", "anything", 2)
    assert noqa.rules == {"pf102"}


def test_text_in_strings_is_no_suppression() -> None:
    assert suppressions('x = "# preflight: ignore"\n') == []
