"""Several findings on one place become one consistent set."""

from __future__ import annotations

from engine.arbitration import arbitrate
from engine.findings import Evidence, Finding, Severity


def finding(name: str, line: int, *, path: str = "a.py", evidence: int = 0, severity: Severity = "warning") -> Finding:
    steps = tuple(Evidence(path=path, line=n + 1, message="") for n in range(evidence))
    return Finding(
        rule=name, name=name, severity=severity, path=path, line=line, column=1, end_line=line, end_column=9,
        message="", evidence=steps,
    )  # fmt: skip


def names(*findings: Finding) -> list[tuple[str, int]]:
    return [(each.name, each.line) for each in arbitrate(findings)]


def test_one_rule_speaks_once_on_a_line_with_its_best_evidence() -> None:
    short, long = finding("retained-graph", 3), finding("retained-graph", 3, evidence=2)
    assert arbitrate([short, long]) == [long]


def test_advice_that_contradicts_is_dropped() -> None:
    assert names(finding("retained-graph", 3), finding("sync-in-loop", 3), finding("sync-in-loop", 9)) == [
        ("retained-graph", 3),
        ("sync-in-loop", 9),
    ]
    assert names(finding("ddp-unsharded-loader", 5), finding("train-loader-not-shuffled", 5)) == [
        ("ddp-unsharded-loader", 5)
    ]


def test_a_consequence_near_its_cause_is_dropped_and_elsewhere_kept() -> None:
    assert names(finding("missing-optimizer-step", 10), finding("missing-zero-grad", 11)) == [
        ("missing-optimizer-step", 10)
    ]
    assert len(names(finding("missing-optimizer-step", 10), finding("missing-zero-grad", 90))) == 2
    assert len(names(finding("missing-optimizer-step", 10), finding("missing-zero-grad", 10, path="b.py"))) == 2
