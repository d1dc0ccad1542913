"""Logging that lets no secret through."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable

PLACEHOLDER = "[secret]"

# Tokens are opaque; since 2026 an installation token may hold dots and be about 520 characters long.
_PATTERNS = (
    re.compile(r"gh[a-z]_[A-Za-z0-9._\-]{36,}"),
    re.compile(r"github_pat_[A-Za-z0-9_]{22,}"),
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----", re.DOTALL),
    re.compile(r"eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}"),
    re.compile(r"sha256=[0-9a-f]{64}"),
)


class Redaction(logging.Formatter):
    """Formats a record, traceback included, and then blanks everything that looks like, or is, a secret."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._secrets = tuple(secret for secret in secrets if len(secret) >= 8)

    def format(self, record: logging.LogRecord) -> str:
        """Return the text of the record without secrets."""
        return redact(super().format(record), self._secrets)


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Blank tokens, keys, signatures and the given secrets in `text`."""
    for secret in secrets:
        text = text.replace(secret, PLACEHOLDER)
    for pattern in _PATTERNS:
        text = pattern.sub(PLACEHOLDER, text)
    return text


def configure_logging(level: str, secrets: Iterable[str]) -> None:
    """Send all logging to standard error through `Redaction`, the queue library's own handlers included."""
    handler = logging.StreamHandler()
    handler.setFormatter(Redaction(secrets))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in ("dbos", "aiohttp.access", "aiohttp.server"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
    # A line for every query of the queue says nothing to an operator.
    logging.getLogger("dbos").setLevel(max(logging.WARNING, logging.getLevelName(level.upper())))
