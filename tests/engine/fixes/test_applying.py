"""Applying fixes to the files of a folder."""

from __future__ import annotations

import json
from pathlib import Path

from engine.findings import Edit, Finding, Fix
from engine.fixes.applying import fix_files


def finding(path: str, line: int, column: int, text: str, *, safe: bool = True, end_column: int = 0) -> Finding:
    edit = Edit(line=line, column=column, end_line=line, end_column=end_column or column, text=text)
    return Finding(
        rule="PF101", name="retained-graph", severity="error", path=path, line=line, column=column, end_line=line,
        end_column=column + 1, message="", fix=Fix(description="", safe=safe, edits=(edit,)),
    )  # fmt: skip


def test_newlines_and_encoding_of_the_file_stay(tmp_path: Path) -> None:
    target = tmp_path / "a.py"
    target.write_bytes("# coding: latin-1\r\nx = 'é'\r\nt += loss\r\n".encode("latin-1"))
    outcome = fix_files(tmp_path, [finding("a.py", 3, 10, ".detach()")])
    assert outcome.applied == 1
    assert target.read_bytes() == "# coding: latin-1\r\nx = 'é'\r\nt += loss.detach()\r\n".encode("latin-1")


def test_unsafe_and_overlapping_fixes_are_left(tmp_path: Path) -> None:
    target = tmp_path / "a.py"
    target.write_text("t += loss\nu += loss\n")
    outcome = fix_files(
        tmp_path,
        [
            finding("a.py", 1, 6, "a", end_column=10),
            finding("a.py", 1, 8, "b", end_column=10),
            finding("a.py", 2, 10, ".item()", safe=False),
        ],
    )
    assert outcome.applied == 1
    assert target.read_text() == "t += a\nu += loss\n"


def test_a_file_that_would_not_parse_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "a.py"
    target.write_text("t += loss\n")
    outcome = fix_files(tmp_path, [finding("a.py", 1, 10, "(")])
    assert outcome.applied == 0
    assert target.read_text() == "t += loss\n"
    assert "not fixed" in outcome.messages[0]


def test_a_notebook_keeps_its_other_cells(tmp_path: Path) -> None:
    target = tmp_path / "nb.ipynb"
    cells = [
        {"cell_type": "markdown", "source": ["# t"]},
        {"cell_type": "code", "source": ["import torch\n"], "outputs": []},
        {"cell_type": "code", "source": ["for x in y:\n", "    t += loss"], "outputs": []},
    ]
    target.write_text(json.dumps({"cells": cells, "nbformat": 4}, indent=2) + "\n")
    assert fix_files(tmp_path, [finding("nb.ipynb#cell=2", 2, 14, ".detach()")]).applied == 1
    after = json.loads(target.read_text())
    assert after["cells"][2]["source"] == ["for x in y:\n", "    t += loss.detach()"]
    assert after["cells"][:2] == cells[:2]
    assert target.read_text().startswith('{\n  "cells"')
