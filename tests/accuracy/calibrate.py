"""`make calibrate`: the quantiles behind the 90 % range, from the rows of the tree.

Split conformal prediction (Vovk et al.; Lei et al. 2018): for each class of evidence, the shortest interval that holds
nine tenths of truth / estimate - 1 over its rows, corrected for their number, becomes the range. Writes
`engine/memory/data/intervals.toml` and prints error, coverage and width by file of rows.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import engine.memory
from engine.memory.evidence import CLASSES
from tests.accuracy.memory_rows import Outcome, hold, rows, summary

INTERVALS = Path(engine.memory.__file__).parent / "data" / "intervals.toml"
SOURCES = ("simulated", "projects", "real_models", "measured")
MISCOVERAGE = 0.10
# With fewer rows the corrected quantile is the extreme one, and a single outlier decides the range.
FEWEST_ROWS = 12
# Half a block of rounding and the context's own spread: no range is narrower than this.
NARROWEST = 0.01


def spread(ratios: Sequence[float]) -> tuple[float, float]:
    """The shortest interval of truth / estimate - 1 that holds the finite-sample corrected share of the rows."""
    errors = sorted(1 / ratio - 1 for ratio in ratios)
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


def page(outcomes: Iterable[Outcome]) -> str:
    """The file of intervals made from outcomes; raises ValueError where a class and its neighbours have no row."""
    by_class: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for outcome in outcomes:
        if outcome.ratio:
            by_class[evidence_class(outcome)][outcome.source].append(outcome.ratio)
    lines = ["# Intervals of truth / estimate - 1 by class of evidence. Made by `make calibrate`; do not edit.", ""]
    for name in (f"{quantity}-{evidence}" for quantity in ("allocated", "reserved") for evidence in CLASSES):
        taken = by_class.get(name, {})
        if sum(map(len, taken.values())) < FEWEST_ROWS:
            # Too few rows of the class: those of either quantity under the same evidence.
            evidence = name.split("-")[1]
            taken = defaultdict(list)
            for other, sources in by_class.items():
                for source, ratios in sources.items():
                    if other.endswith(evidence):
                        taken[source].extend(ratios)
        if not taken:
            raise ValueError(f"{name}: no rows")
        low, high = widest(taken)
        lines += [
            f"[{name}]",
            f"low = {low:.4f}",
            f"high = {high:.4f}",
            f"runs = {sum(map(len, taken.values()))}",
            f'source = "{", ".join(sorted(taken))}"',
            "",
        ]
    return "\n".join(lines)


def main() -> int:
    """Hold every row, write the intervals, print the page."""
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("sources", nargs="*", default=list(SOURCES))
    ask.add_argument("--dry-run", action="store_true", help="print, and write nothing")
    options = ask.parse_args()
    every: list[Outcome] = []
    for source in options.sources:
        # A row whose length is only a cap bounds the truth from above and says nothing of the error.
        taken = [row for row in rows(source) if not row.get("packages") and "length-cap" not in row.get("tags", ())]
        outcomes = [hold(row, source) for row in taken]
        every += outcomes
        print(f"{source:12}", "  ".join(f"{name} {value:.3f}" for name, value in summary(outcomes).items()))
    try:
        text = page(every)
    except ValueError as problem:
        print(f"{problem}; nothing written")
        return 1
    print(text)
    if not options.dry_run:
        INTERVALS.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
