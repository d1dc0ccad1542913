"""The command line: wrong use is told in one line and ends with 2; starting is cheap."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from engine.cli import main
from engine.cli.program import COMMANDS, build_parser


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["check", "missing.py"], "missing.py does not exist"),
        (["check", "--select", "PF999", "."], "there is no rule PF999"),
        (["check", "--jobs", "0"], "from 1, not 0"),
        (["explain", "retained-grap"], "did you mean retained-graph"),
        (["gpus", "a1000000"], "a1000000"),
        (["estimate", "missing.py"], "missing.py is not a file"),
        (["estimate", "here.py", "--set", "batch"], "key=value"),
        (["estimate", "here.py", "--set", "batch_siz=4"], "did you mean batch_size"),
        (["estimate", "here.py", "--set", "speed=4"], "sequence_length"),
        (["estimate", "here.py", "--set", "batch_size=many"], "whole number"),
        (["estimate", "here.py", "--set", "world_size=-2"], "whole number"),
        (["estimate", "here.py", "--set", "precision=fp7"], "amp-bf16"),
        (["estimate", "here.py", "--gpu", "warp-drive"], "warp-drive"),
        (["review", "--base", "x", "--head", "y"], "x"),
        (["replay", "nowhere"], "nowhere"),
        (["replay", ".", "--last", "0"], "positive"),
        (["replay", "https://git.example.org/a/b"], "`git clone` it"),
        (["explain", "PF1"], "PF101 retained-graph"),
        (["estimate", "here.py", "--gpu", "cuda:0"], "`here` stands for the devices of this machine"),
        (["estimate", "--", "torchrun"], "as in `torchrun train.py`"),
    ],
)
def test_wrong_use_is_told_in_one_line(
    arguments: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here.py").write_text("import torch\n")
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert told in captured.err
    assert len(captured.err.strip().split("\n")) == 1


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("plain.py", "print('no model')\n", "the script to name is the one that starts the training"),
        ("empty.py", "", "the script to name is the one that starts the training"),
        ("broken.py", "def f(:\n", "broken.py does not parse"),
        ("notes.txt", "words\n", "not a Python file, a notebook or a launch script"),
        ("run.sh", "echo hello\n", "starts no Python program of this repository"),
        ("bad.yaml", "a: [\n", "bad.yaml could not be read: while parsing"),
        ("other.json", "{}", "not the configuration of a trainer"),
    ],
)
def test_an_estimate_of_what_is_no_training_says_why_in_one_note(
    name: str, text: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(text)
    assert main(["estimate", name]) == 0
    notes = [line for line in capsys.readouterr().out.splitlines() if line.startswith("note: ")]
    assert told in notes[0]


def test_words_that_are_no_command_line_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("import torch\n")
    main(["estimate", "train.py", "batch_size=4"])
    assert "train.py is no program: begin it with python" in capsys.readouterr().err


def test_a_path_without_anything_to_check_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("words\n")
    assert main(["check", "notes.txt"]) == 0
    assert "no Python file and no notebook to check in notes.txt" in capsys.readouterr().err
    assert main(["check"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["check", "--format", "xml"], ["review"]])
def test_unknown_options_end_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: preflight" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["chek"], "check"),
        (["check", "--format", "jsn"], "json"),
        (["check", "--bseline", "x"], "--baseline"),
        (["estimate", "train.py", "--fail-on", "doesnt-fit"], "does-not-fit"),
    ],
)
def test_what_was_likely_meant_is_said(arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert f"did you mean {meant}?" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["rules"], ["explain", "PF101"], ["gpus", "a100"]])
def test_every_list_is_to_be_had_as_json(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)


def test_gpus_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gpus", "a100 80gb", "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["usable_bytes"] < row["total_bytes"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples_that_the_parser_takes(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    examples = capsys.readouterr().out.partition("examples:\n")[2].strip().split("\n")
    lines = [line.strip().split("  ")[0] for line in examples]
    assert all(line.startswith(f"preflight {command}") for line in lines)
    for line in lines:
        words = shlex.split(re.split(r" >>? ", line)[0])
        assert build_parser().parse_args(words[1:]).command == command


def test_a_command_loads_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    code = (
        "import sys\nfrom engine.cli import main\n"
        "main(['rules'])\n"
        "print([name for name in sys.modules if name.startswith('engine.cli.commands.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("['engine.cli.commands.rules']")


def test_help_loads_neither_pydantic_nor_rich_nor_libcst() -> None:
    code = (
        "import sys\nfrom engine.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(sorted({'pydantic', 'rich', 'libcst', 'yaml'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")
