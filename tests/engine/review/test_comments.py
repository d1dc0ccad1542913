"""Review comments and annotations, within what GitHub accepts."""

from __future__ import annotations

import json

from engine.diff import FileDiff
from engine.findings import Edit, Evidence, Finding, Fix, Severity
from engine.presentation.comments import MAX_TITLE, check_annotations, review_comments
from engine.project import Project

TEXT = "".join(f"line{n} = {n}\n" for n in range(1, 41))
PATCH = "@@ -10,2 +10,5 @@\n a\n+b\n+c\n+d\n e\n@@ -30,1 +33,2 @@\n f\n+g\n"
HEAD = Project.from_mapping({"a.py": TEXT})
DIFFS = {"a.py": FileDiff.from_patch("a.py", PATCH)}


def finding(line: int, *edits: Edit, severity: Severity = "error", safe: bool = True, end: int = 0) -> Finding:
    fix = Fix(description="Do `it`.", safe=safe, edits=edits) if edits else None
    return Finding(
        rule="PF101", name="retained-graph", severity=severity, path="a.py", line=line, column=1, end_line=end or line,
        end_column=6, message="keeps `x`", evidence=(Evidence(path="a.py", line=3, message="made here"),), fix=fix,
        fingerprint=f"{line:016x}",
    )  # fmt: skip


def insertion(line: int, text: str) -> Edit:
    return Edit(line=line, column=1, end_line=line, end_column=1, text=text)


def test_comments_stand_only_in_hunks_and_never_for_notes() -> None:
    comments = review_comments([finding(n) for n in range(1, 41)] + [finding(12, severity="note")], HEAD, DIFFS, 25)
    assert [comment.line for comment in comments] == [10, 11, 12, 13, 14, 33, 34]
    assert all(comment.side == "RIGHT" and comment.start_line is None for comment in comments)
    assert "<!-- preflight:finding 000000000000000a -->" in comments[0].body
    assert "1. `a.py:3` made here" in comments[0].body


def test_the_gravest_come_first_and_the_cap_holds() -> None:
    found = [finding(10, severity="warning"), finding(11), finding(12)]
    assert [c.line for c in review_comments(found, HEAD, DIFFS, 2)] == [11, 12]
    assert review_comments(found, HEAD, DIFFS, 0) == []


def test_a_suggestion_replaces_exactly_the_lines_of_its_comment() -> None:
    (comment,) = review_comments([finding(12, insertion(12, "zero_grad()\n"))], HEAD, DIFFS, 25)
    assert (comment.start_line, comment.line) == (None, 12)
    assert "```suggestion\nzero_grad()\nline12 = 12\n```" in comment.body
    swap = Edit(line=11, column=1, end_line=13, end_column=1, text="line12 = 12\nline11 = 11\n")
    (comment,) = review_comments([finding(12, swap)], HEAD, DIFFS, 25)
    assert (comment.start_line, comment.line) == (11, 12)
    assert "```suggestion\nline12 = 12\nline11 = 11\n```" in comment.body
    gone = Edit(line=12, column=1, end_line=13, end_column=1, text="")
    (comment,) = review_comments([finding(12, gone)], HEAD, DIFFS, 25)
    assert "```suggestion\n```" in comment.body


def test_a_fix_outside_the_hunk_or_unsafe_stands_in_words() -> None:
    for fix in (insertion(20, "x\n"), Edit(line=14, column=1, end_line=33, end_column=2, text="x")):
        (comment,) = review_comments([finding(12, fix)], HEAD, DIFFS, 25)
        assert "```" not in comment.body and "Suggested: Do `it`." in comment.body
        assert comment.line == 12
    (comment,) = review_comments([finding(12, insertion(12, "x\n"), safe=False)], HEAD, DIFFS, 25)
    assert "```" not in comment.body


def test_a_finding_over_several_lines_stays_in_one_hunk() -> None:
    (comment,) = review_comments([finding(11, end=13)], HEAD, DIFFS, 25)
    assert (comment.start_line, comment.line) == (11, 13)
    (comment,) = review_comments([finding(13, end=34)], HEAD, DIFFS, 25)
    assert (comment.start_line, comment.line) == (None, 13)


def test_a_fence_is_longer_than_the_backticks_inside() -> None:
    (comment,) = review_comments([finding(12, insertion(12, "x = '''\n````\n'''\n"))], HEAD, DIFFS, 25)
    assert "\n`````suggestion\n" in comment.body


def test_files_without_a_patch_get_annotations_alone() -> None:
    assert review_comments([finding(12)], HEAD, {"a.py": FileDiff.from_patch("a.py", None)}, 25) == []
    assert review_comments([finding(12)], HEAD, {}, 25) == []
    (annotation,) = check_annotations([finding(12)], HEAD)
    assert (annotation.start_line, annotation.start_column, annotation.annotation_level) == (12, 1, "failure")
    assert len(annotation.title) <= MAX_TITLE


def test_annotations_over_lines_have_no_columns_and_notes_are_there() -> None:
    first, second = check_annotations([finding(3, severity="note"), finding(4, end=6)], HEAD)
    assert (first.start_line, first.end_line, first.start_column) == (4, 6, None)
    assert second.annotation_level == "notice"


def test_a_notebook_is_commented_at_the_line_of_its_json() -> None:
    cells = [{"cell_type": "code", "source": ["import torch\n", "for x in y:\n", "    total += loss"]}]
    text = json.dumps({"cells": cells}, indent=1)
    at = next(n for n, line in enumerate(text.split("\n"), 1) if "total" in line)
    head = Project.from_mapping({"nb.ipynb": text})
    patch = f"@@ -{at},0 +{at},1 @@\n+x\n"
    shown = finding(3, insertion(3, "x\n")).model_copy(update={"path": "nb.ipynb#cell=1"})
    (comment,) = review_comments([shown], head, {"nb.ipynb": FileDiff.from_patch("nb.ipynb", patch)}, 25)
    assert (comment.path, comment.line) == ("nb.ipynb", at)
    assert "```suggestion" not in comment.body
    (annotation,) = check_annotations([shown], head)
    assert (annotation.path, annotation.start_line, annotation.start_column) == ("nb.ipynb", at, None)
    assert annotation.message.startswith("Cell 1, line 3")
