"""Prints a script that completes commands, options, rules and devices in a shell."""

from __future__ import annotations

import argparse

SHELLS = ("bash", "zsh", "fish")
HELP = "print a completion script for a shell"
EXAMPLES = (
    ("preflight completion bash >> ~/.bash_completion", "for bash"),
    ('preflight completion zsh > "${fpath[1]}/_preflight"', "for zsh"),
    ("preflight completion fish > ~/.config/fish/completions/preflight.fish", "for fish"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of `preflight completion`."""
    parser.add_argument("shell", choices=SHELLS)


def run(arguments: argparse.Namespace) -> int:
    """Prints the script."""
    from engine.cli.completing import SCRIPTS, described
    from engine.cli.program import build_parser

    print(SCRIPTS[arguments.shell](described(build_parser())))
    return 0
