"""Writers of one SQLite file: one at a time, in line, and those that somebody waits for in front."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa

from bot.storage.database import create_engine, create_urgent_engine
from bot.storage.sqlite import Line

WRITERS = 8
EACH = 25


def counter(folder: Path) -> sa.Engine:
    engine = create_engine(f"sqlite:///{folder / 'counter.sqlite3'}")
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE counter (value INTEGER NOT NULL CHECK (value >= 0))"))
        connection.execute(sa.text("INSERT INTO counter VALUES (0)"))
    return engine


def value(engine: sa.Engine) -> int:
    with engine.connect() as connection:
        return int(connection.execute(sa.text("SELECT value FROM counter")).scalar_one())


def add(engine: sa.Engine, amount: int = 1) -> None:
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE counter SET value = value + :amount"), {"amount": amount})


def until(condition: Callable[[], bool]) -> None:
    for _ in range(10**7):
        if condition():
            return
    raise AssertionError("it never came")


def test_who_is_waited_for_goes_first_and_the_others_in_order() -> None:
    line, order = Line(), list[str]()
    assert line.take(urgent=False, seconds=0)

    def wait(name: str, urgent: bool) -> None:
        line.take(urgent=urgent, seconds=60)
        order.append(name)
        line.leave()

    with ThreadPoolExecutor(4) as threads:
        for number, (name, urgent) in enumerate([("a", False), ("b", False), ("delivery", True), ("c", False)]):
            threads.submit(wait, name, urgent)
            until(lambda count=number + 1: line.waiting == count)  # type: ignore[misc]
        line.leave()

    assert order == ["delivery", "a", "b", "c"]


def test_who_gave_up_holds_nobody_up() -> None:
    line = Line()
    assert line.take(urgent=False, seconds=0)
    assert not line.take(urgent=True, seconds=0)

    line.leave()

    assert line.take(urgent=False, seconds=0)


def test_many_writers_of_one_file_lose_nothing(tmp_path: Path) -> None:
    engine = counter(tmp_path)
    urgent = create_urgent_engine(engine)

    with ThreadPoolExecutor(WRITERS) as threads:
        for number in range(WRITERS * EACH):
            threads.submit(add, urgent if number % 4 == 0 else engine)

    assert value(engine) == WRITERS * EACH


@pytest.mark.parametrize("how", ["refused", "rolled back", "closed"])
def test_a_writer_that_fails_passes_its_turn_on(tmp_path: Path, how: str) -> None:
    engine = counter(tmp_path)

    with engine.connect() as connection:
        if how == "refused":
            with pytest.raises(sa.exc.IntegrityError):
                connection.execute(sa.text("UPDATE counter SET value = -1"))
        else:
            connection.execute(sa.text("UPDATE counter SET value = 7"))
        if how == "closed":
            connection.invalidate()
        else:
            connection.rollback()
        with ThreadPoolExecutor(1) as another:
            another.submit(add, engine).result(timeout=60)

    assert value(engine) == 1


def test_what_is_answered_is_on_the_disk_and_what_is_repeated_need_not_be(tmp_path: Path) -> None:
    engine = counter(tmp_path)

    def durability(of: sa.Engine) -> int:
        with of.connect() as connection:
            return int(connection.execute(sa.text("PRAGMA synchronous")).scalar_one())

    assert (durability(create_urgent_engine(engine)), durability(engine)) == (2, 1)
