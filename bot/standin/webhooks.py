"""Webhook deliveries: payloads made from the state, signed, posted, remembered."""

from __future__ import annotations

import hashlib
import hmac
import json
import uuid

from aiohttp import ClientError, ClientSession, ClientTimeout

from bot.standin.documents import Documents
from bot.standin.state import (
    CheckRun,
    CheckSuite,
    Comment,
    Delivery,
    Json,
    PullRequest,
    Repository,
    ReviewComment,
)
from bot.standin.world import World

ANSWER_SECONDS = 10
"""GitHub cuts the connection after ten seconds."""
NOBODY_ANSWERED = 502


class Webhooks:
    def __init__(self, github: World, documents: Documents) -> None:
        self.github = github
        self.documents = documents
        self._session: ClientSession | None = None

    @property
    def session(self) -> ClientSession:
        if self._session is None:
            self._session = ClientSession(headers={"User-Agent": "GitHub-Hookshot/standin"})
        return self._session

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    def signed(self, event: str, payload: Json, guid: str | None = None) -> tuple[dict[str, str], bytes]:
        body = json.dumps(payload).encode()
        secret = self.github.app.webhook_secret.encode()
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "GitHub-Hookshot/standin",
            "X-GitHub-Event": event,
            "X-GitHub-Delivery": guid or str(uuid.uuid4()),
            "X-GitHub-Hook-ID": "1",
            "X-GitHub-Hook-Installation-Target-ID": str(self.github.app.id),
            "X-GitHub-Hook-Installation-Target-Type": "integration",
            "X-Hub-Signature": "sha1=" + hmac.new(secret, body, hashlib.sha1).hexdigest(),
            "X-Hub-Signature-256": "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest(),
        }
        return headers, body

    async def deliver(
        self,
        event: str,
        action: str | None = None,
        *,
        pull: PullRequest | None = None,
        comment: Comment | None = None,
        review_comment: ReviewComment | None = None,
        check_run: CheckRun | None = None,
        check_suite: CheckSuite | None = None,
        repository: Repository | None = None,
        sender: str | None = None,
        changes: Json | None = None,
        extra: Json | None = None,
        guid: str | None = None,
        lose: bool = False,
    ) -> Delivery:
        if comment is not None:
            pull, sender = comment.pull, sender or comment.author
        if review_comment is not None:
            pull, sender = review_comment.pull, sender or review_comment.author
        subject = check_run or check_suite or pull
        repository = repository or (subject.repository if subject else self.github.repositories[0])
        sender = sender or (pull.author if pull else "octocat")
        payload: Json = {} if action is None else {"action": action}
        if pull is not None and event.startswith("pull_request"):
            payload.update(self.pull_payload(event, action, pull))
        if comment is not None:
            payload.update(issue=self.documents.issue(comment.pull), comment=self.documents.comment(comment))
        if review_comment is not None:
            payload.update(self.thread_payload(event, review_comment))
        if check_run is not None:
            suite = self.documents.check_suite(check_run.suite)
            del suite["repository"]
            payload["check_run"] = {**self.documents.check_run(check_run), "check_suite": suite}
        elif check_suite is not None:
            payload["check_suite"] = self.documents.check_suite(check_suite)
            del payload["check_suite"]["repository"]
        payload.update(self.other_payload(event, action, repository))
        if changes is not None:
            payload["changes"] = changes
        if event not in ("installation", "installation_repositories"):
            payload["repository"] = self.documents.repository(repository)
            installation: Json = {"id": repository.installation_id, "node_id": f"MDI{repository.installation_id}"}
            payload.setdefault("installation", installation)
            payload["organization"] = self.documents.organization(repository.owner)
        payload["sender"] = self.documents.user(sender)
        payload.update(extra or {})
        return await self.send(event, action, payload, repository, guid or str(uuid.uuid4()), lose=lose)

    def pull_payload(self, event: str, action: str | None, pull: PullRequest) -> Json:
        payload: Json = {"pull_request": self.documents.pull(pull)}
        if event == "pull_request":
            payload["number"] = pull.number
            if action == "synchronize":
                payload.update(before=pull.previous_sha, after=pull.head_sha)
        return payload

    def thread_payload(self, event: str, comment: ReviewComment) -> Json:
        if event == "pull_request_review_thread":
            rows = self.github.thread(comment.thread_id)
            shown = [self.documents.review_comment(row) for row in rows]
            return {"thread": {"node_id": comment.thread_id, "comments": shown}}
        return {"comment": self.documents.review_comment(comment)}

    def other_payload(self, event: str, action: str | None, repository: Repository) -> Json:
        """What the events carry that have no object of their own in the state."""
        documents = self.documents
        short = {"id": repository.id, "node_id": f"R_{repository.id}", "name": repository.name}
        short.update(full_name=repository.full_name, private=repository.private)
        if event == "installation":
            return {"installation": documents.installation(repository.installation_id), "repositories": [short]}
        if event == "installation_repositories":
            added, removed = ([short], []) if action == "added" else ([], [short])
            return {
                "installation": documents.installation(repository.installation_id),
                "repository_selection": "selected",
                "repositories_added": added,
                "repositories_removed": removed,
                "requester": None,
            }
        if event == "push":
            commit = repository.git.commit(repository.default_branch)
            page = f"{self.github.web_url}/{repository.full_name}"
            head: Json = {**documents.head_commit(commit), "distinct": True, "url": f"{page}/commit/{commit.sha}"}
            files = repository.git.diff(commit.parents[0], commit.sha) if commit.parents else []
            for status, name in (("added", "added"), ("removed", "removed"), ("modified", "modified")):
                head[name] = [file.path for file in files if file.status == status]
            before = commit.parents[0] if commit.parents else "0" * 40
            return {
                "ref": f"refs/heads/{repository.default_branch}",
                "before": before,
                "after": commit.sha,
                "commits": [head],
                "head_commit": head,
                "created": False,
                "deleted": False,
                "forced": False,
                "base_ref": None,
                "compare": f"{page}/compare/{before[:12]}...{commit.sha[:12]}",
                "pusher": {"name": "octocat", "email": "octocat@users.noreply.github.com"},
            }
        if event == "merge_group":
            sha = repository.git.commit_sha(repository.default_branch)
            return {
                "merge_group": {
                    "head_sha": sha,
                    "head_ref": f"refs/heads/gh-readonly-queue/{repository.default_branch}/pr-1-{sha}",
                    "base_sha": sha,
                    "base_ref": f"refs/heads/{repository.default_branch}",
                    "head_commit": documents.head_commit(repository.git.commit(sha)),
                }
            }
        if event == "ping":
            hook = {"type": "App", "id": 1, "active": True, "events": list(self.github.app.events)}
            return {"zen": "Speak like a human.", "hook_id": 1, "hook": {**hook, "app_id": self.github.app.id}}
        return {}

    async def send(
        self,
        event: str,
        action: str | None,
        payload: Json,
        repository: Repository,
        guid: str,
        *,
        lose: bool = False,
    ) -> Delivery:
        delivery = Delivery(
            id=self.github.new_id(),
            guid=guid,
            event=event,
            action=action,
            payload=payload,
            delivered_at=self.github.clock(),
            redelivery=False,
            installation_id=repository.installation_id,
            repository_id=repository.id,
        )
        self.github.deliveries.append(delivery)
        if lose:
            delivery.status_code = NOBODY_ANSWERED
        else:
            await self.post(delivery)
        return delivery

    async def redeliver(self, earlier: Delivery) -> Delivery:
        """A further attempt: its own id, the same GUID and payload."""
        delivery = Delivery(
            id=self.github.new_id(),
            guid=earlier.guid,
            event=earlier.event,
            action=earlier.action,
            payload=earlier.payload,
            delivered_at=self.github.clock(),
            redelivery=True,
            installation_id=earlier.installation_id,
            repository_id=earlier.repository_id,
        )
        self.github.deliveries.append(delivery)
        await self.post(delivery)
        return delivery

    async def post(self, delivery: Delivery) -> None:
        if self.github.webhook_url is None:
            delivery.status_code = NOBODY_ANSWERED
            return
        headers, body = self.signed(delivery.event, delivery.payload, delivery.guid)
        timeout = ClientTimeout(total=ANSWER_SECONDS)
        try:
            async with self.session.post(
                self.github.webhook_url, data=body, headers=headers, timeout=timeout
            ) as answer:
                delivery.status_code, delivery.answer = answer.status, await answer.text()
        except (TimeoutError, ClientError, OSError) as error:
            delivery.status_code, delivery.answer = NOBODY_ANSWERED, repr(error)
