"""Stored reports over a repository at the stand-in, their pages, and people who sign in to see them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer, unused_port
from pydantic import SecretStr

from bot.reports.access import Access
from bot.reports.document import ReportKey
from bot.reports.explorer import Explorer
from bot.reports.keeping import ReportKeeper
from bot.reports.pages import ReportPages
from bot.reports.sign_in import OAuthApp, SignIn
from bot.reports.sources import Sources
from bot.reports.store import ReportStore
from bot.review.analysis import Analysis
from bot.review.exchange import Details
from bot.review.measured import Evidence as Measured
from bot.review.stages import Loaded
from bot.storage.database import create_engine
from engine.explored import Change, Curve, CurveSample, Exploration
from engine.findings import (
    Breakdown,
    ByteRange,
    Edit,
    EstimateReport,
    Evidence,
    Finding,
    Fix,
    Memory,
    MemoryChange,
    ReviewReport,
    Saving,
    Setting,
    Target,
)
from tests.bot.conftest import MARK, Bench

GIB = 1 << 30
SCRIPT = "</td><script>alert(1)</script>"
"""In a pull request's title, its code and its names: it must never be more than text."""
CODE = f"""import torch

model = torch.nn.Linear(4, 4)
losses = []
for batch in range(10):
    loss = model(torch.randn(2, 4)).sum()  # {SCRIPT}
    loss.backward()
    {MARK}
"""


def ranged(expected: float) -> ByteRange:
    return ByteRange(low=int(0.9 * expected * GIB), expected=int(expected * GIB), high=int(1.1 * expected * GIB))


def target(verdict: Any) -> Target:
    return Target(gpu="rtx-4090", usable_bytes=23 * GIB, verdict=verdict)


def exploration(*chosen: str) -> Exploration:
    expected = 30.0 - 12 * len(chosen)
    samples = [CurveSample(index=n, label="", reserved=n * GIB, live=(GIB, n * GIB)) for n in range(30)]
    return Exploration(
        script="train.py",
        chosen=chosen,
        options=(
            Change(key="amp-bf16", change="mixed precision", cost="faster"),
            Change(key="half-batch", change="half the batch", cost="none"),
        ),
        occupied=ranged(expected),
        breakdown=Breakdown(activations=int(expected * GIB)),
        targets=(target("fits" if chosen else "does-not-fit"),),
        curve=Curve(categories=("parameters", "activations"), samples=tuple(samples), outside=GIB // 2),
    )


def finding(severity: Any = "error", **changed: Any) -> Finding:
    fields = {
        "rule": "PF101", "name": "retained-graph", "severity": severity, "path": "train.py", "line": 8, "column": 5,
        "end_line": 8, "end_column": 24, "message": f"The graph of every step stays alive: `losses` {SCRIPT}",
        "evidence": (Evidence(path="train.py", line=6, message="made here, with gradients recorded"),),
        "fix": Fix(
            description="Keep the value", safe=True,
            edits=(Edit(line=8, column=19, end_line=8, end_column=23, text="loss.detach()"),),
        ),
    }  # fmt: skip
    return Finding(**{**fields, **changed})


def report(*findings: Finding) -> ReviewReport:
    head = EstimateReport(
        task="train",
        configuration={"batch_size": Setting(value=256, path="train.py", line=5), "precision": Setting(value="fp32")},
        memory=Memory(
            allocated=ranged(28), reserved=ranged(29), occupied=ranged(30), breakdown=Breakdown(activations=30 * GIB)
        ),
        targets=(target("does-not-fit"),),
        savings=(Saving(change="mixed precision", saves_bytes=12 * GIB, occupied_bytes=18 * GIB, cost="faster"),),
    )
    base = head.model_copy(update={"configuration": {"batch_size": Setting(value=64)}})
    return ReviewReport(introduced=findings, memory=MemoryChange(script="train.py", base=base, head=head))


@dataclass
class FakeExplores:
    """Plays every script alike, and notes what it was asked."""

    asked: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    async def explore(self, files: Mapping[str, str | bytes], base: Exploration, chosen: Sequence[str]) -> Exploration:
        assert MARK in str(files[base.script])
        self.asked.append((base.script, tuple(chosen)))
        return exploration(*chosen)


@dataclass
class Library:
    """Reports, their pages, and the way in."""

    bench: Bench
    store: ReportStore
    keeper: ReportKeeper
    explores: FakeExplores
    server: TestServer
    sha: str
    key: ReportKey

    async def keep(
        self,
        made: ReviewReport | None = None,
        *,
        number: int = 1,
        sha: str | None = None,
        measured: Measured | None = None,
    ) -> str:
        """Store a report; returns the path of its page."""
        loaded = Loaded(
            owner="acme",
            name="trainer",
            number=number,
            head_sha=sha or self.sha,
            base_ref="main",
            title=SCRIPT,
            measured=measured,
        )
        details = Details(exploration=exploration(), suppressions={"sync-in-loop": 3})
        analysis = Analysis(made or report(finding()), details=details)
        address = await self.keeper.keep(self.bench.key(), loaded, analysis, "1 new finding", ())
        assert address is not None
        return urlsplit(address).path

    @asynccontextmanager
    async def visitor(self, login: str | None = None) -> AsyncIterator[aiohttp.ClientSession]:
        """A browser, in which `login` is signed in."""
        root = f"http://127.0.0.1:{self.server.port}"
        async with aiohttp.ClientSession(root, cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser:
            if login is not None:
                answer = await browser.get(await self.callback(browser, login), allow_redirects=False)
                assert answer.status == 303, await answer.text()
            yield browser

    async def callback(self, browser: aiohttp.ClientSession, login: str, path: str = "/") -> str:
        """Begin a sign-in, consent to it at GitHub, and return where GitHub sends the browser."""
        begun = await browser.get(path, allow_redirects=False)
        assert begun.status == 302
        async with aiohttp.ClientSession() as github:
            async with github.get(begun.headers["Location"]) as asked:
                page = await asked.text()
                assert asked.status == 200, page
            sent = {name: unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', page)}
            address = f"{self.bench.github.web_url}/login/oauth/authorize"
            async with github.post(address, data={**sent, "login": login}, allow_redirects=False) as consent:
                assert consent.status == 302, await consent.text()
                parts = urlsplit(consent.headers["Location"])
        return f"{parts.path}?{parts.query}"


@pytest.fixture
async def library(bench: Bench, tmp_path: Path) -> AsyncIterator[Library]:
    sha = bench.folder.commit({"train.py": CODE}, "feature")
    bench.repository.private = True
    bench.github.set_permission(bench.repository, "ada", "read")
    bench.github.people.add("mallory")
    application = web.Application()
    server = TestServer(application, port=unused_port())
    public_url = f"http://127.0.0.1:{server.port}"
    github = bench.github
    github.app.callback_urls = (f"{public_url}/login/callback",)
    store = ReportStore(create_engine(f"sqlite:///{tmp_path / 'reports.sqlite3'}"), retention_days=30)
    sources, explores = Sources(), FakeExplores()
    async with aiohttp.ClientSession() as session:
        oauth = OAuthApp(
            github.app.client_id, SecretStr(github.app.client_secret), github.web_url, github.url, public_url
        )
        pages = ReportPages(
            store=store,
            sign_in=SignIn(oauth, session, bench.clock),
            access=Access(bench.connection, bench.clock),
            sources=sources,
            explorer=Explorer(explores, store, sources, bench.clock),
            clock=bench.clock,
            web_url=github.web_url,
        )
        pages.add_to(application)
        await server.start_server()
        yield Library(
            bench, store, ReportKeeper(store, bench.clock, public_url), explores, server, sha,
            ReportKey(bench.repository.id, 1, sha),
        )  # fmt: skip
    await server.close()
