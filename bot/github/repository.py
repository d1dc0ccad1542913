"""Reading and writing one repository: the operations that the bot uses, and no others."""

from __future__ import annotations

import base64
import binascii
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import gidgethub

from bot.github.client import Client
from bot.github.errors import is_missing
from bot.github.models import (
    Account,
    AnnotationObject,
    Blob,
    ChangedFile,
    CheckRun,
    Comparison,
    IssueComment,
    Permission,
    PullRequest,
    RepositoryObject,
    ReviewCommentObject,
    Tree,
)

PAGE = 100
FILES_CAP = 3000
"""GitHub lists no more files of a pull request."""
BLOBS_PER_QUERY = 50


@dataclass(frozen=True)
class Output:
    """What a check run shows. Annotations are appended by GitHub over several requests, 50 at a time."""

    title: str
    summary: str
    text: str | None = None
    annotations: Sequence[Mapping[str, Any]] = field(default=())

    def body(self) -> dict[str, Any]:
        """Return the request field; GitHub wants title and summary each time."""
        output: dict[str, Any] = {"title": self.title, "summary": self.summary}
        if self.text:
            output["text"] = self.text
        if self.annotations:
            output["annotations"] = list(self.annotations)
        return output


@dataclass(frozen=True)
class BlobText:
    """Content of one blob: text where GitHub gives it whole, otherwise to be fetched as bytes."""

    text: str | None
    whole: bool


class Repository:
    """One repository through one installation."""

    def __init__(self, client: Client, owner: str, name: str) -> None:
        self.client = client
        self.owner = owner
        self.name = name
        self._root = f"/repos/{owner}/{name}"

    def sibling(self, name: str) -> Repository:
        """Return another repository of the same owner."""
        return Repository(self.client.sibling(name), self.owner, name)

    async def _pages(self, url: str, variables: Mapping[str, str], key: str | None = None) -> AsyncIterator[Any]:
        async for item in self.client.getiter(self._root + url, variables, iterable_key=key):
            yield item

    async def about(self) -> RepositoryObject:
        """Return the repository under its present name."""
        return RepositoryObject.model_validate(await self.client.getitem(self._root))

    async def pull(self, number: int) -> PullRequest:
        """Return the present state of a pull request."""
        return PullRequest.model_validate(await self.client.getitem(f"{self._root}/pulls/{number}"))

    async def open_pulls(self) -> list[PullRequest]:
        """Return the open pull requests."""
        url = "/pulls?state=open&per_page=100"
        return [PullRequest.model_validate(item) async for item in self._pages(url, {})]

    async def pulls_of_commit(self, sha: str) -> list[PullRequest]:
        """Return the pull requests that hold a commit; this works for forks, unlike `pull_requests` in check events."""
        answer = await self.client.getitem(f"{self._root}/commits/{sha}/pulls")
        return [PullRequest.model_validate(item) for item in answer]

    async def files(self, number: int) -> list[ChangedFile]:
        """Return the changed files, 3,000 at most."""
        url = f"/pulls/{number}/files?per_page={PAGE}"
        return [ChangedFile.model_validate(item) async for item in self._pages(url, {})][:FILES_CAP]

    async def merge_base(self, base_sha: str, head_sha: str) -> str:
        """Return the commit from which the pull request's diff is counted."""
        url = f"{self._root}/compare/{base_sha}...{head_sha}?per_page=1"
        return Comparison.model_validate(await self.client.getitem(url)).merge_base_commit.sha

    async def tree(self, sha: str) -> Tree:
        """Return all paths of a commit."""
        return Tree.model_validate(await self.client.getitem(f"{self._root}/git/trees/{sha}?recursive=1"))

    async def blob(self, sha: str) -> bytes:
        """Return a file's bytes, 100 MB at most."""
        blob = Blob.model_validate(await self.client.getitem(f"{self._root}/git/blobs/{sha}"))
        return base64.b64decode(blob.content) if blob.encoding == "base64" else blob.content.encode()

    async def blob_texts(self, shas: Sequence[str]) -> dict[str, BlobText]:
        """Return the text of up to `BLOBS_PER_QUERY` blobs with one query.

        GitHub cuts text at about 500 KB and gives none for binary files: such a blob comes with `whole=False`.
        """
        fields = " ".join(
            f'f{index}: object(oid: "{sha}") {{ ... on Blob {{ text isBinary isTruncated }} }}'
            for index, sha in enumerate(shas)
        )
        query = f"query($owner: String!, $name: String!) {{ repository(owner: $owner, name: $name) {{ {fields} }} }}"
        data = await self.client.query(query, {"owner": self.owner, "name": self.name}, partial=True)
        objects = data.get("repository") or {}
        found: dict[str, BlobText] = {}
        for index, sha in enumerate(shas):
            entry = objects.get(f"f{index}")
            if entry:
                text = entry.get("text")
                # A replacement character means that GitHub decoded what was not UTF-8: the bytes are needed then.
                whole = text is not None and not entry.get("isTruncated") and "\ufffd" not in text
                found[sha] = BlobText(text if whole else None, whole)
        return found

    async def text_at(self, path: str, ref: str, *, large: bool = False) -> str | None:
        """Return a file of a commit or branch, or None where it is not there or not ours to read. Of more than a
        megabyte GitHub gives only the blob's name: `large` asks for that too."""
        try:
            item = await self.client.getitem(
                self._root + "/contents/{+path}{?ref}", {"path": path, "ref": ref} if ref else {"path": path}
            )
        except gidgethub.BadRequest as error:
            # 403 is what an organisation's repository answers that the installation does not cover.
            if is_missing(error) or error.status_code == HTTPStatus.FORBIDDEN:
                return None
            raise
        if not isinstance(item, dict):
            return None
        try:
            if item.get("encoding") == "base64":
                return base64.b64decode(item["content"]).decode("utf-8")
            named = large and item.get("encoding") == "none"
            return (await self.blob(item["sha"])).decode("utf-8") if named else None
        except (binascii.Error, UnicodeDecodeError):
            return None

    async def permission(self, login: str) -> str:
        """Return `admin`, `write`, `read` or `none`; the association in a payload is no permission."""
        return (await self.permission_of(login)).permission

    async def permission_of(self, login: str) -> Permission:
        """Return what a person may do here, and who that is by id."""
        try:
            item = await self.client.getitem(self._root + "/collaborators/{username}/permission", {"username": login})
        except gidgethub.BadRequest as error:
            if is_missing(error):
                return Permission()
            raise
        return Permission.model_validate(item)

    # Check runs

    async def check_runs(self, sha: str, name: str, app_id: int) -> list[CheckRun]:
        """Return this App's check runs of one name on a commit, newest first."""
        url = "/commits/{ref}/check-runs{?check_name,app_id,filter,per_page}"
        variables = {"ref": sha, "check_name": name, "app_id": str(app_id), "filter": "all", "per_page": str(PAGE)}
        runs = [CheckRun.model_validate(item) async for item in self._pages(url, variables, "check_runs")]
        # Enterprise servers of older versions ignore the app_id filter.
        own = [run for run in runs if run.app is None or run.app.id == app_id]
        return sorted(own, key=lambda run: run.id, reverse=True)

    async def check_runs_of_others(self, sha: str, name: str, app_id: int) -> list[CheckRun]:
        """Return the latest completed check runs of one name that other Apps made on a commit, newest first.

        One call: of one name there are few, and only the first page is read.
        """
        url = f"{self._root}/commits/{{ref}}/check-runs{{?check_name,status,per_page}}"
        variables = {"ref": sha, "check_name": name, "status": "completed", "per_page": str(PAGE)}
        answer = await self.client.getitem(url, variables)
        runs = [CheckRun.model_validate(item) for item in answer["check_runs"]]
        others = [run for run in runs if run.app is not None and run.app.id != app_id]
        return sorted(others, key=lambda run: run.id, reverse=True)

    async def check_run(self, run_id: int) -> CheckRun:
        """Return a check run."""
        return CheckRun.model_validate(await self.client.getitem(f"{self._root}/check-runs/{run_id}"))

    async def annotations(self, run_id: int) -> list[AnnotationObject]:
        """Return the annotations that a check run has."""
        url = f"/check-runs/{run_id}/annotations?per_page={PAGE}"
        return [AnnotationObject.model_validate(item) async for item in self._pages(url, {})]

    async def create_check_run(self, name: str, sha: str, **fields: Any) -> CheckRun:
        """Create a check run."""
        answer = await self.client.post(f"{self._root}/check-runs", data={"name": name, "head_sha": sha, **fields})
        return CheckRun.model_validate(answer)

    async def update_check_run(self, run_id: int, **fields: Any) -> None:
        """Change a check run; annotations are added to those it has."""
        await self.client.patch(f"{self._root}/check-runs/{run_id}", data=fields)

    # Comments and reviews

    async def review_comments(self, number: int) -> list[ReviewCommentObject]:
        """Return every comment on lines of a pull request."""
        url = f"/pulls/{number}/comments?per_page={PAGE}"
        return [ReviewCommentObject.model_validate(item) async for item in self._pages(url, {})]

    async def create_review(self, number: int, sha: str, body: str, comments: Sequence[Mapping[str, Any]]) -> None:
        """Publish one review. One comment outside the diff makes GitHub refuse all of them with 422."""
        data = {"commit_id": sha, "event": "COMMENT", "body": body, "comments": list(comments)}
        await self.client.post(f"{self._root}/pulls/{number}/reviews", data=data)

    async def issue_comments(self, number: int) -> list[IssueComment]:
        """Return the conversation of a pull request."""
        url = f"/issues/{number}/comments?per_page={PAGE}"
        return [IssueComment.model_validate(item) async for item in self._pages(url, {})]

    async def create_comment(self, number: int, body: str) -> None:
        """Write into the conversation."""
        await self.client.post(f"{self._root}/issues/{number}/comments", data={"body": body})

    async def edit_comment(self, comment_id: int, body: str) -> None:
        """Replace an own comment's text; edits send no mail."""
        await self.client.patch(f"{self._root}/issues/comments/{comment_id}", data={"body": body})

    async def react(self, comment_id: int, content: str, *, in_thread: bool = False) -> None:
        """React to a comment of the conversation; repeating it changes nothing."""
        url = f"{self._root}/{'pulls' if in_thread else 'issues'}/comments/{comment_id}/reactions"
        await self.client.post(url, data={"content": content})

    async def minimise_outdated(self, node_ids: Sequence[str]) -> None:
        """Fold comments away as outdated: GraphQL only, and unlike resolving a thread it needs no write to contents."""
        for start in range(0, len(node_ids), BLOBS_PER_QUERY):
            batch = node_ids[start : start + BLOBS_PER_QUERY]
            declared = ", ".join(f"$id{index}: ID!" for index in range(len(batch)))
            fields = " ".join(
                f"m{index}: minimizeComment(input: {{subjectId: $id{index}, classifier: OUTDATED}})"
                " { minimizedComment { isMinimized } }"
                for index in range(len(batch))
            )
            variables = {f"id{index}": node for index, node in enumerate(batch)}
            await self.client.query(f"mutation({declared}) {{ {fields} }}", variables, partial=True)


def is_own(author: Account | None, slug: str) -> bool:
    """Tell whether an account is this App's: a marker in a text alone could be anybody's."""
    return author is not None and author.is_bot and author.login == f"{slug}[bot]"
