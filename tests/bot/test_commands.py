"""Slash commands: found, allowed, answered once."""

from __future__ import annotations

import pytest

from bot.commands.estimate import gpus_named
from bot.commands.parsing import Command, find_command
from bot.intents import CommandIntent, MergeGroupIntent, RerunIntent, ReviewIntent
from bot.standin import Comment, PullRequest
from hardware_catalog import UnknownGPU
from tests.bot.conftest import BUGGY, TRAIN, Bench


@pytest.mark.parametrize(
    ("body", "command"),
    [
        ("/preflight", Command("help")),
        ("/preflight help", Command("help")),
        ("/preflight  Estimate   rtx 4090  ", Command("estimate", ("rtx", "4090"))),
        ("Thanks!\r\n/preflight review\r\n", Command("review")),
        ("```\nexample\n```\n/preflight review", Command("review")),
        ("`/preflight review`", None),
        ("please /preflight review", None),
        ("> /preflight review", None),
        ("  /preflight review", None),
        ("/preflighting review", None),
        ("```\n/preflight review\n```", None),
        ("````\n```\n/preflight review\n```\n````", None),
        ("~~~sh\n/preflight review", None),
        ("<!-- \n/preflight review\n-->", None),
        ("", None),
    ],
)
def test_where_a_command_stands(body: str, command: Command | None) -> None:
    assert find_command(body) == command


def test_a_gpu_may_have_spaces_in_its_name() -> None:
    assert [request.gpu.id for request in gpus_named(("rtx", "4090"))] == ["rtx-4090"]
    assert [request.count for request in gpus_named(("a100,", "8xh100"))] == [1, 8]
    assert gpus_named(()) == ()
    with pytest.raises(UnknownGPU):
        gpus_named(("a100", "toaster"))


def intent(bench: Bench, pull: PullRequest, comment: Comment, line: str, **fields: object) -> CommandIntent:
    command = find_command(line)
    assert command is not None
    given = {"login": comment.author, "is_author": False, **fields}
    return CommandIntent(
        repository=bench.key(),
        number=pull.number,
        comment_id=comment.id,
        command=command.name,
        arguments=command.arguments,
        **given,
    )


async def said(bench: Bench, line: str, *, permission: str = "write", **fields: object) -> list[str]:
    pull = bench.open({"train.py": BUGGY})
    bench.github.set_permission(bench.repository, "ada", permission)
    comment = bench.github.add_comment(pull, "ada", line)
    await bench.handler.handle("job", intent(bench, pull, comment, line, **fields), bench.steps)
    # After a crash the job runs again.
    await bench.handler.handle("job", intent(bench, pull, comment, line, **fields), bench.steps)
    return [each.body for each in bench.github.comments if each.is_bot and "preflight:answer" in each.body]


async def test_help_is_answered_once_with_a_reaction(bench: Bench) -> None:
    (answer,) = await said(bench, "/preflight help")

    assert "/preflight estimate a100" in answer
    assert find_command(answer) is None, "an answer must not be a command itself"
    assert [reaction.content for reaction in bench.github.reactions] == ["eyes"]


async def test_a_reply_to_a_review_comment_is_answered_in_the_conversation(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    await bench.review(pull)
    reply = bench.github.add_reply(bench.github.review_comments[0], "octocat", "/preflight help")

    asked = CommandIntent(
        repository=bench.key(),
        number=pull.number,
        comment_id=reply.id,
        in_thread=True,
        login="octocat",
        is_author=True,
        command="help",
    )
    await bench.handler.handle("job", asked, bench.steps)

    (reaction,) = bench.github.reactions
    assert (reaction.kind, reaction.subject, reaction.content) == ("review", reply.id, "eyes")
    assert "/preflight estimate a100" in bench.github.comments[-1].body


async def test_people_without_write_access_are_not_answered(bench: Bench) -> None:
    assert await said(bench, "/preflight review", permission="read") == []
    assert not bench.github.checks


async def test_the_author_may_use_commands_on_their_own_pull_request(bench: Bench) -> None:
    assert len(await said(bench, "/preflight help", permission="read", is_author=True)) == 1


async def test_unknown_commands_get_the_table(bench: Bench) -> None:
    (answer,) = await said(bench, "/preflight `dance`")
    assert "`` `dance` ``" in answer
    assert "/preflight review" in answer


async def test_review_reviews_again(bench: Bench) -> None:
    pull = bench.open({"train.py": TRAIN + "print(losses)\n"})
    await bench.review(pull)
    comment = bench.github.add_comment(pull, "octocat", "/preflight review")

    await bench.handler.handle("job", intent(bench, pull, comment, "/preflight review", is_author=True), bench.steps)

    assert len(bench.github.checks) == 2
    assert pull.head_sha[:7] in bench.github.comments[-1].body


async def test_estimate_hands_the_gpu_to_the_analysis_and_owns_up_to_not_knowing(bench: Bench) -> None:
    (answer,) = await said(bench, "/preflight estimate a100")

    ((gpus, overrides),) = bench.analyst.estimated[:1]
    assert len(gpus) == 1
    assert gpus[0].startswith("a100")
    assert overrides == {}
    assert "not known" in answer


async def test_estimate_names_a_gpu_that_does_not_exist(bench: Bench) -> None:
    (answer,) = await said(bench, "/preflight estimate toaster")
    assert "`toaster` is no GPU" in answer


async def test_rerun_of_a_commit_finds_its_pull_requests(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    rerun = RerunIntent(repository=bench.key(), head_sha=pull.head_sha)

    await bench.handler.handle("guid", rerun, bench.steps)

    ((job_id, review),) = bench.accepted
    assert isinstance(review, ReviewIntent)
    assert (job_id, review.number, review.force) == (f"guid:{pull.number}", pull.number, True)


async def test_a_merge_group_passes_once(bench: Bench) -> None:
    head = bench.folder.commit({"train.py": TRAIN}, "queue")
    group = MergeGroupIntent(repository=bench.key(), head_sha=head)

    await bench.handler.handle("guid", group, bench.steps)
    await bench.handler.handle("guid", group, bench.steps)

    assert [(check.head_sha, check.conclusion) for check in bench.github.checks] == [(head, "success")]
