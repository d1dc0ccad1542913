"""A suggestion block, applied as GitHub does it, makes of the file what the fix intends, and touches nothing else."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from engine.diff import FileDiff
from engine.findings import Edit, Finding, Fix, ReviewComment, ReviewReport
from engine.fixes.applying import apply_edits
from engine.presentation.comments import review_comments
from engine.project import Project
from engine.review import review
from engine.settings import Settings

TRAIN = """\
import torch
from torch import nn


def train(model: nn.Module, loader, optimizer):
    history = []
    total = 0.0
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        total += loss.detach()
    return total
"""
LAST = TRAIN[: TRAIN.index("    return total")]


def patch(before: str, after: str) -> str:
    """The patch as GitHub gives it: lines end at line feeds alone."""
    return "\n".join(difflib.unified_diff(before.split("\n"), after.split("\n"), lineterm=""))


def reviewed(before: str, after: str) -> ReviewReport:
    return review(
        Project.from_mapping({"train.py": before.encode()}),
        Project.from_mapping({"train.py": after.encode()}),
        changed=[FileDiff.from_patch("train.py", patch(before, after))],
        settings=Settings(memory=False, ignore=("PF8",)),
    )


def suggested(body: str) -> list[str]:
    """The lines of a comment's suggestion block, as a Markdown reader finds them."""
    blocks = [token.content for token in MarkdownIt("commonmark").parse(body) if token.info.strip() == "suggestion"]
    assert len(blocks) == 1, body
    return blocks[0].removesuffix("\n").split("\n") if blocks[0] else []


def taken(file: str, comment: ReviewComment) -> str:
    """The file after GitHub's button: the comment's lines give way to the block's, which end as the file's do."""
    lines = file.split("\n")
    first, last = (comment.start_line or comment.line) - 1, comment.line
    end = line_end(file)[:-1]
    block = [line + end for line in suggested(comment.body)]
    if last == len(lines) and block:
        block[-1] = block[-1].removesuffix(end)
    return "\n".join([*lines[:first], *block, *lines[last:]])


def intended(file: str, finding: Finding) -> str:
    assert finding.fix is not None
    end = line_end(file)
    return apply_edits(file.replace(end, "\n"), finding.fix.edits).replace("\n", end)


def line_end(file: str) -> str:
    first = file.partition("\n")[0]
    return first[len(first.rstrip("\r")) :] + "\n"


LEAK = ("loss.detach()", "loss")
BUGS = {
    "plain": (TRAIN, TRAIN.replace(*LEAK)),
    "carriage returns": (TRAIN.replace("\n", "\r\n"), TRAIN.replace(*LEAK).replace("\n", "\r\n")),
    "carriage returns that a bad copy doubled": (
        TRAIN.replace("\n", "\r\r\n"),
        TRAIN.replace(*LEAK).replace("\n", "\r\r\n"),
    ),
    "tabs": (TRAIN.replace("    ", "\t"), TRAIN.replace(*LEAK).replace("    ", "\t")),
    "the last line": (LAST, LAST.replace(*LEAK)),
    "the last line, which does not end": (LAST.rstrip("\n"), LAST.replace(*LEAK).rstrip("\n")),
    "the last line of carriage returns, which does not end": (
        LAST.replace("\n", "\r\n").rstrip(),
        LAST.replace(*LEAK).replace("\n", "\r\n").rstrip(),
    ),
    "several lines": (
        TRAIN.replace("loss.detach()", "(\n            loss.detach()\n        )"),
        TRAIN.replace("loss.detach()", "(\n            loss\n        )"),
    ),
    "backticks": (
        TRAIN.replace("loss.detach()", "loss.detach()  # ``` and ```` of `it`"),
        TRAIN.replace("loss.detach()", "loss  # ``` and ```` of `it`"),
    ),
    "marks from right to left": (
        TRAIN.replace("loss.detach()", "loss.detach()  # \u202eתירבע\u202c \u2066x\u2069"),
        TRAIN.replace("loss.detach()", "loss  # \u202eתירבע\u202c \u2066x\u2069"),
    ),
    "wide characters before it": (
        TRAIN.replace("total += loss.detach()", 'label = "🔥é漢"; total += loss.detach()'),
        TRAIN.replace("total += loss.detach()", 'label = "🔥é漢"; total += loss'),
    ),
    "blanks at the end": (
        TRAIN.replace("loss.detach()", "loss.detach()   "),
        TRAIN.replace("loss.detach()", "loss   "),
    ),
    "a mark at the file's beginning": ("\ufeff" + TRAIN, "\ufeff" + TRAIN.replace(*LEAK)),
    "a form feed": (TRAIN.replace("\n\ndef", "\n\x0c\ndef"), TRAIN.replace(*LEAK).replace("\n\ndef", "\n\x0c\ndef")),
    "separators that end no line": (
        TRAIN.replace("loss.detach()", "loss.detach()  # \u2028\x0b\x1c\x85"),
        TRAIN.replace("loss.detach()", "loss  # \u2028\x0b\x1c\x85"),
    ),
    "HTML": (
        TRAIN.replace("loss.detach()", "loss.detach()  # </details> <!-- --> @octocat &amp;"),
        TRAIN.replace("loss.detach()", "loss  # </details> <!-- --> @octocat &amp;"),
    ),
}


@pytest.mark.parametrize(("before", "after"), BUGS.values(), ids=BUGS)
def test_a_suggestion_that_is_taken_makes_the_file_what_the_fix_intends(before: str, after: str) -> None:
    report = reviewed(before, after)
    (comment,) = report.review_comments
    (finding,) = [each for each in report.introduced if each.severity != "note"]

    result = taken(after, comment)

    assert result == intended(after.removeprefix("\ufeff"), finding) or result == "\ufeff" + intended(
        after.removeprefix("\ufeff"), finding
    )
    assert result != after
    assert not [each for each in reviewed(before, result).introduced if each.severity != "note"]


def test_a_comment_too_long_for_its_suggestion_gives_it_in_words() -> None:
    report = reviewed(*BUGS["plain"])
    (finding,) = [each for each in report.introduced if each.severity != "note"]
    long = finding.model_copy(update={"message": "word " * 13_080})
    diffs = {"train.py": FileDiff.from_patch("train.py", patch(*BUGS["plain"]))}

    (comment,) = review_comments([long], Project.from_mapping({"train.py": BUGS["plain"][1]}), diffs, 25)

    assert len(comment.body) <= 65_536
    assert "```suggestion" not in comment.body
    assert finding.fingerprint in comment.body


LINE = st.text(alphabet="ab `~\t\u202e\u2028\x0c<>&@#-", max_size=12) | st.sampled_from(
    ["```", "````suggestion", "~~~", "    ```", "<!-- preflight:finding 0 -->", "</details>", ""]
)


@given(
    before=st.lists(LINE, min_size=3, max_size=9),
    first=st.integers(0, 8),
    count=st.integers(0, 4),
    new=st.lists(LINE, min_size=1, max_size=4),
    newline=st.sampled_from(["\n", "\r\n"]),
    ends=st.booleans(),
)
def test_whatever_stands_in_the_lines_the_block_holds_them_as_they_are(
    before: list[str], first: int, count: int, new: list[str], newline: str, ends: bool
) -> None:
    first = min(first, len(before) - 1)
    last = min(first + count, len(before) - 1)
    lines = ['x = r"""', *before, '"""']
    file = newline.join(lines) + (newline if ends else "")
    edit = Edit(line=first + 2, column=1, end_line=last + 2, end_column=len(before[last]) + 1, text="\n".join(new))
    finding = Finding(
        rule="PF101", name="retained-graph", severity="error", path="a.py", line=first + 2, column=1,
        end_line=first + 2, end_column=1, message="m", fix=Fix(description="d", safe=True, edits=(edit,)),
        fingerprint="0" * 16,
    )  # fmt: skip
    added = "\n".join(f"+{line}" for line in lines)
    whole = FileDiff.from_patch("a.py", f"@@ -0,0 +1,{len(lines)} @@\n{added}")

    (comment,) = review_comments([finding], Project.from_mapping({"a.py": file.encode()}), {"a.py": whole}, 25)

    if comment.body.startswith("🛑 **retained-graph** (PF101): m\n\nd\n\n"):
        assert taken(file, comment) == intended(file, finding)
    else:
        assert new == before[first : last + 1], "nothing is suggested only where nothing changes"
