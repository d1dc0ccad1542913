"""All findings become annotations, fifty a request: none is lost and none comes twice, whatever happens in between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from bot.github.repository import Repository
from bot.review import annotating
from bot.standin import CheckRun
from tests.bot.conftest import MARK, Bench, PlainSteps


class Killed(BaseException):
    """The process is gone: nothing catches this, as nothing catches a signal 9."""


def crowd(findings: int) -> dict[str, str | bytes | None]:
    lines = "\n".join(f"{MARK}  # {number}" for number in range(findings))
    return {"many.py": f"losses = []\n{lines}\n"}


def annotated(check: CheckRun) -> list[int]:
    return [annotation["start_line"] for annotation in check.annotations]


def when_written(bench: Bench, annotations: int, happens: Callable[[], None]) -> None:
    """Let something happen once, in the pause before the first write that finds so many annotations there."""
    sleep = bench.clock.sleep

    async def pause(seconds: float) -> None:
        if any(len(check.annotations) >= annotations for check in bench.github.checks):
            bench.clock.sleep = sleep  # type: ignore[method-assign]
            happens()
        await sleep(seconds)

    bench.clock.sleep = pause  # type: ignore[method-assign]


def die() -> None:
    raise Killed


async def test_five_thousand_findings_are_all_annotated_a_second_apart_and_the_last_batch_completes_the_check(
    bench: Bench,
) -> None:
    begun = bench.clock.now()
    pull = bench.open(crowd(5_000))

    await bench.review(pull)

    (check,) = bench.github.checks
    assert annotated(check) == list(range(2, 5_002))
    assert (check.status, check.conclusion) == ("completed", "failure")
    updates = [call.body for call in bench.github.log if call.operation == "checks/update"]
    assert len(updates) == 100
    assert all(len(update["output"]["annotations"]) == 50 for update in updates)
    assert ["status" in update for update in updates] == [False] * 99 + [True]
    assert 100 <= bench.clock.now() - begun < 120


async def test_beyond_the_most_the_gravest_are_annotated_and_the_rest_counted(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(annotating, "MOST_ANNOTATIONS", 100)
    monkeypatch.setattr("bot.review.pipeline.MOST_ANNOTATIONS", 100)
    pull = bench.open(crowd(120))

    await bench.review(pull)

    (check,) = bench.github.checks
    assert annotated(check) == list(range(2, 102))
    assert "There are 120 findings; the gravest 100 of them are annotated." in (check.text or "")


@pytest.mark.parametrize("written", [50, 100, 150])
async def test_a_review_that_is_killed_between_batches_goes_on_behind_the_last(bench: Bench, written: int) -> None:
    pull = bench.open(crowd(170))
    when_written(bench, written, die)
    with pytest.raises(Killed):
        await bench.review(pull)
    assert bench.github.checks[0].status == "in_progress"

    bench.steps = PlainSteps(bench.clock)
    await bench.review(pull)

    (check,) = bench.github.checks
    assert sorted(annotated(check)) == list(range(2, 172))
    assert check.status == "completed"
    assert len(bench.github.reviews) == 1


async def test_a_finding_that_is_ignored_between_two_attempts_does_not_shift_the_others(bench: Bench) -> None:
    pull = bench.open(crowd(120))
    when_written(bench, 50, die)
    with pytest.raises(Killed):
        await bench.review(pull)
    # The second attempt finds one fewer, at the beginning.
    whole = bench.analyst._report

    def without_the_first(*arguments: object) -> object:
        report = whole(*arguments)  # type: ignore[arg-type]
        return report.model_copy(update={"annotations": report.annotations[1:]})

    bench.analyst._report = without_the_first  # type: ignore[assignment, method-assign]
    await bench.review(pull)

    (check,) = bench.github.checks
    assert sorted(annotated(check)) == list(range(2, 122))


@pytest.mark.parametrize("fault", ["lost-answer", "502", "secondary", "timeout"])
async def test_a_batch_whose_answer_is_lost_is_neither_lost_nor_doubled(bench: Bench, fault: str) -> None:
    pull = bench.open(crowd(120))
    when_written(bench, 50, lambda: bench.github.refuse_next(fault, operation="checks/update"))

    await bench.review(pull)

    (check,) = bench.github.checks
    assert sorted(annotated(check)) == list(range(2, 122))
    assert check.status == "completed"


async def test_a_batch_that_github_does_not_take_is_left_out_and_the_others_arrive(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    update = Repository.update_check_run

    async def with_a_bad_place(self: Repository, run_id: int, **fields: object) -> None:
        output = fields["output"]
        assert isinstance(output, dict)
        for annotation in output.get("annotations", ()):
            if annotation["start_line"] == 60:
                annotation["end_line"] = 59
        await update(self, run_id, **fields)

    monkeypatch.setattr(Repository, "update_check_run", with_a_bad_place)
    pull = bench.open(crowd(120))

    await bench.review(pull)

    (check,) = bench.github.checks
    assert annotated(check) == [*range(2, 52), *range(102, 122)]
    assert (check.status, check.conclusion) == ("completed", "failure")


async def test_once_the_pull_request_moved_on_the_rest_is_left(bench: Bench) -> None:
    pull = bench.open(crowd(600))
    when_written(bench, 100, lambda: (bench.push(pull, crowd(3)), None)[1])

    await bench.review(pull)

    (check,) = bench.github.checks
    assert (len(check.annotations), check.status) == (450, "completed")


async def test_reviews_of_other_pull_requests_write_between_the_batches(bench: Bench) -> None:
    crowded = bench.open(crowd(1_000))
    plain = bench.open(crowd(1), branch="plain")
    first = asyncio.create_task(bench.review(crowded))
    while not bench.github.checks or not bench.github.checks[0].annotations:
        await asyncio.sleep(0)

    await bench.review(plain)

    assert bench.github.checks[1].status == "completed"
    assert bench.github.checks[0].status == "in_progress"
    await first
    assert len(bench.github.checks[0].annotations) == 1_000
