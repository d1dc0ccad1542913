"""A run that the repository's own checks measured stands beside the estimate of that commit, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from bot.github.models import CheckRun
from bot.jobs.intents import RerunIntent
from bot.review.measured import Evidence, evidence_of, with_evidence
from bot.standin.state import CheckRun as StoredRun
from engine.findings import (
    Breakdown,
    ByteRange,
    EstimateReport,
    Memory,
    MemoryChange,
    ReviewReport,
    Target,
)
from hardware_catalog import GIB
from hardware_catalog.measurement import CHECK_NAME, Measurement, fenced
from tests.bot import payloads
from tests.bot.conftest import START, TRAIN, Bench, FakeAnalyst
from tests.bot.test_events import told


def row(**changes: Any) -> Measurement:
    given: dict[str, Any] = {
        "entry": "train.py",
        "device": "NVIDIA A100-SXM4-80GB",
        "allocated_bytes": 20 * GIB,
        "reserved_bytes": 23 * GIB,
        "total_bytes": 80 * GIB,
    }
    return Measurement.model_validate(given | changes)


def run(text: str | None, **changes: Any) -> CheckRun:
    given: dict[str, Any] = {
        "id": 7,
        "name": CHECK_NAME,
        "head_sha": payloads.HEAD,
        "status": "completed",
        "app": {"id": 15368, "slug": "github-actions"},
        "output": {"text": text},
    }
    return CheckRun.model_validate(given | changes)


def estimate(reserved: int | None, *gpus: str) -> EstimateReport:
    memory = None
    if reserved is not None:
        peak = ByteRange(low=int(reserved * 0.95), expected=reserved, high=int(reserved * 1.05))
        memory = Memory(allocated=peak, reserved=peak, occupied=peak, breakdown=Breakdown(parameters=reserved))
    targets = tuple(Target(gpu=gpu, usable_bytes=1, verdict="unknown") for gpu in gpus)
    return EstimateReport(task="train", memory=memory, targets=targets)


def report(head: EstimateReport | None, summary: str = "") -> ReviewReport:
    change = MemoryChange(script="train.py", head=head)
    return ReviewReport(memory=change, entry_points=(change,), summary_markdown=summary)


def evidence(**changes: Any) -> Evidence:
    return Evidence(measurement=row(**changes), check=CHECK_NAME, app="github-actions")


# ------------------------------------------------------------------------------------------------ what counts


def test_the_row_of_a_completed_check_of_this_commit_counts() -> None:
    found = evidence_of((run(fenced(row(head_sha=payloads.HEAD))),), payloads.HEAD)
    assert found is not None
    assert (found.app, found.measurement.reserved_bytes) == ("github-actions", 23 * GIB)


@pytest.mark.parametrize(
    "other",
    [
        run(None),
        run("all green"),
        run(fenced(row()), status="in_progress"),
        run(fenced(row()), head_sha=payloads.BASE),
        run(fenced(row(head_sha=payloads.BASE))),
        run(fenced(row()).replace(str(23 * GIB), str(10**30))),
    ],
)
def test_what_is_not_about_this_commit_or_no_row_counts_for_nothing(other: CheckRun) -> None:
    assert evidence_of((other,), payloads.HEAD) is None
    assert evidence_of((other, run(fenced(row()))), payloads.HEAD) is not None


# ------------------------------------------------------------------------------------------------ what is said


def test_the_measured_peaks_stand_under_the_programs_heading_with_their_origin_and_verdicts() -> None:
    summary = "## Preflight: nothing new found\n\n### Peak GPU memory of `train.py`\n\n| Peak |"
    text = with_evidence(
        report(estimate(23 * GIB, "a100-80gb", "rtx-3090", "t4"), summary), evidence()
    ).summary_markdown
    heading, _, rest = text.partition("### Peak GPU memory of `train.py`\n\n")
    assert heading and rest.startswith("**Measured** by the check `preflight-measure` of `github-actions`")
    assert "20.00 GiB allocated and 23.00 GiB reserved on `NVIDIA A100-SXM4-80GB`" in rest
    assert "The estimate's range holds it." in rest
    assert "`a100-sxm4-80gb` fits, `rtx-3090` fits, `t4` does not fit" in rest
    assert "Preflight did not run it." in rest
    assert rest.endswith("| Peak |")


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (None, "The code alone gave no estimate."),
        (estimate(None), "The code alone gave no estimate."),
        (estimate(46 * GIB), "is 100% above it"),
        (estimate(11 * GIB), "is 52% below it"),
    ],
)
def test_it_is_said_how_the_estimate_compares(head: EstimateReport | None, words: str) -> None:
    assert words in with_evidence(report(head), evidence()).summary_markdown


def test_a_program_that_the_review_does_not_estimate_is_no_matter() -> None:
    given = report(estimate(23 * GIB), "summary")
    assert with_evidence(given, evidence(entry="serve.py")) == given
    assert with_evidence(given, None) == given


def test_words_of_a_row_stay_words() -> None:
    hostile = evidence(device="`](https://evil.example) @everyone <img src=x>")
    text = with_evidence(report(None), hostile).summary_markdown
    assert "`` `](https://evil.example) @everyone <img src=x> ``" in text


# --------------------------------------------------------------------------------------------------- the event


async def test_a_check_that_measured_asks_for_a_review_and_others_cost_nothing() -> None:
    def completed(**changes: Any) -> dict[str, Any]:
        data = payloads.check_run("completed", changes.pop("external_id", None))
        data["check_run"] |= {"name": CHECK_NAME, "output": {"title": "t", "text": fenced(row())}, **changes}
        return data

    (intent,) = (await told("check_run", completed())).intents
    assert isinstance(intent, RerunIntent)
    assert intent.head_sha == payloads.HEAD
    for changes in (
        {"name": "tests"},
        {"output": {"title": "t", "text": "no row"}},
        {"external_id": "500#12"},
        {"output": {"title": "t", "text": fenced(row(head_sha=payloads.BASE))}},
    ):
        assert not (await told("check_run", completed(**changes))).intents


# ------------------------------------------------------------------------------------- through the stand-in


class Estimating(FakeAnalyst):
    """Has an estimate of the training script."""

    def _report(self, sides: Any, settings: Any) -> ReviewReport:
        made = super()._report(sides, settings)
        return made.model_copy(update={"memory": MemoryChange(script="train.py", head=estimate(23 * GIB, "rtx-3090"))})


async def test_a_measured_run_is_shown_for_its_head_and_gone_with_the_next(bench: Bench) -> None:
    bench.pipeline.analyst = Estimating()
    pull = bench.open({"train.py": TRAIN + "print(losses)\n"})
    await bench.review(pull)
    (before,) = bench.github.checks
    assert "Measured" not in (before.summary or "")

    suite = bench.github.suite_for(bench.repository, pull.head_sha)
    measured = StoredRun(
        bench.github.new_id(), bench.repository, suite, CHECK_NAME, pull.head_sha, "completed", str(START)
    )
    measured.by_other, measured.conclusion = "github-actions", "neutral"
    measured.title, measured.summary, measured.text = "t", "s", fenced(row(head_sha=pull.head_sha))
    bench.github.checks.append(measured)

    await bench.handler.handle("job", RerunIntent(repository=bench.key(), head_sha=pull.head_sha), bench.steps)
    ((_, again),) = bench.accepted
    bench.github.log.clear()
    await bench.handler.handle("again", again, bench.steps)

    own = [check for check in bench.github.checks if not check.by_other]
    assert "**Measured** by the check `preflight-measure` of `github-actions`" in (own[-1].summary or "")
    assert [call.operation for call in bench.github.log].count("checks/list-for-ref") == 2

    bench.push(pull, {"train.py": "# A remark\n" + TRAIN})
    bench.github.log.clear()
    await bench.review(pull)
    own = [check for check in bench.github.checks if not check.by_other]
    assert "Measured" not in (own[-1].summary or "")
    assert [call.operation for call in bench.github.log].count("checks/list-for-ref") == 1
