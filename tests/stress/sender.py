"""`python -m tests.stress.sender URL RATE`: posts prepared deliveries at a fixed rate, whatever the answers take.

Reads a JSON line for each delivery, its headers and body; writes a JSON list of seconds and status of each. Seconds
count from the moment at which a delivery was due, so that a receiver that stands still is not measured less often.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence

import aiohttp
from pydantic import BaseModel

NO_ANSWER = 599
ANSWER_SECONDS = 10
"""GitHub waits no longer."""
WARM_SECONDS = 0.5


class Prepared(BaseModel):
    """One request."""

    headers: dict[str, str]
    body: str


class Answered(BaseModel):
    """How it went."""

    seconds: float
    status: int


async def send(url: str, rate: float, deliveries: Sequence[Prepared]) -> list[Answered]:
    """Post `rate` deliveries a second."""
    loop = asyncio.get_running_loop()
    timeout = aiohttp.ClientTimeout(total=ANSWER_SECONDS)
    begin = loop.time() + WARM_SECONDS
    async with aiohttp.ClientSession(timeout=timeout, connector=aiohttp.TCPConnector(limit=0)) as session:

        async def post(due: float, delivery: Prepared) -> Answered:
            await asyncio.sleep(due - loop.time())
            try:
                async with session.post(url, data=delivery.body.encode(), headers=delivery.headers) as answer:
                    await answer.read()
                    status = answer.status
            except (TimeoutError, aiohttp.ClientError):
                status = NO_ANSWER
            return Answered(seconds=loop.time() - due, status=status)

        return await asyncio.gather(*(post(begin + index / rate, each) for index, each in enumerate(deliveries)))


def main() -> None:
    """Send what stands on standard input."""
    deliveries = [Prepared.model_validate_json(line) for line in sys.stdin]
    answered = asyncio.run(send(sys.argv[1], float(sys.argv[2]), deliveries))
    json.dump([each.model_dump() for each in answered], sys.stdout)


if __name__ == "__main__":
    main()
