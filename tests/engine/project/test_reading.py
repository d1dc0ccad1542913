"""What a project makes of the files it is given: every failure is named with its line and loses nothing else."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from engine.project import MAX_FILE_BYTES, Project, UnreadableFile

BROKEN = {
    "null.py": (b"x = 1\ny = '\0'\n", "null bytes", 2),
    "latin.py": (b"x = 1\n# caf\xe9\n", "utf-8", 2),
    "cookie.py": (b"# -*- coding: klingon -*-\n", "encoding", 1),
    "two.py": (b"import torch\nprint 'loss', 1\n", "Python 2", 2),
    "exec.py": (b"x = 1\nexec 'y = 2'\n", "Python 2", 2),
    "syntax.py": (b"def f(:\n    pass\n", "does not parse", 1),
    "brackets.py": (b"x = " + b"(" * 400 + b")" * 400, "does not parse", 1),
    "minus.py": (b"x = " + b"-" * 20_000 + b"1", "too deep", None),
    "sum.py": (b"x = " + b" + ".join([b"1"] * 2_500), "deep", None),
    "huge.py": (b"#" * (MAX_FILE_BYTES + 1), "too large", None),
    "broken.ipynb": (b'{\n "cells": [\n', "not valid JSON", 3),
    "list.ipynb": (b"[]", "not a Jupyter notebook", 1),
    "julia.ipynb": (b'{"cells": [], "metadata": {"language_info": {"name": "julia"}}}', "julia", None),
}


@pytest.mark.parametrize("path", sorted(BROKEN))
def test_a_file_that_cannot_be_read_is_named_and_loses_nothing_else(path: str) -> None:
    content, reason, line = BROKEN[path]
    project = Project.from_mapping({path: content, "good.py": "import torch\n"})
    with pytest.raises(UnreadableFile) as caught:
        project.module(path)
    assert reason in caught.value.reason.replace("deeply", "deep")
    if line is not None:
        assert caught.value.line == line
    assert project.module("good.py").tree.body
    assert list(project.failed) == [path]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\xef\xbb\xbfx = 1\n", "x = 1\n"),
        (b"x = 1\r\ny = 2\r\n", "x = 1\ny = 2\n"),
        (b"# coding: latin-1\nx = '\xe9'\n", "# coding: latin-1\nx = 'é'\n"),
    ],
)
def test_text_is_decoded_as_python_would(content: bytes, expected: str) -> None:
    assert Project.from_mapping({"a.py": content}).read_text("a.py") == expected


def test_columns_count_characters_not_bytes() -> None:
    module = Project.from_mapping({"a.py": "é = 'ü'; loss.backward()\n"}).module("a.py")
    call = module.tree.body[1]
    assert module.span(call)[:2] == (1, 10)
    assert module.source(call) == "loss.backward()"


def test_paths_never_leave_the_tree(tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("token = 1\n")
    root = tmp_path / "root"
    root.mkdir()
    (root / "link.py").symlink_to(tmp_path / "secret.py")
    (root / "folder").symlink_to(tmp_path)
    (root / "train.py").write_text("import torch\n")
    project = Project.from_folder(root)
    assert list(project.paths()) == ["train.py"]
    for path in ("../secret.py", "link.py", "folder/secret.py", "/etc/passwd"):
        assert not project.exists(path)
        with pytest.raises(UnreadableFile):
            project.read_text(path)
    assert list(Project.from_mapping({"../a.py": "", "/b.py": "", "c.py": ""}).paths()) == ["c.py"]


NEWER = """\
from typing import Callable

type Batch[T] = tuple[T, T]
type Plain = int


class Loop[
    N,  # the network
    O = int,
](Base):
    def on[**P, *Ts](self, f: Callable[P, float]) -> None:
        print(f"{batch["x"]} {'\\n'.join(names)} {
            loss.item()  # waits
        :{width}.3f}")


marker = 1
"""


def test_newer_syntax_is_read_with_its_lines() -> None:
    tree = Project.from_mapping({"a.py": NEWER}).module("a.py").tree
    names = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    assert set(names) == {"Loop", "on"}
    assert names["on"].lineno == 11
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    assert {node.func.attr for node in calls if isinstance(node.func, ast.Attribute)} >= {"item", "join"}
    assert next(c.lineno for c in calls if isinstance(c.func, ast.Attribute) and c.func.attr == "item") == 13
    assert tree.body[-1].lineno == NEWER.split("\n").index("marker = 1") + 1
