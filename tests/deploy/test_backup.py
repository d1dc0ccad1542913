"""Backups as deploy/README.md describes them: taken in the midst of a review, and nothing is lost or said twice."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from bot.__main__ import main
from bot.storage.backup import BackupFailed, back_up
from tests.bot.test_serving import PATIENCE_SECONDS, Scene, concluded, scene, until
from tests.deploy.files import PostgreSQL, postgresql

TREE = Path(__file__).parents[2]


class SQLite:
    """A file, copied by `preflight-bot backup`."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "queue.sqlite3"
        self.copy = folder / "copy.sqlite3"
        self.url = f"sqlite:///{self.file}"

    def back_up(self) -> None:
        back_up(self.url, self.copy)

    def lose_and_restore(self) -> str:
        for file in self.file.parent.glob("queue.sqlite3*"):
            file.unlink()
        shutil.copy(self.copy, self.file)
        return self.url


class Dumped:
    """A database of a server, copied by PostgreSQL's own programs."""

    def __init__(self, server: PostgreSQL, folder: Path) -> None:
        self.server = server
        self.copy = folder / "preflight.dump"
        self.url = server.url

    def back_up(self) -> None:
        self.server.run("pg_dump", "--format=custom", f"--file={self.copy}", self.url)

    def lose_and_restore(self) -> str:
        self.server.run("psql", self.url, "--command=CREATE DATABASE restored")
        restored = self.server.of("restored")
        self.server.run("pg_restore", "--exit-on-error", f"--dbname={restored}", str(self.copy))
        return restored


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SQLite | Dumped]:
    if request.param == "sqlite":
        yield SQLite(tmp_path)
    else:
        with postgresql() as server:
            yield Dumped(server, tmp_path)


async def nothing_left_to_do(at: Scene) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while "preflight_jobs_unfinished 0.0" not in await at.bot.get("/metrics"):
            await asyncio.sleep(0.05)


async def test_a_copy_from_the_midst_of_a_review_carries_on(tmp_path: Path, database: SQLite | Dumped) -> None:
    async with scene(tmp_path) as at:
        at.bot.database_url = database.url
        at.bot.hold.touch()
        await at.bot.start()
        await at.github.deliver("pull_request", "opened", pull=at.pull)
        await until(lambda: bool(at.github.checks))

        database.back_up()
        # What is done after the copy is known to GitHub alone.
        at.bot.hold.unlink()
        await until(lambda: concluded(at.github))
        await at.bot.end(signal.SIGKILL)
        at.bot.database_url = database.lose_and_restore()
        await at.bot.start()
        await nothing_left_to_do(at)

        assert 'preflight_jobs_total{kind="review",outcome="done"}' in await at.bot.get("/metrics")
        assert concluded(at.github)
        assert len(at.github.checks) == 1
        assert len(at.github.reviews) == 1
        assert len(at.github.comments) == 1


def test_a_copy_is_of_one_moment_while_others_write(tmp_path: Path) -> None:
    file, copy = tmp_path / "used.sqlite3", tmp_path / "copy.sqlite3"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript("PRAGMA journal_mode=WAL; CREATE TABLE pairs (a INTEGER, b INTEGER)")
    done, written = threading.Event(), threading.Event()

    def write() -> None:
        with closing(sqlite3.connect(file, timeout=30)) as connection:
            number = 0
            while not done.is_set():
                with connection:
                    connection.execute("INSERT INTO pairs VALUES (?, NULL)", (number,))
                    connection.execute("UPDATE pairs SET b = a WHERE b IS NULL")
                number += 1
                written.set()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert written.wait(PATIENCE_SECONDS)
        size = back_up(f"sqlite:///{file}", copy)
    finally:
        done.set()
        writer.join()

    assert size == copy.stat().st_size
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith("copy")] == ["copy.sqlite3"]
    with closing(sqlite3.connect(copy)) as connection:
        pairs = connection.execute("SELECT count(*), count(b) FROM pairs").fetchone()
    assert pairs[0] == pairs[1] > 0, "no transaction is there in part"


def test_what_cannot_be_copied_is_said_and_harms_no_older_copy(tmp_path: Path) -> None:
    copy = tmp_path / "copy.sqlite3"
    copy.write_bytes(b"older")
    broken = tmp_path / "broken.sqlite3"
    broken.write_bytes(b"not a database" * 1000)
    for url, reason in (
        ("postgresql://preflight@db/preflight", "pg_dump"),
        (f"sqlite:///{tmp_path / 'missing'}", "there is no database"),
        (f"sqlite:///{broken}", "could not be written"),
    ):
        with pytest.raises(BackupFailed, match=reason):
            back_up(url, copy)
    assert copy.read_bytes() == b"older"
    assert not (tmp_path / "missing").exists()


def test_the_command_says_what_it_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "used.sqlite3"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE one (a)")
    for name in ("APP_ID", "PRIVATE_KEY", "WEBHOOK_SECRET"):
        monkeypatch.delenv(f"PREFLIGHT_{name}", raising=False)
    monkeypatch.setenv("PREFLIGHT_DATABASE_URL", f"sqlite:///{file}")
    copy = tmp_path / "copy.sqlite3"

    assert main(["backup", str(copy)]) == 0
    assert str(copy) in capsys.readouterr().out
    assert sa.inspect(sa.create_engine(f"sqlite:///{copy}")).get_table_names() == ["one"]

    monkeypatch.setenv("PREFLIGHT_DATABASE_URL", "postgresql://preflight@db/preflight")
    assert main(["backup", str(copy)]) == 1
    assert "pg_dump" in capsys.readouterr().err


def test_migrating_needs_the_database_alone(tmp_path: Path) -> None:
    database = tmp_path / "new.sqlite3"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PREFLIGHT_")}
    command = [sys.executable, "-m", "bot", "migrate"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": str(TREE), "PREFLIGHT_DATABASE_URL": f"sqlite:///{database}"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    tables = sa.inspect(sa.create_engine(f"sqlite:///{database}")).get_table_names()
    assert {
        "preflight_workers",
        "preflight_turns",
        "preflight_writes",
        "preflight_reports",
        "preflight_dismissals",
    } <= set(tables)


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("nonsense", "no address such as sqlite:///"),
        ("mysql://root:secret@db/x", "must be sqlite or postgresql, not mysql"),
        ("sqlite:////nowhere/at/all.sqlite3", "does not answer: unable to open"),
    ],
)
def test_a_database_that_cannot_be_had_is_told_in_one_line(
    address: str, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PREFLIGHT_DATABASE_URL", address)
    monkeypatch.setenv("PREFLIGHT_LOG_LEVEL", "CRITICAL")
    assert main(["migrate"]) == 2
    error = capsys.readouterr().err
    assert told in error and "secret" not in error and len(error.strip().splitlines()) == 1
