"""Logging as JSON, a line an event, that lets no secret through.

Every line that belongs to a job carries its delivery, installation, repository and pull request: `bound` puts them on.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Literal

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

PLACEHOLDER = "[secret]"

LogFormat = Literal["json", "text"]

# Tokens are opaque; since 2026 an installation token may hold dots and be about 520 characters long.
_PATTERNS = (
    re.compile(r"gh[a-z]_[A-Za-z0-9._\-]{36,}"),
    re.compile(r"github_pat_[A-Za-z0-9_]{22,}"),
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----", re.DOTALL),
    re.compile(r"eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}"),
    re.compile(r"sha256=[0-9a-f]{64}"),
)


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Blank tokens, keys, signatures and the given secrets in `text`."""
    for secret in secrets:
        text = text.replace(secret, PLACEHOLDER)
    for pattern in _PATTERNS:
        text = pattern.sub(PLACEHOLDER, text)
    return text


def bound(**ids: str | int) -> AbstractContextManager[None]:
    """Put ids on every line that is logged inside the block, in this task and in those that it starts."""
    return structlog.contextvars.bound_contextvars(**ids)


class Redaction(structlog.stdlib.ProcessorFormatter):
    """Formats a record, traceback included, and blanks everything in it that looks like, or is, a secret.

    The fields are blanked before they are put together, where a key still has its lines, and the line once more.
    """

    def __init__(self, secrets: Iterable[str] = (), style: LogFormat = "json") -> None:
        self._secrets = tuple(secret for secret in secrets if len(secret) >= 8)
        written: Processor = (
            structlog.processors.JSONRenderer(ensure_ascii=True)
            if style == "json"
            else structlog.dev.ConsoleRenderer(colors=False)
        )
        super().__init__(
            foreign_pre_chain=[
                structlog.contextvars.merge_contextvars,
                structlog.stdlib.add_log_level,
                structlog.stdlib.add_logger_name,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
            ],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                self._blanked,
                written,
            ],
        )

    def _blanked(self, _logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
        return {key: redact(value, self._secrets) if isinstance(value, str) else value for key, value in event.items()}

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of the record without secrets."""
        return redact(super().format(record), self._secrets)


def configure_logging(level: str, secrets: Iterable[str], style: LogFormat = "json") -> None:
    """Send all logging to standard error through `Redaction`, the queue library's own handlers included."""
    handler = logging.StreamHandler()
    handler.setFormatter(Redaction(secrets, style))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in ("dbos", "aiohttp.access", "aiohttp.server"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
    # A line for every query of the queue says nothing to an operator.
    logging.getLogger("dbos").setLevel(max(logging.WARNING, logging.getLevelName(level.upper())))
