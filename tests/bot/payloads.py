"""Webhook payloads made for tests: as few fields as GitHub's own have that matter here, and one that is unknown."""

from __future__ import annotations

from typing import Any

HEAD = "a" * 40
BASE = "b" * 40


def account(login: str = "octocat", *, number: int = 1, kind: str = "User") -> dict[str, Any]:
    return {"id": number, "login": login, "type": kind, "site_admin": False}


def repository(full_name: str = "acme/trainer", number: int = 500) -> dict[str, Any]:
    owner, name = full_name.split("/")
    return {
        "id": number,
        "name": name,
        "full_name": full_name,
        "default_branch": "main",
        "owner": account(owner, number=2, kind="Organization"),
        "unheard_of": {"field": None},
    }


def payload(action: str | None = None, **fields: Any) -> dict[str, Any]:
    common = {"repository": repository(), "installation": {"id": 9}, "sender": account()}
    return {**common, **({"action": action} if action else {}), **fields}


def pull_request(action: str, *, number: int = 1, state: str = "open", **fields: Any) -> dict[str, Any]:
    pull = {
        "number": number,
        "state": state,
        "draft": False,
        "title": "Faster",
        "user": account(),
        # The fork is gone.
        "head": {"ref": "feature", "sha": HEAD, "repo": None, "user": None},
        "base": {"ref": "main", "sha": BASE, "repo": repository()},
    }
    return payload(action, number=number, pull_request=pull, **fields)


def comment(body: str, *, action: str = "created", on_pull: bool = True, **fields: Any) -> dict[str, Any]:
    issue: dict[str, Any] = {"number": 3, "user": account("author", number=77)}
    if on_pull:
        issue["pull_request"] = {"url": "https://api.github.com/repos/acme/trainer/pulls/3"}
    entry = {"id": 33, "body": body, "user": account(), "performed_via_github_app": None}
    return payload(action, issue=issue, comment=entry, **fields)


def reply(body: str, *, action: str = "created", **fields: Any) -> dict[str, Any]:
    pull = {"number": 3, "user": account("author", number=77)}
    entry = {"id": 34, "body": body, "user": account(), "in_reply_to_id": 30}
    return payload(action, pull_request=pull, comment=entry, **fields)


def check_run(action: str, external_id: str | None) -> dict[str, Any]:
    run = {
        "id": 4,
        "name": "Preflight",
        "head_sha": HEAD,
        "status": "completed",
        "conclusion": "failure",
        "external_id": external_id,
        "output": {"title": None, "annotations_count": 0},
        "pull_requests": [],
    }
    return payload(action, check_run=run)
