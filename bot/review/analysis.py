"""Running the analysis in a process with limits, and finding the file that breaks it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bot.github.models import ChangedFile
from bot.review.exchange import Content, Request
from bot.review.reading import Sides
from engine.findings import FailedFile, ReviewReport
from engine.settings import Settings

logger = logging.getLogger(__name__)

MOST_PROBES = 24
"""Runs spent on finding the files that break an analysis."""
PROBE_SHARE = 0.25
"""Part of the time limit that one such run gets."""
ERROR_BYTES = 4000


class AnalysisBroken(Exception):
    """The analysis did not come to an end, for a reason that no single file explains."""


@dataclass(frozen=True)
class Limits:
    """Limits of one analysis process: wall-clock seconds and bytes of address space."""

    seconds: float
    memory_bytes: int


class Analyst(Protocol):
    """Reviews a change."""

    async def analyse(
        self, sides: Sides, changed: Sequence[ChangedFile], settings: Settings, gpus: Sequence[str] = ()
    ) -> ReviewReport:
        """Return the report; files that could not be analysed are named in it.

        Raises:
            AnalysisBroken: when there is none.
        """


@dataclass(frozen=True)
class _Outcome:
    report: ReviewReport | None
    reason: str = ""


class ProcessAnalyst:
    """Analyses in a fresh process each time. At most `processes` run at once."""

    def __init__(self, limits: Limits, processes: int = 2) -> None:
        self._limits = limits
        self._gate = asyncio.Semaphore(processes)

    async def analyse(
        self, sides: Sides, changed: Sequence[ChangedFile], settings: Settings, gpus: Sequence[str] = ()
    ) -> ReviewReport:
        """See `Analyst.analyse`. A file that breaks the process is found by halving; the rest goes without it."""
        contents: dict[str, Content] = {}
        base, head = _keyed(sides.base, contents), _keyed(sides.head, contents)

        def request(files: Sequence[ChangedFile], without: frozenset[str], seconds: float) -> Request:
            return Request(
                memory_bytes=self._limits.memory_bytes,
                cpu_seconds=max(1, round(seconds) + 1),
                contents=contents,
                base={path: key for path, key in base.items() if path not in without},
                head={path: key for path, key in head.items() if path not in without},
                changed=tuple(file for file in files if file.filename not in without),
                settings=settings,
                gpus=tuple(gpus),
            )

        seconds = self._limits.seconds
        outcome = await self._run(request(changed, frozenset(), seconds), seconds)
        if outcome.report is not None:
            return outcome.report
        logger.warning("analysis broke (%s): looking for the file", outcome.reason)

        probe_seconds = max(1.0, seconds * PROBE_SHARE)
        broken: dict[str, str] = {}
        probes = 0
        suspects: list[Sequence[ChangedFile]] = [[file for file in changed if file.filename in head]]
        while suspects and probes < MOST_PROBES:
            group = suspects.pop()
            if not group:
                continue
            probes += 1
            outcome = await self._run(request(group, frozenset(), probe_seconds), probe_seconds)
            if outcome.report is not None:
                continue
            if len(group) == 1:
                broken[group[0].filename] = outcome.reason
                continue
            middle = len(group) // 2
            suspects += [group[middle:], group[:middle]]
        if not broken:
            raise AnalysisBroken(outcome.reason or "the analysis did not end, and no single file explains it")
        outcome = await self._run(request(changed, frozenset(broken), seconds), seconds)
        if outcome.report is None:
            named = ", ".join(f"`{path}`" for path in sorted(broken))
            raise AnalysisBroken(f"{outcome.reason}, also without {named}")
        failed = tuple(FailedFile(path=path, reason=reason) for path, reason in sorted(broken.items()))
        return outcome.report.model_copy(update={"failed": (*outcome.report.failed, *failed)})

    async def _run(self, request: Request, seconds: float) -> _Outcome:
        async with self._gate:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "bot.review.analyst",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=Path(__file__).parents[2],
                env=_environment(),
                start_new_session=True,
            )
            try:
                async with asyncio.timeout(seconds):
                    output, errors = await process.communicate(request.model_dump_json().encode("utf-8"))
            except TimeoutError:
                return _Outcome(None, f"the analysis took longer than {seconds:.0f} seconds")
            finally:
                if process.returncode is None:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
                    await process.wait()
        if process.returncode == 0:
            return _Outcome(ReviewReport.model_validate_json(output))
        text = errors[-ERROR_BYTES:].decode("utf-8", "replace").strip()
        logger.warning("analysis process ended with %s: %s", process.returncode, text)
        return _Outcome(None, _reason(process.returncode or 0, text, self._limits))


def _reason(code: int, errors: str, limits: Limits) -> str:
    last = errors.rsplit("\n", 1)[-1]
    if "MemoryError" in last or "bad_alloc" in errors or code == -signal.SIGKILL:
        return f"the analysis needed more than {limits.memory_bytes / 2**30:.1f} GiB of memory"
    if code == -signal.SIGXCPU:
        return f"the analysis took longer than {limits.seconds:.0f} seconds"
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
