"""A whole scan: over one process or several, with a progress bar where it takes long and somebody watches."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.affected import ImportGraph
from engine.check import Analysis, analyse, together, wanted_paths
from engine.cli.progress import bar

if TYPE_CHECKING:
    from engine.cli.usage import Selection
    from engine.findings import CheckReport
    from engine.kept.store import Store
    from engine.settings import Settings

LONG_SCAN = 60
"""Files from which on a scan shows its progress."""
WORTH_PROCESSES = 150
"""Files from which on starting further processes pays: each takes about half a second to start."""
_SHARES = 6
"""Parts of the work for each process, so that none is left waiting for the last."""


@dataclass(frozen=True)
class Asked:
    """What a scan is asked for beside its paths."""

    settings: Settings
    select: Sequence[str] = ()
    ignore: Sequence[str] = ()
    report_unused_suppressions: bool = False
    store: Store | None = None


def scan(selection: Selection, asked: Asked, jobs: int | None) -> CheckReport:
    """The report of the selected paths. `jobs` is the number of processes, None for as many as pay.

    Raises UnknownRule.
    """
    paths = wanted_paths(selection.project, selection.paths, asked.settings)
    with bar(len(paths), "files") if len(paths) >= LONG_SCAN else nullcontext(_unheard) as done:
        if jobs != 1 and (jobs or len(paths) >= 2 * WORTH_PROCESSES):
            groups = ImportGraph(selection.project).related(paths)
            processes = that_pay(groups, jobs)
            if processes > 1:
                return _in_processes(selection, groups, asked, processes, done).report
        return _analysed(selection, asked, done).report


def that_pay(groups: Sequence[Sequence[str]], jobs: int | None) -> int:
    """How many processes have something to do: a group of files that have to do with each other is done by one."""
    if jobs:
        return min(jobs, len(groups))
    files = sum(map(len, groups))
    beside_the_largest = files - max(map(len, groups), default=0)
    return min(_processors(), files // WORTH_PROCESSES, 1 + beside_the_largest // WORTH_PROCESSES)


def _processors() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def _unheard(files: int) -> None:
    """Nobody waits for a short scan."""


def _analysed(selection: Selection, asked: Asked, done: Callable[[int], None] = _unheard) -> Analysis:
    return analyse(
        selection.project,
        selection.paths,
        settings=asked.settings,
        select=asked.select,
        ignore=asked.ignore,
        report_unused_suppressions=asked.report_unused_suppressions,
        store=asked.store,
        in_groups=True,
        done=done,
    )


def _in_processes(
    selection: Selection, groups: Sequence[Sequence[str]], asked: Asked, processes: int, done: Callable[[int], None]
) -> Analysis:
    """Groups of files that have to do with each other, each analysed whole by one process."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool

    parts = _shared_out(groups, processes * _SHARES)
    finished: dict[int, Analysis] = {}
    # A fresh interpreter each: the same on every platform, and nothing of this process is copied.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        pending = {pool.submit(_part, selection.root, part, asked): number for number, part in enumerate(parts)}
        try:
            for future in as_completed(pending):
                number = pending[future]
                finished[number] = future.result()
                done(len(parts[number]))
        except BrokenProcessPool:
            # A process was ended from outside, for its memory most likely: what is missing is analysed here.
            pass
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    for number, part in enumerate(parts):
        if number not in finished:
            finished[number] = _part(selection.root, part, asked)
            done(len(part))
    return together([finished[number] for number in sorted(finished)])


def _part(root: Path, paths: Sequence[str], asked: Asked) -> Analysis:
    """In a process of its own: the analysis of some files of a folder."""
    from engine.cli.usage import Selection
    from engine.project import Project

    return _analysed(Selection(root, Project.from_folder(root), tuple(paths)), asked)


def _shared_out(groups: Sequence[Sequence[str]], parts: int) -> list[list[str]]:
    """The groups in at most `parts` parts of about the same number of files, the largest parts first."""
    shares: list[list[str]] = [[] for _ in range(min(parts, len(groups)))]
    for group in sorted(groups, key=len, reverse=True):
        min(shares, key=len).extend(group)
    return sorted(shares, key=len, reverse=True)
