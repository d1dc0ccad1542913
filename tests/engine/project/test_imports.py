"""Which file of the project an import means."""

from __future__ import annotations

import pytest

from engine.project import Project

FILES = {
    "train.py": "",
    "models/net.py": "",
    "src/pkg/__init__.py": "",
    "src/pkg/a.py": "",
    "src/pkg/sub/__init__.py": "",
    "src/pkg/sub/b.py": "",
    "src/pkg/torch.py": "",
    "examples/run.py": "",
    "examples/common.py": "",
    "tool/__init__.py": "",
    "tool/main.py": "",
    "tool/model.py": "",
}


@pytest.mark.parametrize(
    ("dotted", "importer", "level", "expected"),
    [
        ("models.net", "train.py", 0, "models/net.py"),
        ("pkg", "train.py", 0, "src/pkg/__init__.py"),
        ("pkg.sub.b", "src/pkg/a.py", 0, "src/pkg/sub/b.py"),
        ("a", "src/pkg/sub/b.py", 2, "src/pkg/a.py"),
        ("", "src/pkg/sub/b.py", 2, "src/pkg/__init__.py"),
        ("b", "src/pkg/sub/__init__.py", 1, "src/pkg/sub/b.py"),
        ("common", "examples/run.py", 0, "examples/common.py"),
        ("common", "train.py", 0, None),
        ("model", "tool/main.py", 0, "tool/model.py"),
        ("torch", "src/pkg/a.py", 0, None),
        ("x", "train.py", 5, None),
        ("", "train.py", 1, None),
        ("numpy", None, 0, None),
    ],
)
def test_find_module(dotted: str, importer: str | None, level: int, expected: str | None) -> None:
    assert Project.from_mapping(FILES).find_module(dotted, importer, level) == expected
