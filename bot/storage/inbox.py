"""What was accepted and is not in the queue yet: a plain row each, written in no time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

_METADATA = sa.MetaData()

_INBOX = sa.Table(
    "preflight_inbox",
    _METADATA,
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    sa.Column("job_id", sa.Text, nullable=False, index=True),
    sa.Column("intent", sa.Text, nullable=False),
    sa.Column("lane", sa.Text, nullable=False),
    sa.Column("subject", sa.Text, nullable=False),
    sa.Column("due", sa.Float, nullable=False),
)


@dataclass(frozen=True)
class Letter:
    """A job on its way to the queue."""

    job_id: str
    intent: str
    """What to do, as JSON; its kind may be one that only a newer release knows."""
    lane: str = ""
    """Jobs of one lane run one after the other."""
    subject: str = ""
    """What a later job of the same makes this one needless; empty where none does."""
    due: float = 0.0
    """When it may begin, in epoch seconds."""
    id: int = 0
    """Its place in the order of coming; given when it is put in."""


class Inbox:
    """The table. Several processes may put in and take out."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        _METADATA.create_all(engine)

    def put(self, connection: sa.Connection, letters: Sequence[Letter]) -> None:
        """Put letters in, in their order."""
        names = [column.name for column in _INBOX.columns if column.name != "id"]
        rows = [{name: getattr(letter, name) for name in names} for letter in letters]
        connection.execute(sa.insert(_INBOX), rows)

    def take(self, connection: sa.Connection, most: int, without: Collection[int] = ()) -> list[Letter]:
        """Take the oldest letters out, some left aside. They are back where the transaction does not end well."""
        oldest = (
            sa.select(_INBOX.c.id)
            .where(_INBOX.c.id.not_in(without))
            .order_by(_INBOX.c.id)
            .limit(most)
            .with_for_update(skip_locked=True)
        )
        rows = connection.execute(sa.delete(_INBOX).where(_INBOX.c.id.in_(oldest)).returning(*_INBOX.columns))
        return sorted((Letter(**row) for row in rows.mappings()), key=lambda letter: letter.id)

    def holds(self, job_id: str) -> bool:
        """Tell whether a job is on its way."""
        with self._engine.connect() as connection:
            return connection.execute(sa.select(_INBOX.c.id).where(_INBOX.c.job_id == job_id)).first() is not None

    def count(self) -> int:
        """Return how many are on their way."""
        with self._engine.connect() as connection:
            return int(connection.execute(sa.select(sa.func.count()).select_from(_INBOX)).scalar_one())
