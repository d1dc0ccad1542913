"""`python tests/accuracy/measure_on_gpu.py [--source simulated] [--id TEXT] [--out FILE]`: peaks on a real CUDA device.

Needs PyTorch with CUDA (and whatever libraries the chosen rows import); everything else of Preflight runs without.
Each row's program runs in a process of its own. After three optimizer steps the counters are reset, one further step
runs, and the peaks, the context and the reserved curve are written as rows in the format of `measured.jsonl`. A
program that takes no optimizer steps is measured whole. A row whose program fails is reported with the last line
of its error.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROWS = Path(__file__).parent.parent / "cases" / "memory"

# Runs in the child: counts steps, and stops the program once a steady one has been measured.
RUNNER = """
import json, runpy, sys
import torch

WARM = 3
steps, curve = 0, []


class Measured(SystemExit):
    pass


def finish():
    torch.cuda.synchronize()
    free, total = torch.cuda.mem_get_info()
    reserved = torch.cuda.memory_reserved()
    print("MEASURED " + json.dumps({
        "allocated": torch.cuda.max_memory_allocated(),
        "reserved": torch.cuda.max_memory_reserved(),
        "context_bytes": total - free - reserved,
        "total_bytes": torch.cuda.get_device_properties(0).total_memory,
        "device": torch.cuda.get_device_name(0),
        "torch": torch.__version__,
        "reserved_curve": curve,
    }), flush=True)
    raise Measured(0)


def after_step(*_):
    global steps
    steps += 1
    curve.append(torch.cuda.memory_reserved())
    if steps == WARM:
        torch.cuda.reset_peak_memory_stats()
    elif steps == WARM + 1:
        finish()


register = torch.optim.optimizer.register_optimizer_step_post_hook
register(after_step)
sys.argv = [sys.argv[1], *sys.argv[2:]]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except Measured:
    sys.exit(0)
finish()
"""


def measure(row: dict[str, Any], seconds: int) -> dict[str, Any]:
    """Run one row's program; the figures, or `error` with the last line of what it said."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in row["files"].items():
            target = Path(folder) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        runner = Path(folder) / "measured_run.py"
        runner.write_text(RUNNER, encoding="utf-8")
        command = [sys.executable, str(runner), row["entry"]]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            return {"error": f"still running after {seconds} s"}
    for line in done.stdout.splitlines():
        if line.startswith("MEASURED "):
            figures: dict[str, Any] = json.loads(line.removeprefix("MEASURED "))
            return figures
    said = (done.stderr or done.stdout).strip().splitlines()
    return {"error": said[-1] if said else f"exit status {done.returncode}"}


def main() -> int:
    """Measure the chosen rows and write them; 1 where none could be measured."""
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--source", default="simulated")
    ask.add_argument("--id", default="", help="only rows whose id contains this")
    ask.add_argument("--seconds", type=int, default=120, help="limit for one program")
    ask.add_argument("--out", type=Path, default=Path("measured_here.jsonl"))
    options = ask.parse_args()
    count = 0
    with options.out.open("w", encoding="utf-8") as out:
        for line in (ROWS / f"{options.source}.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if options.id not in row["id"]:
                continue
            figures = measure(row, options.seconds)
            if "error" in figures:
                print(f"{row['id']}: {figures['error']}", file=sys.stderr)
                continue
            for quantity in ("allocated", "reserved"):
                count += 1
                measured = {
                    "id": f"{row['id']}-{quantity}-here",
                    "origin": f"measure_on_gpu.py, {figures['device']}, torch {figures['torch']}, {platform.system()}",
                    "quantity": quantity,
                    "value_bytes": figures[quantity],
                    "gpu": figures["device"],
                    "group": f"measured-here/{row['group']}",
                    "entry": row["entry"],
                    "files": row["files"],
                    "tags": [*row.get("tags", []), "measured-here"],
                    "confidence": "high",
                    "truth": {
                        **row.get("truth", {}),
                        "cuda_context_bytes": figures["context_bytes"],
                        "total_bytes": figures["total_bytes"],
                        "reserved_curve": figures["reserved_curve"],
                    },
                }
                out.write(json.dumps(measured) + "\n")
            print(f"{row['id']}: allocated {figures['allocated']:,} reserved {figures['reserved']:,}")
    return 0 if count else 1


if __name__ == "__main__":
    raise SystemExit(main())
