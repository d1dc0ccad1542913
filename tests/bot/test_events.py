"""What each webhook event asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from gidgethub import sansio

from bot import messages
from bot.events import router
from bot.jobs.intents import (
    CommandIntent,
    IgnoreIntent,
    Intent,
    MergeGroupIntent,
    RerunIntent,
    ReviewIntent,
    ThreadIntent,
)
from tests.bot import payloads


class Notes:
    """A desk that writes down what is asked of it."""

    synchronize_delay_seconds = 3.0

    def __init__(self) -> None:
        self.intents: list[Intent] = []
        self.delays: list[float] = []
        self.forgotten: list[object] = []
        self.pulls: list[tuple[str, int]] = []

    async def accept(self, delivery: str, intent: Intent, *, delay_seconds: float = 0.0) -> None:
        self.intents.append(intent)
        self.delays.append(delay_seconds)

    async def forget_words(self, installation_id: int, repository_ids: Sequence[int] | None) -> None:
        self.forgotten.append((installation_id, repository_ids))

    def forget_installation(self, installation_id: int) -> None:
        self.forgotten.append(installation_id)

    def forget_configuration(self, owner: str, name: str | None) -> None:
        self.forgotten.append((owner, name))

    async def pull_closed(self, repository_id: int, number: int) -> None:
        self.pulls.append(("closed", number))

    async def pull_reopened(self, repository_id: int, number: int) -> None:
        self.pulls.append(("reopened", number))


async def told(event: str, data: dict[str, Any]) -> Notes:
    notes = Notes()
    await router.dispatch(sansio.Event(data, event=event, delivery_id="guid"), notes)
    return notes


@pytest.mark.parametrize(
    ("action", "force", "delay"),
    [("opened", False, 0.0), ("reopened", False, 0.0), ("synchronize", False, 3.0), ("ready_for_review", True, 0.0)],
)
async def test_pull_requests_are_reviewed(action: str, force: bool, delay: float) -> None:
    notes = await told("pull_request", payloads.pull_request(action))

    (intent,) = notes.intents
    assert isinstance(intent, ReviewIntent)
    assert (intent.number, intent.head_sha, intent.force) == (1, payloads.HEAD, force)
    assert notes.delays == [delay]


@pytest.mark.parametrize("action", ["closed", "converted_to_draft", "labeled", "assigned"])
async def test_other_actions_on_pull_requests_ask_for_nothing(action: str) -> None:
    assert not (await told("pull_request", payloads.pull_request(action))).intents


async def test_an_edit_counts_only_where_the_base_changed() -> None:
    title = payloads.pull_request("edited", changes={"title": {"from": "Slower"}})
    base = payloads.pull_request("edited", changes={"base": {"ref": {"from": "main"}, "sha": {"from": payloads.BASE}}})

    assert not (await told("pull_request", title)).intents
    (intent,) = (await told("pull_request", base)).intents
    assert isinstance(intent, ReviewIntent)
    assert intent.force


async def test_a_delivery_without_an_installation_is_ignored() -> None:
    data = payloads.pull_request("opened")
    del data["installation"]
    assert not (await told("pull_request", data)).intents


async def test_rerun_leads_back_to_the_pull_request_by_our_own_mark() -> None:
    (own,) = (await told("check_run", payloads.check_run("rerequested", "500#12"))).intents
    (other,) = (await told("check_run", payloads.check_run("rerequested", "501#12"))).intents
    (none,) = (await told("check_run", payloads.check_run("rerequested", None))).intents

    assert isinstance(own, ReviewIntent)
    assert (own.number, own.force) == (12, True)
    assert isinstance(other, RerunIntent)
    assert isinstance(none, RerunIntent)
    assert not (await told("check_run", payloads.check_run("created", "500#12"))).intents


async def test_the_buttons_of_a_check() -> None:
    def pressed(identifier: str, external_id: str = "500#12") -> dict[str, Any]:
        data = payloads.check_run("requested_action", external_id)
        return {**data, "requested_action": {"identifier": identifier}}

    (again,) = (await told("check_run", pressed(messages.RERUN_ACTION))).intents
    (ignore,) = (await told("check_run", pressed(messages.IGNORE_ACTION))).intents

    assert isinstance(again, ReviewIntent)
    assert again.by_person
    assert isinstance(ignore, IgnoreIntent)
    assert (ignore.number, ignore.head_sha, ignore.login) == (12, payloads.HEAD, "octocat")
    assert not (await told("check_run", pressed(messages.IGNORE_ACTION, "501#12"))).intents
    assert not (await told("check_run", pressed("somebody else's"))).intents


@pytest.mark.parametrize("action", ["resolved", "unresolved"])
async def test_threads_that_people_resolve_are_remembered(action: str) -> None:
    bot = payloads.account("preflight[bot]", kind="Bot")
    first, reply = {"id": 30, "body": "a finding", "user": bot}, {"id": 34, "body": "no", "user": payloads.account()}
    data = payloads.payload(action, pull_request={"number": 3}, thread={"node_id": "T", "comments": [first, reply]})

    (intent,) = (await told("pull_request_review_thread", data)).intents

    assert isinstance(intent, ThreadIntent)
    assert (intent.number, intent.comment_id, intent.resolved) == (3, 30, action == "resolved")
    assert not (await told("pull_request_review_thread", {**data, "sender": bot})).intents
    people = {**data, "thread": {"node_id": "T", "comments": [reply]}}
    assert not (await told("pull_request_review_thread", people)).intents


async def test_rerun_of_all_checks_goes_by_the_commit() -> None:
    suite = {"id": 1, "head_sha": payloads.HEAD, "pull_requests": []}
    (intent,) = (await told("check_suite", payloads.payload("rerequested", check_suite=suite))).intents

    assert isinstance(intent, RerunIntent)
    assert intent.head_sha == payloads.HEAD
    assert not (await told("check_suite", payloads.payload("requested", check_suite=suite))).intents


async def test_a_command_is_taken_from_a_comment_on_a_pull_request() -> None:
    (intent,) = (await told("issue_comment", payloads.comment("/preflight estimate a100"))).intents

    assert isinstance(intent, CommandIntent)
    assert (intent.command, intent.arguments, intent.login, intent.is_author) == (
        "estimate",
        ("a100",),
        "octocat",
        False,
    )
    assert not (await told("issue_comment", payloads.comment("/preflight help", on_pull=False))).intents


async def test_a_command_is_taken_from_a_review_thread() -> None:
    (intent,) = (await told("pull_request_review_comment", payloads.reply("/preflight review"))).intents

    assert isinstance(intent, CommandIntent)
    assert (intent.command, intent.number, intent.comment_id, intent.in_thread) == ("review", 3, 34, True)
    assert not (await told("pull_request_review_comment", payloads.reply("why is that?"))).intents
    edited = payloads.reply("/preflight review", action="edited", changes={"body": {"from": "hello"}})
    assert (await told("pull_request_review_comment", edited)).intents
    same = payloads.reply("/preflight review", action="edited", changes={"body": {"from": "/preflight review, please"}})
    assert (await told("pull_request_review_comment", same)).intents


@pytest.mark.parametrize(
    "sender", [payloads.account("preflight[bot]", kind="Bot"), payloads.account("renovate[bot]"), None]
)
async def test_bots_are_not_answered(sender: dict[str, Any] | None) -> None:
    assert not (await told("issue_comment", payloads.comment("/preflight help", sender=sender))).intents
    assert not (await told("pull_request_review_comment", payloads.reply("/preflight help", sender=sender))).intents


async def test_a_comment_written_through_an_app_is_not_answered() -> None:
    data = payloads.comment("/preflight help")
    data["comment"]["performed_via_github_app"] = {"id": 3, "slug": "other"}
    assert not (await told("issue_comment", data)).intents


async def test_an_edited_comment_counts_only_where_the_command_changed() -> None:
    def edited(before: str, after: str) -> dict[str, Any]:
        return payloads.comment(after, action="edited", changes={"body": {"from": before}})

    assert (await told("issue_comment", edited("hello", "/preflight review"))).intents
    assert not (await told("issue_comment", edited("/preflight review", "/preflight review\nplease"))).intents
    assert not (await told("issue_comment", edited("/preflight review", "never mind"))).intents


async def test_merge_queues_are_let_through() -> None:
    group = {"head_sha": payloads.HEAD, "head_ref": "refs/heads/gh-readonly-queue/main/pr-1"}
    (intent,) = (await told("merge_group", payloads.payload("checks_requested", merge_group=group))).intents
    assert isinstance(intent, MergeGroupIntent)


@pytest.mark.parametrize(
    ("full_name", "ref", "path", "forgotten"),
    [
        ("acme/trainer", "refs/heads/main", ".github/preflight.yml", [("acme", "trainer")]),
        ("acme/trainer", "refs/heads/main", "pyproject.toml", [("acme", "trainer")]),
        ("acme/trainer", "refs/heads/main", "train.py", []),
        ("acme/trainer", "refs/tags/v1", ".github/preflight.yml", []),
        ("acme/.github", "refs/heads/main", ".github/preflight.yml", [("acme", None)]),
        ("acme/.github", "refs/heads/main", "presets/vision.yml", [("acme", None)]),
        ("acme/.github", "refs/heads/main", "profile/README.md", []),
    ],
)
async def test_a_push_to_the_configuration_drops_what_is_kept(
    full_name: str, ref: str, path: str, forgotten: list[object]
) -> None:
    commit = {"added": [], "removed": [], "modified": [path]}
    data = payloads.payload(ref=ref, commits=[commit], repository=payloads.repository(full_name))
    assert (await told("push", data)).forgotten == forgotten


@pytest.mark.parametrize("event", ["installation", "installation_repositories"])
async def test_installations_drop_what_is_kept_and_start_no_reviews(event: str) -> None:
    data = payloads.payload("created", installation={"id": 9, "account": payloads.account()})
    del data["repository"]
    notes = await told(event, data)
    assert notes.forgotten == [9]
    assert not notes.intents


async def test_what_goes_takes_along_what_was_remembered() -> None:
    whole = payloads.payload("deleted", installation={"id": 9})
    del whole["repository"]
    assert (await told("installation", whole)).forgotten == [9, (9, None)]
    assert (await told("installation", {**whole, "action": "suspend"})).forgotten == [9]

    some = payloads.payload("removed", installation={"id": 9}, repositories_removed=[{"id": 500, "name": "trainer"}])
    assert (await told("installation_repositories", some)).forgotten == [9, (9, [500])]
    assert (await told("repository", payloads.payload("deleted"))).forgotten == [(9, [500])]
    assert (await told("repository", payloads.payload("renamed"))).forgotten == [("acme", None)]


async def test_ping_and_unknown_events_ask_for_nothing() -> None:
    assert not (await told("ping", {"zen": "Keep it logically awesome.", "hook_id": 1})).intents
    assert not (await told("star", payloads.payload("created"))).intents


@pytest.mark.parametrize("action", ["closed", "reopened"])
async def test_whether_a_pull_request_is_open_is_noted(action: str) -> None:
    assert (await told("pull_request", payloads.pull_request(action))).pulls == [(action, 1)]
