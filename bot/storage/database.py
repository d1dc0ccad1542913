"""The database behind the queue: SQLite in a file, or PostgreSQL."""

from __future__ import annotations

import sqlalchemy as sa

from bot.storage import sqlite

CLAIM_SECONDS = 30.0
"""Time for taking over the jobs of one worker."""


class UnsupportedDatabase(Exception):
    """The address names a database that the queue cannot use."""


def create_engine(url: str) -> sa.Engine:
    """Return an engine for `sqlite:///FILE` or `postgresql://...`.

    Raises:
        UnsupportedDatabase: for any other address.
    """
    address = sa.make_url(url)
    if address.drivername in ("postgres", "postgresql"):
        address = address.set(drivername="postgresql+psycopg")
    if address.drivername.startswith("postgresql"):
        return sa.create_engine(address, pool_pre_ping=True, pool_size=10)
    if not address.drivername.startswith("sqlite"):
        raise UnsupportedDatabase(f"PREFLIGHT_DATABASE_URL must be sqlite or postgresql, not {address.drivername}")
    return sqlite.create_engine(address)


def create_urgent_engine(engine: sa.Engine) -> sa.Engine:
    """Return an engine on the same database for what is answered as soon as it is stored.

    Its transactions go before others of the process, and are on the disk when they are committed; on PostgreSQL any
    engine's are.
    """
    return sqlite.create_engine(engine.url, urgent=True) if engine.dialect.name == "sqlite" else engine


_METADATA = sa.MetaData()

WORKERS = sa.Table(
    "preflight_workers",
    _METADATA,
    sa.Column("executor_id", sa.String(200), primary_key=True),
    sa.Column("seen", sa.Float, nullable=False),
)
"""When each worker was last heard of, in epoch seconds."""


TURNS = sa.Table(
    "preflight_turns",
    _METADATA,
    sa.Column("name", sa.String(100), primary_key=True),
    sa.Column("taken", sa.Float, nullable=False),
)
"""When work that one process does for all was last begun, in epoch seconds."""


class Turns:
    """Who does what needs doing once, however many processes there are."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        _METADATA.create_all(engine)

    def take(self, name: str, now: float, apart_seconds: float) -> bool:
        """Take the turn, unless another process took it less than `apart_seconds` ago."""
        with self._engine.begin() as connection:
            changed = connection.execute(
                sa.update(TURNS).where(TURNS.c.name == name, TURNS.c.taken <= now - apart_seconds).values(taken=now)
            )
            if changed.rowcount:
                return True
            if connection.execute(sa.select(TURNS.c.name).where(TURNS.c.name == name)).first() is not None:
                return False
        try:
            with self._engine.begin() as connection:
                connection.execute(sa.insert(TURNS).values(name=name, taken=now))
        except sa.exc.IntegrityError:
            # Another process was the first.
            return False
        return True


WRITES = sa.Table(
    "preflight_writes",
    _METADATA,
    sa.Column("installation_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("free_at", sa.Float, nullable=False),
)
"""When the next write of an installation may go out, in epoch seconds."""


class WriteTurns:
    """Turns to write for each installation, over all workers of one database."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        _METADATA.create_all(engine)

    def reserve(self, installation_id: int, now: float, seconds: float) -> float:
        """Return when this write may go out, and keep the `seconds` from then on to it."""
        while True:
            try:
                with self._engine.begin() as connection:
                    return self._next(connection, installation_id, now, seconds)
            except sa.exc.IntegrityError:
                # Another worker wrote the installation's first row at the same moment.
                continue

    @staticmethod
    def _next(connection: sa.Connection, installation_id: int, now: float, seconds: float) -> float:
        begin = sa.case((WRITES.c.free_at > now, WRITES.c.free_at), else_=now)
        taken = connection.execute(
            sa.update(WRITES)
            .where(WRITES.c.installation_id == installation_id)
            .values(free_at=begin + seconds)
            .returning(WRITES.c.free_at)
        ).first()
        if taken is not None:
            return float(taken[0]) - seconds
        connection.execute(sa.insert(WRITES).values(installation_id=installation_id, free_at=now + seconds))
        return now


class Heartbeats:
    """Who is alive: the queue itself does not take over the jobs of a machine that is lost."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        _METADATA.create_all(engine)

    def beat(self, executor_id: str, now: float) -> None:
        """Note that a worker lives."""
        with self._engine.begin() as connection:
            changed = connection.execute(
                sa.update(WORKERS).where(WORKERS.c.executor_id == executor_id).values(seen=now)
            )
            if changed.rowcount == 0:
                connection.execute(sa.insert(WORKERS).values(executor_id=executor_id, seen=now))

    def silent(self, now: float, seconds: float) -> list[str]:
        """Return the workers not heard of for `seconds`."""
        with self._engine.connect() as connection:
            rows = connection.execute(sa.select(WORKERS.c.executor_id).where(WORKERS.c.seen < now - seconds))
            return [str(row[0]) for row in rows]

    def claim(self, executor_id: str, now: float, seconds: float) -> bool:
        """Tell whether it is for the caller to take over from a worker that was silent for `seconds`.

        Of several that ask only one is told so. Should it be lost itself in the midst of it, the worker counts as
        silent again after `CLAIM_SECONDS`.
        """
        silent = WORKERS.c.seen < now - seconds
        with self._engine.begin() as connection:
            changed = connection.execute(
                sa.update(WORKERS)
                .where(WORKERS.c.executor_id == executor_id, silent)
                .values(seen=now - seconds + CLAIM_SECONDS)
            )
            return changed.rowcount == 1

    def remove(self, executor_id: str) -> None:
        """Forget a worker whose jobs were taken over, or that went in good order."""
        with self._engine.begin() as connection:
            connection.execute(sa.delete(WORKERS).where(WORKERS.c.executor_id == executor_id))
