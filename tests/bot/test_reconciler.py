"""Finding what was missed."""

from __future__ import annotations

from collections import Counter

import pytest

from bot.deliveries import reconciler as reconciling
from bot.deliveries.reconciler import HOURLY_PULL_AGE, Reconciler
from bot.github.activity import PULLS_OF_EACH
from bot.jobs.intents import Intent, ReviewIntent
from tests.bot.conftest import BUGGY, TRAIN, Bench, Folder


class Store:
    """A queue that knows some deliveries."""

    def __init__(self, *known: str) -> None:
        self.known = set(known)
        self.accepted: list[tuple[str, Intent]] = []

    async def accept(self, job_id: str, intent: Intent, *, delay_seconds: float = 0.0) -> None:
        self.accepted.append((job_id, intent))

    async def knows(self, job_id: str) -> bool:
        return job_id in self.known


def reconciler(bench: Bench, store: Store) -> Reconciler:
    return Reconciler(bench.connection, store, bench.clock, check_name="Preflight")


async def test_a_failed_delivery_is_asked_for_again(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    lost = await bench.github.deliver("pull_request", "opened", pull=pull, lose=True)

    await reconciler(bench, Store()).redeliver()

    again = [delivery for delivery in bench.github.deliveries if delivery.redelivery]
    assert [delivery.guid for delivery in again] == [lost.guid]


@pytest.mark.parametrize("why", ["stored", "old", "of no interest"])
async def test_what_need_not_come_again_is_left(bench: Bench, why: str) -> None:
    pull = bench.open({"train.py": BUGGY})
    event, action = ("star", "created") if why == "of no interest" else ("pull_request", "opened")
    lost = await bench.github.deliver(event, action, pull=pull, lose=True)
    if why == "old":
        bench.clock.time += 3 * 24 * 3600 + 1

    asked = await reconciler(bench, Store(*([lost.guid] if why == "stored" else []))).redeliver()

    assert asked == 0


async def test_an_open_pull_request_without_a_check_gets_its_review(bench: Bench) -> None:
    bench.clock.time += 60
    missed = bench.open({"train.py": BUGGY})
    reviewed = bench.open({"train.py": BUGGY + "print(1)\n"}, branch="other")
    await bench.review(reviewed)
    store = Store()

    await reconciler(bench, store).run()

    ((job_id, intent),) = store.accepted
    assert isinstance(intent, ReviewIntent)
    assert intent.number == missed.number
    assert missed.head_sha in job_id


async def test_trouble_with_github_does_not_end_the_process(bench: Bench) -> None:
    bench.github.refuse_next(*["500"] * 6)
    await reconciler(bench, Store()).run()


async def test_only_the_round_at_the_start_looks_far_back(bench: Bench) -> None:
    bench.clock.time += 60
    missed = bench.open({"train.py": BUGGY})
    bench.clock.time += 7 * 3600
    store = Store()

    await reconciler(bench, store).run(HOURLY_PULL_AGE)
    assert not store.accepted
    await reconciler(bench, store).run()
    assert [intent.number for _, intent in store.accepted if isinstance(intent, ReviewIntent)] == [missed.number]


def calls(bench: Bench) -> Counter[str]:
    return Counter(call.operation for call in bench.github.log)


def numbers(store: Store) -> list[int]:
    return [intent.number for _, intent in store.accepted if isinstance(intent, ReviewIntent)]


async def test_a_round_costs_little_however_many_repositories_there_are(bench: Bench) -> None:
    for number in range(249):
        bench.github.add_repository(bench.folder.path, owner="acme", name=f"other-{number}")
    bench.clock.time += 60
    missed = bench.open({"train.py": BUGGY})
    reviewed = bench.open({"train.py": BUGGY + "print(1)\n"}, branch="other")
    await bench.review(reviewed)
    bench.github.log.clear()
    store = Store()

    await reconciler(bench, store).run()

    assert numbers(store) == [missed.number]
    made = calls(bench)
    assert made["apps/list-repos-accessible-to-installation"] == 3
    assert made["graphql"] == 5 + 1
    assert made["pulls/list"] == 0
    assert made["checks/list-for-ref"] == 1, "of the one that seems to be missed"


async def test_of_a_fork_the_check_in_the_base_repository_counts(bench: Bench) -> None:
    bench.clock.time += 60
    bench.folder.commit({"train.py": BUGGY}, "feature")
    pull = bench.github.open_pull(bench.repository, base="main", head="feature", fork=True)
    store = Store()

    await reconciler(bench, store).run()
    assert numbers(store) == [pull.number]
    await bench.review(pull)
    await reconciler(bench, store).run()
    assert numbers(store) == [pull.number]


async def test_where_more_moved_than_a_query_shows_the_list_is_read(bench: Bench) -> None:
    bench.clock.time += 60
    bench.folder.commit({"train.py": BUGGY}, "feature")
    for _ in range(PULLS_OF_EACH + 3):
        bench.github.open_pull(bench.repository, base="main", head="feature")
    store = Store()

    await reconciler(bench, store).run()

    assert len(numbers(store)) == PULLS_OF_EACH + 3
    assert calls(bench)["pulls/list"] == 1


async def test_without_graphql_some_repositories_are_listed_each_hour_and_others_the_next(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconciling, "MOST_LISTS", 1)
    bench.clock.time += 60
    expected = []
    for number in range(3):
        folder = Folder(bench.folder.path.parent / f"trainer-{number}")
        folder.commit({"train.py": TRAIN})
        folder.commit({"train.py": BUGGY}, "feature")
        repository = bench.github.add_repository(folder.path, owner="acme", name=f"trainer-{number}")
        expected.append(bench.github.open_pull(repository, base="main", head="feature").repository.id)
    found = set()

    for _ in range(4):
        bench.github.log.clear()
        bench.github.gate.faults.ask(*["502"] * 20, operation="graphql")
        store = Store()
        await reconciler(bench, store).run()
        assert calls(bench)["pulls/list"] == 1
        found |= {intent.repository.repository_id for _, intent in store.accepted}
        bench.clock.time += 3600

    assert found == set(expected)
