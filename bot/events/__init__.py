"""Webhook events: one module an event, each a decision about a payload. Composed here."""

from __future__ import annotations

from gidgethub import routing

from bot.events import (
    check_run,
    check_suite,
    installation,
    issue_comment,
    merge_group,
    ping,
    pull_request,
    push,
    repository,
    review_comment,
    review_thread,
)

router = routing.Router(
    check_run.router,
    check_suite.router,
    installation.router,
    issue_comment.router,
    merge_group.router,
    ping.router,
    pull_request.router,
    push.router,
    repository.router,
    review_comment.router,
    review_thread.router,
)

EVENTS = frozenset(
    {
        "check_run",
        "check_suite",
        "installation",
        "installation_repositories",
        "installation_target",
        "issue_comment",
        "merge_group",
        "ping",
        "pull_request",
        "pull_request_review_comment",
        "pull_request_review_thread",
        "push",
        "repository",
    }
)
"""The events that are handled; all others are accepted and ignored."""
