"""Text from a repository stays text in Markdown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.presentation.markdown import MAX_BODY, clipped, code_span, escape, fenced, prose

HOSTILE = [
    "@everyone look",
    "<img src=x onerror=alert(1)>",
    "[click](https://evil.example)",
    "![x](https://evil.example/p.png)",
    "fixes #1 and GH-2",
    "`code` ``` fence",
    "a | b\n# heading\n/preflight ignore",
    "<!-- hidden -->",
    "https://evil.example www.evil.example",
    "\u202egnp.exe\x1b[31m",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_comes_alive(text: str) -> None:
    shown = escape(text)
    assert "\n" not in shown
    assert "@e" not in shown
    assert not any(f"{mark}" in shown.replace(f"\\{mark}", "") for mark in "<>[]`|*_")
    assert "https://" not in shown and "www.evil" not in shown
    assert "#1" not in shown.replace("\\#", "#") and "GH-2" not in shown
    assert "\x1b" not in shown and "\u202e" not in shown


@given(st.text(max_size=80))
def test_a_code_span_cannot_be_closed_from_inside(text: str) -> None:
    span = code_span(text)
    fence = len(span) - len(span.lstrip("`"))
    inner = span[fence:-fence]
    assert f"{'`' * fence}" not in inner.replace("`" * (fence + 1), "")
    assert "\n" not in span


@given(st.text(max_size=200))
def test_a_fenced_block_cannot_be_closed_from_inside(text: str) -> None:
    block = fenced(text, "suggestion")
    fence = block[: len(block) - len(block.lstrip("`"))]
    assert len(fence) >= 3
    assert fence not in text
    assert block.endswith(f"\n{fence}")


def test_a_message_keeps_its_code_and_its_text() -> None:
    assert prose("call `loss.backward()` <b>now</b>") == "call `loss.backward()` \\<b\\>now\\</b\\>"
    assert "`" not in prose("one ` only").replace("\\`", "")


def test_a_long_body_is_cut_with_fences_closed_and_the_marker_kept() -> None:
    body = "text\n" + fenced("x\n" * 60_000)
    cut = clipped(body, keep="<!-- marker -->")
    assert len(cut) <= MAX_BODY
    assert cut.endswith("<!-- marker -->")
    assert sum(line == "```" for line in cut.split("\n")) == 2
