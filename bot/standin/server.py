"""``StandIn``: the world behind a server, with its webhooks, its limits and the faults that a test asks for."""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from typing import Any, Self

from aiohttp import web

from bot.standin import operations as _operations  # noqa: F401  registers the operations
from bot.standin.browser import Browser
from bot.standin.documents import Documents
from bot.standin.gate import Gate
from bot.standin.limits import Limits
from bot.standin.state import Delivery
from bot.standin.webhooks import Webhooks
from bot.standin.world import World


@dataclass(kw_only=True, eq=False)
class StandIn(World):
    """GitHub for a test or a demo; see the package's docstring for the whole interface."""

    hourly_limit: InitVar[int] = 5000
    content_limit: InitVar[int | None] = None

    def __post_init__(self, permissions: dict[str, str] | None, hourly_limit: int, content_limit: int | None) -> None:
        super().__post_init__(permissions)
        self.documents = Documents(self)
        self.limits = Limits(self, hourly=hourly_limit, content=content_limit)
        self.webhooks = Webhooks(self, self.documents)
        self.browser = Browser(self, self.webhooks)
        self.gate = Gate(self, self.documents, self.limits, self.webhooks)
        self._runner: web.AppRunner | None = None

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> None:
        application = web.Application(client_max_size=64 * 1024**2)
        self.browser.add_to(application)
        application.router.add_route("*", "/{path:.*}", self.gate.handle)
        self._runner = web.AppRunner(application, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, host, port).start()
        self.web_url = f"http://{host}:{self._runner.addresses[0][1]}"

    async def close(self) -> None:
        for repository in self.repositories:
            repository.git.close()
        await self.webhooks.close()
        if self._runner is not None:
            await self._runner.cleanup()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    def refuse_next(self, *faults: str, operation: str | None = None) -> None:
        """Queues faults for the next requests, of one operation or of any."""
        self.gate.faults.ask(*faults, operation=operation)

    def refuse_often(self, share: float, *faults: str, seed: int = 0) -> None:
        """From now on a share of the requests meets one of the faults; a share of 0 ends it."""
        self.gate.faults.ask_often(share, *faults, seed=seed)

    async def deliver(self, event: str, action: str | None = None, **subject: Any) -> Delivery:
        return await self.webhooks.deliver(event, action, **subject)

    async def redeliver(self, delivery: Delivery) -> Delivery:
        return await self.webhooks.redeliver(delivery)

    def signed(self, event: str, payload: dict[str, Any], guid: str | None = None) -> tuple[dict[str, str], bytes]:
        return self.webhooks.signed(event, payload, guid)
