"""Identity, permissions, versions and limits."""

from __future__ import annotations

import jwt as pyjwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from bot.standin import App, PullRequest, Repository, StandIn

from .conftest import Client, Clock, Folder

FORBIDDEN = "Resource not accessible by integration"


async def test_a_jwt_gives_an_installation_token_for_an_hour(
    github: StandIn, repository: Repository, call: Client, clock: Clock
) -> None:
    path = f"/app/installations/{repository.installation_id}/access_tokens"
    answer = await call("POST", path, token=github.jwt())
    token = answer.body["token"]
    assert answer.status == 201
    assert token.startswith("ghs_") and len(token) > 500 and "." in token
    assert (await call("GET", "~", token=token)).status == 200
    clock.now += 3600
    expired = await call("GET", "~", token=token)
    assert (expired.status, expired.body["message"]) == (401, "Bad credentials")


@pytest.mark.parametrize("seconds", [601, -1])
async def test_a_jwt_lives_ten_minutes_at_most(github: StandIn, call: Client, seconds: int) -> None:
    answer = await call("GET", "/app", token=github.jwt(seconds))
    assert answer.status == 401
    assert "Expiration time" in answer.body["message"]


async def test_a_jwt_of_another_key_or_app_is_refused(github: StandIn, call: Client, clock: Clock) -> None:
    other_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    claims = {"iat": int(clock.now) - 60, "exp": int(clock.now) + 500, "iss": str(github.app.id)}
    forged = pyjwt.encode(claims, other_key, algorithm="RS256")
    assert (await call("GET", "/app", token=forged)).status == 401
    stranger = App(id=7, client_id="other", private_key=github.app.private_key).sign(clock.now, 500)
    assert (await call("GET", "/app", token=stranger)).status == 401
    from_the_future = pyjwt.encode({**claims, "iat": int(clock.now) + 30}, github.app.private_key, algorithm="RS256")
    assert (await call("GET", "/app", token=from_the_future)).status == 401


async def test_the_wrong_kind_of_credential_is_refused(github: StandIn, call: Client) -> None:
    assert (await call("GET", "/app", token=call.token)).status == 401
    assert (await call("GET", "~", token=github.jwt())).status == 401
    assert (await call("GET", "~", token="ghs_unknown")).status == 401


async def test_without_credentials_a_repository_does_not_exist(call: Client) -> None:
    assert (await call("GET", "~/pulls/1", token="")).status == 404
    assert (await call("GET", "/installation/repositories", token="")).status == 401


async def test_a_repository_outside_the_installation_does_not_exist(
    github: StandIn, folder: Folder, call: Client
) -> None:
    github.add_repository(folder.path, owner="other", name="secret")
    github.add_repository(folder.path, name="not-chosen", installed=False)
    assert (await call("GET", "/repos/other/secret")).status == 404
    assert (await call("GET", "/repos/acme/not-chosen")).status == 404


async def test_a_token_can_be_narrowed_but_not_widened(
    github: StandIn, repository: Repository, folder: Folder, call: Client
) -> None:
    second = github.add_repository(folder.path, name="second")
    path = f"/app/installations/{repository.installation_id}/access_tokens"
    jwt = github.jwt()
    narrow = await call("POST", path, {"repository_ids": [second.id], "permissions": {"contents": "read"}}, token=jwt)
    token = narrow.body["token"]
    assert (await call("GET", "/repos/acme/second", token=token)).status == 200
    assert (await call("GET", "~", token=token)).status == 404
    assert (await call("POST", path, {"permissions": {"contents": "write"}}, token=jwt)).status == 422
    assert (await call("POST", path, {"repositories": ["nowhere"]}, token=jwt)).status == 422
    assert (await call("POST", path, {"repository_ids": list(range(501))}, token=jwt)).status == 422


async def test_a_missing_permission_is_forbidden_and_says_what_it_needs(
    github: StandIn, pull: PullRequest, call: Client
) -> None:
    token = github.installation_token(pull.repository, {"pull_requests": "read"})
    answer = await call("POST", "~/check-runs", {"name": "c", "head_sha": pull.head_sha}, token=token)
    assert (answer.status, answer.body["message"]) == (403, FORBIDDEN)
    assert answer.headers["X-Accepted-GitHub-Permissions"] == "checks=write"
    assert (await call("POST", "~/issues/1/comments", {"body": "b"}, token=token)).status == 403
    assert (await call("GET", "~/pulls/1", token=token)).status == 200


async def test_an_unknown_api_version_is_refused(pull: PullRequest, call: Client) -> None:
    old = await call("GET", "~/pulls/1", X_GitHub_Api_Version="2022-11-28")
    new = await call("GET", "~/pulls/1", X_GitHub_Api_Version="2026-03-10")
    assert "merge_commit_sha" in old.body and "merge_commit_sha" not in new.body
    assert (await call("GET", "~/pulls/1", X_GitHub_Api_Version="2020-01-01")).status == 400


async def test_an_unchanged_answer_costs_nothing(github: StandIn, pull: PullRequest, call: Client) -> None:
    first = await call("GET", "~/pulls/1")
    again = await call("GET", "~/pulls/1", If_None_Match=first.headers["ETag"])
    assert again.status == 304
    assert [entry.counted for entry in github.log] == [True, False]
    assert int(again.headers["X-RateLimit-Remaining"]) == int(first.headers["X-RateLimit-Remaining"])


async def test_the_hour_has_its_limit(github: StandIn, call: Client, clock: Clock) -> None:
    github.limits.hourly = 2
    assert [(await call("GET", "~")).status for _ in range(3)] == [200, 200, 403]
    refused = await call("GET", "~")
    assert refused.headers["X-RateLimit-Remaining"] == "0"
    assert int(refused.headers["X-RateLimit-Reset"]) == int(clock.now) + 3600
    clock.now += 3600
    assert (await call("GET", "~", token=github.installation_token(github.repositories[0]))).status == 200


async def test_faults_come_in_order_and_then_stop(github: StandIn, call: Client) -> None:
    github.refuse_next("secondary", "secondary-silent", "primary", "502", "500")
    answers = [await call("GET", "~") for _ in range(6)]
    assert [answer.status for answer in answers] == [403, 403, 429, 502, 500, 200]
    assert answers[0].headers["Retry-After"] == "60" and "Retry-After" not in answers[1].headers
    assert answers[2].headers["X-RateLimit-Remaining"] == "0"
    assert answers[3].body.startswith(b"<!DOCTYPE html>")


async def test_a_fault_can_wait_for_one_operation(github: StandIn, pull: PullRequest, call: Client) -> None:
    github.refuse_next("lost-answer", operation="issues/create-comment")
    assert (await call("GET", "~")).status == 200
    assert (await call("POST", "~/issues/1/comments", {"body": "said"})).status == 502
    assert [comment.body for comment in github.comments] == ["said"]


async def test_graphql_reports_its_limit_with_status_200(github: StandIn, call: Client) -> None:
    github.refuse_next("graphql-limit")
    assert (await call("GET", "~")).status == 200
    assert (await call.graphql("{ viewer { login } }"))["errors"][0]["type"] == "RATE_LIMITED"


async def test_what_the_description_does_not_know_is_refused(pull: PullRequest, call: Client) -> None:
    assert (await call("DELETE", "~")).status == 404
    assert (await call("GET", "~/pulls", None)).status == 200
    typing_error = await call("GET", "~/pulls?sate=open")
    assert typing_error.status == 422 and "sate" in typing_error.body["errors"][0]
    body = {"body": "b", "comits": "x"}
    assert (await call("POST", "~/issues/1/comments", body)).status == 422
    assert (await call("POST", "~/issues/1/comments", {"body": 3})).status == 422


async def test_an_enterprise_server_has_its_own_paths(folder: Folder, clock: Clock) -> None:
    async with StandIn(clock=clock, enterprise=True) as github:
        repository = github.add_repository(folder.path)
        client = Client(github, repository, github.webhooks.session)
        assert github.url.endswith("/api/v3") and github.graphql_url.endswith("/api/graphql")
        assert (await client("GET", "~")).status == 200
        assert (await client.graphql("{ viewer { login } }"))["data"]["viewer"]["login"] == "preflight[bot]"


async def test_a_manifest_code_works_once(github: StandIn, call: Client) -> None:
    path = "/app-manifests/standin-manifest-code/conversions"
    made = await call("POST", path, token="")
    assert made.status == 201 and made.body["pem"] == github.app.private_key
    assert (await call("POST", path, token="")).status == 404


async def test_permission_of_people(github: StandIn, repository: Repository, call: Client) -> None:
    github.set_permission(repository, "grace", "maintain")
    found = await call("GET", "~/collaborators/grace/permission")
    assert (found.body["permission"], found.body["role_name"]) == ("write", "maintain")
    assert (await call("GET", "~/collaborators/octocat/permission")).body["permission"] == "read"
    assert (await call("GET", "~/collaborators/nobody/permission")).status == 404


async def test_too_much_content_in_a_minute_is_refused(
    github: StandIn, pull: PullRequest, call: Client, clock: Clock
) -> None:
    github.limits.content = 2
    answers = [await call("POST", "~/issues/1/comments", {"body": "b"}) for _ in range(3)]
    assert [answer.status for answer in answers] == [201, 201, 403]
    assert answers[2].headers["Retry-After"] == "60"
    clock.now += 60
    assert (await call("POST", "~/issues/1/comments", {"body": "b"})).status == 201


async def test_an_old_name_redirects(github: StandIn, pull: PullRequest, call: Client) -> None:
    github.rename(pull.repository, "coach")
    moved = await call("GET", "~/pulls/1")
    assert (moved.status, moved.headers["Location"]) == (301, f"{github.url}/repos/acme/coach/pulls/1")
    assert (await call("GET", moved.headers["Location"])).body["number"] == 1
    assert (await call("POST", "~/issues/1/comments", {"body": "b"})).status == 307
