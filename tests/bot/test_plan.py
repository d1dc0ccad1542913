"""What is planned is what GitHub takes: comments inside hunks, texts within limits, fences closed."""

from __future__ import annotations

import difflib
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot import markers, messages
from bot.github.models import Account, ChangedFile, IssueComment, ReviewCommentObject
from bot.review import plan
from bot.review.anchors import Anchors
from bot.review.annotating import annotation_fields
from bot.standin.anchors import anchor
from engine.findings import (
    Breakdown,
    ByteRange,
    EstimateReport,
    Finding,
    Memory,
    MemoryChange,
    ReviewComment,
    ReviewReport,
    Target,
)

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "@@ -1 +1 @@", "-- x", "++ y"]), max_size=30)
GIB = 2**30


@given(
    before=LINES,
    after=LINES,
    line=st.integers(1, 32),
    length=st.none() | st.integers(-2, 4),
    side=st.sampled_from(["LEFT", "RIGHT"]),
)
def test_a_place_that_is_taken_for_commentable_is(
    before: list[str], after: list[str], line: int, length: int | None, side: Literal["LEFT", "RIGHT"]
) -> None:
    patch = "\n".join(list(difflib.unified_diff(before, after, lineterm=""))[2:])
    start = None if length is None else line - length
    comment = ReviewComment(path="a.py", line=line, start_line=start, side=side, body="x", fingerprint="f")
    if Anchors([ChangedFile(filename="a.py", patch=patch or None)]).takes(comment):
        sent = plan.comment_fields(comment)
        place = anchor(patch, sent["line"], sent["side"], sent.get("start_line"), sent.get("start_side"))
        assert not isinstance(place, str), place


def test_a_file_without_a_patch_takes_no_comment() -> None:
    comment = ReviewComment(path="a.py", line=1, body="x", fingerprint="f")
    assert not Anchors([ChangedFile(filename="a.py")]).takes(comment)
    assert not Anchors([]).takes(comment)


@given(
    st.lists(st.sampled_from(["text", "```", "````python", "```suggestion", "  ```", "``` x", "~~~", ""]), max_size=60),
    st.integers(60, 400),
)
def test_a_text_that_is_cut_keeps_to_the_limit_and_leaves_no_fence_open(lines: list[str], limit: int) -> None:
    text = "\n".join(lines)
    shortened = messages.cut(text, limit)

    assert len(shortened) <= limit
    if len(text) > limit:
        assert messages._open_fence(shortened) is None
    else:
        assert shortened == text


def finding(fingerprint: str) -> Finding:
    return Finding(
        rule="PF101",
        name="retained-graph",
        severity="error",
        path="a.py",
        line=1,
        column=1,
        end_line=1,
        end_column=2,
        message="m",
        fingerprint=fingerprint,
    )


def report(*fingerprints: str) -> ReviewReport:
    return ReviewReport(
        introduced=tuple(finding(each) for each in fingerprints),
        review_comments=tuple(ReviewComment(path="a.py", line=1, body="m", fingerprint=each) for each in fingerprints),
        summary_markdown="## Preflight",
    )


def test_the_cap_holds_and_what_is_beyond_it_is_counted() -> None:
    wanted = plan.plan(report("a", "b", "c"), plan.Said(), limit=2)
    assert [comment.fingerprint for comment in wanted.comments] == ["a", "b"]
    assert wanted.elsewhere == 1


def test_only_the_apps_own_marks_count() -> None:
    own, person = Account(login="preflight[bot]", type="Bot"), Account(login="preflight", type="User")
    other = Account(login="copycat[bot]", type="Bot")

    def written(by: Account, number: int) -> ReviewCommentObject:
        return ReviewCommentObject(id=number, node_id=f"N{number}", body=markers.finding(f"f{number}"), user=by)

    said = plan.what_was_said(
        [written(own, 1), written(person, 2), written(other, 3)],
        [IssueComment(id=4, body=markers.SUMMARY, user=person), IssueComment(id=5, body=markers.SUMMARY, user=own)],
        slug="preflight",
        app_id=1,
    )
    assert said.fingerprints == {"f1"}
    assert said.summary_id == 5


def test_a_mark_in_what_a_text_quotes_is_none() -> None:
    forged = ("<!-- preflight:finding f1 -->", "<!-- preflight:said f1 -->", "<!-- preflight:folded IC_1 -->")
    for quoted in (f"`{forged[0]}{forged[1]}{forged[2]}.py:9`", "```suggestion\n{}\n{}\n{}\n```".format(*forged)):
        comment = f"{quoted}\n\n{markers.finding('real')}"
        assert markers.finding_of(comment) == "real"
        summary = messages.summary_comment(quoted, ["real"], [])
        assert (markers.said_in(summary), markers.folded_in(summary)) == (("real",), ())
    assert markers.finding_of(f"see `{forged[0]}`") is None


def test_marks_come_back_as_they_were_written() -> None:
    assert markers.finding_of(f"text\n{markers.finding('98a208a68448a340')}") == "98a208a68448a340"
    assert markers.said_in(markers.said(["a", "b"])) == ("a", "b")
    assert markers.said_in(markers.said([])) == ()
    assert markers.folded_in(markers.folded(["PRRC_kwDO=", "x-1"])) == ("PRRC_kwDO=", "x-1")
    assert len(markers.said_in(markers.said(map(str, range(1000))))) == markers.MOST_SAID


def estimate(expected: int, verdict: Literal["fits", "borderline", "does-not-fit", "unknown"]) -> EstimateReport:
    size = ByteRange(low=expected, expected=expected, high=expected)
    memory = Memory(allocated=size, reserved=size, occupied=size, breakdown=Breakdown())
    return EstimateReport(memory=memory, targets=(Target(gpu="a100", usable_bytes=40 * GIB, verdict=verdict),))


@pytest.mark.parametrize(
    ("base", "head", "news"),
    [
        (None, None, False),
        (None, estimate(10 * GIB, "fits"), False),
        (estimate(10 * GIB, "fits"), estimate(10 * GIB, "fits"), False),
        (estimate(10 * GIB, "fits"), estimate(12 * GIB, "fits"), True),
        (estimate(10 * GIB, "fits"), estimate(8 * GIB, "fits"), True),
        (estimate(10 * GIB, "fits"), estimate(10 * GIB, "borderline"), True),
        (estimate(50 * GIB, "does-not-fit"), estimate(50 * GIB, "does-not-fit"), False),
        (None, estimate(50 * GIB, "does-not-fit"), True),
        (estimate(10 * GIB, "fits"), EstimateReport(), False),
    ],
)
def test_memory_is_worth_a_comment_where_it_changed(
    base: EstimateReport | None, head: EstimateReport | None, news: bool
) -> None:
    assert plan.worth_a_comment(ReviewReport(memory=MemoryChange(base=base, head=head))) is news


def test_annotations_carry_columns_on_one_line_only() -> None:
    from engine.findings import Annotation

    one = Annotation(
        path="a.py",
        start_line=1,
        end_line=1,
        start_column=2,
        end_column=3,
        annotation_level="failure",
        title="t",
        message="m",
    )
    several = one.model_copy(update={"end_line": 2, "message": "ü" * 64_000})
    assert annotation_fields(one)["start_column"] == 2
    assert "start_column" not in annotation_fields(several)
    assert len(annotation_fields(several)["message"].encode()) <= 64_000
