"""Completion scripts, asked in the shells themselves."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.cli.program import COMMANDS

if TYPE_CHECKING:
    from tests.engine.cli.conftest import Run


def shell(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@pytest.fixture
def completed(run: Run, work: Path) -> Callable[..., set[str]]:
    """What bash offers behind these words, the last of them begun."""
    script = run("completion", "bash").out

    def offered(*words: str) -> set[str]:
        line = " ".join(f"'{word}'" for word in ("preflight", *words))
        asked = (
            f"{script}\nCOMP_WORDS=({line}); COMP_CWORD={len(words)}; _preflight; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        )
        done = subprocess.run([shell("bash"), "-c", asked], capture_output=True, text=True, check=True, cwd=work)
        assert done.stderr == ""
        return set(done.stdout.split())

    return offered


def test_bash_knows_commands_options_values_rules_and_devices(completed: Callable[..., set[str]], work: Path) -> None:
    assert completed("") == set(COMMANDS)
    assert completed("est") == {"estimate"}
    assert {"--since", "--select"} <= completed("check", "--s")
    assert completed("check", "--format", "s") == {"sarif"}
    assert "retained-graph" in completed("check", "train.py", "--select", "ret")
    assert completed("explain", "retained-g") == {"retained-graph"}
    assert {"a100-sxm4-80gb"} <= completed("estimate", "--gpu", "t4", "--gpu", "a100")
    assert completed("check", "tr") == {"train.py"}
    assert completed("config", "") == {"check"}
    assert completed("config", "check", "--f") == {"--format"}
    assert completed("completion", "f") == {"fish"}


def test_zsh_reads_its_script(run: Run) -> None:
    script = run("completion", "zsh").out
    assert script.startswith("#compdef preflight")
    done = subprocess.run([shell("zsh"), "-n"], input=script, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_fish_offers_what_the_parser_takes(run: Run, tmp_path: Path) -> None:
    (tmp_path / "preflight.fish").write_text(run("completion", "fish").out)

    def offered(line: str) -> set[str]:
        asked = f"source {tmp_path}/preflight.fish; complete -C '{line}'"
        environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
        done = subprocess.run([shell("fish"), "-c", asked], capture_output=True, text=True, env=environment)
        assert done.returncode == 0
        return {each.split("\t")[0] for each in done.stdout.splitlines()}

    assert set(COMMANDS) <= offered("preflight ")
    assert "--since" in offered("preflight check --s")
    assert offered("preflight check --format s") == {"sarif"}
    assert "check" in offered("preflight config ")
