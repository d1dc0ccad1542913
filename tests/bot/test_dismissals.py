"""What people dismissed: remembered, not said again, and gone with the installation."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.github.identity import RepositoryKey
from bot.jobs.intents import IgnoreIntent, ThreadIntent
from bot.standin import PullRequest
from bot.storage.database import create_engine
from bot.storage.remembered import Dismissal, Remembered
from tests.bot.conftest import BUGGY, START, TRAIN, Bench, FakeClock

KEY = RepositoryKey(installation_id=1, repository_id=5, owner="acme", name="trainer")
OTHER = RepositoryKey(installation_id=2, repository_id=6, owner="elsewhere", name="trainer")


def dismissal(subject: str, means: str = "command", reason: str = "") -> Dismissal:
    return Dismissal.model_validate({"subject": subject, "means": means, "login": "ada", "reason": reason})


@pytest.fixture
def remembered(tmp_path: Path) -> Remembered:
    return Remembered(create_engine(f"sqlite:///{tmp_path / 'kept.sqlite3'}"), FakeClock())


async def test_a_dismissal_is_of_one_pull_request_and_can_be_taken_back(remembered: Remembered) -> None:
    await remembered.dismiss(KEY, 1, [dismissal("a"), dismissal("PF101", reason="x" * 1000)])

    assert [each.subject for each in await remembered.dismissed(KEY, 1)] == ["PF101", "a"]
    assert await remembered.dismissed(KEY, 2) == ()
    assert await remembered.dismissed(OTHER, 1) == ()
    assert await remembered.restore(KEY, 1, ["a", "b"]) == 1
    assert await remembered.restore(KEY, 1, None) == 1


async def test_a_resolved_thread_does_not_weaken_what_a_command_said(remembered: Remembered) -> None:
    await remembered.dismiss(KEY, 1, [dismissal("a", "thread")])
    await remembered.dismiss(KEY, 1, [dismissal("a", "button")])
    await remembered.dismiss(KEY, 1, [dismissal("a", "thread")])

    assert [each.means for each in await remembered.dismissed(KEY, 1)] == ["button"]
    assert await remembered.restore(KEY, 1, ["a"], "thread") == 0, "opening a thread again takes back only that"


async def test_a_deleted_installation_leaves_nothing(remembered: Remembered) -> None:
    for key in (KEY, OTHER):
        await remembered.dismiss(key, 1, [dismissal("a")])
        await remembered.pause(key, 1, "ada")

    await remembered.forget(1)
    assert await remembered.dismissed(KEY, 1) == ()
    assert await remembered.paused_by(KEY, 1) is None
    assert await remembered.paused_by(OTHER, 1) == "ada"

    await remembered.forget(2, [7])
    assert await remembered.paused_by(OTHER, 1) == "ada"
    await remembered.forget_older(START + 1)
    assert await remembered.dismissed(OTHER, 1) == ()


async def resolve(bench: Bench, pull: PullRequest, *, resolved: bool = True) -> None:
    comment = bench.github.review_comments[0]
    thread = ThreadIntent(
        repository=bench.key(), number=pull.number, comment_id=comment.id, login="ada", resolved=resolved
    )
    await bench.handler.handle("thread", thread, bench.steps)


async def test_a_finding_whose_thread_was_resolved_is_not_said_again_when_it_comes_back(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    await bench.review(pull)
    await resolve(bench, pull)
    bench.push(pull, {"train.py": TRAIN + "print(losses)\n"})
    await bench.review(pull)

    bench.push(pull, {"train.py": BUGGY + "print(losses)\n"})
    await bench.review(pull)

    assert len(bench.github.review_comments) == 1
    assert bench.github.checks[-1].conclusion == "failure", "to resolve a thread takes no write access"
    assert "its thread was resolved by `ada`" in (bench.github.checks[-1].summary or "")


async def test_a_thread_that_is_opened_again_counts_again(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    await bench.review(pull)
    await resolve(bench, pull)
    await resolve(bench, pull, resolved=False)

    assert await bench.pipeline.remembered.dismissed(bench.key(), pull.number) == ()


async def press_ignore(bench: Bench, pull: PullRequest, head_sha: str) -> str:
    pressed = IgnoreIntent(repository=bench.key(), number=pull.number, head_sha=head_sha, login="ada")
    outcome = await bench.handler.handle("button", pressed, bench.steps)
    for job_id, order in bench.accepted:
        await bench.handler.handle(job_id, order, bench.steps)
    return outcome


async def test_the_button_ignores_the_findings_of_its_commit(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    await bench.review(pull)
    (check,) = bench.github.checks
    assert [action["identifier"] for action in check.actions] == ["rerun", "ignore-findings"]
    bench.github.set_permission(bench.repository, "ada", "write")

    await press_ignore(bench, pull, pull.head_sha)

    check = bench.github.checks[-1]
    assert (check.conclusion, check.annotations) == ("success", [])
    assert [action["identifier"] for action in check.actions] == ["rerun"]
    bench.push(pull, {"train.py": BUGGY, "new.py": BUGGY})
    await bench.review(pull)
    assert [each["path"] for each in bench.github.checks[-1].annotations] == ["new.py"]


async def test_the_button_does_nothing_without_access_or_for_an_older_commit(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    old = pull.head_sha
    bench.github.set_permission(bench.repository, "ada", "read")
    assert await press_ignore(bench, pull, old) == "nothing to ignore"

    bench.github.set_permission(bench.repository, "ada", "write")
    bench.push(pull, {"train.py": BUGGY + "print(losses)\n"})
    assert await press_ignore(bench, pull, old) == "nothing to ignore"


async def test_the_configuration_takes_the_button_away(bench: Bench) -> None:
    bench.folder.commit({".github/preflight.yml": "ignore-button: false\n"})
    pull = bench.open({"train.py": BUGGY})
    await bench.review(pull)

    assert [action["identifier"] for action in bench.github.checks[0].actions] == ["rerun"]
    bench.github.set_permission(bench.repository, "ada", "write")
    assert await press_ignore(bench, pull, pull.head_sha) == "nothing to ignore"


async def test_beyond_the_cap_of_comments_the_next_push_says_what_is_left(bench: Bench) -> None:
    bench.folder.commit({".github/preflight.yml": "max-comments: 2\n"})
    files: dict[str, str | bytes | None] = {f"train_{number}.py": BUGGY for number in range(3)}
    pull = bench.open(files)
    await bench.review(pull)
    bench.push(pull, {"train_0.py": "# A remark\n" + BUGGY})
    await bench.review(pull)

    assert [len(review.comments) for review in bench.github.reviews] == [2, 1]
