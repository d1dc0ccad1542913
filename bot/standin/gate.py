"""What every request passes before an operation sees it: faults, version, identity, limits, permission, description."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from typing import Any

from aiohttp import web

from bot.standin import graphql_api
from bot.standin.description import Operation, find_operation
from bot.standin.documents import Documents
from bot.standin.exchange import HANDLERS, Answer, Request
from bot.standin.faults import UNICORN, Faults, GraphqlLimit, HtmlError
from bot.standin.limits import Limits
from bot.standin.refusals import Refused, forbidden, invalid, not_found
from bot.standin.state import Call, Json, Repository, Token
from bot.standin.webhooks import Webhooks
from bot.standin.world import World

DOCUMENTATION = "https://docs.github.com/rest"


CREATES_CONTENT = frozenset(
    (
        "issues/create-comment",
        "pulls/create-review",
        "pulls/create-review-comment",
        "pulls/create-reply-for-review-comment",
    )
)
"""Calls that count against the limit of content creation: 80 a minute in general."""
REMOVALS_VERSION = "2026-03-10"
REMOVED_FIELDS = frozenset(("has_downloads", "use_squash_pr_title_as_default"))


def without(document: Any, names: frozenset[str]) -> Any:
    """A JSON document without the fields that a newer API version dropped, at any depth."""
    if isinstance(document, dict):
        return {name: without(value, names) for name, value in document.items() if name not in names}
    if isinstance(document, list):
        return [without(entry, names) for entry in document]
    return document


class Gate:
    def __init__(self, github: World, documents: Documents, limits: Limits, webhooks: Webhooks) -> None:
        self.github = github
        self.documents = documents
        self.limits = limits
        self.webhooks = webhooks
        self.faults = Faults(github)

    async def handle(self, http: web.Request) -> web.StreamResponse:
        path = http.path
        if path.startswith(self.github.graphql_path):
            return await self.serve(http, "graphql", None, {})
        if archive := re.fullmatch(r"/([^/]+)/([^/]+)/legacy\.tar\.gz/(.+)", path):
            return self.archive(*archive.groups())
        if not path.startswith(self.github.prefix):
            return web.json_response({"message": "Not Found"}, status=404)
        found = find_operation(http.method, path.removeprefix(self.github.prefix))
        if found is None:
            self.github.log.append(Call("unknown", http.method, path, 404, None, False))
            message = f"The stand-in knows no operation {http.method} {path}: add it to description.toml first"
            return web.json_response({"message": message, "documentation_url": DOCUMENTATION}, status=404)
        operation, parameters = found
        return await self.serve(http, operation.name, operation, parameters)

    async def serve(
        self, http: web.Request, name: str, operation: Operation | None, parameters: dict[str, str]
    ) -> web.StreamResponse:
        """One request from fault to log."""
        github = self.github
        raw = await http.read()
        if github.latency_seconds:
            await asyncio.sleep(github.latency_seconds)
        fault = self.faults.take(name)
        body: Any = None
        token: Token | None = None
        try:
            if fault is not None and fault != "lost-answer":
                await self.faults.fail(fault, http)
            body = self.json(raw)
            token = self.identify(http, operation)
            self.limits.spend(token, creates=operation is not None and operation.name in CREATES_CONTENT)
            if operation is None:
                answer = graphql_api.execute(github, self.limits, token, body)
            else:
                answer = self.carry_out(http, operation, parameters, body, token)
            if fault == "lost-answer":
                raise HtmlError(502)
        except HtmlError as error:
            github.log.append(Call(name, http.method, http.path, error.status, body, False))
            return web.Response(status=error.status, text=UNICORN, content_type="text/html")
        except Refused as refusal:
            answer = self.refusal(refusal)
        if http.headers.get("X-GitHub-Api-Version", "") >= REMOVALS_VERSION:
            answer.body = without(answer.body, REMOVED_FIELDS)
        if operation is not None and operation.permissions:
            needs = "; ".join(f"{permission}={level}" for permission, level in operation.permissions)
            answer.headers["X-Accepted-GitHub-Permissions"] = needs
        response = self.response(http, answer)
        counted = response.status != 304 and name != "rate-limit/get"
        if not counted:
            self.limits.give_back(token)
        for header, value in self.limit_headers(token).items():
            response.headers.setdefault(header, value)
        github.log.append(Call(name, http.method, http.path_qs, response.status, body, counted))
        while github.redelivery_queue:
            await self.webhooks.redeliver(github.redelivery_queue.pop(0))
        return response

    def json(self, raw: bytes) -> Any:
        if not raw.strip():
            return None
        try:
            return json.loads(raw)
        except ValueError:
            raise Refused(400, "Problems parsing JSON") from None

    def identify(self, http: web.Request, operation: Operation | None) -> Token | None:
        """Who calls: the App by JWT, an installation by token, or nobody."""
        github = self.github
        if not http.headers.get("User-Agent"):
            raise Refused(
                403, "Request forbidden by administrative rules. Please make sure your request has a User-Agent header"
            )
        version = http.headers.get("X-GitHub-Api-Version")
        if version is not None and version not in github.api_versions:
            raise Refused(400, f"The API version '{version}' is not supported")
        scheme, _, credential = http.headers.get("Authorization", "").partition(" ")
        credential = credential.strip()
        if not scheme:
            if operation is None or operation.needs in ("app", "token"):
                raise Refused(401, "Requires authentication")
            if operation.needs != "open":
                raise not_found()
            return None
        if scheme.lower() not in ("bearer", "token"):
            raise Refused(401, "Bad credentials")
        if operation is not None and operation.needs == "app":
            if credential.startswith("ghs_"):
                raise Refused(401, "A JSON web token could not be decoded")
            if complaint := github.app.jwt_complaint(credential, github.clock()):
                raise Refused(401, complaint)
            return None
        token = github.tokens.get(credential)
        if token is None or token.expires_at <= github.clock():
            raise Refused(401, "Bad credentials")
        if token.installation_id in github.suspended:
            raise Refused(403, "This installation has been suspended")
        return token

    def carry_out(
        self, http: web.Request, operation: Operation, parameters: dict[str, str], body: Any, token: Token | None
    ) -> Answer:
        repository = self.reach(operation, parameters, token)
        if unknown := set(http.query) - operation.query:
            raise invalid(*(f"{name} is no parameter of {operation.name}" for name in sorted(unknown)))
        if complaints := operation.complaints(body):
            raise Refused(422, "Invalid request.\n\n" + "\n".join(entry["message"] for entry in complaints), complaints)
        if operation.name not in HANDLERS:
            raise not_found()
        request = Request(
            github=self.github,
            documents=self.documents,
            limits=self.limits,
            operation=operation,
            parameters=parameters,
            query=dict(http.query),
            body=body or {},
            accept=http.headers.get("Accept", ""),
            token=token,
            repository=repository,
            version=http.headers.get("X-GitHub-Api-Version", "2022-11-28"),
        )
        return HANDLERS[operation.name](request)

    def reach(self, operation: Operation, parameters: dict[str, str], token: Token | None) -> Repository | None:
        """The repository in the path, if this caller may see it and has the permission."""
        if "repo" not in parameters:
            return None
        repository = self.github.find_repository(parameters["owner"], parameters["repo"])
        if repository is None and (renamed := self.github.renamed(parameters["owner"], parameters["repo"])):
            # Old names lead to the new one for ever; what writes must keep its method, hence 307.
            place = operation.path.format(**{**parameters, "owner": renamed.owner, "repo": renamed.name})
            status = 301 if operation.method == "GET" else 307
            raise Refused(status, "Moved Permanently", Location=f"{self.github.url}{place}")
        if repository is None or (operation.needs == "app" and not repository.installed):
            raise not_found()
        if operation.needs == "app":
            return repository
        if token is None or not self.github.reaches(token, repository):
            # A repository outside the installation does not exist for it: 404, never 403.
            raise not_found()
        granted = token.permissions
        for name, level in operation.permissions:
            if granted.get(name) == "write" or granted.get(name) == level:
                return repository
        if operation.permissions:
            raise forbidden()
        return repository

    def refusal(self, refusal: Refused) -> Answer:
        if isinstance(refusal, GraphqlLimit):
            return Answer(200, {"errors": refusal.errors})
        body: Json = {"message": refusal.message}
        if refusal.errors:
            body["errors"] = refusal.errors
        body["documentation_url"] = DOCUMENTATION
        body["status"] = str(refusal.status)
        return Answer(refusal.status, body, dict(refusal.headers))

    def limit_headers(self, token: Token | None) -> dict[str, str]:
        state = self.limits.state(token)
        return {f"X-RateLimit-{name.title()}": str(value) for name, value in state.items()}

    def response(self, http: web.Request, answer: Answer) -> web.StreamResponse:
        headers = {"X-GitHub-Request-Id": f"STND:{len(self.github.log):06X}", "X-GitHub-Media-Type": "github.v3"}
        headers.update(answer.headers)
        if answer.status == 204 or (answer.raw is None and answer.body is None):
            return web.Response(status=answer.status, headers=headers)
        content = answer.raw if answer.raw is not None else json.dumps(answer.body).encode()
        if http.method == "GET" and answer.status == 200:
            # The media type is part of what the tag stands for: the same URL has a JSON and a raw answer.
            digest = hashlib.sha256(http.headers.get("Accept", "").encode() + b"\0" + content).hexdigest()
            headers["ETag"] = f'W/"{digest}"'
            if http.headers.get("If-None-Match", "").removeprefix("W/") == f'"{digest}"':
                return web.Response(status=304, headers=headers)
        return web.Response(
            status=answer.status, body=content, headers={**headers, "Content-Type": answer.content_type}
        )

    def archive(self, owner: str, name: str, ref: str) -> web.StreamResponse:
        repository = self.github.find_repository(owner, name)
        if repository is None:
            return web.json_response({"message": "Not Found"}, status=404)
        sha = self.github.resolve_revision(repository, ref)
        content = repository.git.archive(sha, f"{owner}-{name}-{sha[:7]}")
        return web.Response(body=content, content_type="application/x-gzip")
