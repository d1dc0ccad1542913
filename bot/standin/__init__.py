"""A stand-in for GitHub: a real HTTP server over local git repositories that refuses what GitHub refuses.

The demo shows a whole review with it, and the tests of the bot talk to it instead of to stubs that would answer
anything. State is plain Python objects, time is injected, nothing sleeps::

    async with StandIn(clock=clock, webhook_url="http://127.0.0.1:8000/webhook") as github:
        repository = github.add_repository(Path("demo.git"), owner="acme", name="trainer")
        pull = github.open_pull(repository, base="main", head="feature", author="octocat", title="Faster")
        await github.deliver("pull_request", "opened", pull=pull)      # signed, posted to webhook_url
        ...
        github.checks[-1].conclusion, github.checks[-1].annotations
        github.push(pull, "feature-2")                                 # new head; comments are re-anchored
        await github.deliver("pull_request", "synchronize", pull=pull)

What a client needs to know
    ``github.url``            REST base, such as ``http://127.0.0.1:41234`` (``.../api/v3`` with ``enterprise=True``)
    ``github.graphql_url``    ``{url}/graphql`` (``.../api/graphql`` with ``enterprise=True``)
    ``github.app``            ``App``: ``id`` (int), ``slug``, ``client_id``, ``private_key`` (PEM text),
                              ``webhook_secret``, ``permissions`` (dict), ``bot_login`` (``"{slug}[bot]"``)
    ``repository.installation_id``, ``repository.id``, ``repository.full_name``, ``pull.number``

``StandIn(*, app=None, webhook_url=None, clock=time.time, enterprise=False, permissions=None, api_versions=...,
hourly_limit=5000, most_tree_entries=100_000, content_limit=None)``
    ``webhook_url`` may be set later as an attribute. ``clock`` returns epoch seconds. ``permissions`` replaces the
    App's set, for example ``{"checks": "write", "contents": "read", "metadata": "read"}``. ``content_limit``: comments
    and reviews that one minute of the clock takes before the secondary limit answers (GitHub: 80).

Making state (all synchronous)
    ``add_repository(path, *, owner="acme", name=None, private=False, installed=True, default_branch=None)``
    ``open_pull(repository, *, base, head, title="", body="", author="octocat", draft=False, fork=False)``: ``base`` is
    a branch name, ``head`` any revision of the repository's git folder; the pull's ``head_sha`` is its commit.
    ``push(pull, head)``, ``retarget(pull, base)``, ``close_pull(pull, merged=False)``, ``delete_fork(pull)``,
    ``mark_ready(pull)``
    ``add_comment(pull, author, body)``, ``edit_comment(comment, body)``: a person writes in the conversation
    ``add_reply(review_comment, author, body)``: a person answers in a review thread
    ``resolve(review_comment, by)``: a person resolves the thread
    ``rename(repository, name)``: the old name redirects from then on
    ``set_permission(repository, login, "admin" | "maintain" | "write" | "triage" | "read" | "none")``
    ``installation_token(repository)``: a token string, for tests that speak HTTP themselves
    ``jwt(seconds=540)``: an App token signed with the App's key
    ``suspended``: ids of installations whose owner suspended the App: no tokens, and 403 with those there are
    ``expire_tokens()``: from now on every issued token answers 401

Webhooks
    ``await deliver(event, action=None, *, pull=None, comment=None, review_comment=None, check_run=None,
    check_suite=None, repository=None, sender=None, changes=None, extra=None, guid=None, lose=False) -> Delivery``
    builds the payload from the state, signs it and posts it to ``webhook_url``. ``lose=True`` records a failed
    delivery without posting (the bot was away). ``Delivery`` has ``id``, ``guid``, ``event``, ``action``, ``payload``,
    ``status_code`` (502 when lost or refused), ``redelivery``, ``delivered_at``. ``signed(event, payload, guid=None) ->
    (headers, body)`` makes the request without sending it. Supported: pull_request, issue_comment,
    pull_request_review_comment, pull_request_review_thread, check_run, check_suite, installation,
    installation_repositories, push, merge_group, repository, ping.

Reading state
    ``checks`` (list of CheckRun: ``id, name, head_sha, status, conclusion, title, summary, text, annotations, actions,
    external_id, details_url``), ``reviews`` (Review: ``id, number, body, event, commit_sha, comments``),
    ``review_comments`` (ReviewComment: ``id, node_id, path, line, start_line, side, body, diff_hunk, commit_sha,
    original_line, original_commit_sha, in_reply_to, author, minimized, resolved``), ``comments`` (Comment: ``id,
    node_id, number, body, author, is_bot, edits, minimized``), ``reactions`` (Reaction: ``subject`` (comment id),
    ``kind`` "issue" | "review", ``content, author``), ``deliveries``, ``log`` (Call: ``operation, method, path,
    status, body, counted``; ``calls("checks/create")`` filters). Newest last.

Faults: ``refuse_next(*faults, operation=None)`` queues answers for the next matching requests, in order
    ``"secondary"`` (403 with Retry-After), ``"secondary-silent"`` (403 without), ``"secondary-429"``, ``"primary"``
    (429, remaining 0), ``"primary-403"``, ``"502"`` (an HTML page), ``"500"``, ``"timeout"`` (connection closed),
    ``"hang"`` (no answer until the client goes), ``"graphql-limit"`` (200 with an error of type RATE_LIMITED),
    ``"lost-answer"`` (the request is carried out, the answer is a 502), ``"401"``, ``"404"``.
    ``refuse_often(share, *faults, seed=0)``: from now on that share of all requests meets one of the faults.
    ``latency_seconds`` (attribute): what each answer takes at least.
    ``stale_reads(pull, count)``: the next ``count`` reads of that pull request show the head before the last push.

In a browser (``web_url``): the manifest flow from ``/settings/apps/new`` on, ``/apps/SLUG/installations/new``, and
sign-in with ``/login/oauth/authorize`` and ``/login/oauth/access_token``; ``app.client_secret``, ``app.callback_urls``.

What it refuses, by itself: operations, parameters and body fields it does not know (``description.toml``), wrong
types and sizes, a completed check without conclusion, columns over several lines, more than 50 annotations, review
lines outside the diff (the whole review, 422, string errors), comments over 65,536 characters, JWTs that live over
ten minutes or carry a wrong signature, expired tokens, missing permissions, unknown API versions,
``resolveReviewThread`` without contents: write.
"""

from bot.standin.app import App
from bot.standin.server import StandIn
from bot.standin.state import (
    Call,
    CheckRun,
    CheckSuite,
    Comment,
    Delivery,
    PullRequest,
    Reaction,
    Repository,
    Review,
    ReviewComment,
)

__all__ = [
    "App",
    "Call",
    "CheckRun",
    "CheckSuite",
    "Comment",
    "Delivery",
    "PullRequest",
    "Reaction",
    "Repository",
    "Review",
    "ReviewComment",
    "StandIn",
]
