"""`preflight check`: exit codes, formats, fixes, and comments that silence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.cli import main

BUGGY = """\
import torch
from torch import nn


def train(model: nn.Module, loader, optimizer):
    total = 0.0
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        total += loss
    return total
"""
FIXED = BUGGY.replace("total += loss", "total += loss.detach()")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(BUGGY)
    return tmp_path


def checked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["check", *arguments])
    return code, capsys.readouterr().out


def test_exit_codes_follow_severity(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert checked(capsys, ".")[0] == 1
    assert checked(capsys, ".", "--fail-on", "never")[0] == 0
    assert checked(capsys, ".", "--ignore", "retained-graph")[0] == 0
    assert checked(capsys, ".", "--select", "PF2")[0] == 0
    (folder / ".github").mkdir()
    (folder / ".github" / "preflight.yml").write_text("severity:\n  retained-graph: warning\n")
    assert checked(capsys, ".")[0] == 0
    assert checked(capsys, ".", "--fail-on", "warning")[0] == 1


def test_json_keeps_the_contract(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out = checked(capsys, "train.py", "--format", "json")
    report = json.loads(out)
    assert report["schema"] == 1
    (finding,) = [f for f in report["findings"] if f["name"] == "retained-graph"]
    assert (finding["path"], finding["line"], finding["severity"]) == ("train.py", 12, "error")
    assert finding["evidence"] and finding["fix"]["safe"] and finding["fingerprint"]
    assert report["files"] == {"read": 1, "skipped": 0, "failed": []}


def test_sarif_and_workflow_commands(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = json.loads(checked(capsys, ".", "--format", "sarif")[1])
    run = log["runs"][0]
    result = next(r for r in run["results"] if r["ruleId"] == "PF101")
    assert log["version"] == "2.1.0"
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "PF101"
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 12
    assert result["codeFlows"] and result["partialFingerprints"] and result["fixes"]
    lines = checked(capsys, ".", "--format", "github")[1].strip().split("\n")
    assert any(line.startswith("::error file=train.py,title=PF101 retained-graph,line=12") for line in lines)
    assert all(line.startswith("::") for line in lines)


def test_text_shows_code_evidence_and_fix(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out = checked(capsys, ".")
    assert "train.py:12:" in out and "total += loss" in out and "^" in out
    assert "how it comes about" in out and "fix (--fix applies it)" in out


def test_fix_applies_safe_fixes_and_reports_the_rest(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out = checked(capsys, ".", "--fix")
    assert (folder / "train.py").read_text() == FIXED
    assert code == 0 and "retained-graph" not in out
    again = checked(capsys, ".", "--fix")
    assert again[0] == 0 and (folder / "train.py").read_text() == FIXED


def test_a_comment_silences_and_an_unused_one_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = "total += loss  # preflight: ignore[retained-graph] wanted"
    (folder / "train.py").write_text(BUGGY.replace("total += loss", line))
    assert checked(capsys, ".")[0] == 0
    (folder / "train.py").write_text(FIXED.replace("loss.detach()", "loss.detach()  # preflight: ignore[PF101]"))
    _, out = checked(capsys, ".", "--report-unused-suppressions", "--format", "json")
    assert "unused-suppression" in [f["name"] for f in json.loads(out)["findings"]]


def test_excluded_files_are_checked_only_when_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "train.py").rename(folder / "test_train.py")
    assert checked(capsys, ".")[0] == 0
    assert checked(capsys, "test_train.py")[0] == 1


def test_globs_on_the_command_line_come_on_top_of_the_configured(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert checked(capsys, ".", "--exclude", "docs,train*")[0] == 0
    assert checked(capsys, ".", "--exclude", "models")[0] == 1
    (folder / "test_train.py").write_text(BUGGY)
    assert "test_train.py" not in checked(capsys, ".", "--exclude", "models")[1]


def test_a_configuration_can_be_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "strict.yml").write_text("ignore: [retained-graph]\n")
    assert checked(capsys, ".", "--config", "strict.yml")[0] == 0
    assert checked(capsys, ".", "--config", "nowhere.yml")[0] == 2


def test_quiet_is_a_line_for_each_finding(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = checked(capsys, ".", "--quiet")[1].strip().split("\n")
    assert len(lines) == 2
    assert lines[0].startswith("train.py:12:") and "PF101 retained-graph" in lines[0]


def test_a_broken_file_is_named_and_the_others_are_checked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "old.py").write_text("import torch\nprint 'x'\n")
    _, out = checked(capsys, ".", "--format", "json")
    report = json.loads(out)
    assert [failed["path"] for failed in report["files"]["failed"]] == ["old.py"]
    assert "line 2" in report["files"]["failed"][0]["reason"]
    assert any(f["name"] == "retained-graph" for f in report["findings"])


class TestFilesThatDoNotParse:
    @pytest.fixture
    def alone(self, folder: Path) -> Path:
        """A folder whose only file of training code is broken."""
        (folder / "train.py").write_text("import torch\ndef train(:\n    loss.backward()\n")
        return folder

    @pytest.mark.parametrize("words", [["."], ["train.py"], [".", "--jobs", "2"], [".", "--quiet"], [".", "--diff"]])
    def test_they_fail_the_check_and_are_named(
        self, alone: Path, capsys: pytest.CaptureFixture[str], words: list[str]
    ) -> None:
        assert main(["check", *words]) == 1
        told = capsys.readouterr().err
        assert "train.py" in told and "does not parse" in told and "--exclude" in told

    def test_workflows_show_them_as_errors(self, alone: Path, capsys: pytest.CaptureFixture[str]) -> None:
        code, out = checked(capsys, ".", "--format", "github")
        assert code == 1 and out.startswith("::error file=train.py,title=Not analysed::")

    def test_who_fails_on_nothing_or_leaves_them_out_passes(
        self, alone: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert checked(capsys, ".", "--fail-on", "never")[0] == 0
        assert checked(capsys, ".", "--exclude", "train.py")[0] == 0

    def test_a_baseline_knows_them(self, alone: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert checked(capsys, ".", "--baseline", "known.json", "--update-baseline")[0] == 0
        assert checked(capsys, ".", "--baseline", "known.json")[0] == 0
        (alone / "new.py").write_text("import torch\nclass (:\n")
        assert main(["check", "--baseline", "known.json"]) == 1
        assert "new.py" in (told := capsys.readouterr().err) and "train.py" not in told

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("old.py", "import torch\nprint 'of Python 2'\n"),
            ("r.ipynb", json.dumps({"cells": [], "metadata": {"kernelspec": {"language": "R"}}, "torch": 1})),
        ],
    )
    def test_other_languages_are_left_out_and_only_named(
        self, folder: Path, capsys: pytest.CaptureFixture[str], name: str, text: str
    ) -> None:
        (folder / "train.py").write_text("import torch\n")
        (folder / name).write_text(text)
        code, out = checked(capsys, ".")
        assert code == 0 and f"not analysed  {name}" in out


def test_rules_and_explain(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--format", "json"]) == 0
    rules = json.loads(capsys.readouterr().out)
    assert len({rule["code"] for rule in rules}) == len(rules) > 20
    assert main(["explain", rules[0]["name"]]) == 0
    assert rules[0]["name"] in capsys.readouterr().out
