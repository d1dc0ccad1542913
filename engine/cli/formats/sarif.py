"""Findings as SARIF 2.1.0, for code scanning."""

from __future__ import annotations

import json
from importlib import metadata
from typing import Any
from urllib.parse import quote

from engine.findings import CheckReport, Edit, Finding
from engine.project import Project, UnreadableFile
from engine.project.module import split_cell

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

_LEVELS = {"error": "error", "warning": "warning", "note": "note"}

MAX_RESULTS = 5_000
"""GitHub keeps this many results of a run."""


def sarif_log(report: CheckReport, project: Project) -> str:
    """The log as JSON text. `project` is what the report is of: places in notebooks are told as lines of the file."""
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
        "results": [_result(finding, positions, project) for finding in report.findings[:MAX_RESULTS]],
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [
                    {
                        "level": "warning",
                        "message": {"text": f"{failed.path} {failed.reason}"},
                        "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(failed.path)}}}]
                        if failed.is_file
                        else [],
                    }
                    for failed in report.files.failed
                ],
            }
        ],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _uri(path: str) -> str:
    return quote(split_cell(path)[0], errors="surrogateescape")


def _file_line(path: str, line: int, project: Project) -> int:
    """The line of the file: a line of a notebook's cell stands somewhere in its JSON."""
    file, cell = split_cell(path)
    if not cell:
        return line
    try:
        module = project.module(file)
    except UnreadableFile:
        return 1
    return module.file_line(module.module_line(path, line))


def _place(path: str, line: int, message: str, project: Project) -> dict[str, Any]:
    region = {"startLine": _file_line(path, line, project)}
    return {
        "physicalLocation": {"artifactLocation": {"uri": _uri(path)}, "region": region},
        "message": {"text": message},
    }


def _result(finding: Finding, positions: dict[str, int], project: Project) -> dict[str, Any]:
    region = {
        "startLine": finding.line,
        "startColumn": finding.column,
        "endLine": finding.end_line,
        "endColumn": finding.end_column,
    }
    message = finding.message
    if cell := split_cell(finding.path)[1]:
        # Columns of the code are not columns of the JSON, so the place in the cell is told in words.
        message = f"Cell {cell}, line {finding.line}: {message}"
        region = {"startLine": _file_line(finding.path, finding.line, project)}
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "level": _LEVELS[finding.severity],
        "message": {"text": message},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": _uri(finding.path)}, "region": region}}],
        # GitHub tells alerts apart by the second; without it, by a hash of the line that it would have to compute.
        "partialFingerprints": {
            "preflight/v1": finding.fingerprint,
            "primaryLocationLineHash": f"{finding.fingerprint}:1",
        },
    }
    if finding.rule in positions:
        result["ruleIndex"] = positions[finding.rule]
    if finding.evidence:
        steps = [{"location": _place(e.path, e.line, e.message, project)} for e in finding.evidence]
        result["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
        result["relatedLocations"] = [
            {"id": number, **_place(e.path, e.line, e.message, project)}
            for number, e in enumerate(finding.evidence, start=1)
        ]
    if finding.fix is not None and not split_cell(finding.path)[1]:
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
