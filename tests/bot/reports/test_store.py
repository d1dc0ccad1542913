"""Stored reports: retention, erasure, and what an overview counts."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from bot.reports.chart import Day, history
from bot.reports.document import Document, ReportKey
from bot.reports.overview import DAYS, overview
from bot.reports.store import DAY_SECONDS, REPORTS, ReportStore
from bot.review.exchange import Details
from bot.storage.database import create_engine
from tests.bot.reports.conftest import Library, exploration, finding, report
from tests.deploy.files import postgresql


async def test_a_report_is_replaced_by_the_next_of_its_head(library: Library) -> None:
    await library.keep(report(finding()))
    await library.store.keep_explored(library.key, ("amp-bf16",), exploration("amp-bf16"), 0.0)
    await library.keep(report(finding(), finding("warning")))
    stored = await library.store.find(library.key)
    assert stored is not None and (stored.row.figures.errors, stored.row.figures.warnings) == (1, 1)
    assert await library.store.explored(library.key, ("amp-bf16",)) is None


async def test_a_report_of_another_release_is_none(library: Library) -> None:
    path = await library.keep()
    with library.store._engine.begin() as connection:
        connection.execute(sa.update(REPORTS).values(document=zlib.compress(b'{"report": {"other": 1}}')))
    assert await library.store.find(library.key) is None
    async with library.visitor("ada") as browser:
        assert (await browser.get(path)).status == 404


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ReportStore]:
    if request.param == "sqlite":
        yield ReportStore(create_engine(f"sqlite:///{tmp_path / 'reports.sqlite3'}"), retention_days=30)
        return
    with postgresql() as server:
        engine = create_engine(server.url)
        yield ReportStore(engine, retention_days=30)
        engine.dispose()


async def test_both_databases_keep_find_and_erase(store: ReportStore) -> None:
    # Ids of GitHub's outgrow 32 bits.
    key, about = ReportKey(5_000_000_000, 7, "a" * 40), (9_000_000_000, "acme", "trainer")
    document = Document(title="Faster ✓", report=report(finding()), details=Details(suppressions={"all": 1}))
    for _ in range(2):
        await store.keep(key, document, about=about, now=1_000.0)
    await store.keep_explored(key, ("b", "a"), exploration("a"), 1_000.0)
    await store.close_pull(key.repository_id, 7, 2_000.0)

    stored = await store.find(key)
    assert stored is not None and stored.document == document and stored.row.suppressions == {"all": 1}
    assert await store.explored(key, ("a", "b")) == exploration("a")
    assert await store.closed([key.repository_id]) == {(key.repository_id, 7): 2_000.0}
    assert [row.key for row in await store.of_installation(about[0], since=0.0)] == [key]

    await store.erase_installation(about[0])
    assert await store.find(key) is None and await store.explored(key, ("a", "b")) is None


async def test_old_reports_go(library: Library) -> None:
    await library.keep()
    library.bench.clock.time += 31 * DAY_SECONDS
    await library.keep(number=2)
    assert await library.store.find(library.key) is None


async def test_what_the_app_is_taken_from_leaves_nothing(library: Library) -> None:
    for erase in ("installation", "repository"):
        await library.keep()
        await library.store.keep_explored(library.key, ("amp-bf16",), exploration("amp-bf16"), 0.0)
        await library.store.close_pull(library.key.repository_id, 1, 0.0)
        if erase == "installation":
            await library.store.erase_installation(library.bench.repository.installation_id)
        else:
            await library.store.erase_repositories([library.key.repository_id])
        assert await library.store.find(library.key) is None
        assert await library.store.explored(library.key, ("amp-bf16",)) is None
        assert await library.store.closed([library.key.repository_id]) == {}


async def test_the_overview_counts_open_pull_requests_day_by_day(library: Library) -> None:
    clock, start = library.bench.clock, library.bench.clock.time
    clock.time = start - 10 * DAY_SECONDS
    await library.keep(report(finding(), finding("warning")), number=1)
    clock.time = start - 5 * DAY_SECONDS
    await library.keep(report(finding()), number=2)
    # A push to the first mends its error.
    clock.time = start - 3 * DAY_SECONDS
    await library.keep(report(finding("warning")), number=1, sha="e" * 40)
    await library.store.close_pull(library.key.repository_id, 2, start - 1 * DAY_SECONDS)
    clock.time = start

    rows = await library.store.of_installation(library.bench.repository.installation_id, since=0)
    seen = overview(rows, await library.store.closed([library.key.repository_id]), start)

    (repository,) = seen.repositories
    assert (repository.pulls, repository.errors, repository.warnings) == (1, 0, 1)
    assert (seen.history.now.errors, seen.history.now.warnings) == (0, 1)
    assert seen.suppressions == [("sync-in-loop", 3, 100.0)]
    assert repository.capacity is not None and repository.capacity.verdict == "does not fit"
    days = [(day.errors, day.warnings) for day in seen.days]
    assert len(days) == DAYS
    assert (
        days[-12] == (0, 0) and days[-11] == (1, 1) and days[-6] == (2, 1) and days[-4] == (1, 1) and days[-1] == (0, 1)
    )


def test_a_day_of_the_plot_is_a_step_not_a_slope() -> None:
    drawn = history([Day("1 May", 0, 0), Day("2 May", 4, 0)])
    points = [tuple(map(float, pair.split(","))) for pair in drawn.errors[1:].partition(" L")[0].split()]
    assert [x for x, _ in points] == [
        drawn.left,
        (drawn.left + drawn.right) / 2,
        (drawn.left + drawn.right) / 2,
        drawn.right,
    ]
    assert points[0][1] == points[1][1] == drawn.bottom and points[2][1] == points[3][1] < drawn.bottom


async def test_the_page_of_an_installation_shows_only_what_one_can_read(library: Library) -> None:
    await library.keep()
    path = f"/installations/{library.bench.repository.installation_id}"
    async with library.visitor("ada") as hers, library.visitor("mallory") as his:
        text = await (await hers.get(path)).text()
        refused = await his.get(path)
        assert refused.status == 404 and "trainer" not in await refused.text()
    for words in ("trainer", "1 error", "sync-in-loop", "30.0 GiB; NVIDIA GeForce RTX 4090 has 23.0 GiB"):
        assert words in text, words
