"""A repository with a training script, the stand-in for GitHub over it, and the bot's parts wired to it."""

from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import aiohttp
import pytest
from pydantic import BaseModel, SecretStr

from bot.github.connection import GitHub
from bot.github.errors import InstallationGone, LimitedUntil, Unavailable
from bot.github.identity import RepositoryKey
from bot.github.models import ChangedFile
from bot.handler import JobHandler
from bot.jobs.intents import Intent, ReviewIntent
from bot.jobs.steps import StepFailed
from bot.review.analysis import Analysis, AnalysisBroken
from bot.review.configuration import Configurations
from bot.review.exchange import Estimate
from bot.review.pipeline import ReviewPipeline
from bot.review.reading import Sides
from bot.standin import PullRequest, Repository, StandIn
from bot.storage.database import create_engine
from bot.storage.remembered import Remembered
from engine.findings import Annotation, FailedFile, Finding, ReviewComment, ReviewReport
from engine.settings import Settings

Result = TypeVar("Result", bound=BaseModel)

START = 1_800_000_000.0

TRAIN = """import torch

model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
losses = []
for batch in range(10):
    loss = model(torch.randn(2, 4)).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
"""
MARK = "losses.append(loss)"
"""The line in which `FakeAnalyst` finds a bug."""
BUGGY = TRAIN.replace("losses.append(loss.item())", MARK)


class FakeClock:
    """Time that moves when somebody waits."""

    def __init__(self) -> None:
        self.time = START
        self.waits: list[float] = []

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += seconds


class Folder:
    """A git repository that a test writes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str) -> str:
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
        done = subprocess.run(["git", *who, *arguments], cwd=self.path, check=True, capture_output=True)
        return done.stdout.decode().strip()

    def commit(self, files: dict[str, str | bytes | None], branch: str = "main") -> str:
        """Commit files to a branch, which is begun from main where it does not exist; None deletes."""
        exists = branch in self.git("branch", "--list", branch, "--format=%(refname:short)")
        if self.git("rev-list", "--all", "--max-count=1"):
            self.git("checkout", "--quiet", *(() if exists else ("-b",)), branch, *(() if exists else ("main",)))
        for name, content in files.items():
            target = self.path / name
            if content is None:
                target.unlink()
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.encode() if isinstance(content, str) else content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "work")
        return self.git("rev-parse", "HEAD")


@dataclass
class FakeAnalyst:
    """Finds `MARK`, on any line that the head has and the base has not; and breaks on command."""

    failed: tuple[FailedFile, ...] = ()
    broken: str | None = None
    annotations_end_early: int = 0
    before_answer: Callable[[], None] | None = None
    calls: list[tuple[Sides, Settings]] = field(default_factory=list)
    asked_of: list[Settings] = field(default_factory=list)
    estimated: list[tuple[tuple[str, ...], dict[str, str]]] = field(default_factory=list)

    async def estimate(
        self,
        sides: Sides,
        changed: Sequence[ChangedFile],
        settings: Settings,
        gpus: Sequence[str],
        overrides: Mapping[str, str],
    ) -> Estimate:
        self.asked_of.append(settings)
        self.estimated.append((tuple(gpus), dict(overrides)))
        return Estimate()

    async def review(self, sides: Sides, changed: Sequence[ChangedFile], settings: Settings) -> Analysis:
        return Analysis(self._report(sides, settings))

    def _report(self, sides: Sides, settings: Settings) -> ReviewReport:
        self.calls.append((sides, settings))
        if self.before_answer is not None:
            self.before_answer()
        if self.broken is not None:
            raise AnalysisBroken(self.broken)
        before = {(path, finding.fingerprint) for path, finding in _marked(sides.base)}
        introduced = [finding for path, finding in _marked(sides.head) if (path, finding.fingerprint) not in before]
        return ReviewReport(
            introduced=tuple(introduced),
            summary_markdown=f"### Preflight\n\n{len(introduced)} new" if introduced else "",
            review_comments=tuple(
                ReviewComment(path=each.path, line=each.line, body=each.message, fingerprint=each.fingerprint)
                for each in introduced
            ),
            annotations=tuple(
                Annotation(
                    path=each.path,
                    start_line=each.line,
                    end_line=each.line - self.annotations_end_early,
                    annotation_level="failure",
                    title=each.name,
                    message=each.message,
                    fingerprint=each.fingerprint,
                )
                for each in introduced
            ),
            conclusion="failure" if introduced else "success",
            failed=self.failed,
        )


def _marked(files: dict[str, str | bytes]) -> list[tuple[str, Finding]]:
    found = []
    for path, content in sorted(files.items()):
        seen = 0
        for number, line in enumerate(str(content).splitlines(), start=1):
            if MARK in line:
                finding = Finding(
                    rule="PF101",
                    name="retained-graph",
                    severity="error",
                    path=path,
                    line=number,
                    column=1,
                    end_line=number,
                    end_column=1 + len(line),
                    message="The whole graph of every step stays alive.",
                    fingerprint=f"{path.replace('/', '.')}-{seen}",
                )
                seen += 1
                found.append((path, finding))
    return found


class PlainSteps:
    """Steps without a queue: waits move the clock, and what is refused for good fails."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.names: list[str] = []

    async def run(self, name: str, model: type[Result], work: Callable[[], Awaitable[Result]]) -> Result:
        self.names.append(name)
        for _ in range(4):
            try:
                # Through JSON, as the queue does it.
                return model.model_validate((await work()).model_dump(mode="json"))
            except LimitedUntil as limit:
                await self._clock.sleep(max(1.0, limit.epoch_seconds - self._clock.now()))
            except Unavailable:
                await self._clock.sleep(2.0)
            except InstallationGone:
                raise
            except Exception as error:
                raise StepFailed(name, f"{type(error).__name__}: {error}") from error
        raise StepFailed(name, "unavailable")


@dataclass
class Bench:
    """Everything that a test of the bot needs."""

    folder: Folder
    github: StandIn
    repository: Repository
    clock: FakeClock
    analyst: FakeAnalyst
    connection: GitHub
    pipeline: ReviewPipeline
    handler: JobHandler
    accepted: list[tuple[str, Intent]]
    steps: PlainSteps

    def key(self) -> RepositoryKey:
        owner, _, name = self.repository.full_name.partition("/")
        return RepositoryKey(
            installation_id=self.repository.installation_id, repository_id=self.repository.id, owner=owner, name=name
        )

    def open(
        self,
        files: dict[str, str | bytes | None],
        *,
        branch: str = "feature",
        draft: bool = False,
        author: str = "octocat",
    ) -> PullRequest:
        self.folder.commit(files, branch)
        return self.github.open_pull(self.repository, base="main", head=branch, author=author, draft=draft)

    def push(self, pull: PullRequest, files: dict[str, str | bytes | None], *, branch: str = "feature") -> str:
        sha = self.folder.commit(files, branch)
        self.github.push(pull, branch)
        return sha

    async def review(self, pull: PullRequest, *, force: bool = False, head_sha: str | None = None) -> str:
        intent = ReviewIntent(repository=self.key(), number=pull.number, reason="test", force=force, head_sha=head_sha)
        return await self.handler.handle("job", intent, self.steps)


@pytest.fixture
async def bench(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Bench]:
    """With the parameter `enterprise`, GitHub is a server of its own, with other addresses."""
    folder = Folder(tmp_path / "trainer")
    folder.commit({"train.py": TRAIN, "README.md": "A trainer.\n"})
    clock = FakeClock()
    enterprise = getattr(request, "param", "") == "enterprise"
    async with StandIn(clock=clock.now, enterprise=enterprise) as github, aiohttp.ClientSession() as session:
        repository = github.add_repository(folder.path, owner="acme", name="trainer")
        connection = GitHub(
            session,
            app_id=github.app.id,
            private_key=SecretStr(github.app.private_key),
            api_url=github.url,
            graphql_url=github.graphql_url,
            clock=clock,
        )
        analyst = FakeAnalyst()
        remembered = Remembered(create_engine(f"sqlite:///{tmp_path / 'remembered.sqlite3'}"), clock)
        pipeline = ReviewPipeline(connection, analyst, Configurations(clock), remembered, clock, check_name="Preflight")
        accepted: list[tuple[str, Intent]] = []

        async def accept(job_id: str, intent: Intent) -> None:
            accepted.append((job_id, intent))

        handler = JobHandler(connection, pipeline, accept)
        yield Bench(
            folder, github, repository, clock, analyst, connection, pipeline, handler, accepted, PlainSteps(clock)
        )
