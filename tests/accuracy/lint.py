"""The accuracy gate of the rules: `python -m tests.accuracy.lint [--family NAME] [--verbose]`.

Prints recall over the defective programs, how many correct ones are flagged (a note is no flag), findings beyond the
known defect, and fixes that work; exits with 1 where a figure has fallen below what the tree has reached before.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, field

from tests.accuracy.lint_cases import Case, cases, fixed, judge

RECALL_FLOOR = 0.98
FLAGGED_CEILING = 0.01
EXTRA_CEILING = 0.02
FIXES_FLOOR = 0.6
"""Safe fixes offered, of the defects for which one is known: 0.63 of those in the tree, whose later programs are the
stranger ones, where a rewrite is seldom safe."""


@dataclass
class Score:
    """Counts over the cases that were judged."""

    defects: int = 0
    hit: int = 0
    correct: int = 0
    flagged: int = 0
    extra: int = 0
    fixes_known: int = 0
    fixes_offered: int = 0
    fixes_working: int = 0
    lines: list[str] = field(default_factory=list)

    def add(self, case: Case) -> None:
        report = judge(case.files)
        if not case.defect:
            loud = [f for f in report.findings if f.severity != "note"]
            self.correct += 1
            self.flagged += bool(loud)
            self.lines += [f"flagged {case.name} {f.name}:{f.line}" for f in loud]
            return
        hits, extra = case.hits(report), case.extra(report)
        self.defects += 1
        self.fixes_known += case.fix_known
        self.hit += bool(hits)
        self.extra += bool(extra)
        self.lines += [f"extra   {case.name} {f.name}:{f.line}" for f in extra]
        if not hits:
            self.lines.append(f"missed  {case.name} {case.family}")
        for finding in [f for f in hits if f.fix and f.fix.safe and not f.path.partition("#")[0].endswith(".ipynb")][
            :1
        ]:
            after = judge(fixed(case.files, finding))
            works = not after.files.failed and not case.hits(after)
            self.fixes_offered += 1
            self.fixes_working += works
            if not works:
                self.lines.append(f"bad fix {case.name}")


def score(family: str | None = None) -> Score:
    """Judge all cases, or those of one family."""
    total = Score()
    for case in cases():
        if family is None or case.family == family:
            total.add(case)
    return total


def main() -> int:
    """Run the gate; 0 when every figure holds."""
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--family")
    ask.add_argument("--verbose", action="store_true")
    options = ask.parse_args()
    total = score(options.family)
    if options.verbose:
        print("\n".join(total.lines))
    recall = total.hit / max(1, total.defects)
    flagged = total.flagged / max(1, total.correct)
    extra = total.extra / max(1, total.defects)
    figures = {
        "defects": total.defects,
        "recall": round(recall, 4),
        "correct": total.correct,
        "flag_rate": round(flagged, 4),
        "extra_rate": round(extra, 4),
        "fixes_known": total.fixes_known,
        "fixes_offered": total.fixes_offered,
        "fixes_working": total.fixes_working,
    }
    print(json.dumps(figures))
    held = recall >= RECALL_FLOOR and flagged <= FLAGGED_CEILING and extra <= EXTRA_CEILING
    fixes = total.fixes_offered == total.fixes_working and total.fixes_offered >= FIXES_FLOOR * total.fixes_known
    return 0 if held and (fixes or options.family is not None) else 1


if __name__ == "__main__":
    raise SystemExit(main())
