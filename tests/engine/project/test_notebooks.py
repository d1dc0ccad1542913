"""Notebooks as modules: what only IPython understands is blanked, and places lead back to cell and line."""

from __future__ import annotations

import json

from engine.project import Project


def notebook(*cells: tuple[str, str | list[str]]) -> str:
    return json.dumps(
        {
            "cells": [{"cell_type": kind, "metadata": {}, "source": source} for kind, source in cells],
            "metadata": {"language_info": {"name": "python"}},
            "nbformat": 4,
        },
        indent=1,
    )


def test_magics_and_shell_lines_are_blanked_and_code_stays() -> None:
    text = notebook(
        ("markdown", "# Title"),
        ("code", "%matplotlib inline\n!pip install torch\nimport torch\nfiles = !ls\nnet?\n%time run(3)"),
        ("code", "%%bash\nrm -rf /"),
        ("code", 'if x:\n    !nvidia-smi\ns = """\n%d items\n"""\ny = a \\\n  % b'),
        ("code", "%%time\ntrain()"),
    )
    module = Project.from_mapping({"nb.ipynb": text}).module("nb.ipynb")
    assert "import torch" in module.lines
    assert "files = None" in module.lines
    assert "run(3)" in module.lines
    assert "%d items" in module.lines
    assert not any("rm -rf" in line or "pip" in line or "nvidia" in line for line in module.lines)
    assert module.lines[module.lines.index("train()") - 1] == ""


def test_places_lead_to_cell_line_and_line_of_the_json() -> None:
    text = notebook(
        ("code", ["import torch\n", "x = 1"]),
        ("markdown", "loss.backward()"),
        ("code", ["for x in y:\n", "    loss.backward()\n", "    step()"]),
    )
    module = Project.from_mapping({"nb.ipynb": text}).module("nb.ipynb")
    line = module.lines.index("    loss.backward()") + 1
    assert module.display_path(line) == ("nb.ipynb#cell=2", 2)
    assert module.module_line("nb.ipynb#cell=2", 2) == line
    assert "    loss.backward()" in text.split("\n")[module.file_line(line) - 1]


def test_a_cell_that_does_not_parse_is_named_and_the_others_are_read() -> None:
    text = notebook(("code", "x = 1"), ("code", "y = 2\nfor"), ("code", "loss.backward()"))
    project = Project.from_mapping({"nb.ipynb": text})
    module = project.module("nb.ipynb")
    assert [line for line in module.lines if line] == ["x = 1", "loss.backward()"]
    assert module.display_path(module.lines.index("loss.backward()") + 1) == ("nb.ipynb#cell=3", 1)
    assert project.failed == {"nb.ipynb": "cell 2 does not parse: invalid syntax (line 2)"}


def test_what_a_cell_leaves_unfinished_is_no_matter_of_the_next_one() -> None:
    exercise = "def run(path):\n    # TODO: write your algorithm\n"
    text = notebook(("code", "x = 1"), ("code", exercise), ("code", "loss.backward()"), ("code", "y = # fill in"))
    project = Project.from_mapping({"nb.ipynb": text})
    module = project.module("nb.ipynb")
    assert [line for line in module.lines if line] == ["x = 1", "loss.backward()"]
    reasons = project.failed["nb.ipynb"].split("; ")
    assert reasons[0].startswith(
        "cell 2 does not parse: expected an indented block after function definition on line 1"
    )
    assert reasons[1] == "cell 4 does not parse: invalid syntax (line 1)"


def test_magics_without_their_sign_are_magics_where_they_can_be_nothing_else() -> None:
    source = "pip install -q torch\ncd ..\nls = [1]\nls += [2]\nrm (3)\nimport torch\nif x:\n    pip install timm"
    module = Project.from_mapping({"nb.ipynb": notebook(("code", source))}).module("nb.ipynb")
    assert list(module.lines[:8]) == ["", "", "ls = [1]", "ls += [2]", "rm (3)", "import torch", "if x:", "    pass"]
