"""Who may come to the set-up pages: the browser that brings the printed token, once, and is known by a cookie then.

Several servers of one database that have no App yet share one door: whichever of them a browser reaches, the same link
opens it, once in all, and goes on where another left off.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import sqlalchemy as sa

from bot.setup.hosts import GitHubHost

HOUR_SECONDS = 3600.0
MOST_STATES = 20
"""Registrations begun and not finished; the oldest go first."""


@dataclass(frozen=True)
class Begun:
    """One registration that was sent to GitHub."""

    host: GitHubHost
    public_url: str
    at: float


class Door(Protocol):
    """What the pages ask."""

    @property
    def token(self) -> str:
        """What the printed link carries."""

    @property
    def session(self) -> str:
        """What the cookie of a browser that was let in carries."""

    @property
    def is_closed(self) -> bool:
        """Whether an App is registered."""

    def admits(self, token: str) -> bool:
        """Tell whether a browser with this token may come in; each token lets one in."""

    def begin(self, begun: Begun) -> str:
        """Keep a registration, and return the state that GitHub is to bring back."""

    def take(self, state: str) -> Begun | None:
        """Return the registration of a state, once."""

    def close(self) -> None:
        """Let nobody in any more: there is an App."""


class OwnDoor:
    """The door of one process."""

    def __init__(self, token: str | None = None) -> None:
        self.token = token or secrets.token_urlsafe(24)
        self.session = secrets.token_urlsafe(32)
        self.is_closed = False
        self._used = False
        self._states: dict[str, Begun] = {}

    def admits(self, token: str) -> bool:
        """See `Door`."""
        admitted = not self._used and same(token, self.token)
        self._used = self._used or admitted
        return admitted

    def begin(self, begun: Begun) -> str:
        """See `Door`."""
        state = secrets.token_urlsafe(32)
        self._states[state] = begun
        while len(self._states) > MOST_STATES:
            self._states.pop(next(iter(self._states)))
        return state

    def take(self, state: str) -> Begun | None:
        """See `Door`."""
        return self._states.pop(state, None)

    def close(self) -> None:
        """See `Door`."""
        self.is_closed = True


_METADATA = sa.MetaData()
DOORS = sa.Table(
    "preflight_setup",
    _METADATA,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("token", sa.String(100), nullable=False),
    sa.Column("session", sa.String(100), nullable=False),
    sa.Column("used", sa.Boolean, nullable=False),
    sa.Column("closed", sa.Boolean, nullable=False),
    sa.Column("opened_at", sa.Float, nullable=False),
)
"""One row: the set-up that the servers of this database are in."""
STATES = sa.Table(
    "preflight_setup_states",
    _METADATA,
    sa.Column("state", sa.String(100), primary_key=True),
    sa.Column("web_url", sa.String(300), nullable=False),
    sa.Column("trusted", sa.Boolean, nullable=False),
    sa.Column("public_url", sa.String(400), nullable=False),
    sa.Column("begun_at", sa.Float, nullable=False),
)


def make_tables(engine: sa.Engine) -> None:
    """Make the tables of a shared door where they are not there."""
    _METADATA.create_all(engine)


class SharedDoor:
    """One door for all servers of a database. A server that starts while the link of another is unused prints the same;
    one that starts after it was used makes a new one, and the browser that is in goes on for an hour."""

    def __init__(self, engine: sa.Engine, now: Callable[[], float]) -> None:
        self._engine = engine
        self._now = now
        make_tables(engine)
        self.token = self._opened()

    def _opened(self) -> str:
        while True:
            row, token, now = self._row(), secrets.token_urlsafe(24), self._now()
            fresh = {"token": token, "used": False, "closed": False, "opened_at": now}
            try:
                with self._engine.begin() as connection:
                    if row is None:
                        session = secrets.token_urlsafe(32)
                        connection.execute(sa.insert(DOORS).values(id=1, session=session, **fresh))
                        return token
                    if not (row.used or row.closed):
                        return str(row.token)
                    if row.closed or now - row.opened_at > HOUR_SECONDS:
                        fresh["session"] = secrets.token_urlsafe(32)
                    ours = connection.execute(sa.update(DOORS).where(DOORS.c.token == row.token).values(**fresh))
                    if ours.rowcount:
                        return token
            except sa.exc.IntegrityError:
                # Another server made the row at the same moment: its token is ours too.
                continue

    def _row(self) -> sa.Row[tuple[int, str, str, bool, bool, float]] | None:
        with self._engine.begin() as connection:
            return connection.execute(sa.select(DOORS)).first()

    @property
    def session(self) -> str:
        """See `Door`."""
        row = self._row()
        return str(row.session) if row is not None else secrets.token_urlsafe(32)

    @property
    def is_closed(self) -> bool:
        """See `Door`."""
        row = self._row()
        return row is not None and bool(row.closed)

    def admits(self, token: str) -> bool:
        """See `Door`."""
        row = self._row()
        if row is None or row.closed or not same(token, row.token):
            return False
        with self._engine.begin() as connection:
            unused = sa.update(DOORS).where(DOORS.c.token == row.token, DOORS.c.used.is_(False))
            return bool(connection.execute(unused.values(used=True)).rowcount)

    def begin(self, begun: Begun) -> str:
        """See `Door`."""
        state = secrets.token_urlsafe(32)
        values = {
            "state": state, "web_url": begun.host.web_url, "trusted": begun.host.trusted,
            "public_url": begun.public_url, "begun_at": begun.at,
        }  # fmt: skip
        with self._engine.begin() as connection:
            connection.execute(sa.delete(STATES).where(STATES.c.begun_at < self._now() - HOUR_SECONDS))
            connection.execute(sa.insert(STATES).values(**values))
        return state

    def take(self, state: str) -> Begun | None:
        """See `Door`."""
        with self._engine.begin() as connection:
            row = connection.execute(sa.select(STATES).where(STATES.c.state == state)).first()
            if row is None or not connection.execute(sa.delete(STATES).where(STATES.c.state == state)).rowcount:
                return None
        return Begun(GitHubHost(row.web_url, trusted=row.trusted), row.public_url, row.begun_at)

    def close(self) -> None:
        """See `Door`."""
        with self._engine.begin() as connection:
            connection.execute(sa.update(DOORS).values(closed=True))
            connection.execute(sa.delete(STATES))


def same(given: str, wanted: str) -> bool:
    """Compare secrets in a time that tells nothing of them."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode("utf-8"))
