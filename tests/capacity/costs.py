"""What one review costs, as it was measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

KEPT = Path(__file__).with_name("costs.json")

Kind = Literal["documentation", "clean", "findings", "same-again", "large"]
KINDS: Mapping[Kind, str] = {
    "documentation": "no training code is touched",
    "clean": "training code without a finding",
    "findings": "a first push with findings: a review with comments, and a summary",
    "same-again": "a further push that leaves the findings as they were",
    "large": "thirty files of training code, one of them with a finding",
}


class Cost(BaseModel):
    """One review, from the delivery to the end of its check."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reads: int
    """REST reads that count against the hourly limit."""
    unchanged: int
    """REST reads answered with 304, which cost nothing but time."""
    writes: int
    """REST writes: five points of the secondary limit each, and a second apart."""
    content: int
    """Those of them that create a review or a comment."""
    queries: int
    """GraphQL queries."""
    mutations: int
    """GraphQL mutations."""
    analysis_seconds: float
    """Processor time of the analysis processes."""
    worker_seconds: float
    """Processor time of the process that receives and works, without what it takes at rest."""


class Costs(BaseModel):
    """All kinds, and where they were measured."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    measured: str
    """Date, processor, Python and the number of rounds."""
    kinds: dict[Kind, Cost]

    @classmethod
    def kept(cls) -> Costs:
        """Read the figures of the last measurement."""
        return cls.model_validate_json(KEPT.read_text(encoding="utf-8"))
