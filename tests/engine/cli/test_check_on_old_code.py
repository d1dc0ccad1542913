"""Adoption on a project that has findings already: baselines, `--since`, and what is left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.engine.cli.conftest import Git, Run

LATER = """
def validate(model, loader):
    losses = []
    for inputs in loader:
        losses.append(model(inputs).mean())
    return losses
"""


def names(out: str) -> list[tuple[str, int]]:
    return [(finding["name"], finding["line"]) for finding in json.loads(out)["findings"]]


class TestBaseline:
    def test_what_it_knows_is_not_reported_and_what_is_new_is(self, work: Path, run: Run) -> None:
        assert run("check").code == 1
        written = run("check", "--baseline", "known.json", "--update-baseline")
        assert (written.code, written.out) == (0, "")
        known = run("check", "--baseline", "known.json", "--format", "json")
        assert (known.code, names(known.out)) == (0, [])
        assert "not shown" in known.err
        text = (work / "train.py").read_text()
        (work / "train.py").write_text("# moved down\n" + text + text.replace("def train", "def fine_tune"))
        new = run("check", "--baseline", "known.json", "--format", "json")
        assert new.code == 1
        assert [name for name, _ in names(new.out)] == ["retained-graph"]

    def test_entries_that_nothing_stands_for_are_told_of(self, work: Path, run: Run) -> None:
        run("check", "--baseline", "known.json", "--update-baseline")
        (work / "train.py").write_text((work / "train.py").read_text().replace("total += loss", "total += loss.item()"))
        assert "1 of it no longer found" in run("check", "--baseline", "known.json").err
        (work / "other").mkdir()
        assert "no longer found" not in run("check", "other", "--baseline", "known.json").err
        run("check", "--baseline", "known.json", "--update-baseline")
        assert "no longer found" not in run("check", "--baseline", "known.json").err

    def test_the_file_is_the_same_for_the_same_findings(self, work: Path, run: Run) -> None:
        run("check", "--baseline", "known.json", "--update-baseline")
        first = (work / "known.json").read_bytes()
        run("check", "--baseline", "known.json", "--update-baseline")
        assert (work / "known.json").read_bytes() == first

    @pytest.mark.parametrize(
        ("content", "told"),
        [(None, "--update-baseline writes it"), ("[]", "not a baseline"), ('{"schema": 2, "findings": []}', "schema")],
    )
    def test_a_file_that_is_none_is_named(self, work: Path, run: Run, content: str | None, told: str) -> None:
        if content is not None:
            (work / "known.json").write_text(content)
        answer = run("check", "--baseline", "known.json")
        assert (answer.code, answer.out) == (2, "")
        assert told in answer.err


class TestSince:
    def test_only_what_the_branch_introduces_is_reported(self, work: Path, git: Git, run: Run) -> None:
        git("checkout", "-q", "-b", "feature")
        assert names(run("check", "--since", "main", "--format", "json").out) == []
        (work / "train.py").write_text((work / "train.py").read_text() + LATER)
        (work / "new.py").write_text("import torch\n" + (work / "train.py").read_text())
        answer = run("check", "--since", "main", "--format", "json")
        found = {(f["path"], f["line"]) for f in json.loads(answer.out)["findings"]}
        assert ("new.py", 13) in found
        assert ("train.py", 12) not in found
        assert answer.code == 1

    def test_commits_that_the_other_branch_got_meanwhile_do_not_count(self, work: Path, git: Git, run: Run) -> None:
        git("checkout", "-q", "-b", "feature")
        git("checkout", "-q", "main")
        (work / "train.py").write_text("import torch\n")
        git("commit", "-qam", "gone on main")
        git("checkout", "-q", "feature")
        assert names(run("check", "--since", "main", "--format", "json").out) == []

    def test_a_removed_line_counts_where_it_matters(self, work: Path, git: Git, run: Run) -> None:
        (work / "train.py").write_text((work / "train.py").read_text().replace("        optimizer.zero_grad()\n", ""))
        found = names(run("check", "--since", "HEAD", "--format", "json").out)
        assert [name for name, _ in found] == ["missing-zero-grad"]

    @pytest.mark.parametrize("known_to_git", [True, False])
    def test_a_moved_file_is_not_new(self, work: Path, git: Git, run: Run, known_to_git: bool) -> None:
        if known_to_git:
            git("mv", "train.py", "fine tune.py")
        else:
            (work / "train.py").rename(work / "fine tune.py")
        assert names(run("check", "--since", "HEAD", "--format", "json").out) == []

    def test_fixes_are_made_of_what_is_new_alone(self, work: Path, git: Git, run: Run) -> None:
        before = (work / "train.py").read_text()
        (work / "new.py").write_text(before)
        assert run("check", "--since", "HEAD", "--fix").code == 0
        assert "loss.detach()" in (work / "new.py").read_text()
        assert (work / "train.py").read_text() == before

    def test_ignored_files_and_other_paths_are_left_out(self, work: Path, git: Git, run: Run) -> None:
        (work / ".gitignore").write_text("scratch.py\n")
        for name in ("scratch.py", "other.py"):
            (work / name).write_text((work / "train.py").read_text())
        found = json.loads(run("check", "--since", "HEAD", "--format", "json").out)["findings"]
        assert {finding["path"] for finding in found} == {"other.py"}
        assert names(run("check", "train.py", "--since", "HEAD", "--format", "json").out) == []

    def test_from_a_folder_below_paths_count_from_the_top(
        self, work: Path, git: Git, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (work / "src").mkdir()
        (work / "src" / "new.py").write_text((work / "train.py").read_text())
        monkeypatch.chdir(work / "src")
        found = json.loads(run("check", "--since", "HEAD", "--format", "json").out)["findings"]
        assert {finding["path"] for finding in found} == {"src/new.py"}

    def test_outside_of_a_repository_it_says_so(self, work: Path, run: Run) -> None:
        answer = run("check", "--since", "main")
        assert (answer.code, answer.out) == (2, "")
        assert "no git repository" in answer.err

    def test_an_unknown_revision_is_named(self, git: Git, run: Run) -> None:
        answer = run("check", "--since", "nowhere")
        assert answer.code == 2
        assert "nowhere" in answer.err


def test_named_files_that_are_excluded_are_left_out_when_asked(work: Path, run: Run) -> None:
    (work / "train.py").rename(work / "test_train.py")
    assert run("check", "test_train.py").code == 1
    assert run("check", "test_train.py", "--force-exclude").code == 0
