"""GitHub's GraphQL API over the state: blobs in batches, threads, minimised comments, resolved threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from graphql import GraphQLError, GraphQLSchema, build_schema, graphql_sync

from bot.standin.exchange import Answer
from bot.standin.git import GitFolder, UnknownRevision
from bot.standin.limits import Limits
from bot.standin.refusals import Refused
from bot.standin.state import Comment, Json, PullRequest, Repository, Review, ReviewComment, Token, stamp
from bot.standin.world import World

LONGEST_BLOB_BYTES = 512_000
"""``text`` is cut here without a word; only ``isTruncated`` tells (undocumented, measured at about 500 KB)."""
MOST_NODES = 100


@cache
def schema() -> GraphQLSchema:
    return build_schema(files("bot.standin").joinpath("schema.graphql").read_text(encoding="utf-8"))


def refused(kind: str, message: str) -> GraphQLError:
    return GraphQLError(message, extensions={"type": kind})


def execute(github: World, limits: Limits, token: Token | None, body: Any) -> Answer:
    """Errors come with status 200, their ``type`` beside the message, the rest of the data intact."""
    if not isinstance(body, dict) or not isinstance(body.get("query"), str):
        return Answer(400, {"message": "A query attribute must be specified and must be a string."})
    if token is None:
        return Answer(401, {"message": "Bad credentials"})
    result = graphql_sync(
        schema(),
        body["query"],
        root_value=Root(github, limits.state(token), token).fields(),
        variable_values=body.get("variables") or {},
        operation_name=body.get("operationName"),
    )
    document: Json = {}
    if result.data is not None:
        document["data"] = result.data
    if result.errors:
        document["errors"] = [error_document(error) for error in result.errors]
    return Answer(200, document)


def error_document(error: GraphQLError) -> Json:
    document: Json = {"message": error.message}
    if error.extensions and "type" in error.extensions:
        document["type"] = error.extensions["type"]
    if error.path:
        document["path"] = list(error.path)
    if error.locations:
        document["locations"] = [{"line": place.line, "column": place.column} for place in error.locations]
    return document


class Root:
    """Resolvers as dictionaries of values and functions, the form that the executor reads by itself."""

    def __init__(self, github: World, limit: Json, token: Token) -> None:
        self.github = github
        self.limit = limit
        self.token = token

    def fields(self) -> Json:
        limit = self.limit
        cost = {"cost": 1, "nodeCount": 0, "limit": limit["limit"], "used": limit["used"]}
        return {
            "repository": self.repository,
            "node": lambda _info, id: self.node(id),
            "nodes": lambda _info, ids: [self.node(entry) for entry in ids],
            "rateLimit": {**cost, "remaining": limit["remaining"], "resetAt": stamp(limit["reset"])},
            "viewer": {"__typename": "User", "id": f"BOT_{self.github.app.id}", "login": self.github.app.bot_login},
            "minimizeComment": lambda _info, input: self.minimize(
                input, input["classifier"].lower(), "minimizedComment"
            ),
            "unminimizeComment": lambda _info, input: self.minimize(input, None, "unminimizedComment"),
            "resolveReviewThread": lambda _info, input: self.resolve(input, self.github.app.bot_login),
            "unresolveReviewThread": lambda _info, input: self.resolve(input, None),
        }

    def require(self, permission: str, level: str = "read") -> None:
        granted = self.token.permissions.get(permission)
        if granted != "write" and granted != level:
            raise refused("FORBIDDEN", "Resource not accessible by integration")

    def repository(self, _info: Any, owner: str, name: str, **_options: Any) -> Json:
        found = self.github.find_repository(owner, name)
        if found is None or not self.github.reaches(self.token, found):
            raise refused("NOT_FOUND", f"Could not resolve to a Repository with the name '{owner}/{name}'.")
        return self.repository_fields(found)

    def repository_fields(self, repository: Repository) -> Json:
        def git_object(_info: Any, expression: str | None = None, oid: str | None = None) -> Json | None:
            self.require("contents")
            return self.git_object(repository, expression or oid or "HEAD")

        def pull_request(_info: Any, number: int) -> Json:
            self.require("pull_requests")
            for pull in self.github.pulls:
                if pull.repository is repository and pull.number == number:
                    return self.pull(pull)
            raise refused("NOT_FOUND", f"Could not resolve to a PullRequest with the number of {number}.")

        return {
            "__typename": "Repository",
            "id": f"R_{repository.id}",
            "databaseId": repository.id,
            "name": repository.name,
            "nameWithOwner": repository.full_name,
            "isPrivate": repository.private,
            "object": git_object,
            "pullRequest": pull_request,
            "pullRequests": lambda info, **given: self.pull_requests(repository, info, **given),
        }

    def pull_requests(
        self,
        repository: Repository,
        info: Any,
        states: Sequence[str] | None = None,
        orderBy: Json | None = None,
        **page: Any,
    ) -> Json:
        self.require("pull_requests")
        rows = [pull for pull in self.github.pulls if pull.repository is repository]
        rows = [pull for pull in rows if states is None or self.state(pull) in states]
        if orderBy is not None:
            moment = "opened_at" if orderBy["field"] == "CREATED_AT" else "updated_at"
            rows.sort(key=lambda pull: float(getattr(pull, moment)), reverse=orderBy["direction"] == "DESC")
        connection: Json = self.connection(rows, self.pull)(info, **page)
        return connection

    def git_object(self, repository: Repository, expression: str) -> Json | None:
        """``REV:path``, a revision or an object id; None where nothing stands, as GitHub answers."""
        git = repository.git
        revision, colon, path = expression.partition(":")
        try:
            if colon:
                commit = self.github.resolve_revision(repository, revision)
                kind, sha = git.object_at(commit, path)
            else:
                kind, sha, _ = git.read(expression)
        except (UnknownRevision, Refused):
            return None
        return self.commit(repository, sha) if kind == "commit" else self.object_fields(git, kind, sha, path)

    def commit(self, repository: Repository, sha: str) -> Json:
        def check_suites(info: Any, filterBy: Json | None = None, **page: Any) -> Json:
            self.require("checks")
            wanted = filterBy or {}
            runs = [run for run in self.github.checks if run.repository is repository and run.head_sha == sha]
            if "appId" in wanted:
                ours = wanted["appId"] == self.github.app.id
                runs = [run for run in runs if ours and not run.by_other]
            if "checkName" in wanted:
                runs = [run for run in runs if run.name == wanted["checkName"]]
            ids = sorted({run.suite.id for run in runs})
            connection: Json = self.connection(ids, self.check_suite)(info, **page)
            return connection

        return {
            "__typename": "Commit",
            "id": f"C_{sha}",
            "oid": sha,
            "message": repository.git.commit(sha).message,
            "checkSuites": check_suites,
        }

    def check_suite(self, suite: int) -> Json:
        return {"__typename": "CheckSuite", "id": f"CS_{suite}", "databaseId": suite}

    def object_fields(self, git: GitFolder, kind: str, sha: str, path: str = "") -> Json:
        if kind == "tree":
            entries = [
                {
                    "name": row.path,
                    "path": f"{path}/{row.path}".strip("/"),
                    "type": row.kind,
                    "mode": int(row.mode, 8),
                    "oid": row.sha,
                    "object": self.object_fields(git, row.kind, row.sha) if row.kind == "blob" else None,
                }
                for row in git.tree(sha)
            ]
            return {"__typename": "Tree", "id": f"T_{sha}", "oid": sha, "entries": entries}
        content = git.blob(sha)
        binary = b"\0" in content[:8000]
        text = None if binary else content[:LONGEST_BLOB_BYTES].decode("utf-8", errors="replace")
        return {
            "__typename": "Blob",
            "id": f"B_{sha}",
            "oid": sha,
            "byteSize": len(content),
            "isBinary": binary,
            "text": text,
            "isTruncated": len(content) > LONGEST_BLOB_BYTES,
        }

    def actor(self, login: str) -> Json:
        bot = login.endswith("[bot]")
        # GraphQL shows an App's login without the suffix that REST adds.
        return {"__typename": "Bot" if bot else "User", "id": f"U_{login}", "login": login.removesuffix("[bot]")}

    def pull(self, pull: PullRequest) -> Json:
        github = self.github
        tops = [entry for entry in github.review_comments if entry.pull is pull and entry.in_reply_to is None]

        def commits(info: Any, **page: Any) -> Json:
            found = pull.repository.git.commits_between(pull.base_sha, pull.head_sha)
            connection: Json = self.connection([each.sha for each in found], of_pull)(info, **page)
            return connection

        def of_pull(sha: str) -> Json:
            return {"__typename": "PullRequestCommit", "id": f"PRC_{sha}", "commit": self.commit(pull.repository, sha)}

        return {
            "__typename": "PullRequest",
            "id": pull.node_id,
            "databaseId": pull.id,
            "number": pull.number,
            "title": pull.title,
            "body": pull.body,
            "state": self.state(pull),
            "isDraft": pull.draft,
            "headRefOid": pull.head_sha,
            "headRefName": pull.head,
            "baseRefOid": pull.base_sha,
            "baseRefName": pull.base,
            "createdAt": stamp(pull.opened_at),
            "updatedAt": stamp(pull.updated_at),
            "commits": commits,
            "author": self.actor(pull.author),
            "comments": self.connection([row for row in github.comments if row.pull is pull], self.comment),
            "reviews": self.connection([row for row in github.reviews if row.pull is pull], self.review),
            "reviewThreads": self.connection(tops, self.thread),
        }

    def state(self, pull: PullRequest) -> str:
        return "MERGED" if pull.merged else pull.state.upper()

    def connection(self, rows: Sequence[Any], render: Callable[[Any], Json]) -> Callable[..., Json]:
        """A page of a list; ``first`` or ``last`` must be given and be at most 100."""

        def resolve(
            _info: Any,
            first: int | None = None,
            last: int | None = None,
            after: str | None = None,
            before: str | None = None,
        ) -> Json:
            size = first if first is not None else last
            if size is None:
                raise refused(
                    "MISSING_PAGINATION_BOUNDARIES", "You must provide a `first` or `last` value to paginate."
                )
            if not 0 <= size <= MOST_NODES:
                words = f"Requesting {size} records exceeds the `first` limit of {MOST_NODES} records."
                raise refused("EXCESSIVE_PAGINATION", words)
            begin = int(after.removeprefix("cursor:")) if after else 0
            end = int(before.removeprefix("cursor:")) - 1 if before else len(rows)
            if first is not None:
                end = min(end, begin + first)
            else:
                begin = max(begin, end - size)
            page = {
                "hasNextPage": end < len(rows),
                "hasPreviousPage": begin > 0,
                "startCursor": f"cursor:{begin + 1}" if begin < end else None,
                "endCursor": f"cursor:{end}" if begin < end else None,
            }
            return {"totalCount": len(rows), "nodes": [render(row) for row in rows[begin:end]], "pageInfo": page}

        return resolve

    def said(self, entry: Comment | ReviewComment | Review) -> Json:
        """What everything that was written has in common."""
        return {
            "id": entry.node_id,
            "databaseId": entry.id,
            "body": entry.body,
            "author": self.actor(entry.author),
            "isMinimized": entry.minimized is not None,
            "minimizedReason": entry.minimized,
            "viewerDidAuthor": entry.author == self.github.app.bot_login,
        }

    def comment(self, comment: Comment) -> Json:
        times = {"createdAt": stamp(comment.created_at), "updatedAt": stamp(comment.updated_at)}
        return {"__typename": "IssueComment", **self.said(comment), **times}

    def review(self, review: Review) -> Json:
        more = {"state": review.state, "comments": self.connection(review.comments, self.review_comment)}
        return {"__typename": "PullRequestReview", **self.said(review), **more}

    def review_comment(self, comment: ReviewComment) -> Json:
        tops = [entry for entry in self.github.review_comments if entry.id == comment.in_reply_to]
        return {
            "__typename": "PullRequestReviewComment",
            **self.said(comment),
            "path": comment.path,
            "line": comment.line,
            "startLine": comment.start_line,
            "originalLine": comment.original_line,
            "outdated": comment.outdated,
            "createdAt": stamp(comment.created_at),
            "updatedAt": stamp(comment.updated_at),
            "diffHunk": comment.diff_hunk,
            "replyTo": lambda _info: self.review_comment(tops[0]) if tops else None,
        }

    def thread(self, top: ReviewComment) -> Json:
        may_resolve = self.token.permissions.get("contents") == "write"
        return {
            "__typename": "PullRequestReviewThread",
            "id": top.thread_id,
            "path": top.path,
            "line": top.line,
            "startLine": top.start_line,
            "originalLine": top.original_line,
            "originalStartLine": top.original_start_line,
            "diffSide": top.side,
            "isResolved": top.resolved,
            "isOutdated": top.outdated,
            "isCollapsed": top.resolved,
            "resolvedBy": self.actor(top.resolved_by) if top.resolved_by else None,
            "viewerCanResolve": may_resolve,
            "comments": self.connection(self.github.thread(top.thread_id), self.review_comment),
        }

    def node(self, node_id: str) -> Json | None:
        """Anything by its node id, as far as this token reaches."""
        github = self.github
        for repository in github.repositories:
            if node_id == f"R_{repository.id}" and github.reaches(self.token, repository):
                return self.repository_fields(repository)
        kinds: list[tuple[Sequence[Any], Callable[[Any], Json]]] = [
            (github.pulls, self.pull),
            (github.comments, self.comment),
            (github.reviews, self.review),
            (github.review_comments, self.review_comment),
        ]
        for rows, render in kinds:
            for row in rows:
                pull = row if isinstance(row, PullRequest) else row.pull
                if row.node_id == node_id and github.reaches(self.token, pull.repository):
                    return render(row)
        if rows := github.thread(node_id):
            return self.thread(rows[0])
        raise refused("NOT_FOUND", f"Could not resolve to a node with the global id of '{node_id}'")

    def minimize(self, given: Json, reason: str | None, field: str) -> Json:
        github = self.github
        subjects: list[Comment | ReviewComment | Review] = [*github.comments, *github.review_comments, *github.reviews]
        for subject in subjects:
            if subject.node_id == given["subjectId"] and github.reaches(self.token, subject.pull.repository):
                if self.token.permissions.get("issues") != "write":
                    self.require("pull_requests", "write")
                subject.minimized = reason
                return {"clientMutationId": given.get("clientMutationId"), field: self.node(subject.node_id)}
        raise refused("NOT_FOUND", f"Could not resolve to a node with the global id of '{given['subjectId']}'")

    def resolve(self, given: Json, by: str | None) -> Json:
        """Needs contents: write, whatever the documentation suggests."""
        rows = self.github.thread(given["threadId"])
        if not rows or not self.github.reaches(self.token, rows[0].pull.repository):
            raise refused("NOT_FOUND", f"Could not resolve to a node with the global id of '{given['threadId']}'")
        self.require("contents", "write")
        self.github.resolve(rows[0], by)
        return {"clientMutationId": given.get("clientMutationId"), "thread": self.thread(rows[0])}
