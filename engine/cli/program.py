"""Composes the commands, and turns what goes wrong into an exit code and one clear line.

Exit codes: 0 nothing to report, 1 findings at or above `--fail-on`, 2 wrong use or configuration.
Only the module of the command that runs imports more than the standard library's parser: starting is fast.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module, metadata

from engine.cli.usage import WrongUse

COMMANDS = ("check", "estimate", "review", "replay", "explain", "rules", "gpus")


class _Version(argparse.Action):
    """Looks the version up only when asked for it."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        parser.exit(0, f"preflight {metadata.version('preflight-review')}\n")


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="preflight",
        description="Finds silent bugs in PyTorch training code and predicts peak GPU memory, without running it.",
    )
    parser.add_argument("--version", nargs=0, action=_Version, help="print the version and leave")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS:
        module = import_module(f"engine.cli.commands.{name}")
        command = commands.add_parser(name, help=module.HELP, description=module.__doc__)
        module.configure(command)
        command.set_defaults(run=module.run)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code. Wrong use of an option leaves through SystemExit(2)."""
    parsed = build_parser().parse_args(arguments)
    try:
        code: int = parsed.run(parsed)
        sys.stdout.flush()
    except WrongUse as problem:
        print(f"preflight {parsed.command}: {problem}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # The reader (`head`, a pager) has left; what it did not read is not an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    return code
