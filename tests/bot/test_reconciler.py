"""Finding what was missed."""

from __future__ import annotations

import pytest

from bot.deliveries.reconciler import HOURLY_PULL_AGE, Reconciler
from bot.jobs.intents import Intent, ReviewIntent
from tests.bot.conftest import BUGGY, Bench


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
