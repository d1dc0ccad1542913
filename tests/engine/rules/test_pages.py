"""Each rule's page says what the rule does."""

from __future__ import annotations

import pytest

from engine.check import check
from engine.project import Project
from engine.rules import Rule, registry
from tests.engine.rules.pages import Example, examples

_SECTIONS = ("What it finds", "Why it matters", "Flagged", "Not flagged", "Fix", "Known limits")

_CASES = [(rule, example) for rule in registry() for example in examples(rule.page)]


@pytest.mark.parametrize(("rule", "example"), _CASES, ids=[f"{rule.name}:{example.line}" for rule, example in _CASES])
def test_example_is_judged_as_the_page_says(rule: Rule, example: Example) -> None:
    report = check(Project.from_mapping(example.files), select=[rule.name])
    found = {(finding.path, finding.line, finding.severity, finding.name) for finding in report.findings}
    assert found == example.expected


@pytest.mark.parametrize("rule", registry(), ids=lambda rule: rule.name)
def test_page_is_complete(rule: Rule) -> None:
    page = rule.page
    assert page.startswith(f"# {rule.name} ({rule.code})\n")
    for section in _SECTIONS:
        assert f"\n## {section}\n" in page, section
    own = [example for example in examples(page) if any(name == rule.name for *_, name in example.expected)]
    assert own, "no flagged example"
    assert any(not example.expected for example in examples(page)), "no unflagged example"


def test_codes_and_names_are_unique() -> None:
    rules = registry()
    assert len({rule.code for rule in rules}) == len({rule.name for rule in rules}) == len(rules)
