"""Slash commands: found, allowed, answered once."""

from __future__ import annotations

import pytest

from bot.commands import answers
from bot.commands.answers import Candidate
from bot.commands.asked import Misunderstood, gpus_named
from bot.commands.parsing import Command, find_command
from bot.jobs.intents import CommandIntent, MergeGroupIntent, RerunIntent, ReviewIntent
from bot.standin import Comment, PullRequest
from engine.findings import Breakdown, ByteRange, EstimateReport, Memory, Saving, Setting, Target
from engine.rules import registry
from hardware_catalog import GIB
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
    with pytest.raises(Misunderstood, match="`toaster` is no GPU"):
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


async def ask(bench: Bench, pull: PullRequest, line: str, *, permission: str = "write", **fields: object) -> Comment:
    bench.github.set_permission(bench.repository, "ada", permission)
    comment = bench.github.add_comment(pull, "ada", line)
    await bench.handler.handle(f"job-{comment.id}", intent(bench, pull, comment, line, **fields), bench.steps)
    return comment


async def carry_out_orders(bench: Bench) -> int:
    """Do what the commands stored as jobs of their own, and return how many that were."""
    orders = list(bench.accepted)
    bench.accepted.clear()
    for job_id, order in orders:
        await bench.handler.handle(job_id, order, bench.steps)
    return len(orders)


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

    assert "/preflight estimate [GPU ...]" in answer
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
    assert "/preflight estimate [GPU ...]" in bench.github.comments[-1].body


async def test_people_without_write_access_are_not_answered(bench: Bench) -> None:
    assert await said(bench, "/preflight review", permission="read") == []
    assert not bench.github.checks


async def test_the_author_may_use_commands_on_their_own_pull_request(bench: Bench) -> None:
    assert len(await said(bench, "/preflight help", permission="read", is_author=True)) == 1


async def test_unknown_commands_get_the_closest_one_and_the_table(bench: Bench) -> None:
    (answer,) = await said(bench, "/preflight `dance`")
    assert "`` `dance` ``" in answer
    assert "Did you mean" not in answer
    assert "/preflight check" in answer

    pull = bench.github.pulls[-1]
    await ask(bench, pull, "/preflight estimat a100")
    assert "Did you mean `estimate`?" in bench.github.comments[-1].body


async def test_an_edited_command_edits_its_answer(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    comment = await ask(bench, pull, "/preflight gpus t4")
    bench.github.edit_comment(comment, "/preflight gpus v100")

    await bench.handler.handle("edit", intent(bench, pull, comment, "/preflight gpus v100"), bench.steps)

    (answer,) = [each for each in bench.github.comments if each.is_bot]
    assert "v100" in answer.body
    assert len(answer.edits) == 1


async def test_check_orders_a_review_and_answers_at_once(bench: Bench) -> None:
    pull = bench.open({"train.py": TRAIN + "print(losses)\n"})
    await bench.review(pull)

    await ask(bench, pull, "/preflight check")

    assert pull.head_sha[:7] in bench.github.comments[-1].body
    assert await carry_out_orders(bench) == 1
    assert len(bench.github.checks) == 2


async def test_explain_shows_the_page_of_a_rule(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    await ask(bench, pull, "/preflight explain pf101")
    answer = bench.github.comments[-1].body
    assert "#### What it finds\n\n" + registry()[0].page.split("## What it finds")[1].split("##")[0].strip() in answer

    await ask(bench, pull, "/preflight explain retaned-graph")
    assert "`retained-graph`" in bench.github.comments[-1].body


async def test_config_shows_what_is_in_force_and_where_it_stands(bench: Bench) -> None:
    bench.folder.commit({".github/preflight.yml": "gpus: [t4]\nmax-coments: 3\nmemory: false\n"})
    pull = bench.open({"train.py": BUGGY})

    await ask(bench, pull, "/preflight config")

    answer = bench.github.comments[-1].body
    assert "| `memory` | `false` | `.github/preflight.yml:3` |" in answer
    assert "| `gpus` | `t4` | `.github/preflight.yml:1` |" in answer
    assert ".github/preflight.yml:2" in answer, "what was not taken is named"
    assert "| `review_drafts` | `false` |" in answer


async def test_a_rule_that_is_ignored_is_not_said_again_and_counts_for_nothing(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    await bench.review(pull)

    await ask(bench, pull, "/preflight ignore retained-graph five losses a run")
    assert await carry_out_orders(bench) == 1

    check = bench.github.checks[-1]
    assert (check.conclusion, check.annotations) == ("success", [])
    summary = bench.github.comments[0].body
    assert "1 finding dismissed" in summary
    assert "five losses a run" in summary
    assert [comment.minimized for comment in bench.github.review_comments] == ["outdated"]

    await ask(bench, pull, "/preflight unignore PF101")
    assert await carry_out_orders(bench) == 1
    assert len(bench.github.checks[-1].annotations) == 1


async def test_ignore_in_a_thread_means_its_finding(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY, "other.py": BUGGY})
    await bench.review(pull)
    first = bench.github.review_comments[0]

    reply = bench.github.add_reply(first, "ada", "/preflight ignore on purpose")
    bench.github.set_permission(bench.repository, "ada", "write")
    asked = CommandIntent(
        repository=bench.key(),
        number=pull.number,
        comment_id=reply.id,
        in_thread=True,
        reply_to=first.id,
        login="ada",
        is_author=False,
        command="ignore",
        arguments=("on", "purpose"),
    )
    await bench.handler.handle("guid", asked, bench.steps)
    await carry_out_orders(bench)

    (left,) = bench.github.checks[-1].annotations
    assert left["path"] != first.path


async def test_what_changes_the_verdict_takes_write_access(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    for line in ("ignore PF101", "unignore", "pause", "resume"):
        await ask(bench, pull, f"/preflight {line}", permission="read", is_author=True)

    assert not bench.accepted
    assert not [each for each in bench.github.comments if each.is_bot]
    assert {reaction.content for reaction in bench.github.reactions} == {"confused"}


async def test_a_paused_pull_request_is_not_reviewed_and_its_check_says_so(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    await ask(bench, pull, "/preflight pause")
    await bench.review(pull)

    (check,) = bench.github.checks
    assert (check.conclusion, (check.title or "").partition(":")[0]) == ("neutral", "Paused")
    assert not bench.github.reviews

    await ask(bench, pull, "/preflight resume")
    await carry_out_orders(bench)
    assert len(bench.github.reviews) == 1


async def test_gpus_lists_what_has_the_words(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    await ask(bench, pull, "/preflight gpus h100 pcie")
    answer = bench.github.comments[-1].body
    assert "h100-pcie-80gb" in answer
    assert "a100" not in answer


async def test_estimate_takes_settings_and_names_those_that_do_not_exist(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    await ask(bench, pull, "/preflight estimate 8xh100 batch-size=8 precision=amp-bf16")
    assert bench.analyst.estimated[-1][1] == {"world_size": "8", "batch_size": "8", "precision": "amp-bf16"}

    await ask(bench, pull, "/preflight estimate batchsize=8")
    assert bench.github.comments[-1].body.endswith("Did you mean `batch_size`?")


async def test_estimate_takes_the_script_and_cloud_instances_by_name(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY, "tools/finetune.py": BUGGY})
    await ask(bench, pull, "/preflight estimate tools/finetune.py p4d.24xlarge")
    gpus, overrides = bench.analyst.estimated[-1]
    assert (gpus, overrides) == (("a100-sxm4-40gb",), {"world_size": "8"})
    assert bench.analyst.asked_of[-1].named_scripts == ("tools/finetune.py",)

    await ask(bench, pull, "/preflight estimate tools/gone.py")
    assert "`tools/gone.py` is no file" in bench.github.comments[-1].body


async def test_compare_estimates_once_for_each_number_of_devices(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    await ask(bench, pull, "/preflight compare t4 a100 8xh100")

    assert [len(gpus) for gpus, _ in bench.analyst.estimated] == [2, 1]
    assert [overrides for _, overrides in bench.analyst.estimated] == [{}, {"world_size": "8"}]
    assert "8x h100" in bench.github.comments[-1].body


def test_an_estimate_names_the_settings_that_were_followed() -> None:
    size = ByteRange(low=GIB, expected=GIB, high=GIB)
    report = EstimateReport(
        configuration={"batch_size": Setting(value=8, path="--set"), "precision": Setting(value="fp32")},
        memory=Memory(allocated=size, reserved=size, occupied=size, breakdown=Breakdown()),
    )

    answer = answers.estimate(report, "train.py", {"batch_size": "8", "precision": "pure-bf16"})

    assert "`batch_size=8`" in answer
    assert "pure-bf16" not in answer


def test_a_comparison_says_what_a_fit_needs() -> None:
    size = ByteRange(low=30 * GIB, expected=32 * GIB, high=34 * GIB)
    report = EstimateReport(
        memory=Memory(allocated=size, reserved=size, occupied=size, breakdown=Breakdown()),
        targets=(
            Target(gpu="small", usable_bytes=24 * GIB, verdict="does-not-fit"),
            Target(gpu="large", usable_bytes=80 * GIB, verdict="fits", usd_per_hour=1.5, instance="cloud/large"),
        ),
        savings=(
            Saving(
                change="checkpointing",
                saves_bytes=12 * GIB,
                occupied_bytes=20 * GIB,
                cost="a third more compute",
                verdict={"small": "fits", "large": "fits"},
            ),
        ),
    )
    text = answers.comparison(
        [Candidate("small", 1, 24 * GIB, report), Candidate("large", 1, 80 * GIB, report)], "train.py"
    )
    small, large = text.splitlines()[-2:]
    assert "does not fit" in small
    assert "-8.0 GiB (-33 %)" in small
    assert "checkpointing (saves 12.0 GiB; cost: a third more compute)" in small
    assert "48.0 GiB (60 %)" in large
    assert "\\$1.50" in large
    assert large.rstrip("| ").endswith("none")


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
