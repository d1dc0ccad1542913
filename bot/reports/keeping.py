"""Keeping a review's report, as the pipeline sees it."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import sqlalchemy as sa

from bot.clock import Clock
from bot.github.identity import RepositoryKey
from bot.reports.document import Document, ReportKey
from bot.reports.store import ReportStore
from bot.review.analysis import Analysis
from bot.review.stages import Loaded

logger = logging.getLogger(__name__)


class ReportKeeper:
    """Stores reports, and tells where their pages are."""

    def __init__(self, store: ReportStore, clock: Clock, public_url: str) -> None:
        self._store = store
        self._clock = clock
        self._root = public_url.rstrip("/")

    async def keep(
        self, key: RepositoryKey, loaded: Loaded, analysis: Analysis, check_title: str, problems: Sequence[str]
    ) -> str | None:
        """Store the report of a review and return its address; None where it cannot be stored, since the review itself
        must not be lost over its report."""
        place = ReportKey(key.repository_id, loaded.number, loaded.head_sha)
        document = Document(
            title=loaded.title,
            base_ref=loaded.base_ref,
            check_title=check_title,
            problems=tuple(problems),
            report=analysis.report,
            details=analysis.details,
            measured=loaded.measured,
        )
        about = (key.installation_id, loaded.owner, loaded.name)
        try:
            await self._store.keep(place, document, about=about, now=self._clock.now())
        except sa.exc.SQLAlchemyError:
            logger.exception("the report of %s/%s#%d could not be stored", loaded.owner, loaded.name, loaded.number)
            return None
        return self._root + place.path
