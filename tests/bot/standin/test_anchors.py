"""Hunks, anchors and moved lines, on any two versions of a file."""

from __future__ import annotations

import difflib

from hypothesis import given
from hypothesis import strategies as st

from bot.standin.anchors import Anchor, anchor, hunks_of, moved

lines = st.lists(st.sampled_from(["a", "b", "c", "", "@@ x", "-a", "+b"]), max_size=25)


def patch_of(old: list[str], new: list[str]) -> str:
    """A unified diff as GitHub shows it: without the file header."""
    return "\n".join(list(difflib.unified_diff(old, new, lineterm="", n=3))[2:])


@given(lines, lines)
def test_hunks_number_the_lines_of_both_files(old: list[str], new: list[str]) -> None:
    for hunk in hunks_of(patch_of(old, new)):
        for line in hunk.lines:
            assert line.new is None or new[line.new - 1] == line.text
            assert line.old is None or old[line.old - 1] == line.text


@given(lines, lines)
def test_a_line_can_be_commented_exactly_where_a_hunk_shows_it(old: list[str], new: list[str]) -> None:
    patch = patch_of(old, new)
    shown = {line.new for hunk in hunks_of(patch) for line in hunk.lines if line.new is not None}
    deleted = {line.old for hunk in hunks_of(patch) for line in hunk.lines if line.mark == "-"}
    for number in range(1, 27):
        assert isinstance(anchor(patch, number, "RIGHT", None, None), Anchor) == (number in shown)
        assert isinstance(anchor(patch, number, "LEFT", None, None), Anchor) == (number in deleted)


@given(lines, lines)
def test_a_line_that_stays_is_found_again(old: list[str], new: list[str]) -> None:
    patch = patch_of(old, new)
    removed = {line.old for hunk in hunks_of(patch) for line in hunk.lines if line.mark == "-"}
    seen = []
    for number, text in enumerate(old, start=1):
        target = moved(patch, number)
        assert (target is None) == (number in removed)
        if target is not None:
            assert new[target - 1] == text
            seen.append(target)
    assert seen == sorted(set(seen))
