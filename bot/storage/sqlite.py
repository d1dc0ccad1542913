"""SQLite as the queue needs it: one file, many threads, and one writer at a time.

A writer that finds another at work sleeps and asks again, up to a tenth of a second later and in no order, so that
some wait for seconds while others pass by. The writers of one process stand in line instead, and those whom somebody
waits for stand in front. Between processes it stays as SQLite does it.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import deque
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import sqlalchemy as sa

BUSY_MILLISECONDS = 30_000
CHECKPOINT_PAGES = 20_000
"""Pages of the log (80 MB) at which one who is waited for carries them over into the file, should nobody else have:
others do at a thousand, and it takes as long as the disk wants."""
_WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE", "BEGIN")
"""Statements at which a transaction that writes begins."""


class Line:
    """Where the writers of one file wait for their turn: those who are waited for first, each in order of coming."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._taken = False
        self._urgent: deque[threading.Lock] = deque()
        self._others: deque[threading.Lock] = deque()

    @property
    def waiting(self) -> int:
        """How many wait."""
        with self._guard:
            return len(self._urgent) + len(self._others)

    def take(self, *, urgent: bool, seconds: float) -> bool:
        """Wait for the turn for so long at most, and tell whether it came."""
        queue = self._urgent if urgent else self._others
        with self._guard:
            if not self._taken:
                self._taken = True
                return True
            called = threading.Lock()
            called.acquire()
            queue.append(called)
        if called.acquire(timeout=seconds):
            return True
        with self._guard:
            if called in queue:
                queue.remove(called)
                return False
        # It came at the last moment.
        return True

    def leave(self) -> None:
        """Pass the turn on."""
        with self._guard:
            queue = self._urgent or self._others
            if queue:
                queue.popleft().release()
            else:
                self._taken = False


_lines: WeakValueDictionary[str, Line] = WeakValueDictionary()
_lines_guard = threading.Lock()


def _line_of(file: str | None) -> Line:
    """Return the line before a file; a database in memory has nobody else."""
    if not file or file == ":memory:":
        return Line()
    with _lines_guard:
        return _lines.setdefault(str(Path(file).resolve()), Line())


class _Connection(sqlite3.Connection):
    """A connection whose transactions wait in line before they write."""

    line: Line | None = None
    urgent = False
    _has_turn = False

    def cursor(self, factory: Any = None) -> Any:
        """See `sqlite3.Connection.cursor`."""
        return super().cursor(factory or _Cursor)

    def take_turn(self, statement: str) -> None:
        """Wait in line where this statement begins a transaction that writes.

        Where the turn does not come in time, SQLite itself says what a busy database is.
        """
        if self.line is None or self._has_turn or self.in_transaction:
            return
        if statement.lstrip()[:7].upper().startswith(_WRITES):
            self._has_turn = self.line.take(urgent=self.urgent, seconds=BUSY_MILLISECONDS / 1000)

    def leave_turn(self) -> None:
        """Let the next one write, unless the transaction goes on."""
        if self.line is not None and self._has_turn and not self.in_transaction:
            self._has_turn = False
            self.line.leave()

    def commit(self) -> None:
        """See `sqlite3.Connection.commit`."""
        try:
            super().commit()
        finally:
            self.leave_turn()

    def rollback(self) -> None:
        """See `sqlite3.Connection.rollback`."""
        try:
            super().rollback()
        finally:
            self.leave_turn()

    def close(self) -> None:
        """See `sqlite3.Connection.close`."""
        super().close()
        if self.line is not None and self._has_turn:
            self._has_turn = False
            self.line.leave()


class _Cursor(sqlite3.Cursor):
    connection: _Connection

    def execute(self, statement: str, parameters: Any = (), /) -> _Cursor:
        self.connection.take_turn(statement)
        try:
            return super().execute(statement, parameters)
        finally:
            self.connection.leave_turn()

    def executemany(self, statement: str, parameters: Iterable[Any], /) -> _Cursor:
        self.connection.take_turn(statement)
        try:
            return super().executemany(statement, parameters)
        finally:
            self.connection.leave_turn()


def create_engine(address: sa.URL, *, urgent: bool = False) -> sa.Engine:
    """Return an engine for a file. What an `urgent` one commits goes before other writers, and is on the disk then."""
    engine = sa.create_engine(address, connect_args={"factory": _Connection})
    line = _line_of(address.database)

    def prepare(connection: _Connection, _record: object) -> None:
        connection.line, connection.urgent = line, urgent
        _prepare(connection, urgent=urgent)

    sa.event.listen(engine, "connect", prepare)
    return engine


def _prepare(connection: sqlite3.Connection, *, urgent: bool) -> None:
    """Make SQLite safe and quick enough for a queue.

    IMMEDIATE serialises writers; WAL with synchronous=NORMAL does three times the workflows of the default (35
    against 10 a second measured on two cores). With NORMAL a commit outlives the process and not the machine: of a job
    that is no loss, since it begins again where it was. SQLite before 3.42 does not know `unixepoch('subsec')`, which
    gives NULL or whole seconds and so a random order within a second: both functions are ours.
    """
    connection.isolation_level = "IMMEDIATE"
    for pragma in (
        "journal_mode=WAL",
        f"synchronous={'FULL' if urgent else 'NORMAL'}",
        f"busy_timeout={BUSY_MILLISECONDS}",
        "foreign_keys=ON",
        *((f"wal_autocheckpoint={CHECKPOINT_PAGES}",) if urgent else ()),
    ):
        connection.execute(f"PRAGMA {pragma}")
    connection.create_function("unixepoch", 1, lambda _modifier: time.time())
    connection.create_function("strftime", 2, _strftime)


def _strftime(pattern: str, _moment: str) -> float | str:
    """Old SQLite is asked for `strftime('%s', 'now') * 1000`: seconds with their fraction keep the order."""
    return time.time() if pattern == "%s" else datetime.now(UTC).strftime(pattern)
