"""The receiver: verify, store, answer. Nothing else happens before the answer."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from gidgethub import sansio
from pydantic import SecretStr, ValidationError

from bot.events import EVENTS, router
from bot.events.desk import Desk
from bot.observability.metrics import Metrics
from bot.observability.redaction import bound
from bot.observability.watching import Watch, Watched
from engine.settings.schema import published

logger = logging.getLogger(__name__)

LARGEST_PAYLOAD_BYTES = 25 * 1024 * 1024
"""GitHub sends no larger payload."""


def signature_matches(body: bytes, header: str, secret: str) -> bool:
    """Check `X-Hub-Signature-256` over the bytes as received, in constant time. The SHA-1 header is never taken."""
    expected = "sha256=" + hmac.new(secret.encode("utf-8"), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode("ascii"), header.encode("utf-8", "replace"))


def _ids(payload: dict[str, Any]) -> dict[str, int]:
    """Return the ids of a payload that is not validated yet, as far as they are numbers."""
    places = {"installation": ("installation", "id"), "repository_id": ("repository", "id")}
    found = {name: _inside(payload, *place) for name, place in places.items()}
    found["pull_request"] = _inside(payload, "number") or _inside(payload, "issue", "number")
    return {name: value for name, value in found.items() if isinstance(value, int)}


def _inside(payload: Any, *path: str) -> Any:
    for key in path:
        payload = payload.get(key) if isinstance(payload, dict) else None
    return payload


class Receiver:
    """The HTTP side of the bot."""

    def __init__(self, desk: Desk, queue: Watched, metrics: Metrics, webhook_secret: SecretStr) -> None:
        self._desk = desk
        self._metrics = metrics
        self._watch = Watch(queue, metrics)
        self._secret = webhook_secret

    def application(self) -> web.Application:
        """Return the aiohttp application."""
        application = web.Application(client_max_size=LARGEST_PAYLOAD_BYTES)
        application.router.add_post("/webhook", self._timed(self.webhook))
        application.router.add_get("/preflight.schema.json", self.configuration_schema)
        self._watch.add_to(application)
        return application

    def _timed(
        self, handler: Callable[[web.Request], Awaitable[web.Response]]
    ) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def timed(request: web.Request) -> web.Response:
            with self._metrics.answer_seconds.time():
                response = await handler(request)
            event = request.headers.get("X-GitHub-Event", "")
            # Only events that we know become labels: anybody can send a header.
            self._metrics.deliveries.labels(event if event in EVENTS else "other", response.status).inc()
            return response

        return timed

    async def configuration_schema(self, request: web.Request) -> web.Response:
        """Return the JSON schema of `.github/preflight.yml`, for editors."""
        return web.Response(text=published(), content_type="application/schema+json")

    async def webhook(self, request: web.Request) -> web.Response:
        """Take one delivery: 202 stored, 400 or 401 not GitHub's, 413 too large, 503 not stored, to be sent again."""
        if (request.content_length or 0) > LARGEST_PAYLOAD_BYTES:
            return web.Response(status=413, text="larger than 25 MB")
        signature = request.headers.get("X-Hub-Signature-256")
        if signature is None:
            return web.Response(status=401, text="X-Hub-Signature-256 is missing")
        try:
            body = await request.read()
        except web.HTTPRequestEntityTooLarge:
            return web.Response(status=413, text="larger than 25 MB")
        if not signature_matches(body, signature, self._secret.get_secret_value()):
            return web.Response(status=401, text="the signature does not match")
        event = request.headers.get("X-GitHub-Event", "")
        delivery = request.headers.get("X-GitHub-Delivery", "")
        if not event or not delivery:
            return web.Response(status=400, text="X-GitHub-Event and X-GitHub-Delivery are needed")
        try:
            payload = json.loads(body)
        except (ValueError, RecursionError):
            return web.Response(status=400, text="the body is not JSON; set the webhook's content type to JSON")
        if not isinstance(payload, dict):
            return web.Response(status=400, text="the body is not an object")
        with bound(delivery=delivery[:100], event=event[:60], **_ids(payload)):
            return await self._dispatch(sansio.Event(payload, event=event, delivery_id=delivery))

    async def _dispatch(self, event: sansio.Event) -> web.Response:
        try:
            await router.dispatch(event, self._desk)
        except ValidationError as error:
            # GitHub's own payloads fit; whatever this is, sending it again would not help.
            logger.error("the payload does not fit: %s", error.errors(include_input=False))
            return web.Response(status=422, text="the payload lacks what this event needs")
        except Exception:
            logger.exception("the delivery could not be stored")
            return web.Response(status=503, text="not stored; deliver it again")
        return web.Response(status=202, text="accepted")
