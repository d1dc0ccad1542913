"""The JSON that GitHub shows for the records of ``state``."""

from __future__ import annotations

import base64

from bot.standin.accounts import AccountDocuments
from bot.standin.git import ChangedFile, CommitFacts
from bot.standin.state import (
    CheckRun,
    CheckSuite,
    Comment,
    Delivery,
    Json,
    PullRequest,
    Reaction,
    Repository,
    Review,
    ReviewComment,
    stamp,
)


class Documents(AccountDocuments):
    """Pull requests and everything written on them."""

    def _side(self, pull: PullRequest, ref: str, sha: str, gone: bool) -> Json:
        owner = pull.author if pull.fork and ref == pull.head else pull.repository.owner
        document = None if gone else self.repository(pull.repository)
        if document is not None and owner != pull.repository.owner:
            full_name = f"{owner}/{pull.repository.name}"
            other = {
                "id": pull.repository.id + 500_000,
                "full_name": full_name,
                "fork": True,
                "owner": self.user(owner),
            }
            document = {**document, **other}
        return {"label": f"{owner}:{ref}", "ref": ref, "sha": sha, "user": self.user(owner), "repo": document}

    def pull(self, pull: PullRequest, version: str = "2022-11-28", *, head_sha: str | None = None) -> Json:
        """A pull request in full; ``head_sha`` shows an older head, as a replica that lags behind does."""
        head = head_sha or pull.head_sha
        repository = pull.repository
        api = f"{self.api}/repos/{repository.full_name}"
        page = f"{self.web}/{repository.full_name}/pull/{pull.number}"
        url, issue = f"{api}/pulls/{pull.number}", f"{api}/issues/{pull.number}"
        files = pull.files(head)
        links = {
            "self": url,
            "html": page,
            "issue": issue,
            "comments": f"{issue}/comments",
            "commits": f"{url}/commits",
            "review_comments": f"{url}/comments",
            "review_comment": f"{api}/pulls/comments{{/number}}",
            "statuses": f"{api}/statuses/{head}",
        }
        closed = None if pull.state == "open" else stamp(pull.updated_at)
        document = {
            "url": url,
            "id": pull.id,
            "node_id": pull.node_id,
            "html_url": page,
            "diff_url": f"{page}.diff",
            "patch_url": f"{page}.patch",
            "issue_url": issue,
            "comments_url": links["comments"],
            "commits_url": links["commits"],
            "review_comments_url": links["review_comments"],
            "review_comment_url": links["review_comment"],
            "statuses_url": links["statuses"],
            "number": pull.number,
            "state": pull.state,
            "locked": False,
            "title": pull.title,
            "user": self.user(pull.author),
            "body": pull.body,
            "labels": [],
            "milestone": None,
            "active_lock_reason": None,
            "created_at": stamp(pull.opened_at),
            "updated_at": stamp(pull.updated_at),
            "closed_at": closed,
            "merged_at": closed if pull.merged else None,
            "merge_commit_sha": None,
            "assignee": None,
            "assignees": [],
            "requested_reviewers": [],
            "requested_teams": [],
            "head": self._side(pull, pull.head, head, pull.fork_deleted),
            "base": self._side(pull, pull.base, pull.base_sha, False),
            "_links": {name: {"href": link} for name, link in links.items()},
            "author_association": "CONTRIBUTOR",
            "auto_merge": None,
            "draft": pull.draft,
            "merged": pull.merged,
            "mergeable": True,
            "rebaseable": True,
            "mergeable_state": "clean",
            "merged_by": None,
            "comments": sum(comment.pull is pull for comment in self.github.comments),
            "review_comments": sum(comment.pull is pull for comment in self.github.review_comments),
            "maintainer_can_modify": pull.fork,
            "commits": len(repository.git.commits_between(pull.merge_base(head), head)),
            "additions": sum(file.additions for file in files),
            "deletions": sum(file.deletions for file in files),
            "changed_files": len(files),
        }
        if version >= "2026-03-10":
            del document["merge_commit_sha"], document["assignee"]
        return document

    def pull_in_list(self, pull: PullRequest, version: str) -> Json:
        """A list shows less: what must be computed is missing."""
        computed = (
            "merged",
            "mergeable",
            "rebaseable",
            "mergeable_state",
            "merged_by",
            "comments",
            "review_comments",
            "maintainer_can_modify",
            "commits",
            "additions",
            "deletions",
            "changed_files",
        )
        return {name: value for name, value in self.pull(pull, version).items() if name not in computed}

    def issue(self, pull: PullRequest) -> Json:
        api = f"{self.api}/repos/{pull.repository.full_name}"
        document = self.pull(pull)
        url = f"{api}/issues/{pull.number}"
        kept = (
            "id",
            "number",
            "title",
            "user",
            "labels",
            "state",
            "locked",
            "assignee",
            "assignees",
            "milestone",
            "comments",
            "created_at",
            "updated_at",
            "closed_at",
            "author_association",
            "active_lock_reason",
            "body",
            "draft",
            "html_url",
        )
        pull_links = {name: document[name] for name in ("url", "html_url", "diff_url", "patch_url", "merged_at")}
        more = {"url": url, "repository_url": api, "node_id": f"I_{pull.id}", "comments_url": f"{url}/comments"}
        links: Json = {"labels_url": f"{url}/labels{{/name}}", "events_url": f"{url}/events"}
        links["reactions"] = self.reactions(pull.id, "pull", url)
        return {**{name: document[name] for name in kept}, **more, **links, "pull_request": pull_links}

    def file(self, repository: Repository, file: ChangedFile, head_sha: str) -> Json:
        page = f"{self.web}/{repository.full_name}"
        document: Json = {
            "sha": file.blob_sha,
            "filename": file.path,
            "status": file.status,
            "additions": file.additions,
            "deletions": file.deletions,
            "changes": file.additions + file.deletions,
            "blob_url": f"{page}/blob/{head_sha}/{file.path}",
            "raw_url": f"{page}/raw/{head_sha}/{file.path}",
            "contents_url": f"{self.api}/repos/{repository.full_name}/contents/{file.path}?ref={head_sha}",
        }
        if file.patch is not None:
            document["patch"] = file.patch
        if file.previous_path is not None:
            document["previous_filename"] = file.previous_path
        return document

    def git_commit(self, repository: Repository, commit: CommitFacts) -> Json:
        api, page = f"{self.api}/repos/{repository.full_name}", f"{self.web}/{repository.full_name}/commit"
        person = {"name": commit.author, "email": commit.email, "date": commit.date}
        trees = f"{api}/git/trees/{commit.tree_sha}"
        return {
            "sha": commit.sha,
            "node_id": f"C_{commit.sha}",
            "url": f"{api}/git/commits/{commit.sha}",
            "html_url": f"{page}/{commit.sha}",
            "author": person,
            "committer": person,
            "message": commit.message,
            "tree": {"sha": commit.tree_sha, "url": trees},
            "parents": [
                {"sha": sha, "url": f"{api}/git/commits/{sha}", "html_url": f"{page}/{sha}"} for sha in commit.parents
            ],
            "verification": {
                "verified": False,
                "reason": "unsigned",
                "signature": None,
                "payload": None,
                "verified_at": None,
            },
        }

    def commit(self, repository: Repository, commit: CommitFacts) -> Json:
        plain = self.git_commit(repository, commit)
        url = f"{self.api}/repos/{repository.full_name}/commits/{commit.sha}"
        inner = {name: plain[name] for name in ("author", "committer", "message", "tree", "verification")}
        return {
            "sha": commit.sha,
            "node_id": plain["node_id"],
            "url": url,
            "html_url": plain["html_url"],
            "comments_url": f"{url}/comments",
            "author": None,
            "committer": None,
            "parents": plain["parents"],
            "commit": {**inner, "url": plain["url"], "comment_count": 0},
        }

    def blob(self, repository: Repository, sha: str, content: bytes) -> Json:
        encoded = base64.encodebytes(content).decode()
        return {
            "sha": sha,
            "node_id": f"B_{sha}",
            "size": len(content),
            "encoding": "base64",
            "content": encoded,
            "url": f"{self.api}/repos/{repository.full_name}/git/blobs/{sha}",
        }

    def head_commit(self, commit: CommitFacts) -> Json:
        """A commit in the short form of webhooks and check suites."""
        person = {"name": commit.author, "email": commit.email}
        return {
            "id": commit.sha,
            "tree_id": commit.tree_sha,
            "message": commit.message,
            "timestamp": commit.date,
            "author": person,
            "committer": person,
        }

    def _pull_minimal(self, pull: PullRequest) -> Json:
        url = f"{self.api}/repos/{pull.repository.full_name}"
        repo = {"id": pull.repository.id, "url": url, "name": pull.repository.name}
        return {
            "id": pull.id,
            "number": pull.number,
            "url": f"{url}/pulls/{pull.number}",
            "head": {"ref": pull.head, "sha": pull.head_sha, "repo": repo},
            "base": {"ref": pull.base, "sha": pull.base_sha, "repo": repo},
        }

    def pulls_of_commit(self, repository: Repository, sha: str) -> list[Json]:
        """What check events name: nothing at all for pull requests from forks."""
        return [
            self._pull_minimal(pull)
            for pull in self.github.pulls
            if pull.repository is repository and pull.head_sha == sha and not pull.fork and pull.state == "open"
        ]

    def check_suite(self, suite: CheckSuite) -> Json:
        repository = suite.repository
        url = f"{self.api}/repos/{repository.full_name}/check-suites/{suite.id}"
        runs = [run for run in self.github.checks if run.suite is suite]
        finished = [run.conclusion for run in runs if run.conclusion]
        git = repository.git.commit(suite.head_sha)
        return {
            "id": suite.id,
            "node_id": f"CS_{suite.id}",
            "head_branch": suite.head_branch,
            "head_sha": suite.head_sha,
            "status": suite.status,
            "conclusion": finished[-1] if finished else None,
            "url": url,
            "before": None,
            "after": suite.head_sha,
            "pull_requests": self.pulls_of_commit(repository, suite.head_sha),
            "app": self.app(),
            "repository": self.repository(repository),
            "created_at": stamp(suite.created_at),
            "updated_at": stamp(suite.created_at),
            "latest_check_runs_count": len(runs),
            "check_runs_url": f"{url}/check-runs",
            "head_commit": self.head_commit(git),
        }

    def check_run(self, run: CheckRun) -> Json:
        url = f"{self.api}/repos/{run.repository.full_name}/check-runs/{run.id}"
        page = f"{self.web}/{run.repository.full_name}/runs/{run.id}"
        return {
            "id": run.id,
            "node_id": f"CR_{run.id}",
            "head_sha": run.head_sha,
            "name": run.name,
            "url": url,
            "html_url": page,
            "details_url": run.details_url or page,
            "status": run.status,
            "conclusion": run.conclusion,
            "started_at": run.started_at,
            "completed_at": run.completed_at,
            "external_id": run.external_id,
            "check_suite": {"id": run.suite.id},
            "app": self._app_of(run),
            "pull_requests": self.pulls_of_commit(run.repository, run.head_sha),
            "output": {
                "title": run.title,
                "summary": run.summary,
                "text": run.text,
                "annotations_count": len(run.annotations),
                "annotations_url": f"{url}/annotations",
            },
        }

    def _app_of(self, run: CheckRun) -> Json:
        own = self.app()
        return {**own, "id": own["id"] + 1, "slug": run.by_other, "name": run.by_other} if run.by_other else own

    def annotation(self, run: CheckRun, annotation: Json) -> Json:
        optional = {name: annotation.get(name) for name in ("start_column", "end_column", "title", "raw_details")}
        page = f"{self.web}/{run.repository.full_name}/blob/{run.head_sha}/{annotation['path']}"
        return {**annotation, **optional, "blob_href": page}

    def review(self, review: Review) -> Json:
        pull = review.pull
        page = f"{self.web}/{pull.repository.full_name}/pull/{pull.number}#pullrequestreview-{review.id}"
        url = f"{self.api}/repos/{pull.repository.full_name}/pulls/{pull.number}"
        document: Json = {
            "id": review.id,
            "node_id": review.node_id,
            "user": self.user(review.author),
            "body": review.body,
            "state": review.state,
            "html_url": page,
            "pull_request_url": url,
            "commit_id": review.commit_sha,
            "author_association": "NONE",
            "_links": {"html": {"href": page}, "pull_request": {"href": url}},
        }
        if review.event:
            document["submitted_at"] = stamp(review.submitted_at)
        return document

    def reactions(self, subject: int, kind: str, url: str) -> Json:
        found = [
            reaction.content
            for reaction in self.github.reactions
            if reaction.subject == subject and reaction.kind == kind
        ]
        names = ("+1", "-1", "laugh", "confused", "heart", "hooray", "eyes", "rocket")
        return {"url": f"{url}/reactions", "total_count": len(found), **{name: found.count(name) for name in names}}

    def review_comment(self, comment: ReviewComment) -> Json:
        pull = comment.pull
        api = f"{self.api}/repos/{pull.repository.full_name}"
        url = f"{api}/pulls/comments/{comment.id}"
        page = f"{self.web}/{pull.repository.full_name}/pull/{pull.number}#discussion_r{comment.id}"
        links = {"self": url, "html": page, "pull_request": f"{api}/pulls/{pull.number}"}
        document: Json = {
            "url": url,
            "id": comment.id,
            "node_id": comment.node_id,
            "pull_request_review_id": comment.review_id,
            "diff_hunk": comment.diff_hunk,
            "path": comment.path,
            "position": comment.position,
            "original_position": comment.position or 1,
            "commit_id": comment.commit_sha,
            "original_commit_id": comment.original_commit_sha,
            "user": self.user(comment.author),
            "body": comment.body,
            "created_at": stamp(comment.created_at),
            "updated_at": stamp(comment.updated_at),
            "html_url": page,
            "pull_request_url": links["pull_request"],
            "author_association": "NONE",
            "_links": {name: {"href": link} for name, link in links.items()},
            "start_line": comment.start_line,
            "original_start_line": comment.original_start_line,
            "start_side": comment.start_side,
            "line": comment.line,
            "original_line": comment.original_line,
            "side": comment.side,
            "subject_type": comment.subject,
            "reactions": self.reactions(comment.id, "review", url),
        }
        if comment.in_reply_to:
            document["in_reply_to_id"] = comment.in_reply_to
        return document

    def comment(self, comment: Comment) -> Json:
        pull = comment.pull
        api = f"{self.api}/repos/{pull.repository.full_name}"
        url = f"{api}/issues/comments/{comment.id}"
        return {
            "id": comment.id,
            "node_id": comment.node_id,
            "url": url,
            "body": comment.body,
            "html_url": f"{self.web}/{pull.repository.full_name}/pull/{pull.number}#issuecomment-{comment.id}",
            "user": self.user(comment.author),
            "created_at": stamp(comment.created_at),
            "updated_at": stamp(comment.updated_at),
            "issue_url": f"{api}/issues/{pull.number}",
            "author_association": "NONE",
            "performed_via_github_app": self.app() if comment.author == self.github.app.bot_login else None,
            "reactions": self.reactions(comment.id, "issue", url),
        }

    def reaction(self, reaction: Reaction) -> Json:
        facts = {"id": reaction.id, "node_id": f"REA_{reaction.id}", "content": reaction.content}
        return {**facts, "user": self.user(reaction.author), "created_at": stamp(reaction.created_at)}

    def delivery(self, delivery: Delivery, *, full: bool = False) -> Json:
        document: Json = {
            "id": delivery.id,
            "guid": delivery.guid,
            "delivered_at": stamp(delivery.delivered_at),
            "redelivery": delivery.redelivery,
            "duration": 0.1,
            "status_code": delivery.status_code,
            "status": "OK" if 200 <= delivery.status_code < 300 else "failed to connect to host",
            "event": delivery.event,
            "action": delivery.action,
            "installation_id": delivery.installation_id,
            "repository_id": delivery.repository_id,
            "throttled_at": None,
        }
        if full:
            document["url"] = self.github.webhook_url or ""
            document["request"] = {"headers": {"X-GitHub-Event": delivery.event}, "payload": delivery.payload}
            document["response"] = {"headers": {}, "payload": delivery.answer}
        return document
