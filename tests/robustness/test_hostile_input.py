"""A sample of the fuzz inputs on every test run; the long run is `python -m tests.robustness.fuzz`."""

import random
from pathlib import Path

import pytest

from engine.check import check
from engine.project import Project
from tests.robustness.mutations import HEAVY_MUTATIONS, PYTHON_2, inputs

GOOD = """import torch
from torch import nn


def train(model, loader, optimizer):
    history = []
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        history.append(loss)
    return history
"""


def test_mutated_files_never_crash_and_failures_are_named() -> None:
    for path, source in inputs([GOOD], 150, seed=7, heavy_share=0.0):
        report = check(Project.from_mapping({path: source}))
        assert all(failed.path.startswith(path) and failed.reason for failed in report.files.failed), path


@pytest.mark.parametrize("mutation", HEAVY_MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_heavy_files_never_crash(mutation) -> None:  # type: ignore[no-untyped-def]
    rng = random.Random(3)
    for _ in range(4):
        report = check(Project.from_mapping({"heavy.py": mutation(GOOD, rng)}))
        assert all(failed.reason for failed in report.files.failed)


def test_a_broken_file_does_not_lose_the_others() -> None:
    report = check(Project.from_mapping({"broken.py": PYTHON_2, "null.py": b"import torch\n\x00", "train.py": GOOD}))
    assert {failed.path for failed in report.files.failed} == {"broken.py", "null.py"}
    assert [finding.name for finding in report.findings] == ["retained-graph"]


def test_import_cycles_and_recursion_end() -> None:
    files = {
        "a.py": "import torch\nfrom b import g\n\n\ndef f(x):\n    return g(x)\n",
        "b.py": "import torch\nfrom a import f\n\n\ndef g(x):\n    return f(g(x))\n",
    }
    assert check(Project.from_mapping(files)).files.failed == ()


def test_a_file_that_leaves_the_tree_is_not_read(tmp_path: Path) -> None:
    outside = tmp_path / "secret.py"
    outside.write_text("import torch\n")
    inside = tmp_path / "repository"
    inside.mkdir()
    (inside / "link.py").symlink_to(outside)
    (inside / "train.py").write_text(GOOD)
    report = check(Project.from_folder(inside))
    assert all(finding.path == "train.py" for finding in report.findings)
