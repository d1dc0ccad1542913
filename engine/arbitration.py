"""Several findings on one place become one consistent set."""

from __future__ import annotations

from collections.abc import Sequence

from engine.findings import Finding


def arbitrate(findings: Sequence[Finding]) -> list[Finding]:
    """The findings that remain, in their order."""
    seen: set[tuple[str, str, int]] = set()
    kept: list[Finding] = []
    for finding in findings:
        key = (finding.rule, finding.path, finding.line)
        if key not in seen:
            seen.add(key)
            kept.append(finding)
    return kept
