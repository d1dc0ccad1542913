"""The receiver: what is refused, what is stored, and that nothing else happens before the answer."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from pydantic import SecretStr

from bot.deliveries.receiver import LARGEST_PAYLOAD_BYTES, Receiver, signature_matches
from bot.jobs.intents import CommandIntent, IgnoreIntent, Intent, ThreadIntent
from bot.observability.metrics import Metrics
from tests.bot.conftest import BUGGY, Bench
from tests.bot.payloads import pull_request

SECRET = "It's a Secret to Everybody"


class Store:
    """A queue that remembers, or refuses."""

    synchronize_delay_seconds = 3.0

    def __init__(self, *, works: bool = True) -> None:
        self.works = works
        self.accepted: list[tuple[str, Intent, float]] = []

    async def accept(self, delivery: str, intent: Intent, *, delay_seconds: float = 0.0) -> None:
        if not self.works:
            raise OSError("the disk is full")
        self.accepted.append((delivery, intent, delay_seconds))

    def forget_installation(self, installation_id: int) -> None:
        raise AssertionError("not asked for here")

    def forget_configuration(self, owner: str, name: str | None) -> None:
        raise AssertionError("not asked for here")

    async def pull_closed(self, repository_id: int, number: int) -> None:
        raise AssertionError("not asked for here")

    async def pull_reopened(self, repository_id: int, number: int) -> None:
        raise AssertionError("not asked for here")

    async def healthy(self) -> bool:
        return self.works

    async def waiting(self) -> int:
        return len(self.accepted)

    async def age_seconds(self) -> float:
        return 12.5 if self.accepted else 0.0


def client(store: Store) -> TestClient[Any, Any]:
    return TestClient(TestServer(Receiver(store, store, Metrics(), SecretStr(SECRET)).application()))


def signed(body: bytes, event: str = "pull_request", guid: str = "guid-1") -> dict[str, str]:
    digest = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    return {"X-GitHub-Event": event, "X-GitHub-Delivery": guid, "X-Hub-Signature-256": f"sha256={digest}"}


def test_githubs_own_example_of_a_signature() -> None:
    header = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    assert signature_matches(b"Hello, World!", header, SECRET)
    assert not signature_matches(b"Hello, World", header, SECRET)
    assert not signature_matches(b"Hello, World!", header.upper(), SECRET)
    assert not signature_matches(b"Hello, World!", "sha256=ä", SECRET)


async def test_a_signed_delivery_is_stored_under_its_guid() -> None:
    store = Store()
    body = json.dumps(pull_request("synchronize", number=7)).encode()
    async with client(store) as http:
        answer = await http.post("/webhook", data=body, headers=signed(body, guid="guid-7"))
        assert answer.status == 202
    ((guid, intent, delay),) = store.accepted
    assert (guid, intent.partition, delay) == ("guid-7", "500#7", 3.0)


async def test_only_sha256_over_the_bytes_as_received_counts() -> None:
    store = Store()
    body = json.dumps(pull_request("opened")).encode()
    old = hmac.new(SECRET.encode(), body, hashlib.sha1).hexdigest()
    headers = signed(body)
    wrong = [
        {name: value for name, value in headers.items() if name != "X-Hub-Signature-256"},
        {**headers, "X-Hub-Signature-256": "sha256=" + "0" * 64},
        {"X-GitHub-Event": "pull_request", "X-GitHub-Delivery": "g", "X-Hub-Signature": f"sha1={old}"},
    ]
    async with client(store) as http:
        for each in wrong:
            assert (await http.post("/webhook", data=body, headers=each)).status == 401
        assert (await http.post("/webhook", data=body + b" ", headers=headers)).status == 401
    assert not store.accepted


@pytest.mark.parametrize("body", [b"", b"[1]", b"payload=%7B%7D", b"{" * 100_000])
async def test_what_is_no_json_object_is_refused(body: bytes) -> None:
    async with client(Store()) as http:
        assert (await http.post("/webhook", data=body, headers=signed(body))).status == 400


async def test_a_payload_over_the_cap_is_refused() -> None:
    body = b" " * (LARGEST_PAYLOAD_BYTES + 1)
    async with client(Store()) as http:
        assert (await http.post("/webhook", data=body, headers=signed(body))).status == 413


async def test_what_cannot_be_stored_is_not_accepted() -> None:
    body = json.dumps(pull_request("opened")).encode()
    async with client(Store(works=False)) as http:
        assert (await http.post("/webhook", data=body, headers=signed(body))).status == 503
        assert (await http.get("/readyz")).status == 503
        assert (await http.get("/healthz")).status == 200


async def test_events_that_nobody_handles_are_accepted_and_named_other() -> None:
    store = Store()
    async with client(store) as http:
        assert (await http.post("/webhook", data=b"{}", headers=signed(b"{}", event="star\n"[:4]))).status == 202
        figures = await (await http.get("/metrics")).text()
    assert 'event="other",status="202"' in figures
    assert not store.accepted


async def test_what_an_autoscaler_reads() -> None:
    store = Store()
    body = json.dumps(pull_request("opened")).encode()
    async with client(store) as http:
        assert "preflight_queue_age_seconds 0.0" in await (await http.get("/metrics")).text()
        await http.post("/webhook", data=body, headers=signed(body))
        assert "preflight_queue_age_seconds 12.5" in await (await http.get("/metrics")).text()


async def test_a_payload_that_lacks_the_essential_is_refused_and_not_asked_for_again() -> None:
    body = json.dumps({"action": "opened", "installation": {"id": 1}}).encode()
    async with client(Store()) as http:
        assert (await http.post("/webhook", data=body, headers=signed(body))).status == 422


async def test_what_github_sends_of_buttons_threads_and_edits_becomes_jobs(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    await bench.review(pull)
    finding, check = bench.github.review_comments[0], bench.github.checks[0]
    reply = bench.github.add_reply(finding, "ada", "/preflight ignore on purpose")
    store = Store()
    receiver = Receiver(store, store, Metrics(), SecretStr(bench.github.app.webhook_secret))
    async with TestServer(receiver.application()) as server:
        bench.github.webhook_url = str(server.make_url("/webhook"))
        pressed = {"requested_action": {"identifier": "ignore-findings"}}
        sent = [
            await bench.github.deliver("check_run", "requested_action", check_run=check, extra=pressed),
            await bench.github.deliver("pull_request_review_thread", "resolved", review_comment=finding, sender="ada"),
            await bench.github.deliver(
                "pull_request_review_comment", "edited", review_comment=reply, changes={"body": {"from": "why?"}}
            ),
        ]

    assert [delivery.status_code for delivery in sent] == [202, 202, 202]
    pressing, thread, command = (intent for _, intent, _ in store.accepted)
    assert isinstance(pressing, IgnoreIntent)
    assert (pressing.number, pressing.head_sha) == (pull.number, pull.head_sha)
    assert isinstance(thread, ThreadIntent)
    assert (thread.comment_id, thread.login, thread.resolved) == (finding.id, "ada", True)
    assert isinstance(command, CommandIntent)
    assert (command.command, command.reply_to, command.in_thread) == ("ignore", finding.id, True)
