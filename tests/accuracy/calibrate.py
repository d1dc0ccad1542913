"""`make calibrate`: the quantiles behind the 90 % range, from the rows of the tree.

Split conformal prediction (Vovk et al.; Lei et al. 2018) over groups (Dunn, Wasserman and Ramdas 2022): rows of one
origin, a published table of figures say, err alike, so each origin counts once however many rows it has. For each class
of evidence the shortest interval that holds the class's share of truth / estimate - 1 becomes the range. Classes of few
origins borrow from classes of their kind, and leave out less the fewer they are. Writes
`engine/memory/data/intervals.toml` and the accuracy page, whose *unseen* coverage is that of intervals made anew
without the rows of the same origin (or, of simulated programs, without a twentieth of them).
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from zlib import crc32

import engine.memory
from engine.memory.evidence import (
    ASSUMED,
    CLASSES,
    FOLLOWED,
    LIBRARY,
    MASTERS,
    OLDER,
    REMOTE,
    SHARDED,
    VARIED,
)
from engine.memory.interval import Spread, spreads
from tests.accuracy.accuracy_page import page
from tests.accuracy.memory_rows import Outcome, hold, rows

INTERVALS = Path(engine.memory.__file__).parent / "data" / "intervals.toml"
PAGE = Path(__file__).parent.parent.parent / "ACCURACY.md"
SOURCES = ("simulated", "projects", "measured", "native")

MISSED: Mapping[str, float] = {FOLLOWED: 0.01, LIBRARY: 0.20, MASTERS: 0.05, REMOTE: 0.05, OLDER: 0.05}
MISSED_ELSEWHERE = 0.15
"""Share of a class that its interval leaves out. Together they leave out about a tenth at the least median width. Where
all is known the last rows cost little. Rows of the Trainer's step include figures that other trainers printed for what
the script stands for, and no interval of use holds those. Of code of another time little is known."""
ENOUGH_ORIGINS = 4
"""Origins from which on a class speaks for itself."""
MODERN = (LIBRARY, VARIED, SHARDED, ASSUMED)
UNSURE = (*MODERN, MASTERS, REMOTE, OLDER)
"""What a class of few origins borrows from: one of current code from those, one of code of another time from these."""
# Blocks' rounding, the context's own spread and workspaces that change with the version: no range is narrower.
NARROWEST = 0.02

Errors = Mapping[str, Sequence[float]]
"""Truth / estimate - 1 by origin."""


def shortest(errors: Sequence[tuple[float, float]], share: float) -> tuple[float, float]:
    """The shortest interval around 0 that holds that share of the weight of (error, weight)."""
    ranked = sorted(errors)
    wanted = share * sum(weight for _, weight in ranked) - 1e-9
    best = (min(ranked[0][0], 0.0), max(ranked[-1][0], 0.0))
    last, held = 0, 0.0
    for first, (low, weight) in enumerate(ranked):
        while last < len(ranked) and held < wanted:
            held += ranked[last][1]
            last += 1
        if held < wanted:
            break
        window = (min(low, 0.0), max(ranked[last - 1][0], 0.0))
        if first < last and window[1] - window[0] < best[1] - best[0]:
            best = window
        held -= weight
    return best


def spread(own: Errors, borrowed: Errors, missed: float) -> tuple[float, float]:
    """The interval of a class of evidence; what it lacks of origins is made up from `borrowed`."""
    errors = [(error, 1 / len(taken)) for taken in own.values() for error in taken]
    lacking = max(0, ENOUGH_ORIGINS - len(own))
    if lacking:
        weight = lacking / max(1, len(borrowed))
        errors += [(error, weight / len(taken)) for taken in borrowed.values() for error in taken]
        # What no origin tells of the class is made up by leaving out less of what it borrows.
        missed *= math.sqrt(len(own) / ENOUGH_ORIGINS)
    low, high = shortest(errors, 1 - missed)
    return min(low, -NARROWEST), max(high, NARROWEST)


def origin_of(outcome: Outcome) -> str:
    """The publication that a row is from: all tables of a page, all files of a benchmark; simulated rows are of one."""
    if outcome.source not in ("measured", "native"):
        return outcome.source
    return re.split(r" \(|results/|, ", outcome.origin)[0]


def evidence_class(outcome: Outcome) -> str:
    """The class of evidence whose quantiles an estimate uses; see `engine.estimate`."""
    quantity = "allocated" if outcome.quantity == "allocated" else "reserved"
    return f"{quantity}-{outcome.evidence}"


def intervals(outcomes: Iterable[Outcome]) -> dict[str, Spread]:
    """The interval of every class of evidence that some row stands behind."""
    errors: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for outcome in outcomes:
        if outcome.ratio:
            errors[evidence_class(outcome)][origin_of(outcome)].append(1 / outcome.ratio - 1)
    found: dict[str, Spread] = {}
    for quantity in ("allocated", "reserved"):
        for evidence in CLASSES:
            own, borrowed = _own(errors, quantity, evidence), _borrowed(errors, quantity, evidence)
            if not own and not borrowed:
                continue
            low, high = spread(own, borrowed, MISSED.get(evidence, MISSED_ELSEWHERE))
            runs = sum(map(len, own.values()))
            origins = f"{len(own)} origin{'s' if len(own) > 1 else ''}"
            found[f"{quantity}-{evidence}"] = Spread(low=round(low, 4), high=round(high, 4), runs=runs, source=origins)
    return found


def _own(errors: Mapping[str, Errors], quantity: str, evidence: str) -> Errors:
    """A class's errors by origin, of either quantity: only where all is known do the two err differently."""
    quantities = (quantity,) if evidence == FOLLOWED else ("allocated", "reserved")
    own: dict[str, list[float]] = defaultdict(list)
    for name in quantities:
        for origin, taken in errors.get(f"{name}-{evidence}", {}).items():
            own[origin].extend(taken)
    return own


def _borrowed(errors: Mapping[str, Errors], quantity: str, evidence: str) -> Errors:
    if evidence == FOLLOWED:
        return errors.get(f"{'allocated' if quantity == 'reserved' else 'reserved'}-{FOLLOWED}", {})
    kin = MODERN if evidence in MODERN else UNSURE
    borrowed: dict[str, Sequence[float]] = {}
    for other in kin:
        if other != evidence:
            borrowed |= {f"{origin} {other}": taken for origin, taken in _own(errors, quantity, other).items()}
    return borrowed


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
    # A publication is left out whole, from both readings of it; simulated programs by twentieths.
    if outcome.source in ("measured", "native"):
        return origin_of(outcome)
    return f"simulated {crc32(outcome.row.encode()) % 20}"


def held_before(path: Path | None) -> dict[tuple[str, str], Outcome]:
    """Outcomes that were kept, by file and row."""
    if path is None or not path.exists():
        return {}
    kept = [Outcome(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    return {(outcome.source, outcome.row): outcome for outcome in kept}


def main() -> int:
    """Hold every row, write the intervals and the page."""
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("sources", nargs="*", default=list(SOURCES))
    ask.add_argument("--dry-run", action="store_true", help="print, and write nothing")
    ask.add_argument(
        "--keep",
        type=Path,
        help="a file of outcomes under the present intervals: those in it are not held again, others are added",
    )
    options = ask.parse_args()
    every: list[Outcome] = []
    kept = held_before(options.keep)
    for source in options.sources:
        # A row whose length is only a cap bounds the truth from above and says nothing of the error.
        taken = [row for row in rows(source) if not row.get("packages") and "length-cap" not in row.get("tags", ())]
        for row in taken:
            outcome = kept.get((source, row["id"])) or hold(row, source)
            every.append(outcome)
            if options.keep is not None and (source, row["id"]) not in kept:
                with options.keep.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(outcome)) + "\n")
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
