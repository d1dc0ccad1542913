"""A sample of the fuzz inputs on every test run; the long run is `python -m tests.robustness.fuzz`."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from engine.check import check
from engine.cli import main
from engine.diff import FileDiff
from engine.project import Project
from engine.review import review
from engine.settings import Settings
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


def test_values_made_from_thousands_of_others_stop_no_rule() -> None:
    calls = "".join(f"def f{n}(x):\n    return f{n + 1}(f{n + 1}(f{n + 1}(x)))\n" for n in range(40))
    branching = f"import torch\n{calls}def f40(x):\n    return f0(x)\nf0(torch.ones(1)).backward()\n"
    unrolled = "import torch\nx = torch.ones(1, requires_grad=True)\n" + "x = x * 2\n" * 5_000 + "x.backward()\n"
    for source in (branching, unrolled):
        assert check(Project.from_mapping({"train.py": source})).files.failed == ()


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


NAMES = [
    "#1 GH-2.py", "a#b/c#cell=3.py", "a`@octocat`b.py", "<img src=x>.py", "new\nline.py", "::error file=x::.py",
    "a|b.py", "percent%0A.py", "\u202egpj.py", "q\"uote's.py", "-rf.py", "ä.py",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_file_may_have_any_name(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {name: GOOD, "train.py": GOOD}
    added = f"@@ -0,0 +1,{GOOD.count(chr(10))} @@\n" + "".join(f"+{line}\n" for line in GOOD.splitlines())
    report = review(
        Project.from_mapping({}),
        Project.from_mapping(files),
        changed=[FileDiff.from_patch(path, added, "added", None) for path in files],
        settings=Settings(memory=False),
    )
    assert {comment.path for comment in report.review_comments} == set(files)
    assert {annotation.path for annotation in report.annotations} >= set(files)
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    for form in ("text", "github", "sarif", "json"):
        main(["check", str(tmp_path), "--format", form])
        said = capsys.readouterr().out
        assert said
        assert form != "github" or said.count("\n") == len(said.split("\n::")), "one line an annotation"
    main(["check", str(tmp_path), "--fix"])
    assert "loss.detach()" in (tmp_path / name).read_text()


DEEP = {
    "brackets": "x = " + "(" * 5_000 + "1" + ")" * 5_000,
    "brackets within Python's limit for LibCST": "type X = int\nx = " + "(" * 190 + "1" + ")" * 190,
    "signs": "x = " + "-" * 100_000 + "1",
    "branches": "type X = int\nif a:\n    pass\n" + "elif a:\n    pass\n" * 1_000,
    "formatted strings": "x = " + "f'{" * 300 + "1" + "}'" * 300,
    "blocks": "".join(" " * depth + "if x:\n" for depth in range(99)) + " " * 99 + "pass",
    "open brackets": "(" * 100_000,
}


@pytest.mark.parametrize("source", DEEP.values(), ids=DEEP)
def test_depth_takes_no_process_down(source: str, tmp_path: Path) -> None:
    # In a process of its own: what it guards against is an overrun of the stack.
    (tmp_path / "deep.py").write_text(f"import torch\n{source}\n")
    (tmp_path / "train.py").write_text(GOOD)
    command = [sys.executable, "-c", "import sys; from engine.cli import main; sys.exit(main())"]
    done = subprocess.run([*command, "check", str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "retained-graph" in done.stdout
