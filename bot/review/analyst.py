"""The analysis process: reads one request from standard input, answers on standard output, and knows no secret.

It runs `python -m bot.review.analyst` with an almost empty environment and under limits that it sets itself first,
so that a file that exhausts memory or time takes down this process and nothing else.
"""

from __future__ import annotations

import contextlib
import ctypes
import difflib
import json
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast, get_args

from pydantic import BaseModel

from bot.github.models import ChangedFile
from bot.review.exchange import Details, Estimate, Request, Reviewed
from engine.check import SOURCE_SUFFIXES
from engine.diff import FileDiff, Status
from engine.entry_scripts import entry_scripts
from engine.explored import Exploration
from engine.findings import ReviewReport
from engine.kept import FolderStore
from engine.project import Project
from engine.project.suppressions import find_suppressions
from engine.review import review
from engine.rules import registry

MOST_CANDIDATES = 200
"""Comments proposed: which of them are new, and how many are said at a time, is decided where it is known what was said
before."""
PR_SET_PDEATHSIG = 1
"""prctl(2)."""
MOST_RULES = 100
UNEXPLORED = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)
"""What may go wrong in a run that nobody waits for."""
EXPLORE_SECONDS = 20.0
"""As much as one estimate of a review gets."""
_STATUSES = frozenset(get_args(Status))


def limit_resources(memory_bytes: int, cpu_seconds: int) -> None:
    """Limit address space (bytes) and processor time (seconds) of this process, and leave no core files."""
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    # Also the end of a process whose parent was killed and waits no more.
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def end_with_parent() -> None:
    """Have Linux kill this process when the bot's is gone: nobody would read the answer."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Wanted:
    """Looks models up in what the request brought, and notes the names that it did not bring."""

    def __init__(self, known: Mapping[str, Mapping[str, Any]]) -> None:
        self._known = known
        self.names: dict[str, None] = {}

    def __call__(self, name: str) -> Mapping[str, Any] | None:
        """Return a model's configuration, None where it is not here."""
        if name not in self._known:
            self.names[name] = None
        return self._known.get(name)


def analyse(request: Request, wanted: Wanted | None = None) -> ReviewReport:
    """Review the change from `base` to `head`."""
    return review(
        Project.from_mapping(_files(request, request.base)),
        Project.from_mapping(_files(request, request.head)),
        changed=[_difference(file, request) for file in request.changed],
        settings=request.settings,
        gpus=request.gpus,
        store=FolderStore(Path(request.results_folder)) if request.results_folder else None,
        most_comments=MOST_CANDIDATES,
        fetch_config=wanted,
    )


def estimate_script(request: Request, wanted: Wanted | None = None) -> Estimate:
    """Estimate the script of the head that the change touches, or else the likeliest of the project."""
    # Loaded where it is needed: reading the estimator's tables takes longer than most reviews.
    from engine.estimate import estimate

    head = Project.from_mapping(_files(request, request.head))
    touched = [file.filename for file in request.changed if head.exists(file.filename)]
    sources = [path for path in head.paths() if path.endswith(SOURCE_SUFFIXES) and not request.settings.excludes(path)]
    # Both candidates of the change and, behind them, all others.
    for candidates in (touched, sources):
        scripts = entry_scripts(head, candidates, (), request.settings)
        if scripts:
            point = request.settings.entry_point(scripts[0])
            size = {"world_size": str(point.world_size)} if point.world_size is not None else {}
            gpus = request.gpus or point.gpus
            overrides = {**size, **request.overrides}
            report = estimate(head, scripts[0], gpus=gpus, overrides=overrides, fetch_config=wanted)
            return Estimate(script=scripts[0], report=report)
    return Estimate()


def explore_script(request: Request, seconds: float) -> Exploration:
    """Play the head's script under the chosen changes; each run takes `seconds` of processor time at most."""
    from engine.exploration import explore

    head = Project.from_mapping(_files(request, request.head))
    return explore(
        head,
        request.script,
        gpus=request.gpus,
        chosen=request.chosen,
        overrides=request.overrides,
        seconds=seconds,
    )


def details_of(request: Request, report: ReviewReport) -> Details:
    """Gather what the report page shows. The review itself must not be lost over it: a script is played once more only
    where more than half of the processor time is left, and goes without its run where that fails."""
    files = _files(request, request.head)
    exploration, head = None, report.memory.head
    if head is not None and head.memory is not None and report.memory.script is not None:
        left = request.cpu_seconds - time.process_time()
        if left > request.cpu_seconds / 2:
            size = request.settings.entry_point(report.memory.script).world_size
            asked = {
                "script": report.memory.script,
                "gpus": tuple(target.gpu for target in head.targets),
                "overrides": {"world_size": str(size)} if size is not None else {},
            }
            try:
                exploration = explore_script(request.model_copy(update=asked), min(EXPLORE_SECONDS, left / 3))
            except UNEXPLORED as problem:
                print(f"the report goes without its run: {type(problem).__name__}", file=sys.stderr)
    return Details(exploration=exploration, suppressions=count_suppressions(files))


def count_suppressions(files: Mapping[str, str | bytes]) -> dict[str, int]:
    """Count the comments that silence a rule, by the rule's name."""
    names = {rule.code.lower(): rule.name for rule in registry()}
    counted: Counter[str] = Counter()
    for path, text in files.items():
        if path.endswith(".py") and isinstance(text, str):
            for suppression in find_suppressions(text):
                counted.update(names.get(rule, rule) for rule in suppression.rules or ("all",))
    return dict(counted.most_common(MOST_RULES))


def _files(request: Request, side: dict[str, str]) -> dict[str, str | bytes]:
    return {path: request.contents[key].value() for path, key in side.items()}


def _difference(file: ChangedFile, request: Request) -> FileDiff:
    patch = file.patch
    before = _text(request, request.base, file.previous_filename or file.filename)
    after = _text(request, request.head, file.filename)
    if patch is None and before is not None and after is not None:
        # GitHub shows no diff of a large file; without hunks, what was there before would look new.
        patch = "\n".join(difflib.unified_diff(before.split("\n"), after.split("\n"), lineterm=""))
    status = cast(Status, file.status if file.status in _STATUSES else "modified")
    return FileDiff.from_patch(file.filename, patch, status, file.previous_filename)


def _text(request: Request, side: dict[str, str], path: str) -> str | None:
    key = side.get(path)
    content = request.contents[key].value() if key is not None else None
    return content if isinstance(content, str) else None


def main() -> None:
    """Answer one request on one line; on the next one stand the names of models that were not known, if any were."""
    end_with_parent()
    request = Request.model_validate_json(sys.stdin.buffer.read())
    limit_resources(request.memory_bytes, request.cpu_seconds)
    wanted = Wanted(request.configurations) if request.configurations is not None else None
    sys.stdout.write(_answer(request, wanted).model_dump_json())
    if wanted is not None and wanted.names:
        sys.stdout.write("\n" + json.dumps(list(wanted.names)))


def _answer(request: Request, wanted: Wanted | None) -> BaseModel:
    if request.task == "estimate":
        return estimate_script(request, wanted)
    if request.task == "explore":
        # The run as it is, and the one under the changes.
        return explore_script(request, request.cpu_seconds / 3)
    report = analyse(request, wanted)
    return Reviewed(report=report, details=details_of(request, report)) if request.details else report


if __name__ == "__main__":
    main()
