"""`make calibrate`: the quantiles behind the 90 % range, from the rows of the tree.

Split conformal prediction (Vovk et al.; Lei et al. 2018): for each class of evidence, the shortest interval that holds
nine tenths of truth / estimate - 1 over its rows, corrected for their number and without outliers, becomes the range.
Outliers count as missed in every coverage that is reported. Writes
`engine/memory/data/intervals.toml` and the accuracy page, whose *unseen* coverage is that of intervals made anew
without the rows of the same origin (one published table of figures, or one simulated program).
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import quantiles
from zlib import crc32

import engine.memory
from engine.memory.evidence import ASSUMED, CLASSES
from engine.memory.interval import Spread, spreads
from tests.accuracy.accuracy_page import page
from tests.accuracy.memory_rows import Outcome, hold, rows

INTERVALS = Path(engine.memory.__file__).parent / "data" / "intervals.toml"
PAGE = Path(__file__).parent.parent.parent / "ACCURACY.md"
SOURCES = ("simulated", "projects", "measured", "native")
MISCOVERAGE = 0.10
# With fewer rows the corrected quantile is the extreme one, and a single outlier decides the range.
FEWEST_ROWS = 12
# Half a block of rounding and the context's own spread: no range is narrower than this.
NARROWEST = 0.01


FENCE = 0.25
"""Least distance from the quartiles at which a row tells of a mechanism that its class has not; it counts as missed."""


def inside(errors: Sequence[float]) -> list[float]:
    """The errors between Tukey's fences, one and a half interquartile ranges (at least FENCE) beyond the quartiles."""
    if len(errors) < FEWEST_ROWS:
        return list(errors)
    first, _, third = quantiles(errors, n=4)
    reach = max(FENCE, 1.5 * (third - first))
    return [error for error in errors if first - reach <= error <= third + reach]


def spread(ratios: Sequence[float]) -> tuple[float, float]:
    """The shortest interval of truth / estimate - 1 that holds the finite-sample corrected share of the rows."""
    errors = sorted(inside([1 / ratio - 1 for ratio in ratios]))
    count = min(len(errors), math.ceil((len(errors) + 1) * (1 - MISCOVERAGE)))
    # The estimate itself is always inside.
    windows = [(min(errors[i], 0.0), max(errors[i + count - 1], 0.0)) for i in range(len(errors) - count + 1)]
    low, high = min(windows, key=lambda window: window[1] - window[0])
    return min(low, -NARROWEST), max(high, NARROWEST)


def widest(by_source: Mapping[str, Sequence[float]]) -> tuple[float, float]:
    """The interval of a class that holds its share of every file with rows enough, not only of the largest."""
    enough = [ratios for ratios in by_source.values() if len(ratios) >= FEWEST_ROWS]
    spreads = [spread(ratios) for ratios in enough or [[r for ratios in by_source.values() for r in ratios]]]
    return min(low for low, _ in spreads), max(high for _, high in spreads)


def evidence_class(outcome: Outcome) -> str:
    """The class of evidence whose quantiles an estimate uses; see `engine.estimate`."""
    quantity = "allocated" if outcome.quantity == "allocated" else "reserved"
    return f"{quantity}-{outcome.evidence}"


def intervals(outcomes: Iterable[Outcome]) -> dict[str, Spread]:
    """The interval of every class of evidence that some row stands behind."""
    by_class: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for outcome in outcomes:
        if outcome.ratio:
            by_class[evidence_class(outcome)][outcome.source].append(outcome.ratio)
    found: dict[str, Spread] = {}
    for name in (f"{quantity}-{evidence}" for quantity in ("allocated", "reserved") for evidence in CLASSES):
        taken = by_class.get(name, {})
        if sum(map(len, taken.values())) < FEWEST_ROWS:
            # Too few rows of the class: those of either quantity under the same evidence.
            evidence = name.split("-")[1]
            taken = defaultdict(list)
            for other, sources in by_class.items():
                for source, ratios in sources.items():
                    if other.endswith(f"-{evidence}"):
                        taken[source].extend(ratios)
        if not taken:
            continue
        low, high = widest(taken)
        runs = sum(map(len, taken.values()))
        found[name] = Spread(low=round(low, 4), high=round(high, 4), runs=runs, source=", ".join(sorted(taken)))
    return found


def as_toml(found: Mapping[str, Spread]) -> str:
    """The file of intervals."""
    lines = ["# Intervals of truth / estimate - 1 by class of evidence. Made by `make calibrate`; do not edit."]
    for name, spread in found.items():
        lines += ["", f"[{name}]", f"low = {spread.low:.4f}", f"high = {spread.high:.4f}", f"runs = {spread.runs}"]
        lines.append(f'source = "{spread.source}"')
    return "\n".join(lines) + "\n"


def ranged(outcome: Outcome, before: Mapping[str, Spread], found: Mapping[str, Spread]) -> Outcome:
    """The outcome as it is under other intervals than those that it was held under; context and NCCL's own spread,
    which a row of `occupied` has besides, stay as they are."""
    if outcome.ratio is None:
        return outcome
    name = evidence_class(outcome)
    expected = outcome.ratio * outcome.value
    old, new = (_spread(table, name) for table in (before, found))
    low = outcome.low + int(expected * (new.low - old.low))
    high = outcome.high + int(expected * (new.high - old.high))
    covered = low <= outcome.value <= high
    return replace(outcome, low=low, high=high, covered=covered, width=(high - low) / max(1.0, expected))


def _spread(table: Mapping[str, Spread], name: str) -> Spread:
    assumed = f"{name.split('-')[0]}-{ASSUMED}"
    return table.get(name) or table[assumed]


def unseen(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Coverage by file of rows, each under the intervals of all rows but those of its own origin."""
    hits: dict[str, list[bool]] = defaultdict(list)
    before = spreads()
    for fold in sorted({_fold(outcome) for outcome in outcomes if outcome.ratio}):
        found = intervals(outcome for outcome in outcomes if _fold(outcome) != fold)
        for outcome in outcomes:
            if outcome.ratio and _fold(outcome) == fold:
                hits[outcome.source].append(ranged(outcome, before, found).covered)
    return {source: sum(held) / len(held) for source, held in hits.items()}


def _fold(outcome: Outcome) -> str:
    # A table of figures is left out whole, from both readings of it; simulated programs by twentieths.
    if outcome.source in ("measured", "native"):
        return outcome.origin
    return f"simulated {crc32(outcome.row.encode()) % 20}"


def main() -> int:
    """Hold every row, write the intervals and the page."""
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("sources", nargs="*", default=list(SOURCES))
    ask.add_argument("--dry-run", action="store_true", help="print, and write nothing")
    options = ask.parse_args()
    every: list[Outcome] = []
    for source in options.sources:
        # A row whose length is only a cap bounds the truth from above and says nothing of the error.
        taken = [row for row in rows(source) if not row.get("packages") and "length-cap" not in row.get("tags", ())]
        every += [hold(row, source) for row in taken]
        print(f"{source}: {len(taken)} rows held", flush=True)
    found = intervals(every)
    if f"allocated-{ASSUMED}" not in found:
        print("no row of what is assumed; nothing written")
        return 1
    # Unseen classes are as wide as what is assumed, so they are ranged under the intervals found.
    before = spreads()
    text = page([ranged(outcome, before, found) for outcome in every], found, unseen(every))
    print(text)
    if not options.dry_run:
        INTERVALS.write_text(as_toml(found), encoding="utf-8")
        PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
