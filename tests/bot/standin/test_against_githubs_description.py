"""Our description and our answers against GitHub's own description of its REST API.

GitHub's description is not ours to copy, so this runs only where ``PREFLIGHT_GITHUB_DESCRIPTION`` names a copy: the
file ``generated/api.github.com.json`` of the npm package ``@octokit/openapi``, or a part of it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from openapi_schema_validator import OAS30Validator
from referencing import Registry
from referencing.jsonschema import DRAFT4

from bot.standin import PullRequest, StandIn
from bot.standin.description import Operation, operations

from .conftest import Client

SOURCE = os.environ.get("PREFLIGHT_GITHUB_DESCRIPTION", "")
pytestmark = pytest.mark.skipif(not SOURCE, reason="PREFLIGHT_GITHUB_DESCRIPTION names no description")
STRICTER = {"title", "conclusion", "status", "start_side", "repositories", "repository_ids", "message", "raw_details"}
"""Fields where ours refuses more than the official schema says, because GitHub's prose or its server does."""


@pytest.fixture(scope="module")
def official() -> Any:
    return json.loads(Path(SOURCE).read_text(encoding="utf-8"))


def resolved(official: Any, schema: Any) -> Any:
    while "$ref" in schema:
        target = official
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part.replace("~1", "/").replace("~0", "~")]
        schema = target
    return schema


def theirs(official: Any, operation: Operation) -> Any:
    for path, entries in official["paths"].items():
        entry = entries.get(operation.method.lower())
        if entry is not None and entry["operationId"] == operation.name:
            assert path == operation.path
            return entry
    raise AssertionError(f"GitHub has no operation {operation.name}")


def compare(official: Any, ours: Any, official_schema: Any, where: str) -> list[str]:
    """What ours allows that theirs does not know, or what theirs requires and ours does not."""
    wanted = resolved(official, official_schema)
    if "oneOf" in wanted or "anyOf" in wanted:
        return []
    found = []
    if ours["type"] != wanted.get("type", ours["type"]):
        found.append(f"{where}: type {ours['type']} against {wanted['type']}")
    for name, schema in ours.get("properties", {}).items():
        if name not in wanted.get("properties", {}):
            found.append(f"{where}.{name}: unknown to GitHub")
        else:
            found += compare(official, schema, wanted["properties"][name], f"{where}.{name}")
    missing = set(wanted.get("required", [])) - set(ours.get("required", []))
    found += [f"{where}.{name}: required by GitHub" for name in missing]
    more = set(ours.get("required", [])) - set(wanted.get("required", [])) - STRICTER
    found += [f"{where}.{name}: not required by GitHub" for name in more]
    if "items" in ours and "items" in wanted:
        found += compare(official, ours["items"], wanted["items"], f"{where}[]")
    for limit in ("maxItems", "maxLength"):
        if limit in wanted and wanted[limit] != ours.get(limit):
            found.append(f"{where}: {limit} {ours.get(limit)} against {wanted[limit]}")
    if "enum" in ours and "enum" in wanted and set(ours["enum"]) - set(wanted["enum"]):
        found.append(f"{where}: {sorted(set(ours['enum']) - set(wanted['enum']))} unknown to GitHub")
    return found


@pytest.mark.parametrize("name", sorted(operations()))
def test_our_operations_are_theirs(official: Any, name: str) -> None:
    operation = operations()[name]
    entry = theirs(official, operation)
    names = set()
    for parameter in entry.get("parameters", []):
        names.add(resolved(official, parameter)["name"])
    assert operation.query <= names
    content = entry.get("requestBody", {}).get("content", {}).get("application/json", {})
    if operation.schema is not None:
        assert compare(official, operation.schema, content["schema"], operation.name) == []
    else:
        required = resolved(official, content["schema"]).get("required") if content else None
        assert not required


async def test_our_answers_have_the_shape_of_theirs(
    official: Any, github: StandIn, pull: PullRequest, call: Client
) -> None:
    registry: Any = Registry().with_resource("urn:github", DRAFT4.create_resource(official))

    faults: list[str] = []

    async def check(method: str, path: str, body: Any = None, *, token: str | None = None, status: int = 200) -> Any:
        answer = await call(method, path, body, token=token)
        assert answer.status == status, answer.body
        operation = operations()[github.log[-1].operation]
        where = theirs(official, operation)["responses"][str(status)]
        content = resolved(official, where)["content"]["application/json"]["schema"]
        official_schema = json.loads(json.dumps(content).replace('"#/', '"urn:github#/'))
        validator = OAS30Validator(official_schema, registry=registry)
        for error in validator.iter_errors(answer.body):
            if operation.name == "apps/list-installations" and "account" in error.absolute_path:
                continue  # described as a user and an enterprise at once, which nothing can be
            schema = error.schema
            if error.instance is None and isinstance(schema, dict) and (schema.get("nullable") or "anyOf" in schema):
                continue  # the validator does not carry `nullable` into enum and anyOf
            faults.append(f"{operation.name} {list(error.absolute_path)}: {error.message[:200]}")
        return answer.body

    jwt, sha = github.jwt(), pull.head_sha
    installation = pull.repository.installation_id
    await check("GET", "/app", token=jwt)
    await check("GET", "/app/installations", token=jwt)
    await check("GET", f"/app/installations/{installation}", token=jwt)
    await check("GET", "/repos/acme/trainer/installation", token=jwt)
    await check("POST", f"/app/installations/{installation}/access_tokens", {}, token=jwt, status=201)
    await github.deliver("pull_request", "opened", pull=pull, lose=True)
    deliveries = await check("GET", "/app/hook/deliveries", token=jwt)
    await check("GET", f"/app/hook/deliveries/{deliveries[0]['id']}", token=jwt)
    await check("GET", "/installation/repositories")
    await check("GET", "/rate_limit")
    await check("GET", "~")
    await check("GET", "~/pulls")
    await check("GET", "~/pulls/1")
    await check("GET", "~/pulls/1/files")
    await check("GET", "~/pulls/1/commits")
    await check("GET", "~/contents/train.py")
    await check("GET", f"~/commits/{sha}")
    await check("GET", f"~/commits/{sha}/pulls")
    await check("GET", f"~/compare/main...{sha}")
    await check("GET", f"~/git/trees/{sha}")
    await check("GET", f"~/git/commits/{sha}")
    await check("GET", "~/git/ref/heads/main")
    await check("GET", f"~/git/blobs/{pull.files()[0].blob_sha}")
    annotation = {"path": "train.py", "start_line": 1, "end_line": 1, "annotation_level": "warning", "message": "m"}
    output = {"title": "t", "summary": "s", "annotations": [annotation]}
    run = await check("POST", "~/check-runs", {"name": "c", "head_sha": sha, "output": output}, status=201)
    await check("PATCH", f"~/check-runs/{run['id']}", {"status": "completed", "conclusion": "success"})
    await check("GET", f"~/check-runs/{run['id']}")
    await check("GET", f"~/check-runs/{run['id']}/annotations")
    await check("GET", f"~/commits/{sha}/check-runs")
    await check("GET", f"~/commits/{sha}/check-suites")
    line = {"path": "train.py", "line": 20, "side": "RIGHT", "body": "b"}
    review = await check("POST", "~/pulls/1/reviews", {"event": "COMMENT", "body": "b", "comments": [line]})
    await check("GET", "~/pulls/1/reviews")
    await check("GET", f"~/pulls/1/reviews/{review['id']}/comments")
    comments = await check("GET", "~/pulls/1/comments")
    await check("POST", f"~/pulls/1/comments/{comments[0]['id']}/replies", {"body": "r"}, status=201)
    await check("PATCH", f"~/pulls/comments/{comments[0]['id']}", {"body": "r"})
    comment = await check("POST", "~/issues/1/comments", {"body": "c"}, status=201)
    await check("PATCH", f"~/issues/comments/{comment['id']}", {"body": "d"})
    await check("GET", "~/issues/1/comments")
    await check("POST", f"~/issues/comments/{comment['id']}/reactions", {"content": "eyes"}, status=201)
    await check("POST", f"~/issues/comments/{comment['id']}/reactions", {"content": "eyes"})
    await check("GET", "~/collaborators/octocat/permission")
    assert not faults, "\n".join(faults)
