"""What the documentation tells people to type works, and prints what it shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from engine.settings import parse_settings
from tests.docs.commands import KINDS, ROOT, blocks, documents, fences, run

_BLOCKS = [block for page in documents() for block in blocks(page)]
_LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)(#[^)\s]+)?\)")


@pytest.mark.parametrize("block", [block for block in _BLOCKS if not block.kind], ids=lambda block: block.name)
def test_the_commands_of_a_page_work_and_print_what_it_shows(block: object, tmp_path: Path) -> None:
    code, printed = run(block, tmp_path / "repository")  # type: ignore[arg-type]
    assert code in (0, 1), printed
    expected = block.expected  # type: ignore[attr-defined]
    if expected is not None:
        assert printed == expected, "`make docs` writes outputs anew"


def test_what_is_not_run_says_why() -> None:
    for block in _BLOCKS:
        assert block.kind in ("", *KINDS), block.name
    for page in documents():
        assert "```console" not in page.read_text("utf-8") and "```bash" not in page.read_text("utf-8"), page


@pytest.mark.parametrize("page", documents(), ids=lambda page: page.name)
def test_links_lead_to_files_of_the_tree_and_configurations_are_understood(page: Path) -> None:
    text = page.read_text("utf-8")
    for target, _ in _LINK.findall(text):
        assert (page.parent / target).exists(), target
    for line, language, lines, above in fences(text):
        if language == "yaml" and above == "`.github/preflight.yml`:":
            problems = parse_settings("\n".join(lines)).problems
            assert not problems, (page, line, problems)


def test_what_other_files_are_told_to_ask_for_is_there() -> None:
    inputs = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))["inputs"]
    hooks = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))}
    steps, asked = 0, 0
    for page in documents():
        for _, language, lines, _ in fences(page.read_text("utf-8")):
            told = yaml.safe_load("\n".join(lines)) if language == "yaml" else None
            if isinstance(told, list):
                steps += 1
                assert all(set(step["with"]) <= set(inputs) for step in told), page
            elif isinstance(told, dict) and "repos" in told:
                asked += 1
                assert {hook["id"] for repository in told["repos"] for hook in repository["hooks"]} <= hooks, page
    assert steps and asked


def test_every_page_is_listed() -> None:
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    for page in documents()[1:]:
        assert page.name == "README.md" or f"({page.name})" in index, page.name
