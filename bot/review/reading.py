"""Fetching both sides of a pull request.

Everything is read through the base repository by commit and blob hash, forks included: the installation has no
access to a fork, and GitHub keeps a pull request's commits in the base repository.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import gidgethub
from cachetools import LRUCache

from bot.github.errors import is_missing
from bot.github.models import ChangedFile, Tree, TreeEntry
from bot.github.repository import BLOBS_PER_QUERY, Repository
from bot.review.selection import Selection, select

KEPT_BYTES = 64_000_000
QUERIES_AT_ONCE = 4


@dataclass(frozen=True)
class Sides:
    """Files before and after: path to content, and what could not be read."""

    base: dict[str, str | bytes]
    head: dict[str, str | bytes]
    left_out: Sequence[str] = ()
    truncated: bool = False
    """GitHub did not list the whole tree."""
    repository: str = ""
    """Whose files these are, `owner/name`."""


class Blobs:
    """File contents by blob hash, kept in memory. A hash names one content, whoever asks; each repository is asked
    for its own tree first, so nobody learns of a content that is not in theirs."""

    def __init__(self) -> None:
        self._kept: LRUCache[str, str | bytes] = LRUCache(KEPT_BYTES, getsizeof=len)

    async def fetch(self, repository: Repository, shas: Iterable[str]) -> dict[str, str | bytes]:
        """Return the contents of blobs, with as few requests as possible."""
        wanted = dict.fromkeys(shas)
        found = {sha: self._kept[sha] for sha in wanted if sha in self._kept}
        missing = [sha for sha in wanted if sha not in found]
        gate = asyncio.Semaphore(QUERIES_AT_ONCE)

        async def batch(part: Sequence[str]) -> None:
            async with gate:
                for sha, content in (await _fetch_batch(repository, part)).items():
                    found[sha] = content
                    if len(content) <= KEPT_BYTES // 8:
                        self._kept[sha] = content

        parts = [missing[start : start + BLOBS_PER_QUERY] for start in range(0, len(missing), BLOBS_PER_QUERY)]
        try:
            async with asyncio.TaskGroup() as group:
                for part in parts:
                    group.create_task(batch(part))
        except BaseExceptionGroup as group_error:
            # Callers tell a rate limit from a fault by the plain exception.
            raise _first_cause(group_error) from group_error
        return found


async def _fetch_batch(repository: Repository, shas: Sequence[str]) -> dict[str, str | bytes]:
    contents: dict[str, str | bytes] = {}
    try:
        texts = await repository.blob_texts(shas)
    except gidgethub.GraphQLException:
        # Reading blob by blob costs more requests and needs nothing that GraphQL could refuse.
        texts = {}
    for sha in shas:
        text = texts.get(sha)
        if text is not None and text.whole and text.text is not None:
            contents[sha] = text.text
        else:
            try:
                contents[sha] = await repository.blob(sha)
            except gidgethub.BadRequest as error:
                if not is_missing(error):
                    raise
                # One file that GitHub lists and does not have is no reason to lose the review of all others.
    return contents


async def read_sides(
    repository: Repository, blobs: Blobs, *, base_sha: str, head_sha: str, changed: Sequence[ChangedFile]
) -> Sides:
    """Fetch what the analysis may need of the merge base and of the head."""
    base_tree, head_tree = await asyncio.gather(repository.tree(base_sha), repository.tree(head_sha))
    base = select(base_tree.tree, frozenset(file.previous_filename or file.filename for file in changed))
    head = select(_with_changed(head_tree, changed), frozenset(file.filename for file in changed))
    contents = await blobs.fetch(repository, (*base.blobs.values(), *head.blobs.values()))
    missing = [path for path, sha in head.blobs.items() if sha not in contents]
    return Sides(
        base=_contents(base, contents),
        head=_contents(head, contents),
        left_out=(*head.left_out, *missing),
        truncated=head_tree.truncated or base_tree.truncated,
        repository=f"{repository.owner}/{repository.name}",
    )


def _with_changed(tree: Tree, changed: Sequence[ChangedFile]) -> list[TreeEntry]:
    """Add changed files that a truncated tree lacks."""
    if not tree.truncated:
        return list(tree.tree)
    known = {entry.path for entry in tree.tree}
    missing = [
        TreeEntry(path=file.filename, type="blob", sha=file.sha)
        for file in changed
        if file.sha and file.status != "removed" and file.filename not in known
    ]
    return [*tree.tree, *missing]


def _contents(selection: Selection, contents: dict[str, str | bytes]) -> dict[str, str | bytes]:
    return {path: contents[sha] for path, sha in selection.blobs.items() if sha in contents}


def _first_cause(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
