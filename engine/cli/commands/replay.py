"""Reviews the last merges of a repository, one row each: what installing Preflight would have meant."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from engine.cli.caching import add_cache, chosen_store
from engine.cli.progress import bar
from engine.cli.usage import WrongUse

HELP = "review the last merges of a repository, one row each"
EXAMPLES = (
    ("preflight replay . --last 50", "the last 50 merges of this repository"),
    ("preflight replay ../training --last 20 --memory", "with peak memory before and after each"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of `preflight replay`."""
    parser.add_argument("repository", metavar="REPO", help="work tree or bare repository")
    parser.add_argument("--last", type=int, default=20, metavar="N", help="how many merges (default 20)")
    parser.add_argument("--revision", default="HEAD", metavar="REV", help="where to start (default HEAD)")
    parser.add_argument("--memory", action="store_true", help="estimate memory too, which takes longer")
    add_cache(parser)
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(arguments: argparse.Namespace) -> int:
    """Replays and prints. Raises WrongUse."""
    if arguments.last < 1:
        raise WrongUse("--last takes a positive number")

    if "://" in arguments.repository:
        raise WrongUse(f"{arguments.repository} is an address: `git clone` it, and name the folder")
    from engine.project.sources import RevisionNotFound
    from engine.replay import replay

    try:
        rows = []
        with bar(arguments.last, "merges") as done:
            repository, store = Path(arguments.repository), chosen_store(arguments)
            for row in replay(repository, arguments.revision, arguments.last, memory=arguments.memory, store=store):
                rows.append(row)
                done(1)
        if arguments.format == "json":
            print(json.dumps([row.as_json() for row in rows], indent=2))
        else:
            from engine.cli.formats.review import print_replay

            print_replay(rows)
    except RevisionNotFound as problem:
        raise WrongUse(str(problem)) from problem
    return 0
