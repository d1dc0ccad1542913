"""Storing many together: in order, durably, and no entry at the cost of another."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
import sqlalchemy as sa

from bot.jobs.intake import Intake
from bot.storage.database import create_engine


class Shelf:
    """A table with one column, and how many transactions wrote to it."""

    def __init__(self, folder: Path) -> None:
        self.engine = create_engine(f"sqlite:///{folder / 'shelf.sqlite3'}")
        self.transactions = 0
        with self.engine.begin() as connection:
            connection.execute(sa.text("CREATE TABLE entries (name TEXT UNIQUE)"))
        sa.event.listen(self.engine, "commit", self._count)

    def _count(self, _connection: sa.Connection) -> None:
        self.transactions += 1

    def store(self, connection: sa.Connection, names: Sequence[str]) -> None:
        connection.execute(sa.text("INSERT INTO entries VALUES (:name)"), [{"name": name} for name in names])

    def names(self) -> list[str]:
        with self.engine.connect() as connection:
            return [row[0] for row in connection.execute(sa.text("SELECT name FROM entries ORDER BY rowid"))]


async def test_what_arrives_together_is_stored_together_and_in_order(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    intake = Intake(shelf.engine, shelf.store)
    names = [f"{number:03}" for number in range(500)]

    await asyncio.gather(*(intake.put(name) for name in names))

    assert shelf.names() == names
    assert shelf.transactions < 10


async def test_an_entry_is_stored_when_it_is_answered(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    intake = Intake(shelf.engine, shelf.store)

    for name in ("a", "b"):
        await intake.put(name)
        assert shelf.names()[-1] == name


async def test_one_that_cannot_be_stored_does_not_lose_the_others(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    intake = Intake(shelf.engine, shelf.store)

    results = await asyncio.gather(*(intake.put(name) for name in ("a", "b", "a", "c")), return_exceptions=True)

    assert shelf.names() == ["a", "b", "c"]
    assert [type(result) for result in results] == [type(None), type(None), sa.exc.IntegrityError, type(None)]


async def test_somebody_who_does_not_wait_for_the_answer_holds_nobody_up(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    intake = Intake(shelf.engine, shelf.store)

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(intake.put("gone"), 0)
    await intake.put("there")
    await intake.close()

    assert "there" in shelf.names()


async def test_calm_is_when_nobody_waits_and_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    intake = Intake(shelf.engine, shelf.store)
    await intake.calm(60)

    putting = asyncio.create_task(intake.put("a"))
    await asyncio.sleep(0)
    await intake.calm(0)
    assert not putting.done()
    await intake.calm(60)

    assert shelf.names() == ["a"]
    await putting
