"""The App itself: its installations and tokens, its webhook deliveries, and what it may still ask."""

from __future__ import annotations

from bot.standin.app import installation_token
from bot.standin.exchange import Answer, Request, operation
from bot.standin.refusals import Refused, forbidden, invalid, not_found
from bot.standin.state import Delivery, Json, Token, stamp

TOKEN_SECONDS = 3600
MOST_NARROWED_REPOSITORIES = 500


@operation("apps/get-authenticated")
def get_app(request: Request) -> Answer:
    return Answer(body={**request.documents.app(), "installations_count": len(request.github.installations())})


@operation("apps/create-from-manifest")
def convert_manifest(request: Request) -> Answer:
    """A code from the manifest flow works once."""
    if request.parameters["code"] not in request.github.manifest_codes:
        raise not_found()
    request.github.manifest_codes.remove(request.parameters["code"])
    app = request.github.app
    secret = {"client_id": app.client_id, "client_secret": app.client_secret}
    document = {
        **request.documents.app(),
        **secret,
        "webhook_secret": app.webhook_secret,
        "pem": app.private_key,
    }
    return Answer(201, document)


@operation("users/get-authenticated")
def get_person(request: Request) -> Answer:
    """Only a person's token is somebody; GitHub refuses an installation's."""
    if request.token is None or request.token.login is None:
        raise forbidden()
    return Answer(body=request.documents.user(request.token.login))


@operation("apps/list-installations-for-authenticated-user")
def list_installations_of_person(request: Request) -> Answer:
    """Installations with a repository that the person can read."""
    if request.token is None or request.token.login is None:
        raise forbidden()
    login = request.token.login
    seen = {
        repository.installation_id
        for repository in request.github.repositories
        if repository.installed
        and repository.permissions.get(login, "none" if repository.private else "read") != "none"
    }
    shown, headers = request.cut(sorted(seen))
    body = {"total_count": len(seen), "installations": [request.documents.installation(each) for each in shown]}
    return Answer(200, body, headers)


@operation("apps/get-webhook-config-for-app")
def get_webhook(request: Request) -> Answer:
    settings = {"content_type": "json", "insecure_ssl": "0", "secret": "********"}
    return Answer(body={**settings, "url": request.github.webhook_url or ""})


@operation("apps/list-installations")
def list_installations(request: Request) -> Answer:
    return request.page(request.github.installations(), request.documents.installation)


def _known_installation(request: Request) -> int:
    number = request.number("installation_id")
    if number not in request.github.installations():
        raise not_found()
    return number


@operation("apps/get-installation")
def get_installation(request: Request) -> Answer:
    return Answer(body=request.documents.installation(_known_installation(request)))


@operation("apps/get-repo-installation")
def get_repository_installation(request: Request) -> Answer:
    return Answer(body=request.documents.installation(request.repo.installation_id))


@operation("apps/get-org-installation")
def get_organization_installation(request: Request) -> Answer:
    for repository in request.github.repositories:
        if repository.owner == request.parameters["org"] and repository.installed:
            return Answer(body=request.documents.installation(repository.installation_id))
    raise not_found()


@operation("apps/create-installation-access-token")
def create_token(request: Request) -> Answer:
    """A token for an hour; asking may narrow the App's permissions and repositories, never widen them."""
    github, number = request.github, _known_installation(request)
    if number in github.suspended:
        raise Refused(403, "This installation has been suspended")
    granted = github.app.permissions
    asked = request.body.get("permissions") or granted
    for name, level in asked.items():
        if name not in granted or (level == "write" and granted[name] == "read"):
            raise invalid(message="The permissions requested are not granted to this installation.")
    reachable = [entry for entry in github.repositories if entry.installation_id == number and entry.installed]
    ids, names = request.body.get("repository_ids"), request.body.get("repositories")
    chosen = [entry for entry in reachable if entry.id in (ids or []) or entry.name in (names or [])]
    narrowed = ids is not None or names is not None
    if narrowed and len(chosen) < len(ids or []) + len(names or []):
        words = "There is at least one repository that does not exist or is not accessible to the parent installation."
        raise invalid(message=words)
    token = Token(
        value=installation_token(github.app.id),
        installation_id=number,
        permissions={"metadata": "read", **asked},
        repository_ids=frozenset(entry.id for entry in chosen) if narrowed else None,
        expires_at=github.clock() + TOKEN_SECONDS,
    )
    github.tokens[token.value] = token
    document: Json = {
        "token": token.value,
        "expires_at": stamp(token.expires_at),
        "permissions": dict(token.permissions),
    }
    if narrowed:
        document["repositories"] = [request.documents.repository(entry) for entry in chosen]
    return Answer(201, {**document, "repository_selection": "selected"})


@operation("apps/revoke-installation-access-token")
def revoke_token(request: Request) -> Answer:
    if request.token is not None:
        del request.github.tokens[request.token.value]
    return Answer(204)


@operation("apps/list-repos-accessible-to-installation")
def list_repositories(request: Request) -> Answer:
    token = request.token
    rows = [entry for entry in request.github.repositories if token and request.github.reaches(token, entry)]
    shown, headers = request.cut(rows)
    documents = [request.documents.repository(entry) for entry in shown]
    return Answer(
        200, {"total_count": len(rows), "repository_selection": "selected", "repositories": documents}, headers
    )


@operation("apps/list-webhook-deliveries")
def list_deliveries(request: Request) -> Answer:
    """Newest first, paged by a cursor that only ``Link`` knows; what is on its way has no answer to list yet."""
    rows = [row for row in reversed(request.github.deliveries) if row.status_code]
    if wanted := request.query.get("status"):
        rows = [row for row in rows if (200 <= row.status_code < 300) == (wanted == "success")]
    start = 0
    if cursor := request.query.get("cursor"):
        starts = [index for index, row in enumerate(rows) if f"v1_{row.id}" == cursor]
        if not starts:
            raise Refused(400, "Invalid cursor")
        start = starts[0]
    size = min(max(int(request.query.get("per_page", "30")), 1), 100)
    headers = {}
    if len(rows) > start + size:
        following = request.url(cursor=f"v1_{rows[start + size].id}")
        headers["Link"] = f'<{following}>; rel="next"'
    return Answer(200, [request.documents.delivery(row) for row in rows[start : start + size]], headers)


def _delivery(request: Request) -> Delivery:
    number = request.number("delivery_id")
    for delivery in request.github.deliveries:
        if delivery.id == number:
            return delivery
    raise not_found()


@operation("apps/get-webhook-delivery")
def get_delivery(request: Request) -> Answer:
    return Answer(body=request.documents.delivery(_delivery(request), full=True))


@operation("apps/redeliver-webhook-delivery")
def redeliver(request: Request) -> Answer:
    """The same GUID again; the gate posts it once this answer is made."""
    request.github.redelivery_queue.append(_delivery(request))
    return Answer(202, {})


@operation("rate-limit/get")
def get_rate_limit(request: Request) -> Answer:
    core = request.limits.state(request.token)
    document = {"resources": {"core": core, "search": core, "graphql": core}}
    return Answer(body=document if request.version >= "2026-03-10" else {**document, "rate": core})


@operation("meta/get")
def get_meta(request: Request) -> Answer:
    return Answer(body={"verifiable_password_authentication": False, "hooks": ["127.0.0.1/32"]})
