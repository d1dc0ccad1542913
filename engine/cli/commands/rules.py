"""Lists the rules."""

from __future__ import annotations

import argparse
import json
import sys

HELP = "list the rules"
EXAMPLES = (
    ("preflight rules", "every rule with its code and severity"),
    ("preflight rules --format json", "the same for a program"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of `preflight rules`."""
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(arguments: argparse.Namespace) -> int:
    """Prints one line a rule, and to standard error what could not be loaded."""
    from engine.plugins import plugins
    from engine.rules import registry

    for problem in plugins().problems:
        print(f"preflight: {problem.path}: {problem.reason}", file=sys.stderr)

    rules = sorted(registry(), key=lambda rule: rule.code)
    if arguments.format == "json":
        rows = [{"code": r.code, "name": r.name, "severity": r.severity, "summary": r.summary} for r in rules]
        print(json.dumps(rows, indent=2))
        return 0
    from rich.table import Table
    from rich.text import Text

    from engine.cli.formats.terminal import output
    from engine.cli.formats.text import SEVERITY_STYLES

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("Code", "Name", "Severity", "What it finds"):
        table.add_column(heading, no_wrap=heading != "What it finds")
    for rule in rules:
        severity = Text(rule.severity, SEVERITY_STYLES[rule.severity])
        table.add_row(rule.code, rule.name, severity, Text(rule.summary))
    output().print(table)
    return 0
