"""Completion scripts: the commands and options of the parser, and the names of rules and devices, in a shell's words.

The scripts are written once and start no Python when a key is pressed.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from engine.rules import registry
from hardware_catalog import all_gpus

RULE_OPTIONS = ("--select", "--ignore")
DEVICE_OPTIONS = ("--gpu",)
FILE_METAVARS = ("FILE", "DIR", "PATH", "SCRIPT", "REPO")


@dataclass(frozen=True)
class Option:
    """An option with its help, whether a value follows, and the values if they are known; files where `is_file`."""

    flags: Sequence[str]
    help: str
    takes_value: bool = False
    values: Sequence[str] = ()
    is_file: bool = False


@dataclass(frozen=True)
class Command:
    """A command with its options, and what its arguments may be."""

    name: str
    help: str
    options: Sequence[Option] = ()
    arguments: Sequence[str] = ()
    takes_files: bool = False
    commands: Sequence[Command] = field(default=())


def described(parser: argparse.ArgumentParser, name: str = "preflight", told: str = "") -> Command:
    """What a parser takes."""
    options: list[Option] = []
    arguments: list[str] = []
    commands: list[Command] = []
    takes_files = False
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            commands += [described(each, word, helps.get(word, "")) for word, each in action.choices.items()]
        elif action.option_strings:
            options.append(_option(action))
        else:
            arguments += _values(action)
            takes_files = takes_files or action.metavar in FILE_METAVARS
    return Command(name, told, options, arguments, takes_files, commands)


def _option(action: argparse.Action) -> Option:
    return Option(
        action.option_strings,
        action.help or "",
        takes_value=action.nargs != 0,
        values=_values(action),
        is_file=action.metavar in FILE_METAVARS,
    )


def _values(action: argparse.Action) -> list[str]:
    if action.choices is not None:
        return [str(choice) for choice in action.choices]
    if action.metavar == "RULE" or any(flag in RULE_OPTIONS for flag in action.option_strings):
        return [name for rule in sorted(registry(), key=lambda rule: rule.code) for name in (rule.code, rule.name)]
    if any(flag in DEVICE_OPTIONS for flag in action.option_strings):
        return ["here", *(gpu.id for gpu in all_gpus())]
    return []


def _all(command: Command, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Command]]:
    """The command and those below it, each with the words that lead to it."""
    return [(path, command), *(found for each in command.commands for found in _all(each, (*path, each.name)))]


def _words(values: Sequence[str]) -> str:
    return shlex.quote(" ".join(values))


def bash(command: Command) -> str:
    """For bash: one function, a case for each command, and in it one for each option with a value."""
    cases: list[str] = []
    for path, each in _all(command):
        cases.append(f"    {shlex.quote(' '.join(path))})")
        cases.append('      case "$previous" in')
        for option in each.options:
            if option.takes_value:
                chosen = "-f" if option.is_file else f"-W {_words(option.values)}"
                cases.append(f"        {'|'.join(option.flags)}) _preflight_from {chosen}; return;;")
        cases.append("      esac")
        flags = [flag for option in each.options for flag in option.flags]
        cases.append(f'      if [[ "$word" == -* ]]; then _preflight_from -W {_words(flags)}; return; fi')
        names = [below.name for below in each.commands] or list(each.arguments)
        files = " -f" if each.takes_files else ""
        cases.append(f"      _preflight_from -W {_words(names)}{files};;")
    subcommands = [" ".join(path) for path, _ in _all(command) if path]
    body = "\n".join(cases)
    return f"""\
# Completion of preflight for bash.
_preflight_from() {{ COMPREPLY=($(compgen "$@" -- "$word")); }}
_preflight() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" path="" each at
  for ((at = 1; at < COMP_CWORD; at++)); do
    each="${{path:+$path }}${{COMP_WORDS[at]}}"
    case " {"|".join(subcommands)}|" in *[\\ \\|]"$each|"*) path="$each";; esac
  done
  case "$path" in
{body}
  esac
}}
complete -o filenames -F _preflight preflight"""


def zsh(command: Command) -> str:
    """For zsh: a function for each command, with `_arguments` for its options."""
    functions: list[str] = []
    for path, each in _all(command):
        specs = [_zsh_option(option) for option in each.options]
        name = "_".join(("_preflight", *path))
        if each.commands:
            listed = "\n".join(f"      {shlex.quote(f'{below.name}:{below.help}')}" for below in each.commands)
            choices = "\n".join(f"      {below.name}) {name}_{below.name};;" for below in each.commands)
            specs += ["'1: :->command'", "'*:: :->rest'"]
            tail = f"""
  case $state in
    command)
      local -a commands=(
{listed}
      )
      _describe command commands;;
    rest) case $words[1] in
{choices}
    esac;;
  esac"""
        else:
            values = f"({' '.join(each.arguments)})" if each.arguments else "_files" if each.takes_files else ""
            specs += [shlex.quote(f"*:argument:{values}")] if values else []
            tail = ""
        joined = " \\\n    ".join(specs)
        functions.append(f"{name}() {{\n  local state line\n  _arguments -C \\\n    {joined}{tail}\n}}")
    return "#compdef preflight\n# Completion of preflight for zsh.\n" + "\n".join(functions) + '\n_preflight "$@"'


def _zsh_option(option: Option) -> str:
    told = option.help.replace("[", "(").replace("]", ")").replace(":", ";").replace("%%", "%")
    value = ""
    if option.takes_value:
        value = f":value:{'_files' if option.is_file else '(' + ' '.join(option.values) + ')'}"
    return " ".join(shlex.quote(f"*{flag}[{told}]{value}") for flag in option.flags)


def fish(command: Command) -> str:
    """For fish: one line for each command and option."""
    lines = ["# Completion of preflight for fish.", "complete -c preflight -f"]
    for path, each in _all(command):
        below = " ".join(sub.name for sub in each.commands)
        conditions = [f"__fish_seen_subcommand_from {word}" for word in path]
        if below:
            conditions.append(f"not __fish_seen_subcommand_from {below}")
        when = shlex.quote("; and ".join(conditions)) if conditions else "__fish_use_subcommand"
        start = f"complete -c preflight -n {when}"
        lines += [f"{start} -a {sub.name} -d {shlex.quote(sub.help)}" for sub in each.commands]
        if each.arguments:
            lines.append(f"{start} -a {_words(each.arguments)}")
        if each.takes_files:
            lines.append(f"{start} -F")
        for option in each.options:
            flags = " ".join(f"-l {f[2:]}" if f.startswith("--") else f"-s {f[1:]}" for f in option.flags)
            value = "" if not option.takes_value else " -rF" if option.is_file else f" -xa {_words(option.values)}"
            lines.append(f"{start} {flags}{value} -d {shlex.quote(option.help.replace('%%', '%'))}")
    return "\n".join(lines)


SCRIPTS: Mapping[str, Callable[[Command], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
