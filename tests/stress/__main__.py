"""`python -m tests.stress [NAME ...] [--small] [--seed N]`."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path

from tests.stress.scenarios import SCENARIOS, Unavailable


def main() -> int:
    """Run scenarios; 1 where one failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.stress", description="The bot under load and faults.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SCENARIOS)}; all without")
    parser.add_argument("--small", action="store_true", help="the sizes of the ordinary tests")
    parser.add_argument("--keep", type=Path, help="folder for logs and databases; else a temporary one")
    for size in ("pulls", "kills", "seed"):
        parser.add_argument(f"--{size}", type=int)
    options = parser.parse_args()
    unknown = set(options.names) - set(SCENARIOS)
    if unknown:
        parser.error(f"no scenario {', '.join(sorted(unknown))}; there are {', '.join(SCENARIOS)}")
    sizes = {size: getattr(options, size) for size in ("pulls", "kills", "seed") if getattr(options, size) is not None}
    failed = False
    for name in options.names or SCENARIOS:
        scenario = SCENARIOS[name]
        print(f"{name}: ...", file=sys.stderr)
        begun = time.monotonic()
        with tempfile.TemporaryDirectory(prefix=f"preflight-{name}-") as temporary:
            folder = options.keep / name if options.keep else Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            try:
                outcome = asyncio.run(scenario.run(folder, small=options.small, **sizes))
            except Unavailable as reason:
                print(f"{name}: skipped: {reason}")
                continue
        load = os.getloadavg()[0]
        verdict = "ok" if outcome.passed else "FAILED"
        took = time.monotonic() - begun
        print(f"{name}: {verdict}: {outcome.figures} ({took:.0f} s; load {load:.1f} on {os.cpu_count()} cores)")
        for fault in outcome.faults[:20]:
            print(f"    {fault}")
        failed |= not outcome.passed
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
