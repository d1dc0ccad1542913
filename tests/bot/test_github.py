"""The client: tokens, limits, pacing, pages, conditional reads, and GitHub's faults."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path

import gidgethub
import pytest

from bot.github.errors import LimitedUntil, Unavailable
from bot.github.identity import external_id, pull_number
from bot.github.pacing import WritePacer
from bot.github.repository import Repository
from bot.review.reading import Blobs, read_sides
from bot.storage.database import WriteTurns, create_engine
from tests.bot.conftest import BUGGY, MARK, TRAIN, Bench, FakeClock, Folder


def repository(bench: Bench) -> Repository:
    return bench.connection.repository(bench.key())


def operations(bench: Bench) -> list[str]:
    return [call.operation for call in bench.github.log]


async def test_an_installation_token_is_asked_for_once_and_renewed_before_it_ends(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    for _ in range(3):
        await repository(bench).pull(pull.number)
    assert sum("access-token" in operation for operation in operations(bench)) == 1

    bench.clock.time += 55 * 60 + 1
    await repository(bench).pull(pull.number)
    assert sum("access-token" in operation for operation in operations(bench)) == 2


async def test_a_token_that_is_refused_is_replaced(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    await repository(bench).pull(pull.number)
    bench.github.expire_tokens()

    assert (await repository(bench).pull(pull.number)).number == pull.number


async def test_a_token_reaches_the_repository_it_is_for_and_no_other(bench: Bench) -> None:
    other = Folder(bench.folder.path.parent / "other")
    other.commit({"secret.py": "x = 1\n"})
    neighbour = bench.github.add_repository(other.path, owner="acme", name="other")
    await repository(bench).about()

    asked = bench.github.calls("apps/create-installation-access-token")
    assert [call.body for call in asked] == [{"repository_ids": [bench.repository.id]}]
    with pytest.raises(gidgethub.BadRequest):
        await Repository(repository(bench).client, "acme", "other").about()

    sibling = repository(bench).sibling("other")
    assert (await sibling.about()).id == neighbour.id
    assert len(bench.github.calls("apps/create-installation-access-token")) == 2


async def test_an_installation_is_looked_through_with_one_token_that_writes_nothing(bench: Bench) -> None:
    (listed,) = await bench.connection.repositories(bench.repository.installation_id)
    assert listed.id == bench.repository.id
    asked = bench.github.calls("apps/create-installation-access-token")
    assert set(asked[0].body["permissions"].values()) == {"read"}
    pull = bench.open({"train.py": BUGGY})
    looking = bench.connection.looked_at(bench.repository.installation_id, "acme", "trainer")
    assert [each.number for each in await looking.open_pulls()] == [pull.number]
    assert await looking.check_runs(pull.head_sha, "Preflight", bench.github.app.id) == []
    assert len(bench.github.calls("apps/create-installation-access-token")) == 1
    with pytest.raises(gidgethub.BadRequest):
        await looking.create_comment(pull.number, "no")


@pytest.mark.parametrize("how", ["deleted", "suspended", "not covered", "suspended with a token"])
async def test_where_the_installation_is_gone_a_job_ends_and_nothing_is_asked_again(bench: Bench, how: str) -> None:
    pull = bench.open({"train.py": BUGGY})
    if how == "suspended with a token":
        await repository(bench).pull(pull.number)
    match how:
        case "deleted" | "not covered":
            bench.repository.installed = False
        case _:
            bench.github.suspended.add(bench.repository.installation_id)
    if how == "not covered":
        other = Folder(bench.folder.path.parent / "other")
        other.commit({"a.py": "x = 1\n"})
        bench.github.add_repository(other.path, owner="acme", name="other")

    outcome = await bench.review(pull)

    assert "is gone, suspended, or without this repository" in outcome
    assert not bench.github.checks
    assert not bench.clock.waits


async def test_an_unchanged_answer_costs_nothing(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    await repository(bench).pull(pull.number)
    await repository(bench).pull(pull.number)

    assert bench.github.log[-1].status == 304
    assert not bench.github.log[-1].counted


async def test_pages_are_followed(bench: Bench) -> None:
    pull = bench.open({f"file_{number}.py": "x = 1\n" for number in range(250)})
    assert len(await repository(bench).files(pull.number)) == 250


@pytest.mark.parametrize("fault", ["secondary", "secondary-429"])
async def test_a_short_limit_is_sat_out(bench: Bench, fault: str) -> None:
    pull = bench.open({"train.py": BUGGY})
    bench.github.refuse_next(fault)

    assert (await repository(bench).pull(pull.number)).number == pull.number
    assert sum(bench.clock.waits) >= 1


async def test_a_secondary_limit_without_a_time_waits_a_minute(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    bench.github.refuse_next("secondary-silent")

    await repository(bench).pull(pull.number)

    assert 60.0 in bench.clock.waits


@pytest.mark.parametrize("fault", ["primary", "primary-403"])
async def test_the_hourly_limit_puts_the_step_off(bench: Bench, fault: str) -> None:
    pull = bench.open({"train.py": BUGGY})
    bench.github.refuse_next(fault)

    with pytest.raises(LimitedUntil) as caught:
        await repository(bench).pull(pull.number)
    assert caught.value.epoch_seconds > bench.clock.now() + 60


async def test_a_missing_permission_is_no_limit(bench: Bench) -> None:
    bench.github.app.permissions["checks"] = "read"
    pull = bench.open({"train.py": BUGGY})

    with pytest.raises(gidgethub.BadRequest):
        await repository(bench).create_check_run("Preflight", pull.head_sha, status="in_progress")
    assert not bench.clock.waits


async def test_reads_are_repeated_and_writes_are_not(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    bench.github.refuse_next("502")
    await repository(bench).pull(pull.number)

    bench.github.refuse_next("lost-answer")
    with pytest.raises(Unavailable):
        await repository(bench).create_comment(pull.number, "once")
    assert [comment.body for comment in bench.github.comments] == ["once"]


async def test_a_connection_that_breaks_is_unavailability(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    bench.github.refuse_next("timeout", "timeout", "timeout", "timeout")
    with pytest.raises(Unavailable):
        await repository(bench).create_comment(pull.number, "never")


async def test_a_read_whose_connection_broke_is_repeated(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    bench.github.refuse_next("timeout", "timeout", operation="pulls/get")

    assert (await repository(bench).pull(pull.number)).number == pull.number


async def test_a_limit_that_one_request_met_quiets_the_whole_installation(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    bench.github.refuse_next("primary")
    with pytest.raises(LimitedUntil):
        await repository(bench).pull(pull.number)
    bench.github.log.clear()

    with pytest.raises(LimitedUntil):
        await repository(bench).files(pull.number)
    assert not bench.github.log


FAULTS = (
    "502",
    "500",
    "lost-answer",
    "secondary",
    "secondary-silent",
    "primary",
    "timeout",
    "401",
)
OPERATIONS = (
    "apps/create-installation-access-token",
    "pulls/get",
    "checks/list-for-ref",
    "checks/create",
    "repos/get-content",
    "pulls/list-files",
    "repos/compare-commits-with-basehead",
    "git/get-tree",
    "graphql",
    "pulls/list-review-comments",
    "issues/list-comments",
    "issues/create-comment",
    "checks/update",
)


@pytest.mark.parametrize(
    ("operation", "fault"),
    [
        *(("pulls/create-review", fault) for fault in FAULTS),
        *((operation, "lost-answer") for operation in OPERATIONS),
        ("graphql", "graphql-limit"),
    ],
)
async def test_whatever_fails_once_the_review_comes_out_the_same(bench: Bench, operation: str, fault: str) -> None:
    pull = bench.open({"train.py": BUGGY})
    bench.github.refuse_next(fault, operation=operation)

    await bench.review(pull)

    assert [(check.status, check.conclusion) for check in bench.github.checks] == [("completed", "failure")]
    assert len(bench.github.checks[0].annotations) == 1
    assert len(bench.github.reviews) == 1
    assert len(bench.github.comments) == 1


async def test_writes_of_one_installation_are_a_second_apart() -> None:
    clock = FakeClock()
    pacer = WritePacer(clock, 1.0)
    begun: list[float] = []

    async def write() -> None:
        async with pacer.turn():
            begun.append(clock.now())

    await asyncio.gather(*(write() for _ in range(4)))

    assert [later - earlier for earlier, later in itertools.pairwise(begun)] == [1.0, 1.0, 1.0]


async def test_workers_of_several_machines_write_a_second_apart_as_well(tmp_path: Path) -> None:
    clock = FakeClock()
    begun: list[float] = []

    def worker() -> WritePacer:
        # A connection of its own to the database that they have in common.
        turns = WriteTurns(create_engine(f"sqlite:///{tmp_path / 'queue.sqlite3'}"))

        async def reserve(seconds: float) -> float:
            return turns.reserve(7, clock.now(), seconds)

        return WritePacer(clock, 1.0, reserve)

    for pacer in [worker(), worker()] * 3:
        async with pacer.turn():
            begun.append(clock.now())

    assert [later - earlier for earlier, later in itertools.pairwise(begun)] == [1.0] * 5
    other = WriteTurns(create_engine(f"sqlite:///{tmp_path / 'queue.sqlite3'}"))
    assert other.reserve(8, clock.now(), 1.0) == clock.now()


async def test_both_sides_are_read_with_few_requests(bench: Bench) -> None:
    bench.folder.commit({f"module_{number}.py": f"x = {number}\n" for number in range(120)})
    head = bench.folder.commit({"train.py": BUGGY, "latin.py": "# é\nx = 1\n".encode("latin-1")}, "feature")
    base = bench.folder.git("rev-parse", "main")
    bench.github.log.clear()

    sides = await read_sides(repository(bench), Blobs(), base_sha=base, head_sha=head, changed=())

    assert sides.base["train.py"] == TRAIN
    assert MARK in str(sides.head["train.py"])
    assert sides.head["latin.py"] == "# é\nx = 1\n".encode("latin-1")
    assert len(sides.head) == 122
    assert len(bench.github.log) <= 8, operations(bench)


async def test_a_blob_is_fetched_once_while_it_is_kept(bench: Bench) -> None:
    blobs = Blobs()
    sha = bench.folder.git("rev-parse", "main:train.py")
    await blobs.fetch(repository(bench), [sha])
    bench.github.log.clear()

    assert await blobs.fetch(repository(bench), [sha, sha]) == {sha: TRAIN}
    assert not bench.github.log


def test_an_external_id_names_the_pull_request_of_its_own_repository_only() -> None:
    assert pull_number(external_id(5, 7), 5) == 7
    assert pull_number(external_id(5, 7), 6) is None
    assert pull_number("somebody else's", 5) is None
    assert pull_number(None, 5) is None
