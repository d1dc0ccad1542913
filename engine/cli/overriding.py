"""`--set key=value`: settings that are taken as said instead of as read."""

from __future__ import annotations

import argparse

from engine.cli.usage import WrongUse


def add_overrides(parser: argparse.ArgumentParser) -> None:
    """`--set KEY=VALUE`, repeatable."""
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides", help="override a setting"
    )


def parse_overrides(values: list[str]) -> dict[str, str]:
    """`key=value` pairs. Raises WrongUse."""
    overrides: dict[str, str] = {}
    for value in values:
        key, equals, text = value.partition("=")
        if not equals or not key.strip():
            raise WrongUse(f"--set takes key=value, not {value!r}")
        overrides[key.strip().replace("-", "_")] = text.strip()
    return overrides
