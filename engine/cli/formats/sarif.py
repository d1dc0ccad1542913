"""Findings as SARIF 2.1.0, for code scanning."""

from __future__ import annotations

import json
from importlib import metadata
from typing import Any
from urllib.parse import quote

from engine.findings import CheckReport, Edit, Finding
from engine.project.module import split_cell

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

_LEVELS = {"error": "error", "warning": "warning", "note": "note"}

MAX_RESULTS = 5_000
"""GitHub keeps this many results of a run."""


def sarif_log(report: CheckReport) -> str:
    """The log as JSON text."""
    from engine.rules import registry

    used = {finding.rule for finding in report.findings}
    rules = sorted((rule for rule in registry() if rule.code in used), key=lambda rule: rule.code)
    positions = {rule.code: index for index, rule in enumerate(rules)}
    driver: dict[str, Any] = {
        "name": "Preflight",
        "semanticVersion": metadata.version("preflight-review"),
        "rules": [
            {
                "id": rule.code,
                "name": rule.name,
                "shortDescription": {"text": rule.summary},
                "fullDescription": {"text": rule.summary},
                "help": {"text": rule.page, "markdown": rule.page},
                "defaultConfiguration": {"level": _LEVELS[rule.severity]},
            }
            for rule in rules
        ],
    }
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, positions) for finding in report.findings[:MAX_RESULTS]],
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [
                    {
                        "level": "warning",
                        "message": {"text": f"{failed.path} {failed.reason}"},
                        "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(failed.path)}}}],
                    }
                    for failed in report.files.failed
                ],
            }
        ],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _uri(path: str) -> str:
    return quote(split_cell(path)[0], errors="surrogateescape")


def _place(path: str, line: int, message: str) -> dict[str, Any]:
    return {
        "physicalLocation": {"artifactLocation": {"uri": _uri(path)}, "region": {"startLine": line}},
        "message": {"text": message},
    }


def _result(finding: Finding, positions: dict[str, int]) -> dict[str, Any]:
    region = {
        "startLine": finding.line,
        "startColumn": finding.column,
        "endLine": finding.end_line,
        "endColumn": finding.end_column,
    }
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(finding.path)}, "region": region}}],
        "partialFingerprints": {"preflight/v1": finding.fingerprint},
    }
    if finding.rule in positions:
        result["ruleIndex"] = positions[finding.rule]
    if finding.evidence:
        steps = [{"location": _place(e.path, e.line, e.message)} for e in finding.evidence]
        result["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
        result["relatedLocations"] = [
            {"id": number, **_place(e.path, e.line, e.message)} for number, e in enumerate(finding.evidence, start=1)
        ]
    if finding.fix is not None and "#" not in finding.path:
        change = {
            "artifactLocation": {"uri": _uri(finding.path)},
            "replacements": [_replacement(edit) for edit in finding.fix.edits],
        }
        result["fixes"] = [{"description": {"text": finding.fix.description}, "artifactChanges": [change]}]
    return result


def _replacement(edit: Edit) -> dict[str, Any]:
    region = {
        "startLine": edit.line,
        "startColumn": edit.column,
        "endLine": edit.end_line,
        "endColumn": edit.end_column,
    }
    return {"deletedRegion": region, "insertedContent": {"text": edit.text}}
