"""Runs the language server: findings in the editor while typing, evidence on hover, fixes as code actions."""

from __future__ import annotations

import argparse
import sys

from engine.cli.usage import WrongUse

HELP = "run the language server, for editors"
EXAMPLES = (("preflight lsp", "what an editor starts; it talks over standard input and output"),)


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of `preflight lsp`."""
    parser.add_argument("--stdio", action="store_true", help="talk over standard input and output (always so)")


def run(arguments: argparse.Namespace) -> int:
    """Serves until the editor leaves. Raises WrongUse where the extra is not installed."""
    try:
        from engine.editor.server import build_server
    except ModuleNotFoundError as problem:
        if (problem.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise WrongUse("the language server needs pygls: pip install 'preflight-review[lsp]'") from problem
    output = sys.stdout.buffer
    # Whatever prints must not get between the messages.
    sys.stdout = sys.stderr
    build_server().start_io(sys.stdin.buffer, output)
    return 0
