"""Kept results: what is read again after a change, and what a folder of entries does with damage and with malice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.changes import compare
from engine.check import check
from engine.diff import FileDiff
from engine.estimate import estimate
from engine.findings import EstimateReport
from engine.kept import FolderStore, MemoryStore, ObservedProject
from engine.kept.estimates import recalled_or
from engine.project import MAX_FILE_BYTES, Module, Project
from engine.settings import Settings

TRAINING = """
import torch
from {package}.model import Net

def train(loader):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for inputs, targets in loader:
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss)
    return losses
"""
MODEL = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(x)
"""
PACKAGES = ("first", "second", "third")


def files() -> dict[str, str]:
    return {
        f"{package}/{name}": text.replace("{package}", package)
        for package in PACKAGES
        for name, text in (("__init__.py", ""), ("model.py", MODEL), ("train.py", TRAINING))
    }


class Parsed(Project):
    """Counts the files that are parsed."""

    parsed: list[str]

    def _parsed(self, path: str, text: str) -> Module:
        self.parsed = [*getattr(self, "parsed", []), path]
        return super()._parsed(path, text)


def project(contents: dict[str, str]) -> Parsed:
    made = Parsed.from_mapping(contents)
    assert isinstance(made, Parsed)
    made.parsed = []
    return made


def test_a_second_push_that_touches_one_file_reads_that_file_and_what_depends_on_it() -> None:
    store = MemoryStore()
    base = {path: text.replace("losses.append(loss)", "losses.append(loss.item())") for path, text in files().items()}
    changed = [FileDiff.from_patch(f"{package}/train.py", None, "modified") for package in PACKAGES]
    settings = Settings()
    before, after = project(base), project(files())
    first = compare(before, after, changed, settings, store)
    assert {finding.path for finding in first.introduced} == {f"{package}/train.py" for package in PACKAGES}
    assert {path.partition("/")[0] for path in after.parsed} == set(PACKAGES)

    pushed = {**files(), "second/model.py": MODEL.replace("self.layer(x)", "self.layer(x).relu()")}
    changed.append(FileDiff.from_patch("second/model.py", None, "modified"))
    before, after = project(base), project(pushed)
    again = compare(before, after, changed, settings, store)
    assert [finding.fingerprint for finding in again.introduced] == [f.fingerprint for f in first.introduced]
    assert set(after.parsed) == {"second/model.py", "second/train.py"}
    assert set(before.parsed) <= {"second/model.py", "second/train.py"}


def test_the_same_files_are_analysed_once() -> None:
    store = MemoryStore()
    first = check(project(files()), store=store)
    assert len(first.findings) == len(PACKAGES)
    second = project(files())
    assert check(second, store=store) == first
    assert second.parsed == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param("first/model.py", MODEL + "\n\nx = 1\n", id="a file that is imported"),
        pytest.param("second/model.py", None, id="a file that is gone"),
        pytest.param("torch.py", "def relu(x): return x\n", id="a file that comes before what was imported"),
        pytest.param(".github/preflight.yml", "ignore: [PF101]\n", id="the settings"),
    ],
)
def test_what_an_analysis_looked_at_decides_whether_it_holds(path: str, text: str | None) -> None:
    store = MemoryStore()
    check(project(files()), ["first/train.py", "second/train.py"], store=store)
    contents = {**files(), path: text or ""}
    if text is None:
        del contents[path]
    changed = project(contents)
    report = check(changed, ["first/train.py", "second/train.py"], store=store)
    assert changed.parsed != [] or path.endswith(".yml")
    assert report == check(project(contents), ["first/train.py", "second/train.py"])


def test_a_file_that_does_not_matter_to_an_analysis_does_not_undo_it() -> None:
    store = MemoryStore()
    check(project(files()), ["first/train.py"], store=store)
    changed = project({**files(), "third/train.py": "x = 1\n", "README.md": "text"})
    check(changed, ["first/train.py"], store=store)
    assert changed.parsed == []


def test_failures_are_kept_too() -> None:
    store = MemoryStore()
    contents = {**files(), "broken.py": "import torch\ndef f(:\n"}
    first = check(project(contents), store=store)
    assert [failure.path for failure in first.files.failed] == ["broken.py"]
    assert check(project(contents), store=store) == first


def test_an_observed_project_answers_as_the_project_itself() -> None:
    plain = project(files())
    view = ObservedProject(plain)
    assert view.paths() == plain.paths()
    assert view.module("first/train.py") is plain.module("first/train.py")
    assert not view.exists("absent.py")
    seen = view.observations()
    assert seen.seen["absent.py"] == ""
    assert seen.hold_in(project(files()))
    assert not seen.hold_in(project({**files(), "absent.py": ""}))


SCRIPT = """
import torch
from net import Net

model = Net().cuda()
optimizer = torch.optim.Adam(model.parameters())
for step in range(10):
    optimizer.zero_grad()
    model(torch.randn(8, 4, device="cuda")).sum().backward()
    optimizer.step()
"""


def test_an_estimate_is_made_again_only_where_something_that_it_read_has_changed() -> None:
    store = MemoryStore()
    made: list[str] = []

    def estimated(contents: dict[str, str]) -> EstimateReport:
        def make(view: Project) -> EstimateReport:
            made.append("")
            return estimate(view, "run.py", gpus=["t4"], savings=False)

        return recalled_or(make, project(contents), "run.py", ["t4"], store, 60.0)

    contents = {"run.py": SCRIPT, "net.py": MODEL}
    first = estimated(contents)
    assert first.memory is not None
    assert estimated(contents) == first
    assert len(made) == 1
    wider = estimated({**contents, "net.py": MODEL.replace("Linear(4, 4)", "Linear(4, 4096)")})
    assert len(made) == 2
    assert wider.memory is not None
    assert wider.memory.allocated.expected > first.memory.allocated.expected


def test_a_file_too_large_to_read_is_not_read_for_its_key(tmp_path: Path) -> None:
    with (tmp_path / "weights.bin").open("wb") as stream:
        stream.truncate(10 * MAX_FILE_BYTES)
    assert Project.from_folder(tmp_path).content_key("weights.bin") == f"size {10 * MAX_FILE_BYTES}"


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.result"))


def test_a_folder_keeps_results_between_runs(tmp_path: Path) -> None:
    first = check(project(files()), store=FolderStore(tmp_path / "kept"))
    second = project(files())
    assert check(second, store=FolderStore(tmp_path / "kept")) == first
    assert second.parsed == []


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data: data[: len(data) // 2], id="cut off"),
        pytest.param(lambda data: b"", id="empty"),
        pytest.param(lambda data: b"\x80\x04\x95" + data, id="not ours"),
        pytest.param(lambda data: data.replace(b"losses", b"lasses"), id="changed text"),
        pytest.param(lambda data: data.split(b"\n")[0] + b"\n" + b"[" * 100_000, id="changed body"),
        pytest.param(lambda data: data + b" " * 9_000_000, id="grown"),
    ],
)
def test_damaged_entries_count_as_absent(tmp_path: Path, damage: object) -> None:
    assert callable(damage)
    store = FolderStore(tmp_path / "kept")
    first = check(project(files()), store=store)
    for path in entries(tmp_path / "kept"):
        path.write_bytes(damage(path.read_bytes()))
    second = project(files())
    assert check(second, store=FolderStore(tmp_path / "kept")) == first
    assert second.parsed != []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[" * 100_000,
        "{}",
        json.dumps({"observed": {"seen": {"/etc/passwd": "x"}}}),
        '{"observed": 1, "report": "x"}',
    ],
)
def test_well_kept_nonsense_is_no_result(text: str) -> None:
    class Nonsense(MemoryStore):
        def get(self, key: str) -> str | None:
            return text

    assert check(project(files()), store=Nonsense()) == check(project(files()))


def test_links_and_folders_of_others_are_not_followed(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "kept")
    check(project(files()), store=store)
    (entry,) = entries(tmp_path / "kept")
    elsewhere = tmp_path / "elsewhere"
    entry.rename(elsewhere)
    entry.symlink_to(elsewhere)
    second = project(files())
    check(second, store=FolderStore(tmp_path / "kept"))
    assert second.parsed != []

    (tmp_path / "kept").chmod(0o777)
    third = project(files())
    check(third, store=FolderStore(tmp_path / "kept"))
    assert third.parsed != []


def test_a_folder_stays_within_its_limit(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "kept", limit_bytes=20_000)
    for number in range(100):
        store.put(f"key {number}", "x" * 1_000)
    assert sum(path.stat().st_size for path in entries(tmp_path / "kept")) <= 20_000
    assert store.get("key 99") == "x" * 1_000
    assert store.get("key 0") is None


def test_a_folder_that_cannot_be_written_loses_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    report = check(project(files()), store=FolderStore(tmp_path / "file" / "kept"))
    assert len(report.findings) == len(PACKAGES)
