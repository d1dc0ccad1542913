"""`python -m tests.speed.bench [--every N] [--reviews-only]`: CPU seconds as ratios.

The torch package's own Python files, every eighth of them (`--every 1`: all), go through `check` and through
torch-preflight 0.5.0 in the same run. Then ten files are reviewed in generated repositories of 2,000 and 20,000 files.

Both packages are fetched with pip where the environment does not say where they are: `PREFLIGHT_BENCH_TORCH` is the
folder of a torch package, `PREFLIGHT_BENCH_PEER` the path of a torch-preflight command.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from pathlib import Path

from engine.diff import revision_diff
from engine.project import Project
from engine.review import review
from tests.speed.check import TRAINING_FILE

TORCH = "torch==2.13.0"
TORCH_PLATFORM = "macosx_11_0_arm64"
"""The smallest wheel: its Python files are those of every platform."""
PEER = "torch-preflight==0.5.0"


def torch_package(home: Path) -> Path:
    """The folder of the torch package."""
    given = os.environ.get("PREFLIGHT_BENCH_TORCH")
    if given:
        return Path(given)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    wanted = ["--only-binary=:all:", "--platform", TORCH_PLATFORM, "--python-version", "3.11", TORCH]
    subprocess.run([*pip, *wanted, "--dest", str(home)], check=True)
    (wheel,) = home.glob("torch-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(home, [name for name in archive.namelist() if name.endswith(".py")])
    return home / "torch"


def peer_command(home: Path) -> str:
    """The peer's command, installed where none is given."""
    given = os.environ.get("PREFLIGHT_BENCH_PEER")
    if given:
        return given
    venv.create(home / "peer", with_pip=True)
    python = home / "peer" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PEER], check=True)
    return str(home / "peer" / "bin" / "torch-preflight")


def scan(every: int) -> None:
    """Print the ratio of the peer's CPU seconds to our own on every so many of torch's files."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        package, command = torch_package(home), peer_command(home)
        sample = home / "sample" / "torch"
        files = sorted(package.rglob("*.py"))[every - 1 :: every]
        for path in files:
            copy = sample / path.relative_to(package)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        preflight = [sys.executable, "-m", "engine.cli", "check", ".", "--no-cache", "--format", "json"]
        own = cpu_of([*preflight, "--fail-on", "never"], sample.parent)
        print(f"{len(files)} files of torch: {own:.2f} s of CPU, {own / len(files) * 1000:.1f} ms a file", flush=True)
        peer = cpu_of([command, "check", ".", "-f", "json", "-j", "1"], sample.parent)
        print(f"torch-preflight: {peer:.2f} s of CPU, {peer / own:.1f} times as many")


def cpu_of(command: list[str], folder: Path) -> float:
    """User and system seconds of a command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{command[0]} failed: {done.stderr[-500:]}")
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
    ask.add_argument("--every", type=int, default=8, help="scan every so many of torch's files")
    ask.add_argument("--reviews-only", action="store_true")
    options = ask.parse_args()
    if not options.reviews_only:
        scan(options.every)
    small, _ = review_seconds(2_000)
    large, megabytes = review_seconds(20_000)
    print(
        f"review of 10 files: {small:.2f} s in 2,000 files, {large:.2f} s in 20,000 "
        f"(ratio {large / small:.2f}), {megabytes:.0f} MB"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
