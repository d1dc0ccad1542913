"""A small repository, a stand-in over it with a clock of its own, and a client that speaks plain HTTP."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

from bot.standin import PullRequest, Repository, StandIn


@dataclass
class Clock:
    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


class Folder:
    """A git repository that a test writes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> str:
        who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", *who, *arguments], cwd=self.path, check=True, capture_output=True)
        return done.stdout.decode().strip()

    def commit(self, message: str, **files: str | bytes | None) -> str:
        for name, content in files.items():
            target = self.path / name.replace("__", "/").replace("_py", ".py").replace("_bin", ".bin")
            target.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                target.unlink()
            else:
                target.write_bytes(content.encode() if isinstance(content, str) else content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)
        return self.git("rev-parse", "HEAD")


def numbered(count: int, **changed: str) -> str:
    """``line 1`` to ``line N``, some of them replaced: ``numbered(40, l20="new")``."""
    lines = [changed.get(f"l{number}", f"line {number}") for number in range(1, count + 1)]
    return "\n".join(lines) + "\n"


@dataclass
class Reply:
    status: int
    body: Any
    headers: Mapping[str, str]


class Client:
    """Speaks as the installation unless told otherwise."""

    def __init__(self, github: StandIn, repository: Repository, session: ClientSession) -> None:
        self.github = github
        self.session = session
        self.token = github.installation_token(repository)
        self.root = f"/repos/{repository.full_name}"

    async def __call__(
        self, method: str, path: str, body: Any = None, *, token: str | None = None, **headers: str
    ) -> Reply:
        url = path if path.startswith("http") else self.github.url + path.replace("~", self.root)
        return await self.send(method, url, body, token, headers)

    async def send(self, method: str, url: str, body: Any, token: str | None, headers: dict[str, str]) -> Reply:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if token != "":
            sent["Authorization"] = f"Bearer {token or self.token}"
        async with self.session.request(method, url, json=body, headers=sent, allow_redirects=False) as answer:
            plain = answer.content_type == "application/json"
            content = (await answer.json() if plain else await answer.read()) if answer.status != 304 else None
            return Reply(answer.status, content, answer.headers.copy())

    async def graphql(self, query: str, token: str | None = None, **variables: Any) -> Any:
        body = {"query": query, "variables": variables}
        return (await self.send("POST", self.github.graphql_url, body, token, {})).body


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path / "trainer")
    folder.commit("Start", train_py=numbered(60), data_py=numbered(5))
    folder.git("checkout", "--quiet", "-b", "faster")
    folder.commit("Train faster", train_py=numbered(60, l20="twenty", l50="fifty"), new_py="first\nsecond\n")
    return folder


@pytest.fixture
async def github(clock: Clock) -> AsyncIterator[StandIn]:
    async with StandIn(clock=clock) as standin:
        yield standin


@pytest.fixture
def repository(github: StandIn, folder: Folder) -> Repository:
    return github.add_repository(folder.path)


@pytest.fixture
def pull(github: StandIn, repository: Repository) -> PullRequest:
    return github.open_pull(repository, base="main", head="faster")


@pytest.fixture
async def call(github: StandIn, repository: Repository) -> AsyncIterator[Client]:
    async with ClientSession() as session:
        yield Client(github, repository, session)
