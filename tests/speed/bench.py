"""`python -m tests.speed.bench [--folder DIR] [--peer COMMAND]`: CPU seconds as ratios.

With `--folder` (the torch package's own files, say) it scans that folder and prints CPU seconds a file; with `--peer`
the same files go through another linter's command in the same run and the ratio is printed. Then a review of ten files
in generated repositories of 2,000 and of 20,000 files.
"""

from __future__ import annotations

import argparse
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from engine.diff import revision_diff
from engine.project import Project
from engine.review import review
from tests.speed.check import TRAINING_FILE


def cpu_of(command: list[str], folder: Path) -> float:
    """User and system seconds of a command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def git(folder: Path, *arguments: str) -> str:
    """Run git with an author of its own."""
    identity = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    return subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def review_seconds(count: int, touched: int = 10) -> tuple[float, float]:
    """CPU seconds and megabytes of a review of `touched` files in a repository of `count` files."""
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        for number in range(count):
            path = folder / f"package_{number % 50}" / f"module_{number}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(TRAINING_FILE.replace("{number}", str(number)))
        git(folder, "init", "-q")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", "base")
        for number in range(touched):
            path = folder / f"package_{number % 50}" / f"module_{number}.py"
            path.write_text(path.read_text().replace("            optimizer.zero_grad()\n", ""))
        git(folder, "commit", "-q", "-am", "head")
        changed = revision_diff(folder, "HEAD~1", "HEAD")
        start = time.process_time()
        report = review(Project.from_revision(folder, "HEAD~1"), Project.from_revision(folder, "HEAD"), changed=changed)
        seconds = time.process_time() - start
        if len(report.introduced) != touched:
            raise SystemExit(f"the review found {len(report.introduced)} of {touched} defects")
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    """Print the figures."""
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--folder", type=Path)
    ask.add_argument("--peer", help="another linter's command, run in the folder")
    options = ask.parse_args()
    if options.folder:
        count = sum(1 for _ in options.folder.rglob("*.py"))
        preflight = [sys.executable, "-m", "engine.cli", "check", ".", "--format", "json", "--fail-on", "never"]
        own = cpu_of(preflight, options.folder)
        print(f"{count} files: {own:.2f} s of CPU, {own / count * 1000:.1f} ms a file")
        if options.peer:
            peer = cpu_of(shlex.split(options.peer), options.folder)
            print(f"peer: {peer:.2f} s of CPU; ratio {peer / own:.1f}")
    small, _ = review_seconds(2_000)
    large, megabytes = review_seconds(20_000)
    print(
        f"review of 10 files: {small:.2f} s in 2,000 files, {large:.2f} s in 20,000 "
        f"(ratio {large / small:.2f}), {megabytes:.0f} MB"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
