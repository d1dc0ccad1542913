"""The analysis process: reads one request from standard input, answers on standard output, and knows no secret.

It runs `python -m bot.review.analyst` with an empty environment and under limits that it sets itself first, so
that a file that exhausts memory or time takes down this process and nothing else.
"""

from __future__ import annotations

import base64
import resource
import sys

from pydantic import BaseModel, ConfigDict

from bot.github.models import ChangedFile
from engine.findings import ReviewReport
from engine.settings import Settings


class Content(BaseModel):
    """A file's content: text, or bytes in base64 where it is not UTF-8."""

    text: str | None = None
    base64: str | None = None

    @classmethod
    def of(cls, content: str | bytes) -> Content:
        """Wrap a content for the way through JSON."""
        if isinstance(content, str):
            return cls(text=content)
        return cls(base64=base64.b64encode(content).decode("ascii"))

    def value(self) -> str | bytes:
        """Unwrap it."""
        if self.text is not None:
            return self.text
        return base64.b64decode(self.base64 or "")


class Request(BaseModel):
    """One analysis. Contents are stored once, however many paths and sides show them."""

    model_config = ConfigDict(frozen=True)

    memory_bytes: int
    cpu_seconds: int
    contents: dict[str, Content]
    base: dict[str, str]
    """Path to key in `contents`."""
    head: dict[str, str]
    changed: tuple[ChangedFile, ...]
    settings: Settings
    gpus: tuple[str, ...] = ()


def limit_resources(memory_bytes: int, cpu_seconds: int) -> None:
    """Limit address space (bytes) and processor time (seconds) of this process, and leave no core files."""
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    # Also the end of a process whose parent was killed and waits no more.
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def analyse(request: Request) -> ReviewReport:
    """Review the change from `base` to `head`."""
    from engine.review import review

    from engine.project import Project

    return review(
        Project.from_mapping(_files(request, request.base)),
        Project.from_mapping(_files(request, request.head)),
        changed=[_difference(file) for file in request.changed],
        settings=request.settings,
        gpus=request.gpus,
    )


def _files(request: Request, side: dict[str, str]) -> dict[str, str | bytes]:
    return {path: request.contents[key].value() for path, key in side.items()}


def main() -> None:
    """Answer one request."""
    request = Request.model_validate_json(sys.stdin.buffer.read())
    limit_resources(request.memory_bytes, request.cpu_seconds)
    report = analyse(request)
    sys.stdout.write(report.model_dump_json())


if __name__ == "__main__":
    main()
