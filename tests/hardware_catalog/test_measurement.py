"""A measured row is data from outside: what does not hold to its bounds is no row."""

from typing import Any

import pytest
from pydantic import ValidationError

from hardware_catalog import GIB
from hardware_catalog.measurement import Measurement, fenced, find_measurement


def row(**changes: Any) -> Measurement:
    given: dict[str, Any] = {
        "entry": "train.py",
        "device": "NVIDIA A100-SXM4-80GB",
        "allocated_bytes": 6 * GIB,
        "reserved_bytes": 8 * GIB,
        "context_bytes": GIB,
        "total_bytes": 80 * GIB,
    }
    return Measurement.model_validate(given | changes)


def test_a_row_is_found_again_in_the_text_that_carries_it() -> None:
    assert find_measurement(f"Peaks of a run\n\n{fenced(row())}\n\nand more") == row()
    assert find_measurement(fenced(row()).replace("\n", "\r\n")) == row()
    assert row().occupied_bytes == 9 * GIB


@pytest.mark.parametrize(
    "changes",
    [
        {"allocated_bytes": -1},
        {"allocated_bytes": 0},
        {"allocated_bytes": 9 * GIB},
        {"reserved_bytes": 81 * GIB},
        {"total_bytes": 1 << 60},
        {"entry": "a" * 300},
        {"entry": "train.py\n## heading"},
        {"head_sha": "main"},
        {"world_size": 0},
        {"allocated_bytes": "many"},
        {"surprise": 1},
    ],
)
def test_what_no_run_could_have_measured_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        row(**changes)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "```json\n{}\n```",
        "```json preflight-measurement\n{}\n```",
        "```json preflight-measurement\n" + "[" * 5000 + "\n```",
        fenced(row())[:-4],
        "```json preflight-measurement\n" + " " * 20_000 + "\n```",
    ],
)
def test_other_texts_carry_none(text: str) -> None:
    assert find_measurement(text) is None
