"""Source text for report pages: read from GitHub when somebody looks, kept in memory for a while, and stored nowhere.

A report in the database holds findings and figures only. So a repository that takes the App away leaves no code behind,
a copied database shows none, and what somebody sees is guarded by the same question as the repository itself. A commit
that GitHub no longer has leaves the report without excerpts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

import gidgethub
from cachetools import LRUCache

from bot.github.errors import InstallationGone, LimitedUntil, Unavailable
from bot.github.repository import Repository
from bot.review.reading import Blobs
from bot.review.selection import select
from engine.fixes.notebook_cells import code_cells
from engine.project.module import split_cell
from engine.project.sources import most_bytes

MOST_FILES = 24
KEPT_CHARACTERS = 24_000_000
LARGEST_CHARACTERS = 1_000_000


class Sources:
    """Files of reviewed commits."""

    def __init__(self) -> None:
        self._kept: LRUCache[tuple[int, str, str], str] = LRUCache(
            KEPT_CHARACTERS, getsizeof=lambda text: len(text) + 100
        )
        self._blobs = Blobs()

    async def texts(
        self, repository: Repository, repository_id: int, sha: str, paths: Iterable[str]
    ) -> Mapping[str, str]:
        """Return the texts of some files of a commit, and of cells of notebooks (`eda.ipynb#cell=3`), without those
        that cannot be had."""
        asked = list(dict.fromkeys(paths))
        wanted = list(dict.fromkeys(split_cell(path)[0] for path in asked))[:MOST_FILES]
        found = await asyncio.gather(*(self._text(repository, repository_id, sha, path) for path in wanted))
        texts = dict(zip(wanted, found, strict=True))
        return {path: text for path in asked if (text := _part(texts, path))}

    async def _text(self, repository: Repository, repository_id: int, sha: str, path: str) -> str:
        key = (repository_id, sha, path)
        kept = self._kept.get(key)
        if kept is None:
            try:
                text = await repository.text_at(path, sha, large=path.endswith(".ipynb")) or ""
            except (gidgethub.GitHubException, InstallationGone, LimitedUntil, Unavailable):
                # The report stands without it, and the next view asks again.
                return ""
            # Half a notebook is none: its outputs may be far longer than its code.
            kept = text if path.endswith(".ipynb") and len(text) <= most_bytes(path) else text[:LARGEST_CHARACTERS]
            self._kept[key] = kept
        return kept

    async def project(self, repository: Repository, sha: str, near: str) -> Mapping[str, str | bytes]:
        """Return the files of a commit that an analysis may need, those around the path `near` first."""
        tree = await repository.tree(sha)
        selection = select(tree.tree, frozenset({near}))
        contents = await self._blobs.fetch(repository, selection.blobs.values())
        return {path: contents[blob] for path, blob in selection.blobs.items() if blob in contents}


def _part(texts: Mapping[str, str], path: str) -> str:
    """The text of a file, or the code of one cell; empty where there is none."""
    file, cell = split_cell(path)
    text = texts.get(file, "")
    if not cell or not text:
        return text
    try:
        return code_cells(text)[int(cell) - 1].text.replace("\r\n", "\n")
    except (ValueError, LookupError, RecursionError):
        return ""
