"""Prints a rule's page: what it looks for, why it matters, and what is and is not flagged."""

from __future__ import annotations

import argparse
import json
import sys

from engine.cli.usage import WrongUse

HELP = "explain a rule, with examples"
EXAMPLES = (
    ("preflight explain retained-graph", "what the rule looks for and why it matters"),
    ("preflight explain PF101", "the same by its code"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of `preflight explain`."""
    parser.add_argument("rule", metavar="RULE", help="code or name, such as PF101 or retained-graph")
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(arguments: argparse.Namespace) -> int:
    """Prints the page. Raises WrongUse for an unknown rule."""
    from difflib import get_close_matches

    from engine.rules import registry

    rules = list(registry())
    wanted = arguments.rule.strip().lower()
    rule = next((rule for rule in rules if wanted in (rule.code.lower(), rule.name.lower())), None)
    if rule is None:
        group = [f"{rule.code} {rule.name}" for rule in rules if rule.code.lower().startswith(wanted or "-")]
        if group:
            raise WrongUse(f"{arguments.rule} stands for {len(group)} rules; name one: {', '.join(group)}")
        close = get_close_matches(wanted, [rule.name for rule in rules], n=3)
        hint = f"did you mean {', '.join(close)}?" if close else "`preflight rules` lists them"
        raise WrongUse(f"there is no rule {arguments.rule!r}; {hint}")
    if arguments.format == "json":
        names = ("code", "name", "severity", "summary", "page")
        print(json.dumps({name: getattr(rule, name) for name in names}, indent=2))
        return 0
    if not sys.stdout.isatty():
        print(rule.page)
        return 0
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    console.print(f"[bold]{rule.code} {rule.name}[/bold]  [dim]{rule.severity}[/dim]\n")
    console.print(Markdown(rule.page))
    return 0
