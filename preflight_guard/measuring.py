"""Runs a training script as it is, and reads torch's counters once its steps are steady.

This executes the script: it is for the environment of the people whose script it is. Nothing of Preflight that reviews
code does.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from hardware_catalog.measurement import Measurement

WARM = 3
"""Optimizer steps before the counters are reset: by then state exists and the allocator's segments are made."""


class NotMeasured(Exception):
    """Why a run gave no figures."""


class Enough(SystemExit):
    """Ends a script whose steady step was measured."""


@dataclass
class Run:
    """What the counters said of a script."""

    allocated: int = 0
    reserved: int = 0
    context: int = 0
    total: int = 0
    device: str = ""
    steps: int = 0
    world_size: int = 1
    files: Mapping[str, str] = field(default_factory=dict)

    def measurement(self, entry: str, head_sha: str) -> Measurement:
        """The row. Raises NotMeasured where the script put nothing on a device."""
        if self.allocated == 0:
            raise NotMeasured(f"{entry} allocated nothing on a CUDA device")
        try:
            return self._row(entry, head_sha)
        except ValueError as problem:
            reason = str(problem).splitlines()
            raise NotMeasured(f"the counters make no measurement: {' '.join(reason[1:3]).strip()}") from problem

    def _row(self, entry: str, head_sha: str) -> Measurement:
        return Measurement(
            entry=entry,
            head_sha=head_sha,
            device=self.device,
            allocated_bytes=self.allocated,
            reserved_bytes=self.reserved,
            context_bytes=self.context,
            total_bytes=self.total,
            steps=self.steps,
            world_size=self.world_size,
            torch=torch.__version__,
        )


def run_script(script: Path, arguments: list[str], root: Path, *, steps: int, to_the_end: bool) -> Run:
    """Run `script` and read the counters: of `steps` steady steps, or with `to_the_end` of all after the warm ones.

    A script that takes no optimizer steps is measured whole. Raises NotMeasured without a CUDA device, and whatever
    the script raises.
    """
    if not torch.cuda.is_available():
        raise NotMeasured("no CUDA device is visible to torch here")
    seen = Run()

    def after_step(*_: object) -> None:
        seen.steps += 1
        if seen.steps == WARM:
            torch.cuda.reset_peak_memory_stats()
        elif seen.steps == WARM + steps and not to_the_end:
            raise Enough(0)

    handle = register_optimizer_step_post_hook(after_step)
    try:
        with _as_program(script, arguments):
            runpy.run_path(str(script), run_name="__main__")
    except SystemExit as left:
        if not isinstance(left, Enough) and left.code not in (None, 0):
            raise
    finally:
        handle.remove()
    _read(seen)
    seen.files = sources(root, script)
    return seen


@contextmanager
def _as_program(script: Path, arguments: list[str]) -> Iterator[None]:
    """Arguments and search path as `python SCRIPT` sets them."""
    before = sys.argv, list(sys.path)
    sys.argv, sys.path[0:1] = [str(script), *arguments], [str(script.parent)]
    try:
        yield
    finally:
        sys.argv, sys.path[:] = before


def _read(seen: Run) -> None:
    torch.cuda.synchronize()
    free, seen.total = torch.cuda.mem_get_info()
    seen.allocated = torch.cuda.max_memory_allocated()
    seen.reserved = torch.cuda.max_memory_reserved()
    seen.context = max(0, seen.total - free - torch.cuda.memory_reserved())
    seen.device = torch.cuda.get_device_name()
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        seen.world_size = torch.distributed.get_world_size()


def sources(root: Path, script: Path) -> dict[str, str]:
    """Sources under `root` that the run imported, by path, and the script itself."""
    root = root.resolve()
    found = {script.resolve()}
    for module in list(sys.modules.values()):
        name = getattr(module, "__file__", None)
        if isinstance(name, str) and name.endswith(".py"):
            found.add(Path(name).resolve())
    return {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8", errors="replace")
        for path in sorted(found)
        if path.is_relative_to(root) and not {"site-packages", "dist-packages"} & set(path.parts) and path.is_file()
    }
