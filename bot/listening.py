"""Taking an address to answer on."""

from __future__ import annotations

import os

from aiohttp import web


class CannotListen(Exception):
    """The address is another's, or not one of this machine; the text says so to the operator."""


async def listen(runner: web.AppRunner, host: str, port: int) -> None:
    """Answer on an address.

    Raises:
        CannotListen: where it cannot be had.
    """
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno is not None and error.errno > 0 else str(error)
        raise CannotListen(f"cannot listen on {host}:{port}: {reason.lower()}; choose another with --port") from error
