"""`make calibrate`: the quantiles behind the 90 % range, from the rows of the tree.

Split conformal prediction (Vovk et al.; Lei et al. 2018): for each class of evidence, the finite-sample corrected 5 %
and 95 % quantiles of truth / estimate - 1 over its rows become the range. Writes `engine/memory/data/intervals.toml`
and prints error, coverage and width by file of rows.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import engine.memory
from tests.accuracy.memory_rows import Outcome, hold, rows, summary

INTERVALS = Path(engine.memory.__file__).parent / "data" / "intervals.toml"
SOURCES = ("simulated", "projects", "real_models", "measured")
MISCOVERAGE = 0.10
# With fewer rows the corrected quantile is the extreme one, and a single outlier decides the range.
FEWEST_ROWS = 12
# Half a block of rounding and the context's own spread: no range is narrower than this.
NARROWEST = 0.01


def quantile(values: Sequence[float], level: float) -> float:
    """The conformal quantile: the ceil((n + 1) * level)-th smallest value, kept inside the sample."""
    ordered = sorted(values)
    rank = math.ceil((len(ordered) + 1) * level)
    return ordered[min(max(rank, 1), len(ordered)) - 1]


def spread(ratios: Sequence[float]) -> tuple[float, float]:
    """Quantiles of truth / estimate - 1 at half the miscoverage on each side."""
    errors = [1 / ratio - 1 for ratio in ratios]
    low = -quantile([-error for error in errors], 1 - MISCOVERAGE / 2)
    high = quantile(errors, 1 - MISCOVERAGE / 2)
    return min(low, -NARROWEST), max(high, NARROWEST)


def evidence_class(outcome: Outcome) -> str:
    """The class of evidence whose quantiles an estimate uses; see `engine.estimate`."""
    quantity = "allocated" if outcome.quantity == "allocated" else "reserved"
    return f"{quantity}-{'followed' if outcome.evidence == 'high' else 'assumed'}"


def main() -> int:
    """Hold every row, write the quantiles, print the page."""
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("sources", nargs="*", default=list(SOURCES))
    ask.add_argument("--dry-run", action="store_true", help="print, and write nothing")
    options = ask.parse_args()
    by_class: dict[str, list[float]] = defaultdict(list)
    origin: dict[str, set[str]] = defaultdict(set)
    for source in options.sources:
        outcomes = [hold(row, source) for row in rows(source) if not row.get("packages")]
        figures = summary(outcomes)
        print(f"{source:12}", "  ".join(f"{name} {value:.3f}" for name, value in figures.items()))
        for outcome in outcomes:
            if outcome.ratio:
                by_class[evidence_class(outcome)].append(outcome.ratio)
                origin[evidence_class(outcome)].add(source)
    lines = [
        "# Quantiles of truth / estimate - 1 by class of evidence. Made by `make calibrate`; do not edit.",
        "",
    ]
    for name in ("allocated-followed", "allocated-assumed", "reserved-followed", "reserved-assumed"):
        ratios = by_class.get(name, [])
        if len(ratios) < FEWEST_ROWS:
            # Too few rows of the class: take every row of the same quantity, which is wider.
            quantity = name.split("-")[0]
            ratios = [ratio for other, values in by_class.items() if other.startswith(quantity) for ratio in values]
        if not ratios:
            print(f"{name}: no rows; nothing written")
            return 1
        low, high = spread(ratios)
        sources = ", ".join(sorted(origin.get(name) or set(options.sources)))
        lines += [
            f"[{name}]",
            f"low = {low:.4f}",
            f"high = {high:.4f}",
            f"runs = {len(ratios)}",
            f'source = "{sources}"',
            "",
        ]
        print(f"{name:20} {low:+.3f} {high:+.3f} from {len(ratios)} rows")
    if not options.dry_run:
        INTERVALS.write_text("\n".join(lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
