"""What a repository configures, and what happens to what cannot be taken."""

from __future__ import annotations

from pathlib import Path

import yaml
from jsonschema import Draft7Validator

from engine.project import Project
from engine.settings import LoadedSettings, Settings, load_settings, parse_settings, schema


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
    loaded = load_settings(project, organisation={".github/preflight.yml": "memory: true\ngpus: [t4]\n"})

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
    loaded = load_settings(project, organisation={".github/preflight.yml": "fail-on: never\nmemory: true\n"})
    assert loaded.settings.fail_on == "never" and not loaded.settings.memory


def test_the_readme_shows_every_key_and_no_other() -> None:
    text = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    example = text.split("```yaml\n", 1)[1].split("```", 1)[0]
    loaded = parse_settings(example)
    assert not loaded.problems
    assert set(yaml.safe_load(example)) == set(Settings.model_fields)


def test_the_published_schema_is_that_of_the_settings_and_takes_the_readmes_example() -> None:
    assert schema.published() == schema.text(), "python -m engine.settings.schema makes it anew"
    readme = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    example = yaml.safe_load(readme.split("```yaml\n", 1)[1].split("```", 1)[0])
    validator = Draft7Validator(schema.json_schema())

    assert not list(validator.iter_errors(example))
    kebab = {key.replace("_", "-"): value for key, value in example.items()}
    assert not list(validator.iter_errors(kebab | {"ignore": "sync-in-loop", "extends": "a.yml"}))
    for wrong in ({"gate": "loud"}, {"max_comments": 26}, {"unheard-of": 1}, {"entry_points": [{"gpus": ["t4"]}]}):
        assert list(validator.iter_errors(wrong)), wrong


def test_rules_and_devices_that_nobody_knows_are_named_and_the_rest_is_taken() -> None:
    loaded = parse_settings(
        "ignore: [retained-grph, PF1, sync-in-loop]\n"
        "severity: {unseeded-randomnes: note, PF2: note}\n"
        "per-path-ignores: {'a/**': [no-such-rule, all]}\n"
        "gate: loud\n"
        "entry-points: [a.py, {script: b.py, gpus: [t4, toaster]}]\n"
    )
    settings = loaded.settings
    assert settings.ignore == ("PF1", "sync-in-loop")
    assert dict(settings.severity) == {"PF2": "note"}
    assert settings.per_path_ignores == {"a/**": ("all",)}
    assert [point.gpus for point in settings.entry_points] == [(), ("t4",)]
    assert [problem.line for problem in loaded.problems] == [1, 2, 3, 4, 5]
    assert "did you mean `retained-graph`" in loaded.problems[0].message
    assert "'error', 'warning', 'note' or 'never'" in loaded.problems[3].message


def test_files_of_the_organisation_are_built_on_where_they_are_named() -> None:
    shared = {
        ".github/preflight.yml": "memory: false\n",
        "presets/strict.yml": "extends: presets/base.yml\ngate: error\n",
        "presets/base.yml": "gate: warning\ngpus: [t4]\nextends: presets/strict.yml\n",
    }

    def loaded(text: str, organisation: dict[str, str] | None = shared) -> LoadedSettings:
        return load_settings(Project.from_mapping({".github/preflight.yml": text}), organisation)

    named = loaded("extends: presets/strict.yml\n")
    assert (named.settings.gate, named.settings.gpus, named.settings.memory) == ("error", ("t4",), True)
    assert str(named.origins["gpus"]) == "organisation:presets/base.yml:2"
    assert loaded("extends: []\n").settings.memory
    assert not loaded("gate: error\n").settings.memory
    gone = loaded("\nextends: presets/gone.yml\n")
    assert [(problem.line, gone.missing) for problem in gone.problems] == [(2, ("presets/gone.yml",))]
    assert not loaded("extends: presets/strict.yml\n", None).problems, "of the organisation nothing is known here"
