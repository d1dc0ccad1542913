"""Says of a change in a local git repository what the bot would say of it as a pull request."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from engine.cli.caching import add_cache, chosen_store
from engine.cli.devices import add_gpus, known_gpus
from engine.cli.usage import WrongUse

HELP = "review the change between two revisions of a git repository"
EXAMPLES = (
    ("preflight review --base main --head HEAD", "what the bot would say of this branch"),
    ("preflight review --base main --head HEAD --gpu rtx-4090 --format markdown", "its summary comment"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of `preflight review`."""
    parser.add_argument("--base", required=True, metavar="REV", help="the revision before the change")
    parser.add_argument("--head", required=True, metavar="REV", help="the revision after the change")
    parser.add_argument("--repo", default=".", metavar="DIR", help="work tree or bare repository (default: here)")
    add_gpus(parser)
    parser.add_argument("--no-memory", action="store_true", help="leave the memory estimate out")
    add_cache(parser)
    parser.add_argument("--format", choices=("text", "json", "markdown"), default="text")


def run(arguments: argparse.Namespace) -> int:
    """Reviews and prints; the exit code is 1 where the conclusion is failure. Raises WrongUse."""
    gpus = known_gpus(arguments.gpu)

    from engine.diff import revision_diff
    from engine.project import Project
    from engine.project.sources import RevisionNotFound
    from engine.review import review
    from engine.settings import load_settings

    repository = Path(arguments.repo)
    try:
        base = Project.from_revision(repository, arguments.base)
        head = Project.from_revision(repository, arguments.head)
        changed = revision_diff(repository, arguments.base, arguments.head)
    except RevisionNotFound as problem:
        raise WrongUse(str(problem)) from problem
    loaded = load_settings(base)
    for each in loaded.problems:
        print(f"preflight: {each}", file=sys.stderr)
    settings = loaded.settings
    if arguments.no_memory:
        settings = settings.model_copy(update={"memory": False})
    report = review(base, head, changed=changed, settings=settings, gpus=gpus, store=chosen_store(arguments))
    if arguments.format == "json":
        print(report.model_dump_json(indent=2))
        return 0
    if arguments.format == "markdown":
        print(report.summary_markdown)
    else:
        from engine.cli.formats.review import print_review

        print_review(report, head)
    return int(settings.fails(finding.severity for finding in report.introduced))
