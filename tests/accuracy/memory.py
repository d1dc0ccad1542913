"""The memory accuracy gate: `python -m tests.accuracy.memory [SOURCE ...] [--verbose]`.

Prints resolved rate, mean error, coverage and width for each file of rows, and exits with 1 where a figure has fallen
below the floor that the tree has reached before.
"""

from __future__ import annotations

import argparse
import json
import sys

from tests.accuracy.memory_rows import Outcome, hold, rows, summary

# Figures reached on these rows; a change may raise a floor, never lower it without saying why in the changelog.
FLOORS: dict[str, dict[str, float]] = {
    "simulated": {"resolved": 0.97, "parameters_right": 0.97, "within_5": 0.90},
    "projects": {"resolved": 0.95, "within_5": 0.90},
    "written": {"resolved": 1.0, "parameters_right": 0.98, "within_5": 0.97},
}
CEILINGS: dict[str, dict[str, float]] = {
    "simulated": {"mean_error": 0.03},
    "projects": {"mean_error": 0.01},
    "written": {"mean_error": 0.005},
}


def _describe(outcome: Outcome) -> str:
    if outcome.ratio is None:
        return f"{outcome.row:70} {outcome.outcome} {outcome.verdict} {outcome.note[:100]}"
    return f"{outcome.row:70} {outcome.ratio - 1:+7.1%} {'in' if outcome.covered else 'OUT'}"


def main() -> int:
    """Run the gate over the named sources; 0 when every floor holds."""
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("sources", nargs="*", default=["simulated", "projects", "written"])
    ask.add_argument("--verbose", action="store_true")
    options = ask.parse_args()
    fallen = []
    for source in options.sources:
        outcomes = [hold(row, source) for row in rows(source) if not row.get("packages")]
        if options.verbose:
            for outcome in sorted(outcomes, key=lambda o: -abs((o.ratio or 9.0) - 1)):
                print(_describe(outcome))
        figures = summary(outcomes)
        print(source, json.dumps({name: round(value, 4) for name, value in figures.items()}))
        for name, floor in FLOORS.get(source, {}).items():
            if figures.get(name, 0.0) < floor:
                fallen.append(f"{source}: {name} {figures.get(name, 0.0):.3f} is below {floor}")
        for name, ceiling in CEILINGS.get(source, {}).items():
            if figures.get(name, 9.0) > ceiling:
                fallen.append(f"{source}: {name} {figures.get(name, 9.0):.3f} is above {ceiling}")
    for line in fallen:
        print(line, file=sys.stderr)
    return 1 if fallen else 0


if __name__ == "__main__":
    raise SystemExit(main())
