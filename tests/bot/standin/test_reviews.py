"""Review comments: in the diff or not at all, and where they go after a push."""

from __future__ import annotations

from typing import Any

import pytest

from bot.standin import PullRequest, StandIn

from .conftest import Client, Folder, numbered

LINE = {"path": "train.py", "line": 20, "side": "RIGHT", "body": "Here"}


async def review(call: Client, *comments: dict[str, Any], **changes: Any) -> Any:
    return await call(
        "POST", "~/pulls/1/reviews", {"event": "COMMENT", "body": "Findings", "comments": list(comments), **changes}
    )


async def test_changed_context_and_deleted_lines_can_be_commented(
    github: StandIn, pull: PullRequest, call: Client
) -> None:
    context = {**LINE, "line": 17}
    deleted = {**LINE, "side": "LEFT"}
    several = {**LINE, "start_line": 18, "start_side": "RIGHT", "line": 21}
    new_file = {**LINE, "path": "new.py", "line": 2}
    answer = await review(call, LINE, context, deleted, several, new_file, commit_id=pull.head_sha)
    assert answer.status == 200
    assert [comment.body for comment in github.reviews[0].comments] == ["Here"] * 5
    assert github.review_comments[0].diff_hunk.endswith("-line 20\n+twenty")


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a line outside every hunk": ({**LINE, "line": 35}, "line must be part of the diff"),
    "an unchanged line on the left": ({**LINE, "line": 19, "side": "LEFT"}, "line must be part of the diff"),
    "no line": ({"path": "train.py", "body": "b"}, "can't be blank"),
    "a file outside the diff": ({**LINE, "path": "data.py"}, "Path could not be resolved"),
    "start and end equal": ({**LINE, "start_line": 20}, "start line must precede the end line"),
    "start after end": ({**LINE, "start_line": 21}, "start line must precede the end line"),
    "start in another hunk": ({**LINE, "start_line": 20, "line": 50}, "same hunk"),
    "an empty comment": ({**LINE, "body": " "}, "body can't be blank"),
}


@pytest.mark.parametrize(("comment", "words"), REFUSED.values(), ids=REFUSED.keys())
async def test_one_comment_without_a_place_refuses_the_whole_review(
    github: StandIn, pull: PullRequest, call: Client, comment: dict[str, Any], words: str
) -> None:
    answer = await review(call, LINE, comment)
    assert answer.status == 422
    assert isinstance(answer.body["errors"][0], str) and words in answer.body["errors"][0]
    assert github.reviews == [] and github.review_comments == []


async def test_a_review_needs_a_body_and_no_unknown_field(pull: PullRequest, call: Client) -> None:
    assert (await review(call, LINE, body="")).status == 422
    assert (await review(call, {**LINE, "lines": 20})).status == 422
    assert (await review(call, {**LINE, "position": 1})).status == 422
    assert (await review(call, LINE, commit_id="0" * 40)).status == 422
    assert (await review(call, LINE, event="LGTM")).status == 422


async def test_nothing_is_longer_than_65536_characters(pull: PullRequest, call: Client) -> None:
    words = "body is too long (maximum is 65536 characters)"
    for refused in (
        await review(call, body="x" * 65_537),
        await review(call, {**LINE, "body": "x" * 65_537}),
        await call("POST", "~/issues/1/comments", {"body": "x" * 65_537}),
    ):
        assert (refused.status, refused.body["errors"][0]["message"]) == (422, words)
    assert (await call("POST", "~/issues/1/comments", {"body": "x" * 65_536})).status == 201


async def test_without_an_event_a_review_stays_pending_and_unseen(
    github: StandIn, pull: PullRequest, call: Client
) -> None:
    made = await call("POST", "~/pulls/1/reviews", {"body": "b", "comments": [LINE]})
    assert made.body["state"] == "PENDING"
    assert (await call("GET", "~/pulls/1/comments")).body == []
    path = f"~/pulls/1/reviews/{made.body['id']}"
    assert (await call("POST", f"{path}/events", {"event": "COMMENT"})).body["state"] == "COMMENTED"
    assert len((await call("GET", "~/pulls/1/comments")).body) == 1
    assert (await call("DELETE", path)).status == 422


async def test_binary_and_huge_files_have_no_patch_and_no_place(
    github: StandIn, folder: Folder, pull: PullRequest, call: Client
) -> None:
    huge = "\n".join(f"{number:040d}" for number in range(20_000))
    github.push(pull, folder.commit("Weights", weights_bin=b"\0\1\2", huge_py=huge))
    files = {entry["filename"]: entry for entry in (await call("GET", "~/pulls/1/files")).body}
    assert "patch" not in files["weights.bin"] and "patch" not in files["huge.py"] and "patch" in files["train.py"]
    answer = await review(call, {**LINE, "path": "huge.py", "line": 1})
    assert (answer.status, answer.body["errors"]) == (422, ["Line could not be resolved"])


async def test_after_a_push_comments_follow_their_lines(
    github: StandIn, folder: Folder, pull: PullRequest, call: Client
) -> None:
    first_head = pull.head_sha
    await review(call, LINE, {**LINE, "line": 50})
    longer = "added\n" + numbered(60, l20="twenty", l50="half a hundred")
    github.push(pull, folder.commit("More", train_py=longer))
    moved, outdated = (await call("GET", "~/pulls/1/comments")).body
    assert (moved["line"], moved["original_line"]) == (21, 20)
    assert (moved["commit_id"], moved["original_commit_id"]) == (pull.head_sha, first_head)
    assert (outdated["line"], outdated["original_line"], outdated["position"]) == (None, 50, None)


async def test_a_comment_on_an_old_commit_lands_on_the_new_head(
    github: StandIn, folder: Folder, pull: PullRequest, call: Client
) -> None:
    first_head = pull.head_sha
    github.push(pull, folder.commit("More", train_py="added\n" + numbered(60, l20="twenty")))
    await review(call, LINE, commit_id=first_head)
    assert github.review_comments[0].line == 21


async def test_only_the_top_of_a_thread_can_be_answered(github: StandIn, pull: PullRequest, call: Client) -> None:
    await review(call, LINE)
    top = github.review_comments[0]
    answer = await call("POST", f"~/pulls/1/comments/{top.id}/replies", {"body": "Thanks"})
    assert (answer.status, answer.body["in_reply_to_id"]) == (201, top.id)
    again = await call("POST", f"~/pulls/1/comments/{answer.body['id']}/replies", {"body": "No"})
    assert again.status == 422


async def test_a_comment_on_a_whole_file(github: StandIn, pull: PullRequest, call: Client) -> None:
    body = {"body": "b", "commit_id": pull.head_sha, "path": "train.py", "subject_type": "file"}
    assert (await call("POST", "~/pulls/1/comments", body)).status == 201
    assert (await review(call, {"path": "train.py", "body": "b", "subject_type": "file"})).status == 422
    assert (await call("POST", "~/pulls/1/comments", {**body, "subject_type": "line", "line": 35})).status == 422


THREADS = """query($first: Int) { repository(owner: "acme", name: "trainer") { pullRequest(number: 1) {
  reviewThreads(first: $first) { nodes { id isResolved isOutdated line comments(first: 5) {
    nodes { id databaseId body isMinimized minimizedReason author { login } } } } } } } }"""
RESOLVE = "mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { isResolved } } }"
MINIMIZE = """mutation($id: ID!) { minimizeComment(input: {subjectId: $id, classifier: OUTDATED}) {
  minimizedComment { isMinimized minimizedReason } } }"""


async def test_resolving_a_thread_needs_contents_write(github: StandIn, pull: PullRequest, call: Client) -> None:
    await review(call, LINE)
    found = await call.graphql(THREADS, first=10)
    thread = found["data"]["repository"]["pullRequest"]["reviewThreads"]["nodes"][0]
    assert thread["isResolved"] is False and thread["comments"]["nodes"][0]["author"] == {"login": "preflight"}
    refused = await call.graphql(RESOLVE, id=thread["id"])
    assert refused["errors"][0]["type"] == "FORBIDDEN" and refused["data"] == {"resolveReviewThread": None}
    assert not github.review_comments[0].resolved
    token = github.installation_token(pull.repository, {"contents": "write"})
    assert (await call.graphql(RESOLVE, token, id=thread["id"]))["data"]["resolveReviewThread"]["thread"]["isResolved"]


async def test_minimising_needs_only_what_commenting_needs(github: StandIn, pull: PullRequest, call: Client) -> None:
    await review(call, LINE)
    answer = await call.graphql(MINIMIZE, id=github.review_comments[0].node_id)
    assert answer["data"]["minimizeComment"]["minimizedComment"] == {"isMinimized": True, "minimizedReason": "outdated"}
    reader = github.installation_token(pull.repository, {"pull_requests": "read"})
    refused = await call.graphql(MINIMIZE, reader, id=github.review_comments[0].node_id)
    assert refused["errors"][0]["type"] == "FORBIDDEN"


async def test_graphql_knows_its_fields_and_limits(pull: PullRequest, call: Client) -> None:
    assert "Cannot query field" in (await call.graphql("{ viewer { nane } }"))["errors"][0]["message"]
    assert (await call.graphql(THREADS, first=101))["errors"][0]["type"] == "EXCESSIVE_PAGINATION"
    assert (await call.graphql(THREADS))["errors"][0]["type"] == "MISSING_PAGINATION_BOUNDARIES"


async def test_reactions_repeat_as_200(github: StandIn, pull: PullRequest, call: Client) -> None:
    comment = github.add_comment(pull, "octocat", "/preflight review")
    path = f"~/issues/comments/{comment.id}/reactions"
    assert [(await call("POST", path, {"content": "eyes"})).status for _ in range(2)] == [201, 200]
    assert len(github.reactions) == 1
    assert (await call("POST", path, {"content": "clap"})).status == 422
