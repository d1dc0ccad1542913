"""Running the analysis in a process with limits, and finding the file that breaks it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bot.github.models import ChangedFile
from bot.review.exchange import Content, Details, Estimate, Request, Reviewed
from bot.review.hub import ModelHub
from bot.review.reading import Sides
from bot.review.results import ResultFolders
from engine.explored import Exploration
from engine.findings import FailedFile, ReviewReport
from engine.settings import Settings

logger = logging.getLogger(__name__)

MOST_PROBES = 24
"""Runs spent on finding the files that break an analysis."""
PROBE_SHARE = 0.25
"""Part of the time limit that one such run gets."""
SAFE_SHARE = 0.75
"""Part of what probes suggest that is asked of one analysis."""
BEYOND = "beyond what one analysis may take"
LEAST_PROBE_SECONDS = 3.0
"""Starting the process and loading the engine takes about one."""
WALL_FACTOR = 4
ERROR_BYTES = 4000
NICENESS = 10
"""GitHub gives an answer ten seconds; an analysis has minutes."""


class AnalysisBroken(Exception):
    """The analysis did not come to an end, for a reason that no single file explains."""


@dataclass(frozen=True)
class Limits:
    """Limits of one analysis process: seconds of processor time and bytes of address space.

    Processor time, because on a busy machine the clock on the wall would blame files that are fine; a process that
    waits for nothing is ended by the wall's clock at `WALL_FACTOR` times as much.
    """

    seconds: float
    memory_bytes: int


@dataclass(frozen=True)
class Analysis:
    """The engine's report, and what of it is missing for reasons of the analysis itself."""

    report: ReviewReport
    notes: Sequence[str] = ()
    details: Details = field(default_factory=Details)
    """Empty unless the analyst was asked for them."""


class Analyst(Protocol):
    """Reads changes."""

    async def review(self, sides: Sides, changed: Sequence[ChangedFile], settings: Settings) -> Analysis:
        """Return what is to say of a change; files that could not be analysed are named in the report.

        Raises:
            AnalysisBroken: when there is no report.
        """

    async def estimate(
        self,
        sides: Sides,
        changed: Sequence[ChangedFile],
        settings: Settings,
        gpus: Sequence[str],
        overrides: Mapping[str, str],
    ) -> Estimate:
        """Return the peak memory of the head's training script.

        Raises:
            AnalysisBroken: when there is none.
        """


@dataclass(frozen=True)
class _Outcome:
    answer: str | None
    reason: str = ""
    wanted: tuple[str, ...] = ()
    """Names of models whose configuration was not known."""

    @property
    def report(self) -> ReviewReport | None:
        return None if self.answer is None else ReviewReport.model_validate_json(self.answer)


@dataclass(frozen=True)
class _Material:
    """One change, from which requests are made."""

    contents: dict[str, Content]
    base: dict[str, str]
    head: dict[str, str]
    changed: Sequence[ChangedFile]
    settings: Settings
    results_folder: str = ""

    @classmethod
    def of(
        cls, sides: Sides, changed: Sequence[ChangedFile], settings: Settings, results_folder: str = ""
    ) -> _Material:
        contents: dict[str, Content] = {}
        base, head = _keyed(sides.base, contents), _keyed(sides.head, contents)
        return cls(contents, base, head, changed, settings, results_folder)

    def request(
        self,
        limits: Limits,
        *,
        only: Sequence[ChangedFile] | None = None,
        without: frozenset[str] = frozenset(),
        memory: bool = True,
    ) -> Request:
        files = self.changed if only is None else only
        settings = self.settings if memory else self.settings.model_copy(update={"memory": False})
        return Request(
            memory_bytes=limits.memory_bytes,
            cpu_seconds=max(1, round(limits.seconds)),
            contents=self.contents,
            base={path: key for path, key in self.base.items() if path not in without},
            head={path: key for path, key in self.head.items() if path not in without},
            changed=tuple(file for file in files if file.filename not in without),
            settings=settings,
            results_folder=self.results_folder,
        )


@dataclass
class _Group:
    """Changed files that are analysed together to see whether they break it."""

    files: Sequence[ChangedFile]
    sibling: _Group | None = None
    """The other half of what broke."""
    fine: bool = False

    def halves(self) -> tuple[_Group, _Group]:
        middle = len(self.files) // 2
        second, first = _Group(self.files[middle:]), _Group(self.files[:middle])
        first.sibling, second.sibling = second, first
        return second, first


@dataclass(frozen=True)
class _Search:
    """Files that alone break an analysis, with the reason; or how many fit into a probe where none does."""

    broken: Mapping[str, str]
    together: int = 0


class ProcessAnalyst:
    """Analyses in a fresh process each time. At most `processes` run at once."""

    def __init__(
        self,
        limits: Limits,
        processes: int = 2,
        module: str = "bot.review.analyst",
        results: ResultFolders | None = None,
        details: bool = False,
        hub: ModelHub | None = None,
    ) -> None:
        """`module` is what each process runs; `results` is where they keep what they found; with `details` a review
        comes with what its report page shows."""
        self._hub = hub
        self._limits = limits
        self._details = details
        self._results = results
        self._module = module
        self._gate = asyncio.Semaphore(processes)

    async def review(self, sides: Sides, changed: Sequence[ChangedFile], settings: Settings) -> Analysis:
        """See `Analyst.review`.

        Where the whole breaks, the memory estimate is left out first. Where that does not help, the file that breaks
        it is found by halving, and the rest goes without it.
        """
        folder = ""
        if self._results is not None and sides.repository:
            folder = str(await asyncio.to_thread(self._results.of, sides.repository))
        material = _Material.of(sides, changed, settings, folder)
        whole = material.request(self._limits)
        outcome = await self._informed(whole.model_copy(update={"details": self._details}))
        if outcome.answer is not None and self._details:
            reviewed = Reviewed.model_validate_json(outcome.answer)
            return Analysis(reviewed.report, details=reviewed.details)
        if outcome.report is not None:
            return Analysis(outcome.report)
        logger.warning("analysis broke: %s", outcome.reason)
        if settings.memory:
            reason = outcome.reason
            outcome = await self._run(material.request(self._limits, memory=False), self._limits)
            if outcome.report is not None:
                return Analysis(outcome.report, (f"Peak memory was not estimated: {reason}.",))
        search = await self._search(material)
        broken = search.broken
        if not broken and search.together:
            return await self._first_files(material, search.together, outcome.reason)
        if not broken:
            raise AnalysisBroken(outcome.reason)
        request = material.request(self._limits, without=frozenset(broken), memory=False)
        outcome = await self._run(request, self._limits)
        if outcome.report is None:
            named = ", ".join(f"`{path}`" for path in sorted(broken))
            raise AnalysisBroken(f"{outcome.reason}, also without {named}")
        failed = tuple(FailedFile(path=path, reason=reason) for path, reason in sorted(broken.items()))
        report = outcome.report.model_copy(update={"failed": (*outcome.report.failed, *failed)})
        return Analysis(report, ("Peak memory was not estimated.",) if settings.memory else ())

    async def _search(self, material: _Material) -> _Search:
        """Look for the changed files that alone break an analysis; stop where their number alone explains it."""
        limits = Limits(max(LEAST_PROBE_SECONDS, self._limits.seconds * PROBE_SHARE), self._limits.memory_bytes)
        broken: dict[str, str] = {}
        everything = [file for file in material.changed if file.filename in material.head]
        suspects: list[_Group] = [_Group(everything)]
        for _ in range(MOST_PROBES):
            while suspects and not suspects[-1].files:
                suspects.pop()
            if not suspects:
                break
            group = suspects.pop()
            outcome = await self._run(material.request(limits, only=group.files, memory=False), limits)
            if outcome.answer is not None:
                if group.sibling is not None and group.sibling.fine and not broken:
                    # Both halves are fine and the whole is not: there is only too much of it.
                    return _Search({}, min(len(group.files), len(group.sibling.files)))
                group.fine = True
            elif len(group.files) == 1:
                broken[group.files[0].filename] = outcome.reason
            else:
                suspects += group.halves()
        return _Search(broken)

    async def _first_files(self, material: _Material, together: int, reason: str) -> Analysis:
        """Review as many of the changed files as one analysis may take, and name the others.

        `together` of them fit into the limits of one probe.
        """
        number = max(1, int(together / PROBE_SHARE * SAFE_SHARE))
        while number:
            only, left = material.changed[:number], material.changed[number:]
            outcome = await self._run(material.request(self._limits, only=only, memory=False), self._limits)
            if outcome.report is not None:
                failed = tuple(FailedFile(path=file.filename, reason=BEYOND) for file in left)
                report = outcome.report.model_copy(update={"failed": (*outcome.report.failed, *failed)})
                note = f"Of {len(material.changed)} changed files {len(only)} were reviewed: {reason}."
                return Analysis(report, (note,))
            number //= 2
        raise AnalysisBroken(reason)

    async def estimate(
        self,
        sides: Sides,
        changed: Sequence[ChangedFile],
        settings: Settings,
        gpus: Sequence[str],
        overrides: Mapping[str, str],
    ) -> Estimate:
        """See `Analyst.estimate`."""
        request = _Material.of(sides, changed, settings).request(self._limits)
        asked = {"task": "estimate", "gpus": tuple(gpus), "overrides": dict(overrides)}
        outcome = await self._informed(request.model_copy(update=asked))
        if outcome.answer is None:
            raise AnalysisBroken(outcome.reason)
        return Estimate.model_validate_json(outcome.answer)

    async def explore(self, files: Mapping[str, str | bytes], base: Exploration, chosen: Sequence[str]) -> Exploration:
        """Play the script of `base` again under the chosen changes; `files` are its commit's.

        Raises:
            AnalysisBroken: when there is no answer.
        """
        request = _Material.of(Sides(base={}, head=dict(files)), (), Settings()).request(self._limits)
        asked = {
            "task": "explore",
            "script": base.script,
            "gpus": tuple(target.gpu for target in base.targets),
            "overrides": base.overrides,
            "chosen": tuple(chosen),
        }
        outcome = await self._run(request.model_copy(update=asked), self._limits)
        if outcome.answer is None:
            raise AnalysisBroken(outcome.reason)
        return Exploration.model_validate_json(outcome.answer)

    async def _informed(self, request: Request) -> _Outcome:
        """Run, and where models were not known that a hub knows, run again with their configurations."""
        if self._hub is None or not request.settings.memory:
            return await self._run(request, self._limits)
        outcome = await self._run(request.model_copy(update={"configurations": {}}), self._limits)
        if not outcome.wanted:
            return outcome
        known = await self._hub.configurations(outcome.wanted)
        if not known:
            return outcome
        informed = await self._run(request.model_copy(update={"configurations": dict(known)}), self._limits)
        return informed if informed.answer is not None else outcome

    async def _run(self, request: Request, limits: Limits) -> _Outcome:
        async with self._gate:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                self._module,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=Path(__file__).parents[2],
                env=_environment(),
                # A group of its own, to be ended with all that it starts; not a session, since Linux shares processor
                # time out between sessions before it looks at priorities.
                process_group=0,
            )
            _give_way(process.pid)
            try:
                async with asyncio.timeout(limits.seconds * WALL_FACTOR):
                    output, errors = await process.communicate(request.model_dump_json().encode("utf-8"))
            except TimeoutError:
                return _Outcome(None, f"the analysis took longer than {limits.seconds * WALL_FACTOR:.0f} seconds")
            finally:
                if process.returncode is None:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
                    await process.wait()
        if process.returncode == 0:
            answer, _, names = output.decode("utf-8").partition("\n")
            return _Outcome(answer, wanted=tuple(map(str, json.loads(names))) if names else ())
        text = errors[-ERROR_BYTES:].decode("utf-8", "replace").strip()
        logger.warning("analysis process ended with %s: %s", process.returncode, text)
        return _Outcome(None, _reason(process.returncode or 0, text, limits))


def _give_way(pid: int) -> None:
    """Let a process yield to the one that answers deliveries."""
    with contextlib.suppress(OSError):
        own = os.getpriority(os.PRIO_PROCESS, 0)
        os.setpriority(os.PRIO_PROCESS, pid, own + NICENESS)


def _reason(code: int, errors: str, limits: Limits) -> str:
    last = errors.rsplit("\n", 1)[-1]
    if "MemoryError" in last or "bad_alloc" in errors or code == -signal.SIGKILL:
        return f"the analysis needed more than {limits.memory_bytes / 2**30:.1f} GiB of memory"
    if code == -signal.SIGXCPU:
        return f"the analysis took more than {limits.seconds:.0f} seconds of processor time"
    if code < 0:
        return f"the analysis was ended by {signal.Signals(-code).name}"
    return f"the analysis failed: {last.partition(':')[0] or f'exit code {code}'}"


def _environment() -> dict[str, str]:
    """Return an environment without the bot's credentials."""
    kept = ("PATH", "LANG", "LC_ALL", "PYTHONPATH", "VIRTUAL_ENV", "TMPDIR", "SYSTEMROOT")
    # Order of sets must not decide between two equal findings.
    return {name: os.environ[name] for name in kept if name in os.environ} | {"PYTHONHASHSEED": "0"}


def _keyed(files: Mapping[str, str | bytes], contents: dict[str, Content]) -> dict[str, str]:
    keys: dict[str, str] = {}
    by_content: dict[str | bytes, str] = {content.value(): key for key, content in contents.items()}
    for path, content in files.items():
        key = by_content.setdefault(content, str(len(by_content)))
        contents.setdefault(key, Content.of(content))
        keys[path] = key
    return keys
