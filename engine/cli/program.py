"""Composes the commands, and turns what goes wrong into an exit code and one clear line.

Exit codes: 0 nothing to report, 1 findings at or above `--fail-on`, 2 wrong use or configuration.
Only the module of the command that runs imports more than the standard library's parser: starting is fast.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from importlib import import_module
from typing import NoReturn

from engine.cli.usage import WrongUse
from engine.garbage import left_to_the_end

COMMANDS = (
    "check", "estimate", "compare", "review", "replay", "explain", "rules", "gpus", "config", "init", "completion",
    "lsp",
)  # fmt: skip
"""Each a module of `engine.cli.commands`."""
ANALYSE_ONCE = ("check", "estimate")
"""Those after whose one analysis the process ends."""
EPILOG = """\
first steps:
  preflight check                             what will silently go wrong, in the working folder
  preflight estimate train.py --gpu rtx-4090  whether the run fits
  preflight COMMAND --help                    the options of a command, with examples"""


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints say what was likely meant."""

    def error(self, message: str) -> NoReturn:
        from difflib import get_close_matches

        choice = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
        unknown = re.search(r"unrecognized arguments: (-[\w-]+)", message)
        known: list[str] = []
        if choice is not None:
            known = re.findall(r"[\w-]+", choice[2])
        elif unknown is not None:
            known = [flag for parser in (self, *self._chosen()) for flag in parser._option_string_actions]
        found = choice or unknown
        close = get_close_matches(found[1], known, n=1) if found is not None else []
        super().error(f"{message}; did you mean {close[0]}?" if close else message)

    def _chosen(self) -> Iterator[argparse.ArgumentParser]:
        """The parsers of the commands that were loaded: with a command named, that one."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                yield from action.choices.values()


class _Version(argparse.Action):
    """Looks the version up only when asked for it."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        parser.exit(0, f"preflight {version('preflight-review')}\n")


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """The parser of all commands. With `only`, the others are known by name alone: their modules are not loaded."""
    parser = _Parser(
        prog="preflight",
        description="Finds silent bugs in PyTorch training code and predicts peak GPU memory, without running it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", nargs=0, action=_Version, help="print the version and leave")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)
    for name in COMMANDS:
        if only not in (None, name):
            commands.add_parser(name)
            continue
        module = import_module(f"engine.cli.commands.{name}")
        command = commands.add_parser(
            name,
            help=module.HELP,
            description=module.__doc__,
            epilog=examples(getattr(module, "EXAMPLES", ())),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.configure(command)
        command.set_defaults(run=module.run)
    return parser


def examples(lines: Sequence[tuple[str, str]]) -> str:
    """Command lines with what each does, as the end of a help text."""
    if not lines:
        return ""
    width = max(len(line) for line, _ in lines)
    return "\n".join(["examples:", *(f"  {line:<{width}}  {meaning}" for line, meaning in lines)])


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code. Wrong use of an option leaves through SystemExit(2)."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    parsed = build_parser(words[0] if words and words[0] in COMMANDS else None).parse_args(words)
    last = arguments is None and parsed.command in ANALYSE_ONCE and not getattr(parsed, "watch", False)
    try:
        with left_to_the_end() if last else nullcontext():
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
