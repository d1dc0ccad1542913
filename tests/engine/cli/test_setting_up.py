"""`init` looks at a repository and writes what it needs; `config check` names what is not understood."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from engine.project import Project
from engine.settings import load_settings

if TYPE_CHECKING:
    from tests.engine.cli.conftest import Run

HOOKS = """\
# Our hooks.
repos:
  - repo: https://github.com/astral-sh/ruff-pre-commit
    rev: v0.8.0
    hooks:
      - id: ruff  # lint
        args: [--fix]

# Settings below the list.
fail_fast: true
"""


@pytest.fixture
def repository(work: Path) -> Path:
    (work / "train.py").write_text((work / "train.py").read_text() + "\nif __name__ == '__main__':\n    train()\n")
    (work / "job.sbatch").write_text("#SBATCH --gres=gpu:a100:4\nsrun torchrun train.py\n")
    (work / "third_party_code" / "external").mkdir(parents=True)
    (work / "third_party_code" / "external" / "x.py").write_text("import torch\n")
    return work


class TestInit:
    def test_it_writes_a_configuration_of_what_it_found(self, repository: Path, run: Run) -> None:
        answer = run("init")
        assert answer.code == 0
        loaded = load_settings(Project.from_folder(repository))
        assert not loaded.problems
        assert loaded.settings.gpus == ("a100-sxm4-40gb",)
        assert "train.py" in loaded.settings.named_scripts
        assert loaded.settings.excludes("third_party_code/external/x.py")
        assert loaded.settings.excludes("tests/test_model.py")
        assert run("config", "check").code == 0

    def test_hook_and_workflow_run_preflight(self, repository: Path, run: Run) -> None:
        run("init")
        (repo,) = yaml.safe_load((repository / ".pre-commit-config.yaml").read_text())["repos"]
        ours = yaml.safe_load((Path(__file__).parents[3] / ".pre-commit-hooks.yaml").read_text())
        assert repo["hooks"][0]["id"] in {hook["id"] for hook in ours}
        workflow = yaml.safe_load((repository / ".github/workflows/preflight.yml").read_text())
        steps = [step["run"] for step in workflow["jobs"]["preflight"]["steps"] if "run" in step]
        assert f'pip install --quiet "preflight-review @ git+{repo["repo"]}@{repo["rev"]}"' in steps
        assert workflow["permissions"] == {"contents": "read"}
        assert any(step.startswith("preflight check --format github --since") for step in steps)

    def test_an_existing_list_of_hooks_is_added_to_and_kept(self, repository: Path, run: Run) -> None:
        (repository / ".pre-commit-config.yaml").write_text(HOOKS)
        run("init", "--only", "pre-commit")
        text = (repository / ".pre-commit-config.yaml").read_text()
        assert [line for line in HOOKS.split("\n") if line not in text.split("\n")] == []
        document = yaml.safe_load(text)
        assert [repo["hooks"][0]["id"] for repo in document["repos"]] == ["ruff", "preflight"]
        assert document["fail_fast"] is True
        run("init", "--only", "pre-commit", "--force")
        assert (repository / ".pre-commit-config.yaml").read_text() == text

    @pytest.mark.parametrize("text", ["repos: []\n", "- nothing\n", "repos: [", "repos: &a [*a]\n", ""])
    def test_a_list_that_it_does_not_understand_is_left_alone(self, repository: Path, run: Run, text: str) -> None:
        (repository / ".pre-commit-config.yaml").write_text(text)
        answer = run("init", "--only", "pre-commit", "--force")
        assert (repository / ".pre-commit-config.yaml").read_text() == text
        assert "add this to its `repos`" in answer.err

    def test_nothing_is_overwritten_without_force(
        self, repository: Path, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (repository / ".github").mkdir()
        (repository / ".github/preflight.yml").write_text("memory: false\n")
        answer = run("init")
        assert (repository / ".github/preflight.yml").read_text() == "memory: false\n"
        assert "--force" in answer.err
        monkeypatch.setattr("sys.stdin.isatty", lambda: True)
        monkeypatch.setattr("builtins.input", lambda question: "n")
        run("init")
        assert (repository / ".github/preflight.yml").read_text() == "memory: false\n"
        monkeypatch.setattr("builtins.input", lambda question: "y")
        run("init")
        assert "entry_points" in (repository / ".github/preflight.yml").read_text()

    def test_a_link_is_never_written_through(self, repository: Path, run: Run, tmp_path: Path) -> None:
        outside = tmp_path / "outside.yml"
        (repository / ".pre-commit-config.yaml").symlink_to(outside)
        run("init", "--force")
        assert not outside.exists()

    def test_a_dry_run_writes_nothing(self, repository: Path, run: Run) -> None:
        before = sorted(repository.rglob("*"))
        answer = run("init", "--dry-run", "--gpu", "t4")
        assert sorted(repository.rglob("*")) == before
        assert "# .github/preflight.yml" in answer.out and '"t4"' in answer.out

    @pytest.mark.parametrize("words", [["nowhere"], ["--only", "everything"], ["--gpu", "warp-drive"]])
    def test_wrong_use(self, repository: Path, run: Run, words: list[str]) -> None:
        assert run("init", *words).code == 2


class TestConfigCheck:
    def test_what_is_understood_is_shown(self, work: Path, run: Run) -> None:
        (work / "pyproject.toml").write_text('[tool.preflight]\nfail-on = "warning"\n')
        answer = run("config", "check", "--format", "json")
        assert answer.code == 0
        assert json.loads(answer.out)["settings"] == {"fail-on": "warning"}
        assert "All of it is understood" in run("config", "check", "pyproject.toml").out

    def test_without_a_configuration_the_defaults_hold(self, work: Path, run: Run) -> None:
        answer = run("config", "check")
        assert answer.code == 0 and "defaults" in answer.out

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("memry: true\n", "did you mean `memory`"),
            ("fail_on: sometimes\n", "preflight.yml:1"),
            ("memory: true\nignore: [retained-grap]\n", "preflight.yml:2: `ignore`: no rule named 'retained-grap'"),
            ("severity: {PF999: note}\n", "no rule named"),
            ("per_path_ignores: {'a/**': [all, nonsense]}\n", "'nonsense'"),
            ("memory: true\nentry_points: [gone.py]\n", "preflight.yml:2: `entry-points`: gone.py does not exist"),
            ("gpus: [warp-drive]\n", "warp-drive"),
            ("a: [\n", "YAML"),
        ],
    )
    def test_what_is_not_understood_is_named_with_its_line(self, work: Path, run: Run, text: str, told: str) -> None:
        (work / ".github").mkdir()
        (work / ".github/preflight.yml").write_text(text)
        answer = run("config", "check")
        assert answer.code == 2
        assert told in answer.err

    def test_prefixes_and_all_name_rules(self, work: Path, run: Run) -> None:
        (work / ".github").mkdir()
        (work / ".github/preflight.yml").write_text("ignore: [PF1, all, pf201]\n")
        assert run("config", "check").code == 0

    @pytest.mark.parametrize("path", ["nowhere.yml", "train.py"])
    def test_a_file_that_is_none_is_wrong_use(self, work: Path, run: Run, path: str) -> None:
        assert run("config", "check", path).code == 2
