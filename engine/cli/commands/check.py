"""Finds what will silently go wrong in PyTorch training code."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from engine.cli.caching import add_cache, chosen_store
from engine.cli.usage import WrongUse, select_paths, split_list

if TYPE_CHECKING:
    from engine.cli.usage import Selection
    from engine.findings import CheckReport
    from engine.settings import Settings

HELP = "find silent training bugs in files, notebooks or folders"


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of `preflight check`."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files or folders (default: the working folder)")
    parser.add_argument("--format", choices=("text", "json", "github", "sarif"), default="text")
    parser.add_argument("--fix", action="store_true", help="apply the safe fixes, then report what is left")
    parser.add_argument(
        "--fail-on",
        choices=("error", "warning", "note", "never"),
        help="exit with 1 at this severity and above (default: error, or the configured fail-on)",
    )
    parser.add_argument("--select", action="append", default=[], metavar="RULES", help="only these codes or names")
    parser.add_argument("--ignore", action="append", default=[], metavar="RULES", help="not these codes or names")
    parser.add_argument(
        "--report-unused-suppressions", action="store_true", help="name `preflight: ignore` comments that do nothing"
    )
    add_cache(parser)


def run(arguments: argparse.Namespace) -> int:
    """Checks, prints, and returns 0 or 1. Raises WrongUse."""
    from engine.settings import load_settings

    selection = select_paths(arguments.paths)
    loaded = load_settings(selection.project)
    for problem in loaded.problems:
        print(f"preflight: {problem}", file=sys.stderr)
    settings = loaded.settings
    if arguments.fail_on is not None:
        settings = settings.model_copy(update={"fail_on": arguments.fail_on})
    report = _checked(selection, settings, arguments)
    if arguments.fix:
        from engine.fixes.applying import fix_files

        fixed = fix_files(selection.root, report.findings)
        for line in fixed.messages:
            print(line, file=sys.stderr)
        if fixed.applied:
            selection = select_paths(arguments.paths)
            report = _checked(selection, settings, arguments)
    _print(report, arguments.format, selection)
    return 1 if settings.fails(finding.severity for finding in report.findings) else 0


def _checked(selection: Selection, settings: Settings, arguments: argparse.Namespace) -> CheckReport:
    from engine.check import UnknownRule, check

    try:
        return check(
            selection.project,
            selection.paths,
            settings=settings,
            select=split_list(arguments.select),
            ignore=split_list(arguments.ignore),
            report_unused_suppressions=arguments.report_unused_suppressions,
            store=chosen_store(arguments),
        )
    except UnknownRule as problem:
        raise WrongUse(f"there is no rule {problem}; `preflight rules` lists them") from problem


def _print(report: CheckReport, wanted: str, selection: Selection) -> None:
    if wanted == "json":
        print(report.model_dump_json(indent=2))
    elif wanted == "github":
        from engine.cli.formats.github import workflow_commands

        for line in workflow_commands(report):
            print(line)
    elif wanted == "sarif":
        from engine.cli.formats.sarif import sarif_log

        print(sarif_log(report))
    else:
        from engine.cli.formats.text import print_check

        print_check(report, selection.project)
