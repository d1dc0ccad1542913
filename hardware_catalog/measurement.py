"""What a run measured of itself: the row that a guard or a measuring step writes, and that others read as data.

Whoever reads one from outside has a claim, not a proof: the model bounds every field and says nothing of its truth.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from hardware_catalog.models import GIB

CHECK_NAME = "preflight-measure"
"""The check run whose text carries a row."""
LARGEST = 1024 * GIB
"""No device holds more: what claims to is no measurement."""

Line = Annotated[str, StringConstraints(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]
Bytes = Annotated[int, Field(ge=0, le=LARGEST)]


class Measurement(BaseModel):
    """Peaks of one process on one device, in bytes, as torch's counters say them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["preflight-measurement"] = "preflight-measurement"
    schema_version: Literal[1] = 1
    entry: Line
    """The script that was run, relative to the repository's root."""
    head_sha: Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{40,64})?$")] = ""
    """The commit that was run; empty where it is not known."""
    device: Line
    """The device's name, as torch gives it."""
    allocated_bytes: Bytes
    reserved_bytes: Bytes
    context_bytes: Bytes = 0
    """Taken beside torch's blocks: the context, libraries, and other processes."""
    total_bytes: Bytes
    steps: Annotated[int, Field(ge=0, le=10**9)] = 0
    """Optimizer steps behind the figures; with none the whole run was measured."""
    world_size: Annotated[int, Field(ge=1, le=100_000)] = 1
    torch: Line = ""

    @model_validator(mode="after")
    def _plausible(self) -> Measurement:
        if not 0 < self.allocated_bytes <= self.reserved_bytes <= self.total_bytes:
            raise ValueError("allocated, reserved and total bytes have to be in that order and above zero")
        return self

    @property
    def occupied_bytes(self) -> int:
        """What the device held in all at the reserved peak."""
        return self.reserved_bytes + self.context_bytes


FENCE = "```json preflight-measurement"
LONGEST = 8192
"""Characters between the fences; a row has a few hundred."""


def fenced(measurement: Measurement) -> str:
    """The row as a fenced block of Markdown."""
    return f"{FENCE}\n{measurement.model_dump_json(indent=1)}\n```"


def find_measurement(text: str) -> Measurement | None:
    """The first row of a text, if it has one that holds to the model; anything else is none."""
    _, found, rest = text.replace("\r\n", "\n").partition(f"{FENCE}\n")
    body, closed, _ = rest[: LONGEST + 4].partition("\n```")
    if not found or not closed:
        return None
    try:
        return Measurement.model_validate_json(body)
    except ValidationError:
        return None
