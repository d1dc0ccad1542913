"""The App's manifest, made from `app-manifest.yml`: what it may do, why, and which events it hears."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from urllib.parse import quote

import yaml
from pydantic import BaseModel, ConfigDict, Field, field_validator

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,33}")
"""GitHub takes 34 characters."""


class ManifestFile(BaseModel):
    """`app-manifest.yml`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    description: str
    public: bool
    default_permissions: dict[str, str]
    default_events: tuple[str, ...]
    why: dict[str, str] = Field(alias="x-why")

    @field_validator("default_permissions")
    @classmethod
    def _levels(cls, permissions: dict[str, str]) -> dict[str, str]:
        if wrong := set(permissions.values()) - {"read", "write"}:
            raise ValueError(f"permissions are read or write, not {', '.join(sorted(wrong))}")
        return permissions


def _read() -> ManifestFile:
    text = files("bot.setup").joinpath("app-manifest.yml").read_text(encoding="utf-8")
    return ManifestFile.model_validate(yaml.safe_load(text))


FILE = _read()
PERMISSIONS = FILE.default_permissions
"""`contents: write`, which people refuse with reason, is not among them."""
EVENTS = FILE.default_events
"""Events about installations come without a subscription."""


class HookAttributes(BaseModel):
    """Where deliveries go."""

    url: str
    active: bool = True


class Manifest(BaseModel):
    """GitHub's manifest format."""

    model_config = ConfigDict(frozen=True)

    name: str
    url: str
    hook_attributes: HookAttributes
    redirect_url: str
    callback_urls: tuple[str, ...]
    description: str = FILE.description
    public: bool = FILE.public
    default_permissions: dict[str, str] = PERMISSIONS
    default_events: tuple[str, ...] = EVENTS

    @classmethod
    def of(cls, public_url: str, redirect_url: str, name: str = FILE.name) -> Manifest:
        """Return the manifest of a server at `public_url`; report pages sign people in at its `/login/callback`."""
        root = public_url.rstrip("/")
        return cls(
            name=name,
            url=root,
            hook_attributes=HookAttributes(url=f"{root}/webhook"),
            redirect_url=redirect_url,
            callback_urls=(f"{root}/login/callback",),
        )

    def text(self) -> str:
        """Return it as GitHub's form takes it."""
        return json.dumps(self.model_dump(mode="json"))


def registration_url(github_url: str, organisation: str | None, state: str) -> str:
    """Return the address to which the form is posted."""
    root = github_url.rstrip("/")
    owner = f"/organizations/{quote(organisation, safe='')}" if organisation else ""
    return f"{root}{owner}/settings/apps/new?state={quote(state, safe='')}"
