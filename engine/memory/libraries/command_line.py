"""`click`, `typer`, `fire`, `tyro`, `absl.flags`: command lines by decorators, run with the launch's arguments."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from engine.memory.libraries.trainer import convert, fill, given_options
from engine.memory.program.functions import Function
from engine.memory.program.namespaces import Namespace
from engine.memory.program.stdlib_models import Silent

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter


class Default:
    """A parameter's declared default: `typer.Option(8, "--batch", "-b")`; `names` are those of the command line."""

    def __init__(self, value: Any, *names: Any) -> None:
        self.value = None if value is ... else value
        self.names = tuple(
            part.lstrip("-").replace("-", "_") for name in names if isinstance(name, str) for part in name.split("/")
        )


def call_with_options(interpreter: Interpreter, function: Any, options: dict[str, Any]) -> Any:
    """Call a command with the launch's options, converted to the type of each default."""
    given = given_options(interpreter.arguments)
    values = dict(options)
    target = getattr(function, "function", function)
    names = target.parameter_names() if isinstance(target, Function) else tuple(options)
    if isinstance(target, Function):
        code = target.preflight_code
        first = len(code.positional) - len(target.preflight_defaults)
        defaults = {code.positional[first + i]: value for i, value in enumerate(target.preflight_defaults)}
        defaults.update(target.preflight_keyword_defaults)
        for name, value in defaults.items():
            values.setdefault(name, value.value if isinstance(value, Default) else value)
            for other in value.names if isinstance(value, Default) else ():
                if other in given:
                    given[name] = given[other]
    for name, text in given.items():
        if name in names:
            known = values.get(name)
            values[name] = convert(text, type(known) if known is not None else _annotated(target, name))
    for name in names:
        values.setdefault(name, None)
    return interpreter.call(target, [], {name: value for name, value in values.items() if name in names})


def chosen_command(interpreter: Interpreter, commands: dict[str, Any]) -> Any:
    """The subcommand that the arguments name, else the only one, else the one that trains; None where none is meant."""
    named = next((commands[word] for word in interpreter.arguments if word in commands), None)
    if named is not None or len(commands) == 1:
        return named or next(iter(commands.values()))
    return next((command for name, command in commands.items() if "train" in name or name in ("fit", "run")), None)


def _annotated(function: Any, name: str) -> Any:
    return function.preflight_code.annotations.get(name, "str") if isinstance(function, Function) else str


def _click(interpreter: Interpreter) -> dict[str, Any]:
    class Command:
        def __init__(self, function: Any) -> None:
            self.function: Any = function.function if isinstance(function, Command) else function
            self.options: dict[str, Any] = dict(getattr(function, "options", {}))
            self.commands: dict[str, Command] = {}
            self.__name__ = getattr(self.function, "__name__", "command")

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            result = call_with_options(interpreter, self.function, {**self.options, **kwargs})
            chosen = chosen_command(interpreter, self.commands)
            return result if chosen is None else chosen()

        main = __call__

        def command(self, *args: Any, **kwargs: Any) -> Any:
            name = next((arg for arg in args if isinstance(arg, str)), kwargs.get("name"))

            def decorate(function: Any) -> Command:
                made = Command(function)
                self.add_command(made, name)
                return made

            return decorate(args[0]) if args and not isinstance(args[0], str) else decorate

        group = command

        def add_command(self, made: Any, name: str | None = None) -> None:
            self.commands[name or made.__name__.replace("_", "-")] = made

    def option(*names: str, default: Any = None, is_flag: Any = False, **settings: Any) -> Any:
        def decorate(function: Any) -> Any:
            command = function if isinstance(function, Command) else Command(function)
            long = next((name for name in names if not name.startswith("-")), names[-1 if len(names) == 1 else 0])
            long = max((n for n in names), key=len) if long.startswith("-") else long
            command.options[long.split("/")[0].lstrip("-").replace("-", "_")] = (
                False if is_flag and default is None else default
            )
            return command

        return decorate

    def command(*args: Any, **kwargs: Any) -> Any:
        return Command(args[0]) if args and callable(args[0]) else Command

    passthrough = lambda function: function  # noqa: E731
    return {
        "command": command,
        "group": command,
        "option": option,
        "argument": option,
        "pass_context": passthrough,
        "echo": lambda *a, **k: None,
        "Choice": lambda *a, **k: str,
        "Path": lambda *a, **k: str,
        "INT": int,
        "FLOAT": float,
        "version_option": lambda *a, **k: passthrough,
    }


def _typer(interpreter: Interpreter) -> dict[str, Any]:
    class Typer:
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.commands: dict[str, Any] = {}
            self.callbacks: list[Any] = []

        def command(self, name: str | None = None, *args: Any, **kwargs: Any) -> Any:
            def decorate(function: Any) -> Any:
                self.commands[name or function.__name__.replace("_", "-")] = function
                return function

            return decorate

        def callback(self, *args: Any, **kwargs: Any) -> Any:
            def decorate(function: Any) -> Any:
                self.callbacks.append(function)
                return function

            return decorate

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            for function in self.callbacks:
                call_with_options(interpreter, function, {})
            chosen = chosen_command(interpreter, self.commands)
            return None if chosen is None else call_with_options(interpreter, chosen, {})

    return {
        "Typer": Typer,
        "run": lambda function: call_with_options(interpreter, function, {}),
        "Option": lambda value=None, *names, **k: Default(value, *names),
        "Argument": lambda value=None, *a, **k: Default(value),
        "echo": lambda *a, **k: None,
    }


def _absl(interpreter: Interpreter) -> Namespace:
    values = SimpleNamespace()
    given = given_options(interpreter.arguments)

    def define(name: str, default: Any = None, *args: Any, **kwargs: Any) -> None:
        setattr(values, name, convert(given[name], type(default)) if name in given else default)

    flags = {f"DEFINE_{kind}": define for kind in ("integer", "float", "string", "bool", "boolean", "enum", "list")}
    app = Namespace("absl.app", {"run": lambda main, *a, **k: interpreter.call(main, [["script"]], {})})
    return Namespace(
        "absl", {"flags": Namespace("absl.flags", {**flags, "FLAGS": values}), "app": app, "logging": Silent()}
    )


def provide(interpreter: Interpreter, dotted: str) -> Any:
    """A module of one of these libraries."""
    top = dotted.split(".")[0]
    if top == "click":
        return Namespace("click", _click(interpreter))
    if top == "typer":
        return Namespace("typer", _typer(interpreter))
    if top == "absl":
        root = _absl(interpreter)
        return root if dotted == "absl" else getattr(root, dotted.split(".")[1], None)

    def run(target: Any, *args: Any, **kwargs: Any) -> Any:
        if dataclasses.is_dataclass(target):
            return fill(interpreter, target)
        return call_with_options(interpreter, target, {})

    return Namespace(top, {"Fire": run, "cli": run})
