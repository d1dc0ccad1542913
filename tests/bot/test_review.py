"""The review of a pull request, from its state on GitHub to what is published."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from bot import markers, messages
from bot.jobs.intents import ReviewIntent
from bot.jobs.steps import PutOff
from engine.findings import FailedFile
from tests.bot.conftest import BUGGY, MARK, START, TRAIN, Bench, PlainSteps, Result


async def test_a_bug_gets_a_check_a_comment_and_a_summary(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})

    await bench.review(pull)

    (check,) = bench.github.checks
    assert (check.name, check.status, check.conclusion) == ("Preflight", "completed", "failure")
    assert check.head_sha == pull.head_sha
    assert [annotation["start_line"] for annotation in check.annotations] == [11]
    (review,) = bench.github.reviews
    assert review.event == "COMMENT"
    (comment,) = bench.github.review_comments
    assert (comment.path, comment.line) == ("train.py", 11)
    (summary,) = bench.github.comments
    assert summary.body.startswith(markers.SUMMARY)


async def test_a_clean_pull_request_gets_a_green_check_and_no_word(bench: Bench) -> None:
    pull = bench.open({"train.py": TRAIN + "print(losses)\n"})

    await bench.review(pull)

    assert [check.conclusion for check in bench.github.checks] == ["success"]
    assert not bench.github.reviews
    assert not bench.github.comments


async def test_a_change_without_training_code_is_not_shown_as_reviewed(bench: Bench) -> None:
    pull = bench.open({"README.md": "Other words.\n"})

    await bench.review(pull)

    (check,) = bench.github.checks
    assert (check.conclusion, check.title) == ("neutral", messages.NOTHING_TITLE)
    assert not bench.analyst.calls


async def test_the_same_head_is_reviewed_once(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})

    await bench.review(pull)
    outcome = await bench.review(pull)

    assert outcome == "this head is reviewed"
    assert len(bench.github.checks) == len(bench.github.reviews) == len(bench.github.comments) == 1


async def test_a_finding_is_said_once_over_several_pushes(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    await bench.review(pull)

    bench.push(pull, {"train.py": "# A remark\n" + BUGGY})
    await bench.review(pull)

    assert len(bench.github.reviews) == 1
    assert len(bench.github.comments) == 1
    assert len(bench.github.comments[0].edits) == 1, "what was new is still open"


async def test_the_summary_tells_new_from_still_open_and_from_fixed(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY, "old.py": BUGGY})
    await bench.review(pull)
    for comment in bench.github.review_comments:
        comment.body = comment.body.replace("The whole", "**retained-graph** (PF101): The whole")

    bench.push(pull, {"old.py": TRAIN, "new.py": BUGGY})
    await bench.review(pull)

    (summary,) = bench.github.comments
    sections = dict(part.split("\n\n", 1) for part in summary.body.split("### ")[1:])
    assert "`new.py:11`" in sections["New since the last push"]
    assert "`train.py:11`" in sections["Still open"]
    assert "`old.py` ~~retained-graph (PF101)~~" in sections["Fixed since it was said"]
    edits = len(summary.edits)

    bench.push(pull, {"README.md": "Other words.\n"})
    await bench.review(pull)
    bench.push(pull, {"README.md": "Yet other words.\n"})
    await bench.review(pull)
    assert len(summary.edits) == edits + 1, "what was new is still open, and that is said once"


async def test_what_could_not_be_looked_at_is_no_success_and_stands_in_the_title(bench: Bench) -> None:
    pull = bench.open({"train.py": TRAIN + "print(losses)\n", "huge.py": "x = 1\n" * 200_000})

    await bench.review(pull)

    (check,) = bench.github.checks
    assert check.conclusion == "neutral"
    assert "1 changed file not read" in (check.title or "")
    assert "Not looked at: 1 changed file not read" in (check.summary or "")
    assert "`huge.py`" in (check.text or "")


async def test_submodules_binaries_and_files_without_a_patch_are_no_obstacle(bench: Bench) -> None:
    binary = b"\x00\xff" * 500
    module = bench.folder.git("rev-parse", "HEAD")
    bench.folder.commit({"train.py": BUGGY, "weights.bin": binary, "data.py": binary}, "feature")
    bench.folder.git("update-index", "--add", "--cacheinfo", f"160000,{module},vendor/library.py")
    bench.folder.git("commit", "--quiet", "--message", "a submodule")
    pull = bench.github.open_pull(bench.repository, base="main", head="feature")

    await bench.review(pull)

    (check,) = bench.github.checks
    assert [comment.path for comment in bench.github.review_comments] == ["train.py"]
    assert check.status == "completed"
    ((sides, _),) = bench.analyst.calls
    assert "vendor/library.py" not in sides.head


async def test_a_pull_request_in_conflict_is_compared_with_its_merge_base(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    bench.folder.commit({"train.py": "# rewritten\n" + TRAIN, "other.py": BUGGY})
    bench.github.retarget(pull, "main")

    await bench.review(pull)

    assert [comment.path for comment in bench.github.review_comments] == ["train.py"]
    ((sides, _),) = bench.analyst.calls
    assert sides.base["train.py"] == TRAIN


async def test_a_fixed_finding_is_folded_away_and_the_summary_edited_in_place(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    await bench.review(pull)

    bench.push(pull, {"train.py": TRAIN + "print(losses)\n"})
    await bench.review(pull)

    assert [comment.minimized for comment in bench.github.review_comments] == ["outdated"]
    assert len(bench.github.comments) == 1
    assert len(bench.github.comments[0].edits) == 1
    assert bench.github.checks[-1].conclusion == "success"


async def test_a_finding_that_comes_back_is_said_again(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    await bench.review(pull)
    bench.push(pull, {"train.py": TRAIN + "print(losses)\n"})
    await bench.review(pull)

    bench.push(pull, {"train.py": BUGGY + "print(losses)\n"})
    await bench.review(pull)

    assert [comment.minimized for comment in bench.github.review_comments] == ["outdated", None]


async def test_a_thread_that_a_person_answered_stays(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    await bench.review(pull)
    bench.github.add_reply(bench.github.review_comments[0], "octocat", "That is on purpose.")

    bench.push(pull, {"train.py": TRAIN + "print(losses)\n"})
    await bench.review(pull)

    assert all(comment.minimized is None for comment in bench.github.review_comments)


async def test_a_comment_that_somebody_deleted_is_not_written_again(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    await bench.review(pull)
    bench.github.review_comments.clear()

    bench.push(pull, {"train.py": "# A remark\n" + BUGGY})
    await bench.review(pull)

    assert len(bench.github.reviews) == 1


async def test_a_mark_in_somebody_elses_text_is_nothing(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    bench.github.add_comment(pull, "mallory", f"{markers.SUMMARY}\n{markers.said(['train.py-0'])}")

    await bench.review(pull)

    assert len(bench.github.reviews) == 1
    assert [comment.author for comment in bench.github.comments] == ["mallory", bench.github.app.bot_login]


async def test_an_overtaken_review_says_nothing_and_the_newer_head_is_reviewed(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})

    def push_meanwhile() -> None:
        bench.analyst.before_answer = None
        bench.push(pull, {"train.py": BUGGY + "print(losses)\n"})

    bench.analyst.before_answer = push_meanwhile
    await bench.review(pull)

    old, new = bench.github.checks
    assert (old.conclusion, old.title, old.annotations) == ("neutral", messages.SUPERSEDED_TITLE, [])
    assert (new.head_sha, new.conclusion) == (pull.head_sha, "failure")
    assert [review.commit_sha for review in bench.github.reviews] == [pull.head_sha]


async def test_a_read_that_still_shows_the_old_head_is_repeated(bench: Bench) -> None:
    pull = bench.open({"train.py": TRAIN + "print(losses)\n"})
    await bench.review(pull)
    head = bench.push(pull, {"train.py": BUGGY})
    bench.github.stale_reads(pull, 2)

    await bench.review(pull, head_sha=head)

    assert bench.github.checks[-1].head_sha == head
    assert len(bench.github.reviews) == 1


async def test_drafts_and_bots_get_the_check_alone(bench: Bench) -> None:
    draft = bench.open({"train.py": BUGGY}, draft=True)
    bots = bench.open({"train.py": BUGGY + "print(1)\n"}, branch="update", author="renovate[bot]")

    await bench.review(draft)
    await bench.review(bots)

    assert [check.conclusion for check in bench.github.checks] == ["failure", "failure"]
    assert all(len(check.annotations) == 1 for check in bench.github.checks)
    assert not bench.github.reviews
    assert not bench.github.comments


async def test_what_was_said_before_a_pull_request_became_a_draft_is_kept_true(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    await bench.review(pull)
    pull.draft = True

    bench.push(pull, {"train.py": TRAIN + "print(losses)\n", "other.py": BUGGY})
    await bench.review(pull)

    (comment,) = bench.github.review_comments
    assert comment.minimized == "outdated"
    (summary,) = bench.github.comments
    assert len(summary.edits) == 1

    pull.draft = False
    await bench.review(pull, force=True)
    assert [each.path for each in bench.github.review_comments] == ["train.py", "other.py"]
    assert len(bench.github.comments) == 1


async def test_more_than_fifty_annotations_go_in_batches(bench: Bench) -> None:
    lines = "\n".join(f"{MARK}  # {number}" for number in range(120))
    pull = bench.open({"many.py": f"losses = []\n{lines}\n"})

    await bench.review(pull)

    assert len(bench.github.checks[0].annotations) == 120
    assert len(bench.github.review_comments) == 25
    assert "95 more findings" in bench.github.reviews[0].body


async def test_a_finding_outside_the_diff_is_an_annotation_only(bench: Bench) -> None:
    far = "\n".join(f"value_{number} = {number}" for number in range(100))
    bench.folder.commit({"train.py": f"x = 1\n{far}\nlosses.append(y)\n"})
    pull = bench.open({"train.py": f"x = 2\n{far}\nlosses.append(y)\n", "other.py": BUGGY})
    bench.analyst.failed = (FailedFile(path="broken.py", reason="does not parse: line 3"),)

    await bench.review(pull)

    assert [comment.path for comment in bench.github.review_comments] == ["other.py"]
    assert "broken.py" in (bench.github.checks[0].text or "")


async def test_a_refused_review_leaves_the_annotations(bench: Bench) -> None:
    bench.github.app.permissions["pull_requests"] = "read"
    pull = bench.open({"train.py": BUGGY})

    await bench.review(pull)

    assert not bench.github.reviews
    assert bench.github.checks[0].conclusion == "failure"
    assert len(bench.github.checks[0].annotations) == 1


async def test_refused_annotations_leave_the_verdict(bench: Bench) -> None:
    bench.analyst.annotations_end_early = 1
    pull = bench.open({"train.py": BUGGY})

    await bench.review(pull)

    (check,) = bench.github.checks
    assert (check.status, check.conclusion, check.annotations) == ("completed", "failure", [])


async def test_trouble_of_the_bots_own_is_neutral_and_says_why(bench: Bench) -> None:
    bench.analyst.broken = "the analysis took longer than 120 seconds"
    pull = bench.open({"train.py": BUGGY})

    await bench.review(pull)

    (check,) = bench.github.checks
    assert (check.conclusion, check.title) == ("neutral", messages.BROKEN_TITLE)
    assert "took longer than 120 seconds" in check.summary


async def test_the_configuration_comes_from_the_base_branch_and_its_mistakes_are_named(bench: Bench) -> None:
    bench.folder.commit({".github/preflight.yml": "max-comments: 0\nmax-coments: 3\n"})
    pull = bench.open({"train.py": BUGGY, ".github/preflight.yml": "max-comments: 25\n"})

    await bench.review(pull)

    assert not bench.github.reviews
    assert ".github/preflight.yml:2" in (bench.github.checks[0].text or "")
    assert (bench.github.checks[0].title or "").endswith("1 mistake in the configuration")


async def test_the_organisations_configuration_holds_where_a_repository_has_none(bench: Bench) -> None:
    from tests.bot.conftest import Folder

    shared = Folder(bench.folder.path.parent / "shared")
    shared.commit({".github/preflight.yml": "gpus: [h100, toaster]\n"})
    bench.github.add_repository(shared.path, owner="acme", name=".github")
    pull = bench.open({"train.py": BUGGY})

    await bench.review(pull)

    (gpu,) = bench.analyst.calls[0][1].gpus
    assert gpu.startswith("h100")
    assert "'toaster'" in (bench.github.checks[0].text or "")


async def test_a_label_turns_the_review_off_and_the_check_says_so(bench: Bench) -> None:
    bench.folder.commit({".github/preflight.yml": "skip-title-words: [wip]\n"})
    bench.folder.commit({"train.py": BUGGY}, "feature")
    pull = bench.github.open_pull(bench.repository, base="main", head="feature", title="WIP: faster")

    await bench.review(pull)

    assert bench.github.checks[0].conclusion == "neutral"
    assert not bench.analyst.calls


async def test_a_tree_that_github_cuts_short_still_gives_the_changed_files(bench: Bench) -> None:
    bench.folder.commit({f"data/{number}.txt": "x" for number in range(8)})
    bench.github.most_tree_entries = 3
    pull = bench.open({"zebra/train.py": BUGGY})

    await bench.review(pull)

    assert [comment.path for comment in bench.github.review_comments] == ["zebra/train.py"]
    assert "did not list all files" in (bench.github.checks[0].text or "")


async def test_a_file_that_github_lists_and_does_not_have_is_named_and_the_rest_reviewed(bench: Bench) -> None:
    bench.folder.commit({"lost.py": "import torch\n"})
    pull = bench.open({"train.py": BUGGY})
    blob = bench.folder.git("rev-parse", f"{pull.head_sha}:lost.py")
    (bench.folder.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()

    await bench.review(pull)

    (check,) = bench.github.checks
    assert check.conclusion == "failure"
    assert "`lost.py`" in (check.text or "")
    assert len(bench.github.review_comments) == 1


async def test_links_are_not_followed_and_a_configuration_that_grows_is_refused(bench: Bench) -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9))
    bench.folder.commit({".github/preflight.yml": bomb + "gpus: *a8\n"}, "main")
    (bench.folder.path / "linked.py").symlink_to("/etc/hostname")
    pull = bench.open({"train.py": BUGGY})

    await bench.review(pull)

    (check,) = bench.github.checks
    assert (check.status, check.conclusion) == ("completed", "failure")
    assert len(check.text or "") < 5_000
    ((sides, _),) = bench.analyst.calls
    assert "linked.py" not in sides.head


async def test_a_pull_request_whose_fork_is_gone_is_reviewed(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    bench.github.delete_fork(pull)

    await bench.review(pull)

    assert len(bench.github.review_comments) == 1


async def test_a_fork_is_read_through_the_base_repository(bench: Bench) -> None:
    bench.folder.commit({"train.py": BUGGY}, "feature")
    pull = bench.github.open_pull(bench.repository, base="main", head="feature", fork=True)
    bench.github.delete_fork(pull)

    await bench.review(pull)

    assert len(bench.github.reviews) == 1


@pytest.mark.parametrize("bench", ["enterprise"], indirect=True)
async def test_a_review_on_an_enterprise_server_goes_through_its_own_addresses(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    await bench.review(pull)
    bench.push(pull, {"train.py": TRAIN + "print(losses)\n"})
    await bench.review(pull)

    assert [comment.minimized for comment in bench.github.review_comments] == ["outdated"], "through GraphQL"
    assert {call.path.split("/")[1] for call in bench.github.log} == {"api"}
    assert {call.path for call in bench.github.log if call.operation == "graphql"} == {"/api/graphql"}


async def test_a_closed_pull_request_is_left_alone(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    bench.github.close_pull(pull)

    assert await bench.review(pull) == "the pull request is closed"
    assert not bench.github.checks


async def test_a_clean_second_push_costs_nine_calls_of_rest_and_one_of_graphql_at_most(bench: Bench) -> None:
    pull = bench.open({"train.py": TRAIN + "print(losses)\n"})
    await bench.review(pull)
    bench.github.log.clear()

    bench.push(pull, {"train.py": "# A remark\n" + TRAIN})
    await bench.review(pull)

    counted = [call.operation for call in bench.github.log if call.counted]
    assert counted.count("graphql") == 1, counted
    assert len(counted) - 1 <= 9, counted
    assert [call.operation for call in bench.github.log if call.method in ("POST", "PATCH")] == [
        "checks/create",
        "graphql",
        "checks/update",
    ]
    assert len(bench.github.log) <= 12, "answers that had not changed cost no quota, but time"


async def test_a_second_push_costs_few_calls(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    await bench.review(pull)
    bench.github.log.clear()

    bench.push(pull, {"train.py": "# A remark\n" + BUGGY})
    await bench.review(pull)

    writes = [call for call in bench.github.log if call.method != "GET" and "graphql" not in call.path]
    assert len(writes) == 3, [call.operation for call in bench.github.log]
    assert sum(call.counted for call in bench.github.log) <= 14, [call.operation for call in bench.github.log]


class PuttingOff(PlainSteps):
    """GitHub's limit is used up when it comes to the analysis."""

    async def run(self, name: str, model: type[Result], work: Callable[[], Awaitable[Result]]) -> Result:
        if name == "analyse":
            raise PutOff(START + 3600)
        return await super().run(name, model, work)


@pytest.mark.parametrize("then", ["a push", "nothing", "closed"])
async def test_a_review_that_was_put_off_leaves_no_check_run_in_progress(bench: Bench, then: str) -> None:
    pull = bench.open({"train.py": BUGGY})
    intent = ReviewIntent(repository=bench.key(), number=pull.number, reason="test")
    with pytest.raises(PutOff) as caught:
        await bench.handler.handle("job", intent, PuttingOff(bench.clock))
    if then == "a push":
        bench.push(pull, {"train.py": BUGGY + "print(1)\n"})
    elif then == "closed":
        bench.github.close_pull(pull)

    later = caught.value.instead
    assert later is not None
    await bench.handler.handle("job~1", later, bench.steps)

    assert {check.status for check in bench.github.checks} == {"completed"}
    assert len(bench.github.checks) == (2 if then == "a push" else 1)
    assert len(bench.github.reviews) == (0 if then == "closed" else 1)
