"""`action.yml`, run as a job runs it: installed from the checkout, on a repository with and without a bug."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from engine.cli.setting_up.source import Source
from tests.installed.action import Runner
from tests.installed.conftest import RETAINED, STEP, TREE

UPLOAD = "github/codeql-action/upload-sarif@v3"


@pytest.fixture(scope="module")
def runner(offline: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    """A runner whose first job has installed Preflight; setup-python's Python is this one."""
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    folder = tmp_path_factory.mktemp("runner")
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to(sys.executable)
    workspace = folder / "my work"
    workspace.mkdir()
    (workspace / "train.py").write_text(RETAINED)
    (workspace / "step.py").write_text(STEP)
    (folder / "temp").mkdir()
    environment = {
        **offline,
        "PATH": f"{folder / 'bin'}:{offline['PATH']}",
        "PREFLIGHT_CACHE_DIR": str(folder / "kept"),
    }
    runner = Runner(TREE, workspace, folder / "temp", environment)
    installed = runner.run(paths="step.py")
    assert installed.steps == ["Install Preflight", "Check"]
    assert installed.succeeded, installed.log
    # Later jobs find it installed, as a restored cache of the runner's folder would have it.
    steps = runner.definition["runs"]["steps"]
    runner.definition["runs"]["steps"] = [step for step in steps if step.get("name") != "Install Preflight"]
    yield runner


def test_a_bug_fails_the_job_with_an_annotation_and_a_summary(runner: Runner) -> None:
    job = runner.run()
    assert not job.succeeded
    assert "::error file=train.py,title=PF101 retained-graph,line=11" in job.log
    assert job.summary.startswith("## Preflight: 1 error")
    assert UPLOAD not in job.used


@pytest.mark.parametrize(
    "inputs",
    [
        {"paths": "step.py"},
        {"fail_on": "never"},
        {"ignore": "retained-graph"},
        {"select": "missing-zero-grad"},
    ],
)
def test_inputs_decide_what_fails(runner: Runner, inputs: dict[str, str]) -> None:
    job = runner.run(**inputs)
    assert job.succeeded, job.log


def test_the_log_has_the_format_asked_for(runner: Runner) -> None:
    assert "total += loss.detach()" in runner.run(format="text").log
    assert json.loads(runner.run(format="json", paths="step.py\ntrain.py").log)["files"]["read"] == 2


def test_findings_go_to_code_scanning_where_that_is_asked_for_though_the_check_fails(runner: Runner) -> None:
    job = runner.run(upload_sarif="true", sarif_file="found.sarif")
    assert not job.succeeded
    log = Path(job.used[UPLOAD]["sarif_file"])
    assert "PF101" in {result["ruleId"] for result in json.loads(log.read_text())["runs"][0]["results"]}
    assert (runner.workspace / "found.sarif").read_bytes() == log.read_bytes()
    (runner.workspace / "found.sarif").unlink()


def test_an_estimate_is_judged_and_added_to_the_summary(runner: Runner) -> None:
    job = runner.run(paths="step.py", estimate="step.py", gpu="t4,a100-80gb")
    assert job.succeeded, job.log
    assert job.summary.startswith("## Preflight: 1 note")
    assert "## Memory estimate for `step.py`" in job.summary
    assert "`t4`" in job.summary and "`a100-sxm4-80gb`" in job.summary
    failing = runner.run(paths="step.py", estimate="nowhere.py", gpu="t4")
    assert not failing.succeeded


def test_what_is_installed_is_whole(runner: Runner) -> None:
    program = runner.temporary / "preflight" / "bin" / "preflight"
    words = [program, "estimate", "step.py", "--html", runner.temporary / "page.html"]
    done = subprocess.run(words, cwd=runner.workspace, env=runner.environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "<svg" in (runner.temporary / "page.html").read_text()


def test_inputs_are_never_commands(runner: Runner) -> None:
    hostile = "x$(touch pwned)`touch pwned`;touch pwned"
    job = runner.run(paths=hostile, select=hostile, since=hostile, fail_on=hostile, estimate=hostile, gpu=hostile)
    assert not job.succeeded
    assert job.steps == ["Check", "Estimate"]
    assert not (runner.workspace / "pwned").exists()


def test_every_input_is_used_and_every_use_is_an_input(runner: Runner) -> None:
    text = (TREE / "action.yml").read_text(encoding="utf-8")
    used = {part.split(" ")[0].strip("}") for part in text.replace("${{ ", "").split("inputs.")[1:]}
    assert {name.split("\n")[0] for name in used} == set(runner.definition["inputs"])


def test_a_version_is_installed_from_the_repository_of_the_action(
    offline: Mapping[str, str], clone: Source, tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "preflight").symlink_to(clone.repository)
    (tmp_path / "step.py").write_text(STEP)
    environment = {
        **offline,
        "PATH": f"{tmp_path / 'bin'}:{offline['PATH']}",
        "PREFLIGHT_CACHE_DIR": str(tmp_path / "k"),
    }
    runner = Runner(TREE, tmp_path, tmp_path, environment)
    job = runner.run(paths="step.py", version=clone.revision)
    assert job.succeeded, job.log
    noted = next(tmp_path.glob("preflight/lib/*/site-packages/preflight_review-*.dist-info/direct_url.json"))
    assert json.loads(noted.read_text())["vcs_info"]["requested_revision"] == clone.revision
