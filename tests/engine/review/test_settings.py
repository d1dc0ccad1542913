"""What a repository configures, and what happens to what cannot be taken."""

from __future__ import annotations

from pathlib import Path

import yaml

from engine.project import Project
from engine.settings import Settings, load_settings, parse_settings


def test_defaults_hold_without_a_file() -> None:
    loaded = load_settings(Project.from_mapping({"train.py": ""}))
    assert loaded.settings == Settings()
    assert loaded.path is None and not loaded.problems
    assert loaded.settings.excludes("pkg/tests/test_a.py") and not loaded.settings.excludes("train.py")


def test_a_file_is_read_and_what_is_wrong_is_named_with_its_line() -> None:
    loaded = parse_settings(
        "ignore: [PF101, stuck-in-eval]\n"
        "fail_on: warning\n"
        "max-comments: 400\n"
        "seveerity: {}\n"
        "severity:\n  PF2: note\n"
        "per-path-ignores:\n  'scripts/**': retained-graph\n"
        "gpus: [a100, warp-drive-9000]\n"
    )
    settings = loaded.settings
    assert not settings.enabled("PF101", "retained-graph") and settings.enabled("PF102", "other")
    assert settings.fails(["warning"]) and not settings.fails(["note"])
    assert settings.severity_of("PF203", "x", "error") == "note"
    assert settings.silences("scripts/a/b.py", "PF101", "retained-graph")
    assert not settings.silences("src/b.py", "PF101", "retained-graph")
    assert settings.max_comments == Settings().max_comments
    assert settings.gpus == ("a100",)
    assert [problem.line for problem in loaded.problems] == [3, 4, 8 + 1]
    assert "did you mean `severity`" in loaded.problems[1].message


def test_broken_files_leave_the_defaults() -> None:
    for text in ("a: [", "- list", "x: &a [*a]", "just text"):
        loaded = parse_settings(text)
        assert loaded.settings == Settings() and loaded.problems


def test_findings_fail_a_check_only_behind_a_gate() -> None:
    advisory, gated = Settings(), Settings(gate="warning")

    assert advisory.conclude(["error"], incomplete=False) == "neutral"
    assert advisory.conclude(["note"], incomplete=False) == "success"
    assert advisory.conclude([], incomplete=True) == "neutral"
    assert gated.conclude(["note", "warning"], incomplete=True) == "failure"
    assert gated.conclude(["note"], incomplete=False) == "success"


def test_every_setting_carries_the_place_it_was_read_from() -> None:
    project = Project.from_mapping({".github/preflight.yml": "\nmemory: false\nmax-comments: 90\n"})
    loaded = load_settings(project, organisation_yaml="memory: true\ngpus: [t4]\n")

    assert {name: str(origin) for name, origin in loaded.origins.items()} == {
        "memory": ".github/preflight.yml:2",
        "gpus": "organisation:.github/preflight.yml:2",
    }


def test_pyproject_and_the_order_of_places() -> None:
    pyproject = '[tool.other]\nx = 1\n[tool.preflight]\nignore = ["PF1"]\nmemory = false\nwrong = 1\n'
    loaded = load_settings(Project.from_mapping({"pyproject.toml": pyproject}))
    assert loaded.path == "pyproject.toml"
    assert not loaded.settings.enabled("PF101", "retained-graph") and not loaded.settings.memory
    assert [problem.line for problem in loaded.problems] == [6]
    both = Project.from_mapping({"pyproject.toml": pyproject, ".github/preflight.yml": "memory: true\n"})
    assert load_settings(both).path == ".github/preflight.yml"
    assert load_settings(Project.from_mapping({"pyproject.toml": "[tool.x]\n"})).path is None


def test_a_repository_stands_on_its_organisation() -> None:
    project = Project.from_mapping({".github/preflight.yml": "memory: false\n"})
    loaded = load_settings(project, organisation_yaml="fail-on: never\nmemory: true\n")
    assert loaded.settings.fail_on == "never" and not loaded.settings.memory


def test_the_readme_shows_every_key_and_no_other() -> None:
    text = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    example = text.split("```yaml\n", 1)[1].split("```", 1)[0]
    loaded = parse_settings(example)
    assert not loaded.problems
    assert set(yaml.safe_load(example)) == set(Settings.model_fields)
