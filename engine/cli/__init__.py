"""The `preflight` command."""

from engine.cli.program import main

__all__ = ["main"]
