"""How rows become intervals: an origin counts once, few origins borrow, and what is left out is known."""

import math

from engine.memory.interval import around
from tests.accuracy.calibrate import intervals, shortest, spread, unseen
from tests.accuracy.memory_rows import Outcome


def row(origin: str, error: float, *, evidence: str = "sharded", source: str = "measured", name: str = "") -> Outcome:
    """A row whose truth is off the estimate by `error`."""
    value, expected = 1_000_000_000, 1_000_000_000 / (1 + error)
    held = around(int(expected), f"reserved-{evidence}")
    return Outcome(
        name or f"{origin} {error}",
        source,
        "reserved",
        evidence,
        expected / value,
        value=value,
        low=held.low,
        high=held.high,
        origin=origin,
    )


def test_an_origin_with_many_rows_counts_as_one_with_few() -> None:
    many = {"a": [0.5] * 50, "b": [0.0], "c": [0.01], "d": [0.02], "e": [0.0]}
    assert spread(many, {}, missed=0.2) == (-0.02, 0.02)
    assert spread(many, {}, missed=0.1)[1] == 0.5


def test_the_shortest_interval_holds_its_share_and_the_estimate() -> None:
    assert shortest([(0.1, 1.0), (0.2, 1.0), (0.3, 1.0), (0.9, 1.0)], 0.75) == (0.0, 0.3)
    assert shortest([(0.1, 1.0), (0.2, 1.0)], 1.0) == (0.0, 0.2)
    assert shortest([(-0.5, 1.0), (0.0, 8.0), (0.5, 1.0)], 0.8) == (0.0, 0.0)


def test_a_class_of_one_origin_is_as_wide_as_its_kind() -> None:
    own = [row("a", error) for error in (0.0, 0.01, 0.02)]
    kin = [row("b", 0.3, evidence="library"), row("c", -0.2, evidence="assumed")]
    alone, beside = intervals(own)["reserved-sharded"], intervals([*own, *kin])["reserved-sharded"]
    assert (alone.low, alone.high) == (-0.02, 0.02)
    assert beside.low <= -0.2 and beside.high >= 0.3
    assert beside.runs == 3 and beside.source == "1 origin"
    # Code of current libraries does not borrow from that of another time.
    older = intervals([*own, *kin, row("d", 2.0, evidence="remote")])["reserved-sharded"]
    assert older == beside


def test_coverage_unseen_leaves_out_the_whole_publication() -> None:
    # Both tables of the page are left out together, so that neither vouches for the other.
    page = [row("page.md (table 1)", 0.4, name="one"), row("page.md (table 2)", 0.4, name="two")]
    others = [row(origin, 0.0) for origin in ("a", "b", "c", "d")]
    assert unseen([*page, *others])["measured"] == 4 / 6


def test_no_range_is_narrower_than_rounding() -> None:
    found = intervals([row(origin, 0.0) for origin in "abcd"])["reserved-sharded"]
    assert math.isclose(found.high - found.low, 0.04)
