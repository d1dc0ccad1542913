"""What operators and orchestrators ask of a process, receiver or worker: whether it runs, is ready, and its figures."""

from __future__ import annotations

from typing import Protocol

from aiohttp import web

from bot.observability.metrics import CONTENT_TYPE, Metrics


class Watched(Protocol):
    """What is asked about the queue."""

    async def healthy(self) -> bool:
        """Tell whether jobs can be stored."""

    async def waiting(self) -> int:
        """Return how many jobs are not finished."""

    async def age_seconds(self) -> float:
        """Return how long the oldest job has waited for a worker, in seconds."""


class Watch:
    """`/healthz`, `/readyz` and `/metrics`."""

    def __init__(self, queue: Watched, metrics: Metrics) -> None:
        self._queue = queue
        self._metrics = metrics

    def add_to(self, application: web.Application) -> None:
        """Add the three addresses to an application."""
        application.router.add_get("/healthz", self.alive)
        application.router.add_get("/readyz", self.ready)
        application.router.add_get("/metrics", self.metrics)

    async def alive(self, request: web.Request) -> web.Response:
        """Say that the process runs."""
        return web.json_response({"status": "ok"})

    async def ready(self, request: web.Request) -> web.Response:
        """Say whether a job could be stored now."""
        if await self._queue.healthy():
            return web.json_response({"status": "ready"})
        return web.json_response({"status": "not ready"}, status=503)

    async def metrics(self, request: web.Request) -> web.Response:
        """Return the figures; those of the queue only while its database answers."""
        if await self._queue.healthy():
            self._metrics.waiting.set(await self._queue.waiting())
            self._metrics.queue_age_seconds.set(await self._queue.age_seconds())
        return web.Response(body=self._metrics.text(), headers={"Content-Type": CONTENT_TYPE})
