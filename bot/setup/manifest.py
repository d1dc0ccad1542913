"""The App's manifest: what it may do and which events it hears, in one place."""

from __future__ import annotations

import json

from pydantic import BaseModel, ConfigDict

PERMISSIONS: dict[str, str] = {
    "checks": "write",
    "contents": "read",
    "issues": "read",
    "merge_queues": "read",
    "metadata": "read",
    "pull_requests": "write",
}
"""`contents: write`, which people refuse with reason, is not among them."""

EVENTS: tuple[str, ...] = (
    "check_run",
    "check_suite",
    "issue_comment",
    "merge_group",
    "pull_request",
    "pull_request_review_comment",
    "push",
    "repository",
)
"""Events about installations come without a subscription. What people resolved is read from GitHub at each review, so
the event on review threads is not asked for."""


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
    description: str = "Reviews pull requests of PyTorch training code: silent bugs, and whether the run fits the GPU."
    public: bool = False
    default_permissions: dict[str, str] = PERMISSIONS
    default_events: tuple[str, ...] = EVENTS

    @classmethod
    def of(cls, public_url: str, redirect_url: str, name: str = "Preflight") -> Manifest:
        """Return the manifest of a server at `public_url`."""
        root = public_url.rstrip("/")
        return cls(
            name=name, url=root, hook_attributes=HookAttributes(url=f"{root}/webhook"), redirect_url=redirect_url
        )

    def text(self) -> str:
        """Return it as GitHub's form takes it."""
        return json.dumps(self.model_dump(mode="json"))


def registration_url(github_url: str, organisation: str | None, state: str) -> str:
    """Return the address to which the form is posted."""
    root = github_url.rstrip("/")
    owner = f"/organizations/{organisation}" if organisation else ""
    return f"{root}{owner}/settings/apps/new?state={state}"


def api_url(github_url: str) -> str:
    """Return the REST address that belongs to a GitHub."""
    root = github_url.rstrip("/")
    return "https://api.github.com" if root == "https://github.com" else f"{root}/api/v3"
