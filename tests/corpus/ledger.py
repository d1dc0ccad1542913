"""The ledger: what a person concluded of each finding on the corpus.

`ledger.toml` has one row a finding. It is found again by package, rule, path and the text of the line, so that a
new version of a package keeps the labels of the lines that it keeps.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

LEDGER = Path(__file__).with_name("ledger.toml")

Label = Literal["confirmed", "intentional", "limitation", "unresolved"]


class Entry(BaseModel):
    """One labelled finding; `reason` is one line."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    package: str
    rule: str
    path: str
    code: str
    label: Label
    reason: str


class Key(BaseModel):
    """What a finding is recognised by."""

    model_config = ConfigDict(frozen=True)

    package: str
    rule: str
    path: str
    code: str


def read() -> dict[Key, Entry]:
    """Every entry by its key; empty where there is no ledger yet."""
    if not LEDGER.exists():
        return {}
    rows = tomllib.loads(LEDGER.read_text(encoding="utf-8")).get("finding", [])
    entries = [Entry.model_validate(row) for row in rows]
    return {Key(package=e.package, rule=e.rule, path=e.path, code=e.code): e for e in entries}
