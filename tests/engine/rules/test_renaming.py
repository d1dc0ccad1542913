"""A name is only a hint: without any that mean something, what is said of a program stays the same."""

from __future__ import annotations

from engine.rules import registry
from tests.accuracy.lint_cases import Case, cases, judge
from tests.engine.rules.pages import examples
from tests.engine.rules.renaming import renamed

_ALLOWED = 0.03


def _said(files: dict[str, str]) -> list[str]:
    return sorted(f"{finding.name} {finding.severity}" for finding in judge(files).findings)


def _renamable(case: Case) -> bool:
    return (
        list(case.files) == [case.main_file]
        and case.main_file.endswith(".py")
        and not case.name.startswith(("py31", "syn-"))
    )


def test_meaningless_names_change_almost_nothing() -> None:
    judged = [case for case in cases() if _renamable(case)]
    changed = [
        case.name
        for case in judged
        if _said(case.files) != _said({case.main_file: renamed(case.files[case.main_file])})
    ]
    assert len(changed) <= _ALLOWED * len(judged), changed


def test_pages_do_not_lean_on_names_either() -> None:
    programs = [
        (f"{rule.name}:{example.line}", next(iter(example.files.items())))
        for rule in registry()
        for example in examples(rule.page)
        if len(example.files) == 1
    ]
    alone = [(name, path, text) for name, (path, text) in programs if path.endswith(".py")]
    changed = [name for name, path, text in alone if _said({path: text}) != _said({path: renamed(text)})]
    assert len(changed) <= _ALLOWED * len(alone), changed
