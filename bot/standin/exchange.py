"""What passes between the gate and an operation: the request as understood, and the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from bot.standin.description import Operation
from bot.standin.documents import Documents
from bot.standin.limits import Limits
from bot.standin.refusals import invalid, not_found
from bot.standin.state import Json, PullRequest, Repository, Token
from bot.standin.world import World

LONGEST_BODY = 65_536
"""Characters that a comment, a review or a review comment may hold."""


@dataclass
class Answer:
    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    content_type: str = "application/json; charset=utf-8"


@dataclass
class Request:
    github: World
    documents: Documents
    limits: Limits
    operation: Operation
    parameters: dict[str, str]
    query: dict[str, str]
    body: Json
    accept: str
    version: str
    token: Token | None
    repository: Repository | None

    @property
    def repo(self) -> Repository:
        if self.repository is None:
            raise not_found()
        return self.repository

    def number(self, name: str) -> int:
        try:
            return int(self.parameters[name])
        except ValueError:
            raise not_found() from None

    def pull(self, name: str = "pull_number") -> PullRequest:
        wanted = self.number(name)
        for pull in self.github.pulls:
            if pull.repository is self.repo and pull.number == wanted:
                return pull
        raise not_found()

    def commit(self, revision: str) -> str:
        return self.github.resolve_revision(self.repo, revision)

    @property
    def wants_raw(self) -> bool:
        return "raw" in self.accept

    def page(self, rows: Sequence[Any], render: Callable[[Any], Json], cap: int | None = None) -> Answer:
        """One page of a list: 30 rows unless asked otherwise, at most 100, with a ``Link`` to the other pages."""
        shown, headers = self.cut(rows if cap is None else rows[:cap])
        return Answer(200, [render(row) for row in shown], headers)

    def cut(self, rows: Sequence[Any]) -> tuple[Sequence[Any], dict[str, str]]:
        size, number = self._whole("per_page", 30), self._whole("page", 1)
        size, number = min(max(size, 1), 100), max(number, 1)
        last = max(1, -(-len(rows) // size))
        links = []
        for relation, target in (("prev", number - 1), ("next", number + 1), ("last", last), ("first", 1)):
            useful = target < number if relation in ("prev", "first") else number < last
            if useful and 1 <= target <= last:
                links.append(f'<{self.url(page=target, per_page=size)}>; rel="{relation}"')
        return rows[(number - 1) * size : number * size], {"Link": ", ".join(links)} if links else {}

    def url(self, **query: int | str) -> str:
        path = self.operation.path.format(**self.parameters)
        terms = {**self.query, **{name: str(value) for name, value in query.items()}}
        return f"{self.github.url}{path}?" + "&".join(f"{name}={value}" for name, value in terms.items())

    def _whole(self, name: str, default: int) -> int:
        try:
            return int(self.query.get(name, default))
        except ValueError:
            return default


Handler = Callable[[Request], Answer]
HANDLERS: dict[str, Handler] = {}


def operation(name: str) -> Callable[[Handler], Handler]:
    """Registers the code of one operation of the description."""

    def register(handler: Handler) -> Handler:
        HANDLERS[name] = handler
        return handler

    return register


def body_text(request: Request, field_name: str = "body") -> str:
    """The text of a comment, refused when it is blank or too long."""
    text = str(request.body.get(field_name) or "")
    if not text.strip():
        raise invalid({"resource": "IssueComment", "code": "missing_field", "field": field_name})
    check_length(text)
    return text


def check_length(text: str) -> None:
    if len(text) > LONGEST_BODY:
        words = f"body is too long (maximum is {LONGEST_BODY} characters)"
        raise invalid({"resource": "IssueComment", "code": "unprocessable", "field": "data", "message": words})
