"""Nothing is written for a job that another worker has by now.

A worker that stood still for long enough has lost its jobs to the others. When it goes on, in the midst of a job, it
would say again what they have said: whatever it read before is old. So right before a write goes out, after all
waits, whoever wants it is asked whether the job is still its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Fence = Callable[[], Awaitable[None]]
"""Returns where a write may go out, and raises where it may not."""

_present: ContextVar[Fence | None] = ContextVar("fence", default=None)


class TakenOver(Exception):
    """Another worker carries on with the job; this one has nothing more to say."""

    def __init__(self, job_id: str) -> None:
        super().__init__(f"another worker has job {job_id} by now")


@contextmanager
def fenced(fence: Fence) -> Iterator[None]:
    """Have every write inside the block, in this task and those that it starts, pass the fence first."""
    token = _present.set(fence)
    try:
        yield
    finally:
        _present.reset(token)


async def pass_fence() -> None:
    """Ask for a write; outside of any `fenced` block all may go out."""
    fence = _present.get()
    if fence is not None:
        await fence()
