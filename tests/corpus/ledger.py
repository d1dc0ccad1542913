"""The ledger: what a person concluded of each finding on the corpus, after reading the code.

`ledger.toml` has one row a finding. It is found again by package and by the tool's own fingerprint, which survives
moved lines: a new version of a package keeps the labels of the statements that it keeps. `rule`, `path` and `function`
are there for people. No line of a package stands in the ledger.

The labels, of which the first two are comments that a maintainer is glad of:

- `confirmed`: the defect is there.
- `intentional`: the code does what the finding says, on purpose, and whoever builds on it should know.
- `limitation`: the finding is wrong, and the reason says what the analyser does not see.
- `unresolved`: reading did not settle it.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

LEDGER = Path(__file__).with_name("ledger.toml")

Label = Literal["confirmed", "intentional", "limitation", "unresolved"]


class Key(BaseModel):
    """What a finding is recognised by."""

    model_config = ConfigDict(frozen=True)

    package: str
    fingerprint: str


class Entry(BaseModel):
    """One labelled finding; `reason` is one line."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    package: str
    fingerprint: str
    rule: str
    path: str
    function: str
    label: Label
    reason: str = Field(min_length=10)

    @property
    def key(self) -> Key:
        """What the finding is recognised by."""
        return Key(package=self.package, fingerprint=self.fingerprint)


def read() -> dict[Key, Entry]:
    """Every entry by its key; empty where there is no ledger yet."""
    if not LEDGER.exists():
        return {}
    rows = tomllib.loads(LEDGER.read_text(encoding="utf-8")).get("finding", [])
    entries = [Entry.model_validate(row) for row in rows]
    return {entry.key: entry for entry in entries}
