"""The accuracy page: error, coverage, width and verdicts of the estimates on the rows of the tree, as Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence

from engine.memory.interval import Spread
from tests.accuracy.memory_rows import Outcome, summary

BANDS: Mapping[str, Sequence[float]] = {
    "below 80 %": (0.5, 0.6, 0.7, 0.79),
    "80 to 95 %": (0.81, 0.85, 0.90, 0.94),
    "95 to 105 %": (0.96, 0.99, 1.01, 1.04),
    "above 105 %": (1.06, 1.15, 1.3, 1.6),
}
"""Shares of a device that the measured bytes are taken to fill: each row is held against devices of those sizes."""

QUANTITIES = {"allocated": "allocated", "reserved": "reserved", "occupied": "reserved"}
"""Whose interval a quantity uses."""


def page(outcomes: Sequence[Outcome], intervals: Mapping[str, Spread], unseen: Mapping[str, float]) -> str:
    """The whole page; `unseen` is the coverage of each file under intervals made without the rows' own origin."""
    lines = [
        "# Accuracy of the memory estimates",
        "",
        "Made by `make calibrate` from the rows under `tests/cases/memory`; do not edit. `simulated` and `projects`",
        "are peaks of a real autograd run on fake tensors; `measured` are peaks that others measured on GPUs, read",
        "from the plain Python program, and `native` the same from the trainer's own launch files. The range is",
        "calibrated to hold 90 % of runs, and rows of one origin count as one for it; *unseen* is the coverage under",
        "intervals made without the rows' own origin, and the figure for what comes from elsewhere. The classes, and",
        "how much of each is left out (`tests/accuracy/calibrate.py`), were chosen with these rows in view.",
        "",
        "| rows | number | resolved | mean error | within 5 % | within 10 % | coverage | unseen | median width |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for source in dict.fromkeys(outcome.source for outcome in outcomes):
        own = [outcome for outcome in outcomes if outcome.source == source]
        stated = [outcome for outcome in own if outcome.stated]
        figures = {**summary(own), **{k: v for k, v in summary(stated).items() if k == "mean_error"}}
        numbers = [abs(outcome.ratio - 1) for outcome in own if outcome.ratio is not None]
        tenth = sum(error <= 0.10 for error in numbers) / max(1, len(numbers))
        lines.append(
            f"| {source} | {len(own)} | {figures['resolved']:.1%} | {figures.get('mean_error', 0):.1%} | "
            f"{figures.get('within_5', 0):.0%} | {tenth:.0%} | {figures.get('coverage', 0):.1%} | "
            f"{unseen.get(source, 0):.1%} | {figures.get('median_width', 0):.1%} |"
        )
    return "\n".join([*lines, "", *_classes(outcomes, intervals), "", *_verdicts(outcomes), ""])


def _classes(outcomes: Iterable[Outcome], intervals: Mapping[str, Spread]) -> list[str]:
    lines = [
        "Mean error counts rows whose counter is stated. By class of evidence (`engine/memory/evidence.py`):",
        "",
        "| interval | rows | of | truth against estimate | median error |",
        "|---|---|---|---|---|",
    ]
    by_class: dict[str, list[float]] = {}
    for outcome in outcomes:
        if outcome.ratio is not None:
            name = f"{QUANTITIES[outcome.quantity]}-{outcome.evidence}"
            by_class.setdefault(name, []).append(abs(outcome.ratio - 1))
    for name, spread in intervals.items():
        errors = by_class.get(name, [])
        median = f"{statistics.median(errors):.1%}" if errors else ""
        lines.append(
            f"| {name} | {spread.runs} | {spread.source} | {spread.low:+.1%} to {spread.high:+.1%} | {median} |"
        )
    return lines


def _verdicts(outcomes: Sequence[Outcome]) -> list[str]:
    lines = [
        "Verdicts, had each row been held against devices that it fills to the given share. A false fit is a `fits`",
        "for a run that needs more than the device has, a false OOM a `does-not-fit` for one that needs less.",
        "",
        "| share of the device | verdicts | false fit | false OOM | borderline |",
        "|---|---|---|---|---|",
    ]
    for band, shares in BANDS.items():
        count = fits = ooms = between = 0
        for outcome in outcomes:
            if outcome.ratio is None or not outcome.value or outcome.source == "native":
                continue
            for share in shares:
                capacity = outcome.value / share
                count += 1
                fits += share > 1 and outcome.high <= capacity
                ooms += share <= 1 and outcome.low > capacity
                between += outcome.low <= capacity < outcome.high
        rate = f"{fits / count:.1%} | {ooms / count:.1%} | {between / count:.1%}" if count else " | | "
        lines.append(f"| {band} | {count} | {rate} |")
    held = [outcome for outcome in outcomes if outcome.quantity == "verdict" and outcome.verdict != "unknown"]
    false_fits = sum(outcome.outcome == "oom" and outcome.verdict == "fits" for outcome in held)
    false_ooms = sum(outcome.outcome == "ran" and outcome.verdict == "does-not-fit" for outcome in held)
    lines += [
        "",
        f"Of {len(held)} runs of which only the outcome is published, {false_fits} are a false fit and {false_ooms} a "
        "false OOM.",
    ]
    return lines
