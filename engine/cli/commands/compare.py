"""Compares devices for one script: what it takes on each, whether it fits, and what that costs."""

from __future__ import annotations

import argparse

from engine.cli.devices import add_gpus, known_gpus
from engine.cli.overriding import add_overrides, parse_overrides
from engine.cli.scripts import add_script, named
from engine.cli.usage import WrongUse

ALL = "all"
HELP = "compare devices for one script: verdicts and prices"
EXAMPLES = (
    ("preflight compare train.py", "every device that is for rent at a known price"),
    ("preflight compare train.py --gpu l4 --gpu a100-40gb --gpu h100", "these three"),
    ("preflight compare train.py --gpu all --format json", "the whole catalogue, for a program"),
    ("preflight compare -- torchrun train.py --batch-size 8", "a whole command line"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of `preflight compare`."""
    add_script(parser)
    add_gpus(parser, more=f", `{ALL}` for the whole catalogue (default: all for rent)")
    add_overrides(parser)
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(arguments: argparse.Namespace) -> int:
    """Compares and prints. Raises WrongUse."""
    overrides = parse_overrides(arguments.overrides)
    names = known_gpus([name for name in arguments.gpu if name != ALL])
    from engine.comparison import compare_devices
    from engine.project import Project
    from hardware_catalog import all_gpus, find_gpu, offered_gpus

    root, relative, sources = named(arguments.script, arguments.root)
    if ALL in arguments.gpu:
        gpus = [gpu for gpu in all_gpus() if gpu.kind != "mig-slice"]
    else:
        gpus = [find_gpu(name) for name in names] or list(offered_gpus())
    project = Project.from_folder(root).with_files(sources)
    try:
        comparison = compare_devices(project, relative, list(dict.fromkeys(gpus)), overrides)
    except ValueError as problem:
        raise WrongUse(str(problem)) from problem
    if arguments.format == "json":
        print(comparison.model_dump_json(indent=2))
    else:
        from engine.cli.formats.comparison import print_comparison

        print_comparison(comparison)
    return 0
