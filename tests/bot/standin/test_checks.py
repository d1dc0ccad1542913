"""Check runs: what the official description says, and what it leaves out."""

from __future__ import annotations

from typing import Any

import pytest

from bot.standin import PullRequest, StandIn

from .conftest import Client


def annotation(**changes: Any) -> dict[str, Any]:
    plain = {"path": "train.py", "start_line": 1, "end_line": 1, "annotation_level": "warning", "message": "m"}
    return {**plain, **changes}


def output(count: int = 0, **changes: Any) -> dict[str, Any]:
    return {"title": "Preflight", "summary": "s", "annotations": [annotation() for _ in range(count)], **changes}


async def start(call: Client, pull: PullRequest, **body: Any) -> Any:
    return await call("POST", "~/check-runs", {"name": "preflight", "head_sha": pull.head_sha, **body})


async def test_annotations_are_added_up_over_updates(github: StandIn, pull: PullRequest, call: Client) -> None:
    made = await start(call, pull, status="in_progress", output=output(50))
    path = f"~/check-runs/{made.body['id']}"
    await call("PATCH", path, {"output": output(50)})
    last = await call("PATCH", path, {"status": "completed", "conclusion": "failure", "output": output(20)})
    assert last.body["output"]["annotations_count"] == 120
    assert len(github.checks[0].annotations) == 120
    listed = await call("GET", f"{path}/annotations?per_page=100&page=2")
    assert len(listed.body) == 20


REFUSED: dict[str, dict[str, Any]] = {
    "more than fifty annotations": {"output": output(51)},
    "completed without a conclusion": {"status": "completed"},
    "completed_at without a conclusion": {"completed_at": "2026-01-01T00:00:00Z"},
    "a conclusion that only GitHub sets": {"conclusion": "stale"},
    "an unknown status": {"status": "running"},
    "output without a title": {"output": {"summary": "s"}},
    "output without a summary": {"output": {"title": "t"}},
    "a summary that is too long": {"output": output(summary="x" * 65_536)},
    "columns over several lines": {
        "output": output(annotations=[annotation(end_line=2, start_column=1, end_column=2)])
    },
    "lines in the wrong order": {"output": output(annotations=[annotation(start_line=3, end_line=2)])},
    "an unknown level": {"output": output(annotations=[annotation(annotation_level="error")])},
    "a title of an annotation that is too long": {"output": output(annotations=[annotation(title="x" * 256)])},
    "four buttons": {"actions": [{"label": "a", "description": "b", "identifier": "c"}] * 4},
    "a long label": {"actions": [{"label": "a" * 21, "description": "b", "identifier": "c"}]},
    "a field with a typing error": {"conclusio": "success"},
    "a time that is none": {"started_at": "yesterday"},
}


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED.keys())
async def test_refused(github: StandIn, pull: PullRequest, call: Client, body: dict[str, Any]) -> None:
    answer = await start(call, pull, **body)
    assert answer.status == 422
    assert answer.body["errors"]
    assert github.checks == []


async def test_a_refused_update_changes_nothing(github: StandIn, pull: PullRequest, call: Client) -> None:
    made = await start(call, pull)
    answer = await call("PATCH", f"~/check-runs/{made.body['id']}", {"name": "other", "status": "completed"})
    assert (answer.status, github.checks[0].name, github.checks[0].status) == (422, "preflight", "queued")


async def test_the_message_of_the_fifty_first_annotation(pull: PullRequest, call: Client) -> None:
    answer = await start(call, pull, output=output(51))
    assert "No more than 50 items are allowed; 51 were supplied." in answer.body["message"]


async def test_an_unknown_commit_is_refused(pull: PullRequest, call: Client) -> None:
    assert (await call("POST", "~/check-runs", {"name": "c", "head_sha": "0" * 40})).status == 422


async def test_a_conclusion_completes_the_run(github: StandIn, pull: PullRequest, call: Client) -> None:
    made = await start(call, pull, conclusion="neutral", external_id="acme/trainer#1")
    assert (made.body["status"], made.body["conclusion"]) == ("completed", "neutral")
    assert made.body["completed_at"] is not None
    found = await call("GET", f"~/commits/{pull.head_sha}/check-runs?check_name=preflight&app_id={github.app.id}")
    assert [run["external_id"] for run in found.body["check_runs"]] == ["acme/trainer#1"]
    assert (await call("GET", f"~/commits/{pull.head_sha}/check-runs?app_id=7")).body["total_count"] == 0


async def test_only_the_latest_run_of_a_name_is_listed(pull: PullRequest, call: Client) -> None:
    await start(call, pull)
    second = await start(call, pull)
    path = f"~/commits/{pull.head_sha}/check-runs"
    assert [run["id"] for run in (await call("GET", path)).body["check_runs"]] == [second.body["id"]]
    assert (await call("GET", f"{path}?filter=all")).body["total_count"] == 2


async def test_a_rerequest_resets_the_suite_and_leaves_the_run(
    github: StandIn, pull: PullRequest, call: Client
) -> None:
    made = await start(call, pull, conclusion="success")
    assert (await call("POST", f"~/check-runs/{made.body['id']}/rerequest")).status == 201
    assert (github.checks[0].status, github.checks[0].suite.status) == ("completed", "queued")


async def test_a_suite_comes_with_the_push_and_names_no_fork(github: StandIn, pull: PullRequest, call: Client) -> None:
    suites = await call("GET", f"~/commits/{pull.head_sha}/check-suites")
    assert [entry["number"] for entry in suites.body["check_suites"][0]["pull_requests"]] == [1]
    github.pulls[0].fork = True
    suites = await call("GET", f"~/commits/{pull.head_sha}/check-suites")
    assert suites.body["check_suites"][0]["pull_requests"] == []
