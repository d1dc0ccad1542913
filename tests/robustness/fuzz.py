"""`python -m tests.robustness.fuzz [--inputs N] [--seed N]`: mutated files through `check` and `estimate`.

Prints how many inputs were read, how many failed with a named reason, the slowest one, and every crash.
"""

from __future__ import annotations

import argparse
import time
import traceback
from collections import Counter
from pathlib import Path

from engine.check import check
from engine.estimate import estimate
from engine.project import Project
from tests.robustness.mutations import inputs

CASES = Path(__file__).parent.parent / "cases" / "lint"
SECONDS_OF_CPU = 20.0


def main() -> int:
    """Run the inputs; 1 where one crashed, hung or failed without a name."""
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--inputs", type=int, default=10_000)
    ask.add_argument("--seed", type=int, default=1)
    ask.add_argument("--estimate-every", type=int, default=20)
    options = ask.parse_args()
    seeds = [path.read_text(encoding="utf-8") for path in sorted(CASES.glob("*/*.py"))]
    count: Counter[str] = Counter()
    slowest = ("", 0.0)
    for number, (path, source) in enumerate(inputs(seeds, options.inputs, options.seed)):
        start = time.process_time()
        try:
            report = check(Project.from_mapping({path: source}))
            if number % options.estimate_every == 0:
                estimate(Project.from_mapping({path: source}), path)
        except Exception:
            count["crashed"] += 1
            print(f"CRASH {path} seed {options.seed}\n{traceback.format_exc(limit=-4)}")
            continue
        seconds = time.process_time() - start
        slowest = max(slowest, (path, seconds), key=lambda pair: pair[1])
        count["hung"] += seconds > SECONDS_OF_CPU
        count["failed"] += bool(report.files.failed)
        count["unnamed"] += any(not failed.reason or not failed.path for failed in report.files.failed)
        count["read"] += not report.files.failed
    print(f"{dict(count)}; slowest {slowest[0]} {slowest[1]:.2f} s of CPU")
    return 1 if count["crashed"] or count["hung"] or count["unnamed"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
