"""Small samples of the scenarios in which something breaks; `make stress` runs all at full size."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stress.scenarios import SCENARIOS, Unavailable


@pytest.mark.parametrize("name", [name for name, scenario in SCENARIOS.items() if scenario.sampled])
async def test_a_small_sample_ends_as_it_should(name: str, tmp_path: Path) -> None:
    try:
        outcome = await SCENARIOS[name].run(tmp_path, small=True)
    except Unavailable as reason:
        pytest.skip(str(reason))

    assert outcome.passed, f"{outcome.figures}: {outcome.faults}"
