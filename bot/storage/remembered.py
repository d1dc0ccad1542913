"""What people told the bot about a pull request, kept beside the queue: findings dismissed, and reviews paused.

Everything is keyed by ids, so that a renamed or transferred repository keeps it; a deleted installation takes it along.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Literal

import sqlalchemy as sa
from pydantic import BaseModel, ConfigDict

from bot.clock import Clock
from bot.github.identity import RepositoryKey

LONGEST_REASON = 300
MOST_DISMISSALS = 500
"""Of one pull request: more come from no person."""

Means = Literal["command", "button", "thread"]

_METADATA = sa.MetaData()

_DISMISSALS = sa.Table(
    "preflight_dismissals",
    _METADATA,
    sa.Column("installation_id", sa.BigInteger, nullable=False, index=True),
    sa.Column("repository_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("subject", sa.String(200), primary_key=True),
    sa.Column("means", sa.String(20), nullable=False),
    sa.Column("login", sa.String(100), nullable=False),
    sa.Column("reason", sa.String(LONGEST_REASON), nullable=False),
    sa.Column("moment", sa.Float, nullable=False),
)
_PAUSES = sa.Table(
    "preflight_pauses",
    _METADATA,
    sa.Column("installation_id", sa.BigInteger, nullable=False, index=True),
    sa.Column("repository_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("login", sa.String(100), nullable=False),
    sa.Column("moment", sa.Float, nullable=False),
)


class Dismissal(BaseModel):
    """A finding, or all of a rule, that somebody does not want to hear of again on one pull request."""

    model_config = ConfigDict(frozen=True)

    subject: str
    """A finding's fingerprint, or a rule's code."""
    means: Means
    login: str
    reason: str = ""

    @property
    def counts(self) -> bool:
        """Whether the verdict leaves the finding out. To resolve a thread takes no write access, so that does not."""
        return self.means != "thread"


class Remembered:
    """The tables, for the coroutines of the bot."""

    def __init__(self, engine: sa.Engine, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock
        _METADATA.create_all(engine)

    async def dismiss(self, key: RepositoryKey, number: int, dismissals: Iterable[Dismissal]) -> None:
        """Remember dismissals. One that is there already stays, unless a word of more weight comes."""
        await asyncio.to_thread(self._dismiss, key, number, list(dismissals))

    def _dismiss(self, key: RepositoryKey, number: int, dismissals: Sequence[Dismissal]) -> None:
        with self._engine.begin() as connection:
            rows = connection.execute(sa.select(_DISMISSALS.c.subject, _DISMISSALS.c.means).where(*_of(key, number)))
            there = {str(subject): str(means) for subject, means in rows}
            for dismissal in dismissals[:MOST_DISMISSALS]:
                known = there.get(dismissal.subject)
                if known == dismissal.means or (known is not None and dismissal.means == "thread"):
                    continue
                if known is None and len(there) >= MOST_DISMISSALS:
                    return
                there[dismissal.subject] = dismissal.means
                place = (*_of(key, number), _DISMISSALS.c.subject == dismissal.subject)
                connection.execute(sa.delete(_DISMISSALS).where(*place))
                connection.execute(
                    sa.insert(_DISMISSALS).values(
                        installation_id=key.installation_id,
                        repository_id=key.repository_id,
                        number=number,
                        subject=dismissal.subject,
                        means=dismissal.means,
                        login=dismissal.login,
                        reason=dismissal.reason[:LONGEST_REASON],
                        moment=self._clock.now(),
                    )
                )

    async def restore(
        self, key: RepositoryKey, number: int, subjects: Iterable[str] | None, means: Means | None = None
    ) -> int:
        """Forget dismissals, or with `subjects=None` all of them, and return how many there were."""
        wanted = None if subjects is None else list(subjects)
        return await asyncio.to_thread(self._restore, key, number, wanted, means)

    def _restore(self, key: RepositoryKey, number: int, subjects: Sequence[str] | None, means: Means | None) -> int:
        place = list(_of(key, number))
        if subjects is not None:
            place.append(_DISMISSALS.c.subject.in_(subjects))
        if means is not None:
            place.append(_DISMISSALS.c.means == means)
        with self._engine.begin() as connection:
            return connection.execute(sa.delete(_DISMISSALS).where(*place)).rowcount

    async def dismissed(self, key: RepositoryKey, number: int) -> tuple[Dismissal, ...]:
        """Return what was dismissed on a pull request, oldest first."""
        return await asyncio.to_thread(self._dismissed, key, number)

    def _dismissed(self, key: RepositoryKey, number: int) -> tuple[Dismissal, ...]:
        columns = (_DISMISSALS.c.subject, _DISMISSALS.c.means, _DISMISSALS.c.login, _DISMISSALS.c.reason)
        query = sa.select(*columns).where(*_of(key, number)).order_by(_DISMISSALS.c.moment, _DISMISSALS.c.subject)
        with self._engine.connect() as connection:
            return tuple(Dismissal.model_validate(dict(row)) for row in connection.execute(query).mappings())

    async def pause(self, key: RepositoryKey, number: int, login: str) -> None:
        """Remember that a pull request is not to be reviewed for now."""
        await asyncio.to_thread(self._pause, key, number, login)

    def _pause(self, key: RepositoryKey, number: int, login: str) -> None:
        with self._engine.begin() as connection:
            connection.execute(sa.delete(_PAUSES).where(*_paused(key, number)))
            connection.execute(
                sa.insert(_PAUSES).values(
                    installation_id=key.installation_id,
                    repository_id=key.repository_id,
                    number=number,
                    login=login,
                    moment=self._clock.now(),
                )
            )

    async def resume(self, key: RepositoryKey, number: int) -> bool:
        """Forget a pause, and tell whether there was one."""
        return await asyncio.to_thread(self._resume, key, number)

    def _resume(self, key: RepositoryKey, number: int) -> bool:
        with self._engine.begin() as connection:
            return connection.execute(sa.delete(_PAUSES).where(*_paused(key, number))).rowcount > 0

    async def paused_by(self, key: RepositoryKey, number: int) -> str | None:
        """Return who paused a pull request, None where nobody did."""
        return await asyncio.to_thread(self._paused_by, key, number)

    def _paused_by(self, key: RepositoryKey, number: int) -> str | None:
        with self._engine.connect() as connection:
            login = connection.execute(sa.select(_PAUSES.c.login).where(*_paused(key, number))).scalar()
            return None if login is None else str(login)

    async def forget(self, installation_id: int, repository_ids: Iterable[int] | None = None) -> None:
        """Drop all that is kept for an installation, or for some of its repositories."""
        ids = None if repository_ids is None else list(repository_ids)
        await asyncio.to_thread(self._forget, installation_id, ids)

    def _forget(self, installation_id: int, repository_ids: Sequence[int] | None) -> None:
        with self._engine.begin() as connection:
            for table in (_DISMISSALS, _PAUSES):
                place = [table.c.installation_id == installation_id]
                if repository_ids is not None:
                    place.append(table.c.repository_id.in_(repository_ids))
                connection.execute(sa.delete(table).where(*place))

    async def forget_older(self, moment: float) -> None:
        """Drop what was said before `moment`, in epoch seconds."""
        await asyncio.to_thread(self._forget_older, moment)

    def _forget_older(self, moment: float) -> None:
        with self._engine.begin() as connection:
            for table in (_DISMISSALS, _PAUSES):
                connection.execute(sa.delete(table).where(table.c.moment < moment))


def _of(key: RepositoryKey, number: int) -> tuple[sa.ColumnElement[bool], ...]:
    return (_DISMISSALS.c.repository_id == key.repository_id, _DISMISSALS.c.number == number)


def _paused(key: RepositoryKey, number: int) -> tuple[sa.ColumnElement[bool], ...]:
    return (_PAUSES.c.repository_id == key.repository_id, _PAUSES.c.number == number)
