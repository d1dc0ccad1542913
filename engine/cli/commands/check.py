"""Finds what will silently go wrong in PyTorch training code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cli.caching import add_cache, chosen_store
from engine.cli.configured import settings_of_file
from engine.cli.formats.plain import printable
from engine.cli.usage import WrongUse, select_paths, split_list

if TYPE_CHECKING:
    from engine.cli.usage import Selection
    from engine.findings import CheckReport
    from engine.settings import Settings

MOST_NAMED = 5
"""Files that do not parse that a line names."""
FIX_ROUNDS = 5
"""Most times that --fix applies what the check before it offers."""

HELP = "find silent training bugs in files, notebooks or folders"
EXAMPLES = (
    ("preflight check", "the working folder"),
    ("preflight check src train.py --fail-on warning", "a folder and a file; warnings fail too"),
    ("preflight check --diff", "what --fix would change, as a patch"),
    ("preflight check --since main", "only what this branch introduces"),
    ("preflight check --baseline preflight.json --update-baseline", "take what is there as known ..."),
    ("preflight check --baseline preflight.json", "... and report what is new"),
    ("preflight check --watch", "again whenever a file changes"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of `preflight check`."""
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files or folders (default: the working folder)")
    parser.add_argument("--format", choices=("text", "json", "github", "sarif"), default="text")
    parser.add_argument("--fix", action="store_true", help="apply the safe fixes, then report what is left")
    parser.add_argument("--diff", action="store_true", help="print what --fix would change as a patch, change nothing")
    parser.add_argument(
        "--fail-on",
        choices=("error", "warning", "note", "never"),
        help="exit with 1 at this severity and above, or where a file does not parse (default: configured, or error)",
    )
    which = parser.add_argument_group("which findings")
    which.add_argument("--select", action="append", default=[], metavar="RULES", help="only these codes or names")
    which.add_argument("--ignore", action="append", default=[], metavar="RULES", help="not these codes or names")
    which.add_argument(
        "--exclude", action="append", default=[], metavar="GLOBS", help="not in these paths, as in .gitignore"
    )
    which.add_argument(
        "--since", metavar="REV", help="only what the work tree introduces since it left this git revision"
    )
    which.add_argument("--baseline", metavar="FILE", type=Path, help="not the findings that this file knows")
    which.add_argument("--update-baseline", action="store_true", help="write the findings of now to --baseline FILE")
    which.add_argument(
        "--force-exclude", action="store_true", help="leave excluded files out even where they are named themselves"
    )
    which.add_argument(
        "--report-unused-suppressions", action="store_true", help="name `preflight: ignore` comments that do nothing"
    )
    how = parser.add_argument_group("how it runs")
    how.add_argument("--watch", action="store_true", help="check again whenever a file changes, until interrupted")
    how.add_argument(
        "-j",
        "--jobs",
        type=int,
        metavar="N",
        help="processes (default: as many as pay; 1 for this one alone)",
    )
    how.add_argument("--config", metavar="FILE", type=Path, help="settings from this file (default: the repository's)")
    how.add_argument("-q", "--quiet", action="store_true", help="one line a finding")
    how.add_argument("--summary", metavar="FILE", type=Path, help="also append a Markdown summary to this file")
    add_cache(how)


def run(arguments: argparse.Namespace) -> int:
    """Checks, prints, and returns 0 or 1. Raises WrongUse."""
    _fit_together(arguments)
    if not arguments.watch:
        return _run_once(arguments)
    from engine.cli.watching import changes

    code = 0
    try:
        for changed in changes(select_paths(arguments.paths).root):
            if changed:
                print(f"\n{len(changed)} changed: {printable(', '.join(changed[:5]))}\n", file=sys.stderr)
            code = _run_once(arguments)
            print("Watching; Ctrl-C ends it.", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print(file=sys.stderr)
    return code


def _fit_together(arguments: argparse.Namespace) -> None:
    """Raises WrongUse for options that contradict each other."""
    if arguments.jobs is not None and arguments.jobs < 1:
        raise WrongUse(
            f"--jobs takes a number of processes from 1, not {arguments.jobs}; without it as many as pay run"
        )
    if arguments.update_baseline and arguments.baseline is None:
        raise WrongUse("--update-baseline needs the file to write: --baseline FILE")
    if arguments.update_baseline and arguments.since:
        raise WrongUse("--since reports what is new: a baseline of it would lack everything else")
    if arguments.diff and (arguments.fix or arguments.format != "text"):
        raise WrongUse("--diff prints a patch and changes nothing: it goes with neither --fix nor --format")
    if arguments.watch and (arguments.update_baseline or arguments.format != "text"):
        raise WrongUse("--watch is for people at a terminal: it goes with neither --format nor --update-baseline")


def _run_once(arguments: argparse.Namespace) -> int:
    selection = _selected(arguments)
    settings = _settings(selection, arguments)
    report = _checked(selection, settings, arguments)
    if arguments.update_baseline:
        return _baseline_written(report, selection, arguments.baseline)
    report = _without_baseline(report, selection, arguments.baseline)
    if arguments.diff:
        from engine.cli.formats.fixes import patch, print_patch

        print_patch(patch(selection.root, report.findings))
    elif arguments.fix:
        report, selection = _fixed(report, selection, settings, arguments)
    counts = report.files
    if arguments.paths and not (counts.read or counts.skipped or counts.failed or arguments.since):
        named = ", ".join(arguments.paths[:MOST_NAMED])
        print(printable(f"preflight: there is no Python file and no notebook to check in {named}"), file=sys.stderr)
    malformed = _unheard_of(report, selection, arguments.baseline) if settings.fail_on != "never" else ()
    if not arguments.diff:
        _print(report, arguments, selection, malformed)
    if arguments.summary is not None:
        _summarised(report, arguments.summary)
    if malformed:
        told = f"{', '.join(malformed[:MOST_NAMED])}{' and more' if len(malformed) > MOST_NAMED else ''}"
        why = "the check fails, since what does not parse is not checked"
        print(printable(f"preflight: {why}: {told}; --exclude leaves files out"), file=sys.stderr)
    return 1 if malformed or settings.fails(finding.severity for finding in report.findings) else 0


def _unheard_of(report: CheckReport, selection: Selection, baseline: Path | None) -> Sequence[str]:
    """Files that do not parse and that a baseline does not know of. A check that could not read what it was asked about
    must not look like one that found nothing."""
    paths = set(_malformed(report, selection))
    if paths and baseline is not None:
        from engine.cli.baseline import known_malformed

        paths -= known_malformed(baseline)
    return sorted(paths)


def _malformed(report: CheckReport, selection: Selection) -> Iterator[str]:
    """The files of a report that are no Python 3 and no notebook. Those that are left out for their size or language
    are not among them."""
    from engine.project import UnreadableFile

    for failed in report.files.failed:
        if failed.is_file:
            try:
                selection.project.module(failed.path)
            except UnreadableFile as problem:
                if problem.malformed:
                    yield failed.path


def _settings(selection: Selection, arguments: argparse.Namespace) -> Settings:
    """What is configured, with what the options say on top. Raises WrongUse."""
    from engine.settings import load_settings

    loaded = load_settings(selection.project) if arguments.config is None else settings_of_file(arguments.config)
    for problem in loaded.problems:
        print(printable(f"preflight: {problem}"), file=sys.stderr)
    said: dict[str, object] = {"exclude": (*loaded.settings.exclude, *split_list(arguments.exclude))}
    if arguments.fail_on is not None:
        said["fail_on"] = arguments.fail_on
    return loaded.settings.model_copy(update=said)


def _selected(arguments: argparse.Namespace) -> Selection:
    selection = select_paths(arguments.paths)
    if not arguments.since:
        return selection
    from engine.cli.since import repository_around

    return repository_around(selection)


def _checked(selection: Selection, settings: Settings, arguments: argparse.Namespace) -> CheckReport:
    from engine.check import UnknownRule

    select, ignore = split_list(arguments.select), split_list(arguments.ignore)
    if arguments.force_exclude:
        selection = replace(selection, paths=tuple(path for path in selection.paths if not settings.excludes(path)))
    try:
        if arguments.since:
            from engine.cli.since import introduced_since

            store = chosen_store(arguments)
            return introduced_since(selection, arguments.since, settings, select, ignore, store)
        from engine.cli.scanning import Asked, scan

        unused = arguments.report_unused_suppressions
        asked = Asked(settings, select, ignore, unused, chosen_store(arguments))
        return scan(selection, asked, arguments.jobs)
    except UnknownRule as problem:
        raise WrongUse(f"there is no rule {problem}; `preflight rules` lists them") from problem


def _without_baseline(report: CheckReport, selection: Selection, baseline: Path | None) -> CheckReport:
    if baseline is None:
        return report
    from engine.cli.baseline import without_known

    compared = without_known(report, baseline, selection.paths)
    told = f"preflight: {compared.known} known from {baseline} not shown"
    if compared.gone:
        told += f"; {compared.gone} of it no longer found: --update-baseline takes them out"
    print(told, file=sys.stderr)
    return compared.report


def _baseline_written(report: CheckReport, selection: Selection, baseline: Path) -> int:
    from engine.cli.baseline import write_baseline

    write_baseline(baseline, report.findings, tuple(_malformed(report, selection)))
    print(f"preflight: {len(report.findings)} findings written to {baseline}", file=sys.stderr)
    return 0


def _fixed(
    report: CheckReport, selection: Selection, settings: Settings, arguments: argparse.Namespace
) -> tuple[CheckReport, Selection]:
    """Applies the safe fixes, says so on stderr, and checks again: of overlapping fixes the next is made then."""
    from engine.fixes.applying import fix_files

    for _ in range(FIX_ROUNDS):
        outcome = fix_files(selection.root, report.findings)
        for line in outcome.messages:
            print(printable(line), file=sys.stderr)
        if not outcome.applied:
            break
        selection = _selected(arguments)
        report = _checked(selection, settings, arguments)
        if arguments.baseline is not None:
            from engine.cli.baseline import without_known

            report = without_known(report, arguments.baseline).report
    return report, selection


def _summarised(report: CheckReport, target: Path) -> None:
    from engine.cli.formats.job_summary import job_summary

    try:
        with target.open("a", encoding="utf-8", errors="replace") as stream:
            stream.write(job_summary(report))
    except OSError as problem:
        raise WrongUse(f"the summary can not be written: {problem}") from problem


def _print(report: CheckReport, arguments: argparse.Namespace, selection: Selection, malformed: Sequence[str]) -> None:
    wanted = arguments.format
    if wanted == "json":
        print(report.model_dump_json(indent=2))
    elif wanted == "github":
        from engine.cli.formats.github import workflow_commands

        for line in workflow_commands(report, malformed):
            print(line)
    elif wanted == "sarif":
        from engine.cli.formats.sarif import sarif_log

        print(sarif_log(report, selection.project))
    else:
        from engine.cli.formats.text import print_check

        print_check(report, selection.project, quiet=arguments.quiet)
