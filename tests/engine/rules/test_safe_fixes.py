"""What a safe fix promises: it clears its finding, leaves a file that parses, and brings no new finding.

Held for every program that the tree knows: the labelled cases, and the examples of the rules' pages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import pytest

from engine.check import check
from engine.findings import CheckReport, Finding
from engine.fixes.applying import apply_edits, compatible
from engine.project import Project
from engine.rules import Rule, registry
from tests.accuracy.lint_cases import cases
from tests.engine.rules.pages import diffs, examples, shown_change

Files = dict[str, str]


def programs() -> Iterator[tuple[str, Files]]:
    for case in cases():
        if case.defect:
            yield case.name, case.files
    for rule in registry():
        for example in examples(rule.page):
            if example.expected:
                yield f"{rule.name}:{example.line}", example.files


def offered(report: CheckReport) -> list[Finding]:
    return [f for f in report.findings if f.fix is not None and f.fix.safe and "#" not in f.path]


def applied(files: Files, findings: Sequence[Finding]) -> tuple[Files, int]:
    """The files after the fixes that go together, and how many that were."""
    after, number = dict(files), 0
    for path in {finding.path for finding in findings}:
        fixes = compatible([finding for finding in findings if finding.path == path])
        number += len(fixes)
        after[path] = apply_edits(files[path], [edit for fix in fixes for edit in fix.edits])
    return after, number


def kinds(report: CheckReport) -> Counter[tuple[str, str]]:
    return Counter((finding.name, finding.path) for finding in report.findings)


_PROGRAMS = list(programs())


@pytest.mark.parametrize("files", [files for _, files in _PROGRAMS], ids=[name for name, _ in _PROGRAMS])
def test_all_safe_fixes_together_leave_nothing_to_fix(files: Files) -> None:
    report = check(Project.from_mapping(files))
    # A second pass takes the fixes that touched the lines of an earlier one.
    for _ in range(4):
        findings = offered(report)
        if not findings:
            return
        files, _ = applied(files, findings)
        again = check(Project.from_mapping(files))
        assert not again.files.failed
        assert not kinds(again) - kinds(report), "new findings"
        assert kinds(report) - kinds(again), "nothing cleared"
        report = again
    pytest.fail("fixes that never come to an end")


@pytest.mark.parametrize("files", [files for _, files in _PROGRAMS], ids=[name for name, _ in _PROGRAMS])
def test_each_safe_fix_clears_its_finding(files: Files) -> None:
    report = check(Project.from_mapping(files))
    before = kinds(report)
    for finding in offered(report):
        after, _ = applied(files, [finding])
        again = check(Project.from_mapping(after))
        assert not again.files.failed
        left = kinds(again)
        assert left[finding.name, finding.path] < before[finding.name, finding.path], finding
        assert not left - before, "new findings"


def changes(rule: Rule) -> list[str]:
    """What safe fixes of a rule change in its page's examples."""
    found: list[str] = []
    for example in examples(rule.page):
        for finding in offered(check(Project.from_mapping(example.files), select=[rule.name])):
            after, _ = applied(example.files, [finding])
            found.append(shown_change(example.files[finding.path], after[finding.path]))
    return found


@pytest.mark.parametrize("rule", registry(), ids=lambda rule: rule.name)
def test_the_page_shows_what_a_fix_changes(rule: Rule) -> None:
    shown, made = diffs(rule.page), changes(rule)
    assert all(diff in made for diff in shown), made
    assert shown or not made, f"the page shows no fix, such as:\n{made[0]}"
