"""What the bot suggests on the sample, applied as GitHub applies it, makes the findings go away."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from bot.demo.command import bot, open_pull, reviewed
from bot.demo.markup import FENCE
from bot.demo.shown import Shown, file_lines
from bot.standin import ReviewComment, StandIn
from engine.check import check
from engine.project import Project


def applied(text: list[str], comments: list[ReviewComment]) -> str:
    """Each suggestion block replaces exactly the lines of its comment; from the bottom, so that numbers hold."""
    for comment in sorted(comments, key=lambda entry: -(entry.line or 0)):
        block = FENCE.search(comment.body)
        if block is not None and comment.line is not None:
            new = block["text"].removesuffix("\n").split("\n") if block["text"] else []
            text[(comment.start_line or comment.line) - 1 : comment.line] = new
    return "\n".join(text)


async def test_suggestions_repair_what_they_stand_under(tmp_path: Path) -> None:
    options = Namespace(repo=None, base=None, head=None)
    async with StandIn() as github:
        pull = open_pull(github, options, tmp_path)
        async with bot(github, tmp_path):
            await github.deliver("pull_request", "opened", pull=pull)
            assert await reviewed(github, pull)
        assert github.checks[-1].conclusion == "neutral", github.checks[-1].text
        shown = Shown(github, pull)
        git = pull.repository.git
        files = {
            entry.path: "\n".join(file_lines(pull, pull.head_sha, entry.path))
            for entry in git.tree(git.commit(pull.head_sha).tree_sha)
            if entry.path.endswith(".py")
        }
        before = {finding.name for finding in check(Project.from_mapping(files)).findings}
        suggested = [thread.top for thread in shown.threads if FENCE.search(thread.top.body)]
        assert suggested
        for path in {comment.path for comment in suggested}:
            files[path] = applied(files[path].split("\n"), [entry for entry in suggested if entry.path == path])
        after = {finding.name for finding in check(Project.from_mapping(files)).findings}
        assert "retained-graph" in before and "retained-graph" not in after
        assert len(after) <= len(before) - len({comment.body.partition("\n")[0] for comment in suggested})
