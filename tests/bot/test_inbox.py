"""What was accepted reaches the queue: in order, once, whoever moves it, and none at the cost of another."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import sqlalchemy as sa

from bot.jobs import mover as moving
from bot.jobs.mover import AT_ONCE, Mover
from bot.storage.database import create_engine
from bot.storage.inbox import Inbox, Letter


@dataclass
class Shelf:
    """An inbox, and a queue that takes what the test wants it to take."""

    folder: Path
    refuses: Callable[[Letter], Exception | None] = lambda _letter: None
    waits: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.engine = create_engine(f"sqlite:///{self.folder / 'queue.sqlite3'}")
        self.inbox = Inbox(self.engine)
        with self.engine.begin() as connection:
            connection.execute(sa.text("CREATE TABLE queued (name TEXT)"))

    def put(self, *names: str) -> None:
        with self.engine.begin() as connection:
            self.inbox.put(connection, [Letter(name, "{}") for name in names])

    def store(self, connection: sa.Connection, letter: Letter) -> None:
        connection.execute(sa.text("INSERT INTO queued VALUES (:name)"), {"name": letter.job_id})
        if problem := self.refuses(letter):
            raise problem

    async def calm(self, seconds: float) -> None:
        self.waits.append(seconds)

    def mover(self) -> Mover:
        return Mover(self.engine, self.inbox, self.store, self.calm)

    def queued(self) -> list[str]:
        with self.engine.connect() as connection:
            return [row[0] for row in connection.execute(sa.text("SELECT name FROM queued ORDER BY rowid"))]


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.02)


async def test_all_are_moved_in_order_in_groups_that_let_answers_go_first(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    names = [f"{number:03}" for number in range(3 * AT_ONCE)]
    shelf.put(*names)
    mover = shelf.mover()

    mover.start()
    await until(lambda: shelf.inbox.count() == 0)
    shelf.put("later")
    mover.ring()
    await until(lambda: shelf.inbox.count() == 0)
    await mover.stop()

    assert shelf.queued() == [*names, "later"]
    assert len(shelf.waits) > 3


async def test_what_is_there_at_the_end_is_moved_too(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    mover = shelf.mover()
    mover.start()
    shelf.put("a", "b")

    await mover.stop()

    assert shelf.queued() == ["a", "b"]


async def test_one_that_the_queue_refuses_stays_and_holds_up_none(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, lambda letter: ValueError("unknown kind") if letter.job_id == "b" else None)
    shelf.put("a", "b", "c")
    mover = shelf.mover()
    mover.start()
    await until(lambda: shelf.inbox.count() == 1)
    shelf.put("d")
    mover.ring()
    await until(lambda: shelf.inbox.count() == 1)
    await mover.stop()
    assert shelf.queued() == ["a", "c", "d"]
    assert shelf.inbox.holds("b")

    shelf.refuses = lambda _letter: None
    another = shelf.mover()
    another.start()
    await another.stop()

    assert shelf.queued() == ["a", "c", "d", "b"]


async def test_a_database_that_is_away_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving, "AGAIN_SECONDS", 0.0)
    faults = [sa.exc.OperationalError("INSERT", {}, Exception("away")) for _ in range(3)]
    shelf = Shelf(tmp_path, lambda _letter: faults.pop() if faults else None)
    shelf.put("a", "b")
    mover = shelf.mover()

    mover.start()
    await until(lambda: shelf.inbox.count() == 0)
    await mover.stop()

    assert shelf.queued() == ["a", "b"]
