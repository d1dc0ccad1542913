"""A small sample of each scenario; `make stress` runs them at full size."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stress.scenarios import SCENARIOS, Unavailable


@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_small_sample_ends_as_it_should(name: str, tmp_path: Path) -> None:
    try:
        outcome = await SCENARIOS[name].run(tmp_path, small=True)
    except Unavailable as reason:
        pytest.skip(str(reason))

    assert outcome.passed, f"{outcome.figures}: {outcome.faults}"
