"""What a check of the repository's own measured of a run, beside the estimate: read as data, shown with its origin.

`preflight-measure` writes a row into the text of a check run. Whoever may write checks on a commit may write any row,
and the workflow of a pull request is the pull request's own: the row counts as a claim about that commit alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pydantic import BaseModel, ConfigDict

from bot.github.models import CheckRun
from engine.findings import ByteRange, EstimateReport, MemoryChange, ReviewReport
from engine.presentation.markdown import code_span
from hardware_catalog import GIB, MIB, Gpu, UnknownGPU, context_range, find_gpu, usable_bytes
from hardware_catalog.measurement import Measurement, find_measurement


class Evidence(BaseModel):
    """A row, and the check that carried it."""

    model_config = ConfigDict(frozen=True)

    measurement: Measurement
    check: str
    app: str


def evidence_of(runs: Sequence[CheckRun], head_sha: str) -> Evidence | None:
    """The first row among check runs of a commit that is about this commit; what is no row is passed over."""
    for run in runs:
        if run.status != "completed" or run.head_sha != head_sha:
            continue
        found = find_measurement(run.output.text or "")
        if found is not None and found.head_sha in ("", head_sha):
            return Evidence(measurement=found, check=run.name, app=run.app.slug if run.app is not None else "")
    return None


def with_evidence(report: ReviewReport, evidence: Evidence | None) -> ReviewReport:
    """The report with the measured peaks of a program that it estimates; of any other program they are no matter."""
    told = in_words(report, evidence, code_span)
    if evidence is None or not told:
        return report
    section = f"**Measured** {told.removeprefix('Measured ')}"
    text = _placed(report.summary_markdown, section, code_span(evidence.measurement.entry))
    return report.model_copy(update={"summary_markdown": text})


def in_words(report: ReviewReport, evidence: Evidence | None, name: Callable[[str], str] = str) -> str:
    """What was measured of a program that the report estimates, beside the estimate; empty where nothing was. `name`
    makes what the row and its check are called fit for where it is shown."""
    if evidence is None:
        return ""
    entry = evidence.measurement.entry
    change = next((each for each in (report.memory, *report.entry_points) if each.script == entry), None)
    return _section(change, evidence, name) if change is not None else ""


def _placed(summary: str, section: str, entry: str) -> str:
    """Under the heading of the program's memory where the summary has one, else at its end."""
    heading = f"### Peak GPU memory of {entry}\n"
    before, found, rest = summary.partition(heading)
    if found:
        return f"{before}{heading}\n{section}\n{rest}"
    return "\n\n".join(part for part in (summary.rstrip(), f"{heading}\n{section}") if part)


def _section(change: MemoryChange, evidence: Evidence, name: Callable[[str], str]) -> str:
    row = evidence.measurement
    by = f"{name(evidence.check)} of {name(evidence.app)}" if evidence.app else name(evidence.check)
    lines = [
        f"Measured by the check {by} on this commit: {_gib(row.allocated_bytes)} allocated and "
        f"{_gib(row.reserved_bytes)} reserved on {name(row.device)}."
    ]
    if row.world_size > 1:
        lines.append(f"That is one of {row.world_size} processes.")
    if told := _against(change.head, row):
        lines.append(told)
    if verdicts := _verdicts(change.head, row, name):
        lines.append(f"By these figures: {verdicts}.")
    lines.append("Preflight did not run it.")
    return " ".join(lines)


def _against(head: EstimateReport | None, row: Measurement) -> str:
    if head is None or head.memory is None:
        return "The code alone gave no estimate."
    estimated: ByteRange = head.memory.reserved
    if estimated.low <= row.reserved_bytes <= estimated.high:
        return "The estimate's range holds it."
    off = estimated.expected / row.reserved_bytes - 1
    return f"The estimate from the code is {abs(off):.0%} {'above' if off > 0 else 'below'} it."


def _verdicts(head: EstimateReport | None, row: Measurement, name: Callable[[str], str]) -> str:
    if head is None:
        return ""
    said = []
    for target in head.targets:
        try:
            gpu = find_gpu(target.gpu)
        except UnknownGPU:
            continue
        said.append(f"{name(gpu.id)} {_verdict(gpu, row)}")
    return ", ".join(said)


def _verdict(gpu: Gpu, row: Measurement) -> str:
    """As of an estimate: cached blocks are given back before torch fails, so what has to fit is what is allocated."""
    context, usable = context_range(gpu), usable_bytes(gpu)
    if row.reserved_bytes + context.expected * MIB <= usable:
        return "fits"
    return "does not fit" if row.allocated_bytes + context.low * MIB > usable else "is borderline"


def _gib(size: int) -> str:
    return f"{size / GIB:.2f} GiB"
