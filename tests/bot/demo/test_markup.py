"""Markdown of the page: GitHub's look, and nothing foreign comes alive."""

from __future__ import annotations

import re

import pytest

from bot.demo.markup import for_terminal, rendered

HOSTILE = [
    "<script>alert(1)</script>",
    "text <img src=x onerror=alert(1)> text",
    "<details ontoggle=alert(1) open>\n\nx\n\n</details>",
    "<a href='javascript:alert(1)'>x</a>",
    "[x](javascript:alert(1))",
    "![x](https://example.org/pixel.png)",
    "<style>* { display: none }</style>",
    "<iframe src='https://example.org'></iframe>",
    "```html\n<script>alert(1)</script>\n```",
    "`<b onclick=x>`",
    "<!-- a comment --><svg/onload=alert(1)>",
    "<p style='x'>y",
    "```suggestion\n</td></table><script>alert(1)</script>\n```",
    "| a |\n|---|\n| <script>x</script> |",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_markdown_stays_text(text: str) -> None:
    html = rendered(text, path="<b>.py", replaced=["<script>old</script>"])
    tags = re.findall(r"<(/?[a-zA-Z!][^>]*)>", html)
    for tag in tags:
        assert re.fullmatch(r"/?\w+( (class|open|href)(=\"[\w\- ]*\")?)*", tag), tag
        assert not tag.lower().startswith(("script", "img", "svg", "iframe", "style", "a "))


def test_arranging_tags_and_tables_are_kept_and_comments_vanish() -> None:
    html = rendered(
        "<!-- mark --><details>\n<summary>Evidence</summary>\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n</details>"
    )
    assert "<details>" in html and "<summary>Evidence</summary>" in html and "<td>1</td>" in html
    assert "mark" not in html


def test_a_suggestion_shows_what_goes_and_what_comes() -> None:
    html = rendered(
        "Detach:\n\n```suggestion\n    total += loss.detach()\n```", path="t.py", replaced=["    total += loss"]
    )
    plain = re.sub(r"<[^>]+>", "", html)
    assert "Suggested change" in plain
    assert "-    total += loss+    total += loss.detach()" in plain


def test_an_empty_suggestion_deletes() -> None:
    html = rendered("```suggestion\n```", path="t.py", replaced=["gone"])
    assert html.count("<tr") == 1 and 'class="removed"' in html


def test_the_terminal_gets_no_html() -> None:
    text = for_terminal("<!-- x -->\n<details><summary>How we know</summary>\n\nBecause.\n</details> a < b")
    assert "**How we know**" in text and "Because." in text and "a < b" in text
    assert "<details>" not in text and "<!--" not in text


def test_columns_are_aligned_without_inline_styles() -> None:
    html = rendered("| a | b |\n|---|--:|\n| 1 | 2 |\n")
    assert "style=" not in html and '<td class="align-right">2</td>' in html
