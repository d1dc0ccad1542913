"""Stored reports, in the queue's database."""

from __future__ import annotations

import asyncio
import json
import logging
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import sqlalchemy as sa
from pydantic import ValidationError

from bot.reports.document import Document, Figures, ReportKey, Row
from engine.explored import Exploration

logger = logging.getLogger(__name__)

DAY_SECONDS = 86_400.0
MOST_ROWS = 5_000
"""Reports that an overview counts."""

_METADATA = sa.MetaData()

REPORTS = sa.Table(
    "preflight_reports",
    _METADATA,
    sa.Column("repository_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("head_sha", sa.String(64), primary_key=True),
    sa.Column("installation_id", sa.BigInteger, nullable=False),
    sa.Column("owner", sa.String(200), nullable=False),
    sa.Column("name", sa.String(200), nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("kept_at", sa.Float, nullable=False, index=True),
    sa.Column("figures", sa.Text, nullable=False),
    sa.Column("suppressions", sa.Text, nullable=False),
    sa.Column("document", sa.LargeBinary, nullable=False),
    sa.Index("preflight_reports_installation", "installation_id", "kept_at"),
)
"""One row a reviewed head. The document is JSON, compressed; the figures beside it spare overviews from reading it."""

EXPLORATIONS = sa.Table(
    "preflight_explorations",
    _METADATA,
    sa.Column("repository_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("head_sha", sa.String(64), primary_key=True),
    sa.Column("chosen", sa.String(400), primary_key=True),
    sa.Column("kept_at", sa.Float, nullable=False, index=True),
    sa.Column("document", sa.LargeBinary, nullable=False),
)

CLOSED = sa.Table(
    "preflight_closed_pulls",
    _METADATA,
    sa.Column("repository_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("closed_at", sa.Float, nullable=False, index=True),
)
"""Pull requests that were closed, so that their findings no longer count as open."""


@dataclass(frozen=True)
class Stored:
    """A report with its document."""

    row: Row
    document: Document


class ReportStore:
    """Reports by key. Each call is made in a thread: the database's driver blocks."""

    def __init__(self, engine: sa.Engine, *, retention_days: int) -> None:
        self._engine = engine
        self._retention_days = retention_days
        _METADATA.create_all(engine)

    async def keep(self, key: ReportKey, document: Document, *, about: tuple[int, str, str], now: float) -> None:
        """Store a report in place of a former one of the same head, and drop those that are too old.

        `about` is installation, owner and name of the repository.
        """
        await asyncio.to_thread(self._keep, key, document, about, now)

    def _keep(self, key: ReportKey, document: Document, about: tuple[int, str, str], now: float) -> None:
        installation_id, owner, name = about
        values = {
            "installation_id": installation_id,
            "owner": owner,
            "name": name,
            "title": document.title,
            "kept_at": now,
            "figures": json.dumps(vars(Figures.of(document.report))),
            "suppressions": json.dumps(document.details.suppressions),
            "document": _packed(document.model_dump_json()),
        }
        with self._engine.begin() as connection:
            connection.execute(sa.delete(EXPLORATIONS).where(*_at(EXPLORATIONS, key)))
            connection.execute(sa.delete(REPORTS).where(*_at(REPORTS, key)))
            connection.execute(sa.insert(REPORTS).values(**vars(key), **values))
            oldest = now - self._retention_days * DAY_SECONDS
            connection.execute(sa.delete(REPORTS).where(REPORTS.c.kept_at < oldest))
            connection.execute(sa.delete(EXPLORATIONS).where(EXPLORATIONS.c.kept_at < oldest))
            connection.execute(sa.delete(CLOSED).where(CLOSED.c.closed_at < oldest))

    async def find(self, key: ReportKey) -> Stored | None:
        """Return a report, or None where there is none, or none any more."""
        return await asyncio.to_thread(self._find, key)

    def _find(self, key: ReportKey) -> Stored | None:
        with self._engine.connect() as connection:
            row = connection.execute(sa.select(REPORTS).where(*_at(REPORTS, key))).mappings().first()
        if row is None:
            return None
        try:
            return Stored(_row(row), Document.model_validate_json(_unpacked(row["document"])))
        except ValidationError:
            # Of a release that wrote other reports. The next push makes a new one.
            logger.warning("the report %s cannot be read by this release", key.path)
            return None

    async def of_installation(self, installation_id: int, *, since: float) -> Sequence[Row]:
        """Return the newest reports of an installation, newest first."""
        return await asyncio.to_thread(self._of_installation, installation_id, since)

    def _of_installation(self, installation_id: int, since: float) -> Sequence[Row]:
        columns = [column for column in REPORTS.c if column.name != "document"]
        query = (
            sa.select(*columns)
            .where(REPORTS.c.installation_id == installation_id, REPORTS.c.kept_at >= since)
            .order_by(REPORTS.c.kept_at.desc())
            .limit(MOST_ROWS)
        )
        with self._engine.connect() as connection:
            return [_row(row) for row in connection.execute(query).mappings()]

    async def closed(self, repository_ids: Sequence[int]) -> dict[tuple[int, int], float]:
        """Return when pull requests of these repositories were closed, in epoch seconds."""
        return await asyncio.to_thread(self._closed, repository_ids)

    def _closed(self, repository_ids: Sequence[int]) -> dict[tuple[int, int], float]:
        query = sa.select(CLOSED).where(CLOSED.c.repository_id.in_(list(repository_ids)))
        with self._engine.connect() as connection:
            return {(int(row[0]), int(row[1])): float(row[2]) for row in connection.execute(query)}

    async def close_pull(self, repository_id: int, number: int, now: float) -> None:
        """Note that a pull request was closed."""
        await asyncio.to_thread(self._close_pull, repository_id, number, now)

    def _close_pull(self, repository_id: int, number: int, now: float) -> None:
        with self._engine.begin() as connection:
            self._reopen(connection, repository_id, number)
            connection.execute(sa.insert(CLOSED).values(repository_id=repository_id, number=number, closed_at=now))

    async def reopen_pull(self, repository_id: int, number: int) -> None:
        """Note that a pull request is open again."""

        def reopen() -> None:
            with self._engine.begin() as connection:
                self._reopen(connection, repository_id, number)

        await asyncio.to_thread(reopen)

    @staticmethod
    def _reopen(connection: sa.Connection, repository_id: int, number: int) -> None:
        connection.execute(sa.delete(CLOSED).where(CLOSED.c.repository_id == repository_id, CLOSED.c.number == number))

    async def explored(self, key: ReportKey, chosen: Sequence[str]) -> Exploration | None:
        """Return what was found before under these changes."""
        return await asyncio.to_thread(self._explored, key, chosen)

    def _explored(self, key: ReportKey, chosen: Sequence[str]) -> Exploration | None:
        query = sa.select(EXPLORATIONS.c.document).where(
            *_at(EXPLORATIONS, key), EXPLORATIONS.c.chosen == _choice(chosen)
        )
        with self._engine.connect() as connection:
            found = connection.execute(query).scalar()
        try:
            return None if found is None else Exploration.model_validate_json(_unpacked(found))
        except ValidationError:
            return None

    async def keep_explored(self, key: ReportKey, chosen: Sequence[str], found: Exploration, now: float) -> None:
        """Store what was found under these changes."""
        await asyncio.to_thread(self._keep_explored, key, chosen, found, now)

    def _keep_explored(self, key: ReportKey, chosen: Sequence[str], found: Exploration, now: float) -> None:
        values = {"chosen": _choice(chosen), "kept_at": now, "document": _packed(found.model_dump_json())}
        known = sa.delete(EXPLORATIONS).where(*_at(EXPLORATIONS, key), EXPLORATIONS.c.chosen == values["chosen"])
        try:
            with self._engine.begin() as connection:
                connection.execute(known)
                connection.execute(sa.insert(EXPLORATIONS).values(**vars(key), **values))
        except sa.exc.IntegrityError:
            # Another process found the same at the same moment.
            logger.info("%s was explored twice at once", key.path)

    async def erase_installation(self, installation_id: int) -> None:
        """Drop everything of an installation that is gone."""
        await asyncio.to_thread(self._erase, REPORTS.c.installation_id == installation_id)

    async def erase_repositories(self, repository_ids: Sequence[int]) -> None:
        """Drop everything of repositories that the App was taken from, or that are deleted."""
        await asyncio.to_thread(self._erase, REPORTS.c.repository_id.in_(list(repository_ids)))

    def _erase(self, which: sa.ColumnElement[bool]) -> None:
        with self._engine.begin() as connection:
            concerned = sa.select(REPORTS.c.repository_id).where(which).scalar_subquery()
            for table in (EXPLORATIONS, CLOSED):
                connection.execute(sa.delete(table).where(table.c.repository_id.in_(concerned)))
            connection.execute(sa.delete(REPORTS).where(which))


_FIGURES = {field.name for field in fields(Figures)}
"""Another release may have counted more."""


def _at(table: sa.Table, key: ReportKey) -> Sequence[sa.ColumnElement[bool]]:
    return (
        table.c.repository_id == key.repository_id,
        table.c.number == key.number,
        table.c.head_sha == key.head_sha,
    )


def _choice(chosen: Sequence[str]) -> str:
    return " ".join(sorted(chosen))[:400]


def _row(row: sa.RowMapping) -> Row:
    return Row(
        key=ReportKey(int(row["repository_id"]), int(row["number"]), str(row["head_sha"])),
        installation_id=int(row["installation_id"]),
        owner=str(row["owner"]),
        name=str(row["name"]),
        title=str(row["title"]),
        kept_at=float(row["kept_at"]),
        figures=Figures(**{name: value for name, value in json.loads(row["figures"]).items() if name in _FIGURES}),
        suppressions=json.loads(row["suppressions"]),
    )


def _packed(text: str) -> bytes:
    return zlib.compress(text.encode("utf-8"))


def _unpacked(content: Any) -> bytes:
    return zlib.decompress(bytes(content))
