"""The generated pages of the documentation are what the code says today."""

from __future__ import annotations

import pytest

from engine.rules import own_rules
from tests.docs.reference import CHAPTERS, DOCS, pages

_PAGES = pages()


@pytest.mark.parametrize("name", _PAGES)
def test_the_page_in_the_tree_is_up_to_date(name: str) -> None:
    assert (DOCS / name).read_text("utf-8") == _PAGES[name], "`make docs` writes it anew"


def test_every_rule_has_a_chapter() -> None:
    assert {rule.code[:3] for rule in own_rules()} == set(CHAPTERS)


def test_every_setting_says_what_it_is_for() -> None:
    assert "|  |\n" not in _PAGES["configuration.md"]
