"""The configuration of a repository and its organisation, read from the base branch."""

from __future__ import annotations

from bot.review.configuration import Configurations
from tests.bot.conftest import BUGGY, Bench, Folder


def share(bench: Bench, files: dict[str, str | bytes | None]) -> Folder:
    shared = Folder(bench.folder.path.parent / "shared")
    shared.commit(files)
    bench.github.add_repository(shared.path, owner="acme", name=".github")
    return shared


async def test_a_repository_builds_on_files_of_its_organisation(bench: Bench) -> None:
    share(bench, {"presets/a.yml": "extends: presets/b.yml\nmax-comments: 1\n", "presets/b.yml": "gpus: [t4]\n"})
    bench.folder.commit({".github/preflight.yml": "extends: presets/a.yml\n"})
    pull = bench.open({"train.py": BUGGY, "other.py": BUGGY})

    await bench.review(pull)

    assert bench.analyst.calls[0][1].gpus == ("t4",)
    assert len(bench.github.review_comments) == 1


async def test_extending_a_file_that_is_not_there_is_named(bench: Bench) -> None:
    bench.folder.commit({".github/preflight.yml": "extends: [../../etc/passwd.yml, gone.yml]\n"})
    pull = bench.open({"train.py": BUGGY})

    await bench.review(pull)

    text = bench.github.checks[0].text or ""
    assert ".github/preflight.yml:1" in text
    assert "`gone.yml`" in text
    assert not [call for call in bench.github.log if "passwd" in call.path]


async def test_what_a_pull_request_would_change_in_the_configuration_is_said_and_does_not_hold(bench: Bench) -> None:
    bench.folder.commit({".github/preflight.yml": "gate: error\nmax-comments: 7\n"})
    proposed = "gate: never\nmax-comments: 7\nmax-coments: 3\n"
    pull = bench.open({"train.py": BUGGY, ".github/preflight.yml": proposed})

    await bench.review(pull)

    (check,) = bench.github.checks
    text = check.text or ""
    assert "| `gate` | `error` | `never` | `.github/preflight.yml:1` |" in text
    assert "max_comments" not in text.partition("Not taken")[0]
    assert "did you mean `max-comments`" in text
    mark = next(each for each in check.annotations if each["path"] == ".github/preflight.yml")
    assert (mark["start_line"], mark["annotation_level"]) == (3, "warning")
    assert bench.analyst.calls[0][1].gate == "error"
    assert (check.title or "").endswith("1 mistake in the new configuration")


async def test_a_configuration_that_is_kept_is_not_asked_for_again_before_it_is_pushed(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    await bench.review(pull)
    bench.folder.commit({".github/preflight.yml": "gpus: [t4]\n"})
    await bench.review(pull, force=True)
    assert bench.analyst.calls[-1][1].gpus == ()

    bench.pipeline.configurations.forget("acme", "trainer")
    await bench.review(pull, force=True)
    assert bench.analyst.calls[-1][1].gpus == ("t4",)


async def test_where_another_process_hears_of_pushes_a_configuration_is_kept_for_seconds_only(bench: Bench) -> None:
    bench.pipeline.configurations = Configurations(bench.clock, hears_of_pushes=False)
    pull = bench.open({"train.py": BUGGY})
    await bench.review(pull)
    bench.folder.commit({".github/preflight.yml": "gpus: [t4]\n"})

    await bench.clock.sleep(31)
    await bench.review(pull, force=True)

    assert bench.analyst.calls[-1][1].gpus == ("t4",)
