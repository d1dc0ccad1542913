"""Base against head: what a change introduces wherever it lands, what it fixes, and what was there before."""

from __future__ import annotations

import difflib

import pytest

from engine.diff import FileDiff
from engine.findings import ReviewReport
from engine.project import Project
from engine.review import review
from engine.settings import Settings

TRAIN = """\
import torch
from torch import nn


def train(model: nn.Module, loader, optimizer):
    total = 0.0
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        total += loss.detach()
    return total
"""
RETAINED = TRAIN.replace("loss.detach()", "loss")
LEAKING = TRAIN.replace("        optimizer.zero_grad()\n", "")


def reviewed(base: dict[str, str], head: dict[str, str], renamed: dict[str, str] | None = None) -> ReviewReport:
    """`renamed` maps head paths to base paths."""
    renamed = renamed or {}
    changed = []
    for path in sorted({*base, *head} - set(renamed.values())):
        old, new = base.get(renamed.get(path, path)), head.get(path)
        if old == new and path not in renamed:
            continue
        patch = "\n".join(difflib.unified_diff((old or "").split("\n"), (new or "").split("\n"), lineterm=""))
        status = "renamed" if path in renamed else "added" if old is None else "removed" if new is None else "modified"
        changed.append(FileDiff.from_patch(path, patch, status, renamed.get(path)))
    settings = Settings(memory=False, ignore=("PF8",))
    return review(Project.from_mapping(base), Project.from_mapping(head), changed=changed, settings=settings)


def names(report: ReviewReport) -> tuple[list[tuple[str, str]], list[tuple[str, str]], int]:
    introduced = [(f.name, f.path) for f in report.introduced if f.severity != "note"]
    fixed = [(f.name, f.path) for f in report.fixed if f.severity != "note"]
    return introduced, fixed, report.existing


def test_a_line_that_brings_a_defect_and_the_way_back() -> None:
    there = reviewed({"train.py": TRAIN}, {"train.py": RETAINED})
    assert names(there) == ([("retained-graph", "train.py")], [], 0)
    assert there.conclusion == "neutral", "advisory, unless a gate is set"
    (comment,) = there.review_comments
    assert comment.line == 12 and "suggestion" in comment.body
    back = reviewed({"train.py": RETAINED}, {"train.py": TRAIN})
    assert names(back) == ([], [("retained-graph", "train.py")], 0)
    assert back.conclusion == "success"


def test_deleting_a_line_makes_a_finding_where_no_line_changed() -> None:
    report = reviewed({"train.py": TRAIN}, {"train.py": LEAKING})
    assert names(report)[0] == [("missing-zero-grad", "train.py")]
    (annotation,) = report.annotations
    assert LEAKING.split("\n")[annotation.start_line - 1].strip() == "loss.backward()"


def test_what_was_there_is_not_said_again_when_lines_move_or_code_around_changes() -> None:
    moved = RETAINED.replace("import torch\n", "import torch\nimport math\n\nSCALE = math.pi\n")
    assert names(reviewed({"train.py": RETAINED}, {"train.py": moved})) == ([], [], 1)
    renamed_function = RETAINED.replace("def train(", "def fit(")
    assert names(reviewed({"train.py": RETAINED}, {"train.py": renamed_function})) == ([], [], 1)
    rewritten = RETAINED.replace("total += loss", "total += loss  # sum")
    assert names(reviewed({"train.py": RETAINED}, {"train.py": rewritten})) == ([], [], 1)


def test_a_renamed_file_and_code_moved_to_another_file_are_not_new() -> None:
    assert names(reviewed({"train.py": RETAINED}, {"fit.py": RETAINED}, {"fit.py": "train.py"})) == ([], [], 1)
    base = {"train.py": RETAINED, "loop.py": "import torch\n"}
    assert names(reviewed(base, {"train.py": "import torch\n", "loop.py": RETAINED})) == ([], [], 1)


def test_editing_a_helper_makes_a_finding_reached_through_its_caller() -> None:
    caller = (
        "import torch\nfrom step import step\n\n\ndef train(model: torch.nn.Module, loader, optimizer):\n"
        "    history = []\n    for inputs, targets in loader:\n        optimizer.zero_grad()\n"
        "        history.append(step(model, inputs, targets, optimizer))\n    return history\n"
    )
    helper = (
        "import torch\n\n\ndef step(model, inputs, targets, optimizer):\n"
        "    loss = torch.nn.functional.cross_entropy(model(inputs), targets)\n    loss.backward()\n"
        "    optimizer.step()\n    return loss.detach()\n"
    )
    base = {"train.py": caller, "step.py": helper}
    report = reviewed(base, {**base, "step.py": helper.replace("loss.detach()", "loss")})
    assert [name for name, _ in names(report)[0]] == ["retained-graph"]


def test_a_copy_of_an_old_defect_is_new() -> None:
    twice = RETAINED + RETAINED.partition("\n\n")[2].replace("def train(", "def train_again(")
    introduced, fixed, existing = names(reviewed({"train.py": RETAINED}, {"train.py": twice}))
    assert (introduced, fixed, existing) == ([("retained-graph", "train.py")], [], 1)


def test_a_changed_file_that_cannot_be_read_is_named_and_not_green() -> None:
    report = reviewed({"train.py": TRAIN}, {"train.py": "import torch\nprint 'hello'\n"})
    assert [failed.path for failed in report.failed] == ["train.py"]
    assert report.conclusion == "neutral"
    assert "not analysed" in report.summary_markdown


def test_a_file_that_could_not_be_read_before_either_is_no_matter_of_a_change_beside_it() -> None:
    base = {"train.py": TRAIN, "old.py": "import torch\nimport train\nprint 'hello'\n"}
    report = reviewed(base, {**base, "train.py": TRAIN + "\n"})
    assert (report.failed, report.conclusion) == ((), "success")
    touched = reviewed(base, {**base, "old.py": base["old.py"] + "\n"})
    assert [failed.path for failed in touched.failed] == ["old.py"]


def test_untrusted_names_do_not_come_alive_in_the_summary() -> None:
    hostile = "@team `x` [a](https://evil.example) <b>.py"
    report = reviewed({hostile: TRAIN}, {hostile: RETAINED})
    assert report.introduced
    assert "@team" not in report.summary_markdown.replace("``", "`").split("`")[0]
    assert "](https" not in report.summary_markdown.partition("``")[0]


def test_a_finding_that_comes_from_a_deleted_line_says_which() -> None:
    filler = "".join(f"        print({number})\n" for number in range(12))
    far = TRAIN.replace("        loss = nn", f"{filler}        loss = nn")
    without = far.replace("        optimizer.zero_grad()\n", "")
    report = reviewed(
        {"train.py": f"# one\n{far}", "other.py": "import os\nprint(1)\n"},
        {"train.py": f"{without}", "other.py": "print(1)\n"},
    )

    (finding,) = [each for each in report.introduced if each.name == "missing-zero-grad"]
    told = finding.evidence[-1]
    assert told.message == "this change deletes `optimizer.zero_grad()` here (line 9 before)"
    assert (told.path, told.line) == ("train.py", 8), "before what is line 8 now"
    (comment,) = report.review_comments
    assert (comment.path, comment.side, comment.line) == ("train.py", "LEFT", 9), "its own line is in no hunk"
    assert "deletes `optimizer.zero_grad()`" in comment.body
    assert "(PF201) at `train.py:21`:" in comment.body, "the comment stands elsewhere than its finding"
    assert "suggestion" not in comment.body.split("\n```")[-1]


def test_a_finding_on_a_line_of_the_change_itself_names_no_deletion() -> None:
    report = reviewed({"train.py": "# gone\n\n" + TRAIN}, {"train.py": RETAINED})
    (finding,) = [each for each in report.introduced if each.name == "retained-graph"]
    assert not any("deletes" in step.message for step in finding.evidence)


def told_of_former_lines(base: str, head: str) -> list[tuple[str, str]]:
    """The rules found, each with what is said of the line that was there before."""
    report = reviewed({"train.py": base}, {"train.py": head})
    said = [(each.name, step.message) for each in report.introduced for step in each.evidence]
    return [(name, message) for name, message in said if message.startswith("this change")]


REPLACED = {
    "by a line that does something else": (
        ("        optimizer.zero_grad()\n", "        print(total)\n"),
        ("missing-zero-grad", "this change replaces `optimizer.zero_grad()` here (line 8 before)"),
    ),
    "by several lines": (
        ("        optimizer.zero_grad()\n", "        inputs = inputs * 2\n        print(total)\n"),
        ("missing-zero-grad", "this change replaces `optimizer.zero_grad()` here (line 8 before)"),
    ),
    "among others": (
        ("        optimizer.zero_grad()\n        loss = nn", "        inputs = inputs * 2\n        loss = 1 * nn"),
        ("missing-zero-grad", "this change replaces `optimizer.zero_grad()` here (line 8 before)"),
    ),
    "by what it was without the guard": (
        ("loss.detach()", "loss"),
        ("retained-graph", "this change replaces `total += loss.detach()` here (line 12 before)"),
    ),
    "by a read that keeps the graph": (
        ("loss.detach()", "loss * 1.0"),
        ("retained-graph", "this change replaces `total += loss.detach()` here (line 12 before)"),
    ),
}


@pytest.mark.parametrize(("change", "told"), REPLACED.values(), ids=REPLACED)
def test_a_line_that_was_replaced_and_held_what_is_missing_is_told(
    change: tuple[str, str], told: tuple[str, str]
) -> None:
    assert told_of_former_lines(TRAIN, TRAIN.replace(*change)) == [told]


def test_the_head_of_a_block_that_was_replaced_is_put_back_over_its_block() -> None:
    evaluation = """

def evaluate(model: nn.Module, loader):
    model.eval()
    with torch.no_grad():
        losses = []
        for inputs, targets in loader:
            losses.append(nn.functional.mse_loss(model(inputs), targets))
    return losses
"""
    before = TRAIN + evaluation

    told = told_of_former_lines(before, before.replace("with torch.no_grad():", "if loader:"))

    assert told == [("retained-graph", "this change replaces `with torch.no_grad():` here (line 18 before)")]


NOT_REPLACED = {
    "the new line adds what is wrong, and the old one lacked nothing": (
        "cross_entropy(model(inputs), targets)",
        "cross_entropy(model(inputs).softmax(dim=-1), targets)",
    ),
    "the finding stands in code that is new as a whole": (
        "        total += loss.detach()\n",
        "        if total < 3:\n            print(total)\n        total += loss\n",
    ),
    "what is missing was never there": ("        total += loss.detach()\n", "        total += 0\n"),
}


@pytest.mark.parametrize("change", NOT_REPLACED.values(), ids=NOT_REPLACED)
def test_a_former_line_that_held_nothing_is_not_named(change: tuple[str, str]) -> None:
    assert told_of_former_lines(TRAIN, TRAIN.replace(*change)) == []


def test_a_suggestion_is_the_line_as_the_file_has_it_whatever_its_ends_and_indents() -> None:
    tabs = TRAIN.replace("    ", "\t")
    endless = TRAIN[: TRAIN.index("    return total")].rstrip()
    for before, line in (
        (TRAIN.replace("\n", "\r\n"), "        total += loss.detach()"),
        (tabs, "\t\ttotal += loss.detach()"),
        (endless, "        total += loss.detach()"),
    ):
        report = reviewed({"train.py": before}, {"train.py": before.replace("loss.detach()", "loss")})
        (comment,) = report.review_comments
        assert f"```suggestion\n{line}\n```" in comment.body
