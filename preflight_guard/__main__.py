"""`preflight-measure [options] SCRIPT [ARGUMENT ...]`: run a training script and write what it took as JSON.

The script is executed, here and now: run this where you run your training. It ends after a few steady steps.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from preflight_guard.check_run import check_run, head_of
from preflight_guard.measuring import NotMeasured, Run, run_script
from preflight_guard.report import rows


def main(arguments: Sequence[str] | None = None) -> int:
    """0 where the run was measured, 2 where it was not; an exception of the script is its own."""
    options = _parser().parse_args(arguments)
    root, script = Path(options.root), Path(options.script)
    try:
        entry = _entry(script, root)
        seen = run_script(script, options.arguments, root, steps=options.steps, to_the_end=options.to_the_end)
        measurement = seen.measurement(entry, options.head or head_of(os.environ))
    except NotMeasured as reason:
        print(f"preflight-measure: {reason}", file=sys.stderr)
        return 2
    if os.environ.get("RANK", "0") != "0":
        # All ranks run the script; one of them writes.
        return 0
    text = measurement.model_dump_json(indent=1)
    print(text)
    if options.out is not None:
        options.out.write_text(text + "\n", encoding="utf-8")
    if options.check_run is not None:
        options.check_run.write_text(json.dumps(check_run(measurement), indent=1) + "\n", encoding="utf-8")
    if options.row is not None:
        _append(options.row, entry, seen, measurement.torch)
    return 0


def _entry(script: Path, root: Path) -> str:
    if not script.is_file():
        raise NotMeasured(f"there is no script {script}")
    try:
        return script.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        raise NotMeasured(f"{script} is not under {root}: give the repository's root as --root") from None


def _append(path: Path, entry: str, seen: Run, version: str) -> None:
    peaks = {"allocated": seen.allocated, "reserved": seen.reserved}
    truth = {"cuda_context_bytes": seen.context, "total_bytes": seen.total}
    with path.open("a", encoding="utf-8") as out:
        for row in rows(entry, seen.files, peaks, device=seen.device, torch_version=version, truth=truth):
            out.write(json.dumps(row) + "\n")


def _parser() -> argparse.ArgumentParser:
    ask = argparse.ArgumentParser(
        prog="preflight-measure",
        description="Run a training script and write the peaks of its GPU memory as JSON. The script is executed.",
        epilog="example: preflight-measure --check-run check.json train.py --batch-size 8",
    )
    ask.add_argument("--steps", type=int, default=2, help="steady steps to measure after three warm ones (2)")
    ask.add_argument("--to-the-end", action="store_true", help="let the script run to its own end")
    ask.add_argument("--root", default=".", metavar="DIR", help="the repository's root (.)")
    ask.add_argument("--head", default="", metavar="SHA", help="the commit; read from GitHub Actions where it runs")
    ask.add_argument("--out", type=Path, metavar="FILE", help="write the row here as well")
    ask.add_argument("--check-run", type=Path, metavar="FILE", help="write the body of a check run that carries it")
    ask.add_argument("--row", type=Path, metavar="FILE", help="append rows for the calibration, with the sources")
    ask.add_argument("script", metavar="SCRIPT")
    ask.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT")
    return ask


if __name__ == "__main__":
    raise SystemExit(main())
