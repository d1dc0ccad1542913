"""`argparse`: the host's parser over the launch's arguments, never exiting and never reading this machine."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NoReturn

from engine.memory.program.unknown import Unknown

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter


def make_argparse(interpreter: Interpreter) -> dict[str, Any]:
    """`argparse` for one run. Required options that the launch does not give stay None, with a note."""

    class ArgumentParser(argparse.ArgumentParser):
        """A parser that takes the launch's arguments."""

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            kwargs = {key: value for key, value in kwargs.items() if not isinstance(value, Unknown)}
            super().__init__(*args, **kwargs)

        def _read_args_from_files(self, arg_strings: list[str]) -> list[str]:
            # `@file` stays what it is: the host's parser would open it.
            return arg_strings

        def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
            return self.parse_known_args(args, namespace)[0]

        def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
            given = list(interpreter.arguments if args is None else args)
            given = [str(item) for item in given]
            for action in self._actions:
                if getattr(action, "required", False):
                    action.required = False
                    missing = not any(item.split("=")[0] in action.option_strings for item in given)
                    if action.option_strings and missing:
                        interpreter.note(f"{action.option_strings[0]} is required and the launch does not give it")
                    elif not action.option_strings and action.nargs is None:
                        action.nargs = "?"
            result = super().parse_known_args(given, namespace)
            interpreter.state.setdefault("parsed arguments", []).append(result[0])
            return result

        def error(self, message: str) -> NoReturn:
            raise ValueError(f"the launch's arguments do not parse: {message}")

        def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
            raise SystemExit(status)

        def print_help(self, file: Any = None) -> None:
            return None

        print_usage = print_help

    return {
        "ArgumentParser": ArgumentParser,
        "Namespace": argparse.Namespace,
        "ArgumentDefaultsHelpFormatter": argparse.ArgumentDefaultsHelpFormatter,
        "RawTextHelpFormatter": argparse.RawTextHelpFormatter,
        "RawDescriptionHelpFormatter": argparse.RawDescriptionHelpFormatter,
        "HelpFormatter": argparse.HelpFormatter,
        "SUPPRESS": argparse.SUPPRESS,
        "REMAINDER": argparse.REMAINDER,
        "Action": argparse.Action,
        "BooleanOptionalAction": argparse.BooleanOptionalAction,
        "ArgumentTypeError": argparse.ArgumentTypeError,
        "ArgumentError": argparse.ArgumentError,
        "ONE_OR_MORE": "+",
        "OPTIONAL": "?",
        "ZERO_OR_MORE": "*",
    }
