"""Where the App's secrets go: a file that only its owner reads, or standard output for a secret manager."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bot.github.models import ManifestConversion
from bot.setup.conversion import ConversionFailed

_PLAIN = re.compile(r"[A-Za-z0-9 ._/+=:@~'\\-]*")
"""Shells read this file: nothing passes that they would carry out."""


class Store(Protocol):
    """Takes the settings of a registered App."""

    @property
    def place(self) -> str:
        """Where they go, for people."""

    def problem(self) -> str | None:
        """Say why they could not be kept, before there is anything to lose."""

    def keep(self, lines: str) -> None:
        """Keep them.

        Raises:
            OSError: where that is not possible.
        """


@dataclass(frozen=True)
class FileStore:
    """A file of mode 0600; one that exists is never overwritten, since its secrets would be lost."""

    path: Path

    @property
    def place(self) -> str:
        """See `Store`."""
        return f"the file {self.path} on the server, readable by its owner alone"

    def problem(self) -> str | None:
        """See `Store`."""
        if self.path.exists():
            return f"{self.path} exists already; move it away, or name another file"
        folder = self.path.parent
        if not folder.is_dir() or not os.access(folder, os.W_OK):
            return f"{folder.resolve()} is no folder that can be written to; name another file"
        return None

    def keep(self, lines: str) -> None:
        """See `Store`. The file is private from the moment it exists."""
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(lines)


@dataclass(frozen=True)
class PrintStore:
    """Standard output, which the operator pipes into a secret manager."""

    @property
    def place(self) -> str:
        """See `Store`."""
        return "standard output of the set-up command, for a secret manager"

    def problem(self) -> str | None:
        """See `Store`."""
        return None

    def keep(self, lines: str) -> None:
        """See `Store`."""
        print(lines, end="", flush=True)


def settings_text(conversion: ManifestConversion, *, api_url: str, public_url: str) -> str:
    """Return the settings as `NAME=value` lines, which shells, systemd, compose files and the bot itself read.

    Raises:
        ConversionFailed: where a value holds what such a line cannot.
    """
    values = {
        "PREFLIGHT_APP_ID": str(conversion.id),
        # One line: container engines take no other values.
        "PREFLIGHT_PRIVATE_KEY": conversion.pem.strip().replace("\r", "").replace("\n", "\\n"),
        "PREFLIGHT_WEBHOOK_SECRET": conversion.webhook_secret or "",
        "PREFLIGHT_CLIENT_ID": conversion.client_id,
        "PREFLIGHT_CLIENT_SECRET": conversion.client_secret or "",
        "PREFLIGHT_GITHUB_API_URL": api_url,
        "PREFLIGHT_PUBLIC_URL": public_url,
    }
    for name, value in values.items():
        if not _PLAIN.fullmatch(value):
            raise ConversionFailed(f"GitHub's answer holds characters that {name} cannot have. Start again.")
    return "".join(f"{name}={_quoted(value)}\n" for name, value in values.items())


def _quoted(value: str) -> str:
    return f'"{value}"' if re.search(r"[ '\\]", value) else value


def read_settings(path: Path) -> dict[str, str]:
    """Return the `NAME=value` lines of a settings file; {} where there is none.

    Raises:
        OSError: where it cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    found = (line.strip().removeprefix("export ").partition("=") for line in text.splitlines() if "=" in line)
    return {name.strip(): _unquoted(value.strip()) for name, _, value in found if not name.startswith("#")}


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value
