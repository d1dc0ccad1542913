"""Notebooks in every command: findings name the cell, fixes change nothing but the lines that they mean."""

from __future__ import annotations

import difflib
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.check import check
from engine.cli import main
from engine.diff import FileDiff
from engine.estimate import estimate
from engine.fixes.notebook_cells import code_cells, rewritten
from engine.project import MAX_FILE_BYTES, MAX_NOTEBOOK_BYTES, Project
from engine.review import review
from engine.settings import Settings

SETUP = """\
%load_ext autoreload
!pip install torch
import torch
from torch import nn

BATCH = 32
model = nn.Linear(1024, 1024).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)"""
TRAINING = """\
losses = []
for step in range(100):
    inputs = torch.randn(BATCH, 1024, device="cuda")
    optimizer.zero_grad()
    loss = model(inputs).pow(2).mean()
    loss.backward()
    optimizer.step()
    losses.append(loss)"""
EVALUATION = """\
model.eval()
for inputs in held_out:
    print(model(inputs).sum())"""


def cell(source: str | list[str], kind: str = "code") -> dict[str, Any]:
    code = {"execution_count": 3, "metadata": {"id": "a"}, "outputs": [{"text": ["é <b>\n"]}], "source": source}
    return {"cell_type": kind, **code} if kind == "code" else {"cell_type": kind, "source": source}


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def document(*sources: str, as_text: bool = False) -> dict[str, Any]:
    cells = [cell(source if as_text else lines(source)) for source in sources]
    return {"nbformat_minor": 5, "cells": [cell(["# Notes é"], "markdown"), *cells], "metadata": {}, "nbformat": 4}


def written(*sources: str, as_text: bool = False, **style: Any) -> str:
    return json.dumps(document(*sources, as_text=as_text), **{"indent": 1, "ensure_ascii": False, **style}) + "\n"


def changed_lines(before: str, after: str) -> list[str]:
    found = difflib.unified_diff(before.split("\n"), after.split("\n"), n=0, lineterm="")
    return [line for line in list(found)[2:] if line[0] in "+-"]


def fixed(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> str:
    target = folder / "train.ipynb"
    target.write_bytes(text.encode("utf-8"))
    monkeypatch.chdir(folder)
    main(["check", "--fix", "--fail-on", "never", "train.ipynb"])
    return target.read_bytes().decode("utf-8")


STYLES: dict[str, dict[str, Any]] = {
    "as Jupyter writes it": {},
    "indented by four, escaped": {"indent": 4, "ensure_ascii": True},
    "by tabs": {"indent": "\t"},
    "on one line": {"indent": None, "separators": (",", ":")},
    "sorted": {"sort_keys": True},
}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("as_text", [False, True], ids=["lines", "one string"])
def test_a_fix_changes_the_source_of_its_cell_and_no_other_byte(
    style: str, as_text: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = written(SETUP, TRAINING, as_text=as_text, **STYLES[style])
    after = fixed(tmp_path, before, monkeypatch)
    assert after == before.replace("losses.append(loss)", "losses.append(loss.detach())")


@pytest.mark.parametrize("ending", ["", "\n", "\r\n\r\n"])
def test_newlines_a_byte_order_mark_and_the_end_of_the_file_stay(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = "\ufeff" + written(SETUP, TRAINING).rstrip("\n").replace("\n", "\r\n") + ending
    after = fixed(tmp_path, before, monkeypatch)
    assert after == before.replace("losses.append(loss)", "losses.append(loss.detach())")


def test_escapes_of_a_notebook_service_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = written(SETUP, TRAINING + "  # a < b").replace("<", "\\u003c")
    after = fixed(tmp_path, before, monkeypatch)
    assert after == before.replace("losses.append(loss)", "losses.append(loss.detach())") and "<" not in after


def test_lines_that_are_put_in_stand_like_their_neighbours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = written(SETUP, TRAINING.replace("    optimizer.zero_grad()\n", ""), EVALUATION)
    after = fixed(tmp_path, before, monkeypatch)
    assert changed_lines(before, after) == [
        '+    "    optimizer.zero_grad()\\n",',
        '-    "    losses.append(loss)"',
        '+    "    losses.append(loss.detach())"',
        '-    "for inputs in held_out:\\n",',
        '-    "    print(model(inputs).sum())"',
        '+    "with torch.no_grad():\\n",',
        '+    "    for inputs in held_out:\\n",',
        '+    "        print(model(inputs).sum())"',
    ]
    assert json.loads(after)["cells"][0] == json.loads(before)["cells"][0]


def test_a_fix_at_the_end_of_a_cell_stays_in_its_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = TRAINING.replace("    optimizer.zero_grad()\n", "").replace("    losses.append(loss)", "")
    before = written(SETUP, EVALUATION, source.rstrip(), "print('done')")
    cells = [item["source"] for item in json.loads(fixed(tmp_path, before, monkeypatch))["cells"]]
    assert cells[2] == ["model.eval()\n", "with torch.no_grad():\n", "    for inputs in held_out:\n",
                        "        print(model(inputs).sum())"]  # fmt: skip
    assert "    optimizer.zero_grad()\n" in cells[3] and cells[3][-1] == "    optimizer.step()"
    assert cells[4] == ["print('done')"]


def test_lines_with_magics_get_no_fix_and_their_columns_are_those_of_the_cell() -> None:
    source = TRAINING.replace("    losses.append(loss)", "    %time losses.append(loss)")
    report = check(Project.from_mapping({"train.ipynb": written(SETUP, source)}))
    (finding,) = (finding for finding in report.findings if finding.name == "retained-graph")
    assert (finding.path, finding.line, finding.column) == ("train.ipynb#cell=2", 8, 11)
    assert finding.fix is None


_LINE = st.text(st.sampled_from("ab'<é\N{ROCKET}\t#\"\\"), max_size=6)
_SOURCE = st.lists(_LINE, max_size=5).map("\n".join)


@given(
    sources=st.lists(_SOURCE, min_size=1, max_size=4),
    after=_SOURCE,
    number=st.integers(1, 4),
    as_text=st.booleans(),
    style=st.sampled_from(list(STYLES.values())),
    newline=st.sampled_from(["\n", "\r\n"]),
)
def test_any_source_can_be_put_into_any_cell_and_nothing_else_changes(
    sources: list[str], after: str, number: int, as_text: bool, style: dict[str, Any], newline: str
) -> None:
    number = min(number, len(sources))
    raw = written(*(source.replace("\n", newline) for source in sources), as_text=as_text, **style)
    changed = rewritten(raw, {number: after})
    expected = json.loads(raw)
    cells = [cell for cell in expected["cells"] if cell["cell_type"] == "code"]
    before = "".join(cells[number - 1]["source"])
    wanted = after.replace("\n", "\r\n") if "\r\n" in before else after
    if not before.endswith("\n"):
        wanted = wanted.removesuffix("\n").removesuffix("\r")
    cells[number - 1]["source"] = wanted if as_text else lines(wanted)
    assert json.loads(changed) == expected
    # What stands in front of the source and behind it is the same text.
    place, ends = code_cells(raw)[number - 1], code_cells(changed)[number - 1]
    assert raw[: place.start] == changed[: ends.start] and raw[place.end :] == changed[ends.end :]
    if after == before:
        assert changed == raw


def test_what_is_no_notebook_of_today_is_left_alone() -> None:
    old = {"worksheets": [{"cells": [{"cell_type": "code", "input": "x = 1", "language": "python"}]}], "nbformat": 3}
    with pytest.raises(ValueError, match="brings it to the present format"):
        rewritten(json.dumps(old), {1: "x = 2"})
    with pytest.raises(LookupError):
        rewritten(written("x = 1"), {2: "x = 2"})
    with pytest.raises(ValueError, match="mixes two kinds of newlines"):
        rewritten(written("x = 1\r\ny = 2\nz = 3"), {1: "x = 2"})
    with pytest.raises(ValueError, match="neither text nor a list"):
        rewritten(json.dumps({"cells": [{"cell_type": "code", "source": 3}]}), {1: "x = 2"})


def test_of_a_key_that_stands_twice_the_last_one_counts() -> None:
    raw = '{"cells": [], "cells": [{"cell_type": "code", "source": "a", "source": ["b = 1"]}]}'
    assert rewritten(raw, {1: "b = 2\nc = 3"}) == raw.replace('"b = 1"', '"b = 2\\n", "c = 3"')


def test_check_names_cells_in_findings_and_evidence() -> None:
    report = check(Project.from_mapping({"train.ipynb": written(SETUP, TRAINING)}))
    (finding,) = (finding for finding in report.findings if finding.name == "retained-graph")
    assert (finding.path, finding.line) == ("train.ipynb#cell=2", 8)
    assert {step.path for step in finding.evidence} == {"train.ipynb#cell=2"}


def test_an_estimate_names_the_cells_that_it_read_from_and_never_an_output() -> None:
    notebook = document(SETUP, TRAINING)
    notebook["cells"][1]["outputs"] = [{"text": ["autocast float32 AdamW is not what is used\n"]}]
    project = Project.from_mapping({"train.ipynb": json.dumps(notebook, indent=1)})
    report = estimate(project, "train.ipynb", gpus=["t4"])
    assert report.memory is not None and report.model.parameters == 1024 * 1025
    batch, optimizer = report.configuration["batch_size"], report.configuration["optimizer"]
    assert (batch.value, batch.path, batch.line) == (32, "train.ipynb#cell=1", 6)
    assert (optimizer.value, optimizer.path, optimizer.line) == ("adamw", "train.ipynb#cell=1", 8)


def test_notes_of_an_estimate_name_the_cell() -> None:
    project = Project.from_mapping({"Part 2 (GPU).ipynb": written(SETUP, "undefined_name.work()", TRAINING)})
    notes = estimate(project, "Part 2 (GPU).ipynb", gpus=["t4"]).notes
    assert any("Part 2 (GPU).ipynb#cell=2:1: passed over" in note for note in notes), notes


def reviewed(before: str, after: str) -> Any:
    patch = "\n".join(list(difflib.unified_diff(before.split("\n"), after.split("\n"), lineterm=""))[2:])
    base, head = Project.from_mapping({"train.ipynb": before}), Project.from_mapping({"train.ipynb": after})
    changed = [FileDiff.from_patch("train.ipynb", patch, "modified")]
    return review(base, head, changed=changed, settings=Settings(memory=False))


def test_a_review_comments_on_the_line_of_the_file_names_the_cell_and_suggests_its_json() -> None:
    before = written(SETUP, TRAINING.replace("append(loss)", "append(loss.item())"))
    after = written(SETUP, TRAINING)
    report = reviewed(before, after)
    (comment,) = report.review_comments
    assert after.split("\n")[comment.line - 1] == '    "    losses.append(loss)"'
    assert "in cell 2, line 8" in comment.body
    assert '```suggestion\n    "    losses.append(loss.detach())"\n```' in comment.body
    (annotation,) = report.annotations
    assert annotation.message.startswith("Cell 2, line 8: ") and annotation.start_line == comment.line


def test_a_suggestion_that_puts_a_line_in_replaces_the_one_before_it() -> None:
    report = reviewed(written(SETUP, TRAINING), written(SETUP, TRAINING.replace("    optimizer.zero_grad()\n", "")))
    (comment,) = (each for each in report.review_comments if "missing-zero-grad" in each.body)
    suggestion = comment.body.partition("```suggestion\n")[2].partition("\n```")[0].split("\n")
    lines_after = written(SETUP, TRAINING.replace("    optimizer.zero_grad()\n", "")).split("\n")
    lines_after[(comment.start_line or comment.line) - 1 : comment.line] = suggestion
    cells = json.loads("\n".join(lines_after))["cells"]
    assert "    optimizer.zero_grad()\n" in cells[2]["source"]


def test_review_from_git_sees_notebooks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def git(*arguments: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q")
    for source in (TRAINING.replace("append(loss)", "append(loss.item())"), TRAINING):
        (tmp_path / "train.ipynb").write_text(written(SETUP, source))
        git("add", ".")
        git("commit", "-qm", "a change")
    main(["review", "--base", "HEAD~1", "--head", "HEAD", "--repo", str(tmp_path), "--no-memory", "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    assert [finding["path"] for finding in report["introduced"]] == ["train.ipynb#cell=2"]
    assert report["review_comments"][0]["path"] == "train.ipynb"


def test_outputs_may_make_a_notebook_larger_than_source_files_are() -> None:
    notebook = document(SETUP, TRAINING)
    notebook["cells"][1]["outputs"] = [{"data": {"image/png": "A" * (MAX_FILE_BYTES + 1)}}]
    report = check(Project.from_mapping({"train.ipynb": json.dumps(notebook)}))
    assert not report.files.failed and report.findings
    notebook["cells"][1]["outputs"] = [{"data": {"image/png": "A" * MAX_NOTEBOOK_BYTES}}]
    report = check(Project.from_mapping({"train.ipynb": json.dumps(notebook)}))
    assert "is too large to analyse" in report.files.failed[0].reason


def test_what_a_notebook_imports_is_seen_however_its_source_is_written() -> None:
    helper = "def keep(losses, loss):\n    losses.append(loss)\n"
    source = TRAINING.replace("losses.append(loss)", "keep(losses, loss)")
    for as_text in (False, True):
        notebook = written(SETUP + "\nfrom helper import keep", source, as_text=as_text)
        base = Project.from_mapping({"train.ipynb": notebook, "helper.py": helper.replace("loss)\n", "loss.item())\n")})
        head = Project.from_mapping({"train.ipynb": notebook, "helper.py": helper})
        changed = [FileDiff.from_patch("helper.py", None, "modified")]
        report = review(base, head, changed=changed, settings=Settings(memory=False))
        assert [finding.name for finding in report.introduced] == ["retained-graph"]
