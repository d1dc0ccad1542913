"""The page shows what was said where it was said."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestClient, TestServer

from bot.demo import sample
from bot.demo.page import Page
from bot.demo.shown import Shown
from bot.standin import StandIn
from bot.standin.anchors import DiffLine, hunks_of

Browser = TestClient[web.Request, web.Application]
COMMENT = """`running` keeps the graph of every step.

```suggestion
        running += loss.detach()
```
<details><summary>How we know</summary>

train.py:34 makes `loss`
</details>"""


@pytest.fixture
async def shown(tmp_path: Path) -> AsyncIterator[Shown]:
    """A pull request of the sample with a check, a review, and a summary, as the bot would post them."""
    async with StandIn() as github, ClientSession() as session:
        repository = github.add_repository(sample.write(tmp_path), owner="greenhouse")
        pull = github.open_pull(repository, base=sample.BASE, head=sample.HEAD, title="<Larger> batches")
        target = next(
            hunk_line.new
            for file in pull.files()
            if file.path == "train.py"
            for hunk_line in _lines(file.patch)
            if hunk_line.mark == "+" and "running += loss" in hunk_line.text
        )
        token = github.installation_token(repository)
        root = f"{github.url}/repos/greenhouse/leaf-doctor"
        annotation = {"path": "train.py", "start_line": target, "end_line": target, "annotation_level": "failure"}
        output = {
            "title": "1 new finding",
            "summary": "One.",
            "annotations": [{**annotation, "message": "keeps <every> graph", "title": "PF101 retained-graph"}],
        }
        check = {"name": "Preflight", "head_sha": pull.head_sha, "conclusion": "failure", "output": output}
        comments = [{"path": "train.py", "line": target, "side": "RIGHT", "body": COMMENT}]
        review = {"event": "COMMENT", "body": "Preflight found 1 thing.", "comments": comments}
        bodies = {
            "check-runs": check,
            "pulls/1/reviews": review,
            "issues/1/comments": {"body": "| a |\n|-|\n| 12 GiB |"},
        }
        for path, body in bodies.items():
            headers = {"Authorization": f"Bearer {token}"}
            async with session.post(f"{root}/{path}", json=body, headers=headers) as answer:
                assert answer.status in (200, 201), await answer.text()
        yield Shown(github, pull)


def _lines(patch: str | None) -> list[DiffLine]:
    return [line for hunk in hunks_of(patch) for line in hunk.lines]


@pytest.fixture
async def page(shown: Shown) -> AsyncIterator[Browser]:
    async with TestClient(TestServer(Page(shown).application())) as client:
        yield client


async def text(page: Browser, path: str) -> str:
    answer = await page.get(path)
    assert answer.status == 200
    return await answer.text()


async def test_the_conversation_holds_review_suggestion_and_summary(page: Browser) -> None:
    html = await text(page, "/")
    assert "&lt;Larger&gt; batches" in html and "<Larger>" not in html
    assert "Suggested change" in html and "How we know" in html and "12 GiB" in html
    assert "Some checks were not successful" in html


async def test_the_checks_tab_shows_annotations_with_their_code(page: Browser) -> None:
    html = await text(page, "/checks")
    assert "PF101 retained-graph" in html and "keeps &lt;every&gt; graph" in html
    assert 'class="failure"' in html


async def test_the_files_tab_shows_comments_under_their_lines(page: Browser) -> None:
    html = await text(page, "/files")
    assert html.index("evaluation.py") < html.index("train.py")
    assert 'class="inline"' in html and "PF101 retained-graph" in html


async def test_the_page_loads_nothing_from_elsewhere(page: Browser) -> None:
    answer = await page.get("/")
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
    html = await answer.text()
    assert "src=" not in html and "<script" not in html
    assert ".code" in await text(page, "/style.css")


async def test_a_comment_reaches_the_conversation_only_from_the_page_itself(page: Browser, shown: Shown) -> None:
    foreign = await page.post("/comment", data={"body": "/preflight review"}, headers={"Origin": "http://example.org"})
    assert foreign.status == 403 and len(shown.comments) == 1
    own = await page.post("/comment", data={"body": "/preflight review"}, allow_redirects=False)
    assert own.status == 303
    assert shown.comments[-1].body == "/preflight review"
    assert shown.github.deliveries[-1].event == "issue_comment"
