"""The console that reports for people go to."""

from __future__ import annotations

import os
import sys

from rich.console import Console

PIPE_WIDTH = 140
"""Columns of a table that goes to a file or a pipe, which have no width of their own."""


def output() -> Console:
    """stdout as it is. Colours are for terminals, and not where NO_COLOR is set."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
    return Console(soft_wrap=True, highlight=False, width=width)
