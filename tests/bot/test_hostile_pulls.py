"""Pull requests that try to break the bot: huge, crowded, rewritten while they are read, or named to do harm."""

from __future__ import annotations

import json
import re

import pytest

from bot import messages
from bot.review.analysis import Limits, ProcessAnalyst
from tests.bot.conftest import BUGGY, Bench
from tests.bot.rendered import escapes
from tests.bot.scripts import BUG, CLEAN

LIMITS = Limits(seconds=120, memory_bytes=4 * 2**30)

HOSTILE_NAMES = [
    "a`@octocat`b.py",
    "<img src=x onerror=alert(1)>.py",
    "[x](www.evil.example) ![y](z) @octocat #1.py",
    "x\n\n# heading\n\n```.py",
    "| a | b.py",
    "<!-- preflight:summary -->.py",
    "\u202eyp.niart.py",
    "--output=x.py",
]
QUOTED = """
checkpoint = torch.load("@octocat <img src=x> ``` https://evil.example.pt")
history = {"@octocat | <b>": []}
for step in range(100):
    history["@octocat | <b>"].append(model(torch.randn(8, 4, device="cuda")).pow(2).mean())  # ``` @octocat <b>
"""


def use_the_engine(bench: Bench) -> None:
    """Let the pipeline analyse in a process of its own, as it does in production."""
    bench.pipeline.analyst = ProcessAnalyst(LIMITS)


@pytest.mark.parametrize("name", ["generated.py", "data.py"])
async def test_a_file_of_five_megabytes_is_named_and_the_rest_reviewed(bench: Bench, name: str) -> None:
    line = "x = [" + "1, " * 300 + "]\n" if name == "data.py" else "import torch\nloss.backward()\n"
    bench.folder.commit({"train.py": CLEAN})
    pull = bench.open({"train.py": BUG, name: line * (5_000_000 // len(line) + 1)})
    use_the_engine(bench)

    await bench.review(pull)

    (check,) = bench.github.checks
    assert check.conclusion == "neutral"
    assert f"`{name}`" in (check.text or "")
    assert {annotation["path"] for annotation in check.annotations} == {"train.py"}


async def test_of_more_than_three_thousand_files_those_that_github_lists_are_reviewed(bench: Bench) -> None:
    files: dict[str, str | bytes | None] = {f"part{n // 100}/module{n}.py": f"x = {n}\n" for n in range(3_000)}
    pull = bench.open({**files, "part7/train.py": BUGGY})

    await bench.review(pull)

    (check,) = bench.github.checks
    assert check.conclusion == "failure"
    assert re.search("3,?000", check.text or "")
    assert [comment.path for comment in bench.github.review_comments] == ["part7/train.py"]
    assert sum(call.counted for call in bench.github.log) < 150


async def test_a_history_rewritten_during_the_review_leaves_no_word_on_the_old_one(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY, "old.py": BUGGY})
    old = pull.head_sha

    def rewrite() -> None:
        bench.analyst.before_answer = None
        bench.folder.git("checkout", "--quiet", "-B", "feature", "main")
        bench.push(pull, {"new.py": BUGGY})
        # The old commits are gone from the repository altogether.
        bench.folder.git("reflog", "expire", "--expire=now", "--all")
        bench.folder.git("gc", "--quiet", "--prune=now")

    bench.analyst.before_answer = rewrite
    await bench.review(pull)

    assert [comment.path for comment in bench.github.review_comments] == ["new.py"]
    stale, current = bench.github.checks
    assert (stale.head_sha, stale.conclusion, stale.title) == (old, "neutral", messages.SUPERSEDED_TITLE)
    assert (current.head_sha, current.conclusion) == (pull.head_sha, "failure")


async def test_names_and_texts_of_a_repository_stay_text_wherever_they_are_shown(bench: Bench) -> None:
    bench.folder.commit({"train.py": CLEAN})
    cell = {"cell_type": "code", "source": (CLEAN + QUOTED).splitlines(keepends=True)}
    notebook = json.dumps({"cells": [cell]}, indent=1)
    files: dict[str, str | bytes | None] = dict.fromkeys(HOSTILE_NAMES, BUG + QUOTED)
    files |= {f"{name[:-3]}.ipynb": notebook for name in HOSTILE_NAMES}
    pull = bench.open(files | {f"broken {name}": "def f(:\n" for name in HOSTILE_NAMES})
    use_the_engine(bench)

    await bench.review(pull)

    (check,) = bench.github.checks
    assert check.conclusion == "neutral"
    assert {annotation["path"] for annotation in check.annotations} >= set(HOSTILE_NAMES)
    comments = [comment.body for comment in bench.github.comments]
    comments += [comment.body for comment in bench.github.review_comments]
    said = [check.summary or "", check.text or "", *comments, *(review.body for review in bench.github.reviews)]
    assert len([text for text in said if "octocat" in text]) >= 3
    for text in said:
        assert not escapes(text)
    for annotation in check.annotations:
        assert "\u202e" not in annotation["message"] + annotation["title"]
