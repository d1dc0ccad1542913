"""Deliveries: signed, remembered, never repeated by themselves."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from bot.standin import PullRequest, StandIn

from .conftest import Client


@dataclass
class Receiver:
    received: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    status: int = 202

    async def hook(self, request: web.Request) -> web.Response:
        self.received.append((dict(request.headers), await request.read()))
        return web.Response(status=self.status)


@pytest.fixture
async def receiver(github: StandIn) -> AsyncIterator[Receiver]:
    receiver = Receiver()
    application = web.Application()
    application.router.add_post("/webhook", receiver.hook)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    github.webhook_url = f"http://127.0.0.1:{runner.addresses[0][1]}/webhook"
    yield receiver
    await runner.cleanup()


async def test_a_delivery_is_signed_over_its_bytes(github: StandIn, pull: PullRequest, receiver: Receiver) -> None:
    delivery = await github.deliver("pull_request", "opened", pull=pull)
    headers, body = receiver.received[0]
    expected = hmac.new(github.app.webhook_secret.encode(), body, hashlib.sha256).hexdigest()
    assert headers["X-Hub-Signature-256"] == f"sha256={expected}"
    assert (headers["X-GitHub-Event"], headers["X-GitHub-Delivery"]) == ("pull_request", delivery.guid)
    payload = json.loads(body)
    assert payload["pull_request"]["head"]["sha"] == pull.head_sha
    assert payload["installation"]["id"] == pull.repository.installation_id
    assert delivery.status_code == 202


def test_the_signature_of_the_documentation(github: StandIn) -> None:
    digest = hmac.new(github.app.webhook_secret.encode(), b"Hello, World!", hashlib.sha256).hexdigest()
    assert digest == "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"


async def test_a_lost_delivery_is_found_and_sent_again_with_its_guid(
    github: StandIn, pull: PullRequest, receiver: Receiver, call: Client
) -> None:
    lost = await github.deliver("pull_request", "opened", pull=pull, lose=True)
    assert receiver.received == []
    failed = (await call("GET", "/app/hook/deliveries?status=failure", token=github.jwt())).body
    assert [(entry["guid"], entry["status_code"]) for entry in failed] == [(lost.guid, 502)]
    attempt = await call("POST", f"/app/hook/deliveries/{failed[0]['id']}/attempts", token=github.jwt())
    assert attempt.status == 202
    assert receiver.received[0][0]["X-GitHub-Delivery"] == lost.guid
    assert (github.deliveries[-1].redelivery, github.deliveries[-1].status_code) == (True, 202)


async def test_deliveries_are_paged_by_a_cursor(github: StandIn, pull: PullRequest, call: Client) -> None:
    for _ in range(3):
        await github.deliver("pull_request", "opened", pull=pull, lose=True)
    first = await call("GET", "/app/hook/deliveries?per_page=2", token=github.jwt())
    link = first.headers["Link"].partition(">")[0].removeprefix("<")
    second = await call("GET", link, token=github.jwt())
    assert [len(first.body), len(second.body)] == [2, 1]
    assert first.body[0]["id"] > second.body[0]["id"]
    assert (await call("GET", "/app/hook/deliveries?cursor=nonsense", token=github.jwt())).status == 400


async def test_what_the_events_carry(github: StandIn, pull: PullRequest, receiver: Receiver, call: Client) -> None:
    async def payload(event: str, action: str | None = None, **subject: Any) -> Any:
        return (await github.deliver(event, action, **subject)).payload

    comment = github.add_comment(pull, "grace", "/preflight review")
    said = await payload("issue_comment", "created", comment=comment)
    assert said["issue"]["pull_request"]["url"].endswith("/pulls/1") and said["sender"]["login"] == "grace"
    await call("POST", "~/check-runs", {"name": "c", "head_sha": pull.head_sha, "conclusion": "success"})
    run = await payload("check_run", "rerequested", check_run=github.checks[0])
    assert run["check_run"]["check_suite"]["pull_requests"][0]["number"] == 1
    suite = await payload("check_suite", "rerequested", check_suite=github.suites[0])
    assert suite["check_suite"]["head_sha"] == pull.head_sha
    line = {"path": "train.py", "line": 20, "body": "b"}
    await call("POST", "~/pulls/1/reviews", {"event": "COMMENT", "body": "b", "comments": [line]})
    reply = github.add_reply(github.review_comments[0], "grace", "Why?")
    answered = await payload("pull_request_review_comment", "created", review_comment=reply)
    assert answered["comment"]["in_reply_to_id"] == github.review_comments[0].id
    github.resolve(github.review_comments[0], "grace")
    resolved = await payload("pull_request_review_thread", "resolved", review_comment=github.review_comments[0])
    assert len(resolved["thread"]["comments"]) == 2
    edited = await payload("pull_request", "edited", pull=pull, changes={"base": {"ref": {"from": "old"}}})
    assert edited["changes"]["base"]["ref"]["from"] == "old"
    assert (await payload("installation", "created"))["repositories"][0]["full_name"] == "acme/trainer"
    assert (await payload("installation_repositories", "added"))["repositories_added"]
    assert (await payload("push"))["ref"].startswith("refs/heads/")
    assert (await payload("merge_group", "checks_requested"))["merge_group"]["head_sha"]
    assert (await payload("ping"))["zen"]
    assert all(delivery.status_code == 202 for delivery in github.deliveries)
