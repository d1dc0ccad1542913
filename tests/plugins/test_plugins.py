"""Rules and frameworks of other packages: found where the operator installed them only, named where they fail.

`acme/` is such a package. Commands run in processes of their own, as they would with the package installed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.github.models import ChangedFile
from bot.review.analysis import Limits, ProcessAnalyst
from bot.review.plan import Said, SaidComment, plan
from bot.review.reading import Sides
from engine.changes import compare
from engine.check import check
from engine.cli import main
from engine.diff import FileDiff
from engine.extending import CALL_KINDS, Draft, Rule, Trace, rule
from engine.findings import FailedFile, ReviewReport
from engine.fixes import applied
from engine.interpreter import library
from engine.plugins import FRAMEWORKS_GROUP, RULES_GROUP, Plugins, installed, trusted_folders
from engine.presentation.summary import headline
from engine.project import Project
from engine.rules import own_rules
from engine.settings import Settings
from tests.engine.rules.pages import diffs, examples, shown_change
from tests.plugins.installing import ACME, install, write_metadata

ROOT = Path(__file__).parents[2]

TRAINING = """\
import acme_trainer
from acme_trainer.loop import Loop


def train(net, dataset):
    loader = acme_trainer.DataLoader(dataset, batch_size=8, shuffle=True)
    model = acme_trainer.replicated(net)
    optimizer = acme_trainer.Adam(model.parameters(), lr=0.1)
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = acme_trainer.cross_entropy(model(inputs), targets)
        Loop(model).backward(loss)
        optimizer.step()
"""
LOADING = """\
from torch.utils.data import DataLoader


def build(dataset):
    return DataLoader(dataset, batch_size=8, num_workers=4)
"""
STOPS = """\
import torch

def train(model, loader, optimizer):
    losses = []
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss)
    return losses
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of installed packages that holds the example."""
    return install(ACME, tmp_path / "site")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder under review."""
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "train.py").write_text(TRAINING)
    (folder / "data.py").write_text(LOADING)
    return folder


def preflight(tree: Path, *arguments: str, packages: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), packages)))}
    command = [sys.executable, "-m", "engine.cli", *arguments]
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)


def found(run: subprocess.CompletedProcess[str]) -> list[tuple[str, str]]:
    assert run.stdout, run.stderr
    return [(finding["path"], finding["name"]) for finding in json.loads(run.stdout)["findings"]]


def test_an_installed_rule_and_framework_work_in_check_and_kept_results_know_of_them(site: Path, tree: Path) -> None:
    assert found(preflight(tree, "check", "--format", "json")) == []
    with_them = [("data.py", "loader-timeout"), ("train.py", "ddp-unsharded-loader")]
    assert found(preflight(tree, "check", "--format", "json", packages=str(site))) == with_them
    assert found(preflight(tree, "check", "--format", "json")) == []


def test_its_fix_is_applied_its_code_is_selected_and_its_page_explained(site: Path, tree: Path) -> None:
    run = preflight(tree, "check", "--fix", "--select", "ACME", "--format", "json", packages=str(site))
    assert found(run) == []
    assert (tree / "data.py").read_text() == LOADING.replace("num_workers=4", "num_workers=4, timeout=120")
    page = (ACME / "acme_preflight" / "loader_timeout.md").read_text()
    assert preflight(tree, "explain", "acme001", packages=str(site)).stdout.strip() == page.strip()


async def test_it_works_in_the_bots_analysis(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(site))
    sides = Sides({}, {"data.py": LOADING, "train.py": TRAINING})
    patches = {path: "\n".join(["@@ -0,0 +1,20 @@", *(f"+{line}" for line in text.split("\n"))])
               for path, text in sides.head.items() if isinstance(text, str)}  # fmt: skip
    changed = [ChangedFile(filename=path, status="added", patch=patch) for path, patch in patches.items()]
    analysis = await ProcessAnalyst(Limits(60, 4 * 2**30)).review(sides, changed, Settings(memory=False))
    assert [finding.rule for finding in analysis.report.introduced] == ["ACME001", "PF502"]
    assert "ACME001" in "".join(comment.body for comment in analysis.report.review_comments)


def test_a_tree_under_review_brings_no_plug_in_and_takes_no_ones_place(site: Path, tree: Path) -> None:
    install(ACME, tree)
    for module in ("__init__", "loader_timeout", "acme_trainer"):
        (tree / "acme_preflight" / f"{module}.py").write_text("raise SystemExit('code of the tree was run')")
    alone = preflight(tree, "check", "data.py", "train.py", "--format", "json", packages=str(tree))
    assert found(alone) == [] and "was run" not in alone.stdout + alone.stderr
    beside = preflight(tree, "check", "data.py", "--format", "json", packages=os.pathsep.join((".", str(site))))
    assert found(beside) == [("data.py", "loader-timeout")]


def test_folders_that_touch_the_working_folder_are_not_trusted(tmp_path: Path) -> None:
    here, packages = tmp_path / "repository" / "code", tmp_path / "packages"
    own = next(folder for folder in sys.path if folder.endswith("site-packages"))
    search = ["", "vendored", str(here), str(here / "lib"), str(tmp_path / "repository"), str(packages), own, str(here)]
    # What stands behind the interpreter's own folder comes from its .pth files: an editable installation.
    assert trusted_folders(search, here) == [str(packages), own, str(here)]
    # An environment that lies in the repository is still the operator's.
    assert own in trusted_folders(search, Path(own).parent)


BROKEN = {
    "not_there": (None, "cannot be imported: ModuleNotFoundError"),
    "leaves": ("raise SystemExit(3)", "cannot be imported: SystemExit"),
    "no_version": ("", "put PREFLIGHT_API = 1 into no_version"),
    "newer": ("PREFLIGHT_API = 7", "written for version 7 of the interface, and this Preflight offers 1"),
    "no_rule": ("PREFLIGHT_API = 1", "bind `check` to one"),
    "own_code": ("PF999", "the code 'PF999' is not taken"),
    "taken": ("ACME7:retained-graph", "is taken by PF101 retained-graph"),
    "odd_name": ("ACME7:Odd name", "the name 'Odd name' is not taken"),
}
RULE = """\
from engine.extending import rule
PREFLIGHT_API = 1

@rule("{code}", "{name}", "note", "Nothing")
def check(trace):
    yield from ()
"""


@pytest.mark.parametrize("module", BROKEN)
def test_a_rule_that_cannot_be_loaded_is_named_with_what_to_do(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, expected = BROKEN[module]
    if text is not None and text[:2] in ("PF", "AC") and "=" not in text:
        code, _, name = text.partition(":")
        text = RULE.format(code=code, name=name or "some-name")
    good = RULE.format(code="GOOD1", name=f"good-{module.replace('_', '-')}")
    (tmp_path / f"good_{module}.py").write_text(good)
    if text is not None:
        (tmp_path / f"{module}.py").write_text(text)
    write_metadata(tmp_path, "acme-odd", "2.0", {RULES_GROUP: {"bad": module, "good": f"good_{module}"}})
    monkeypatch.syspath_prepend(tmp_path)

    plugins = installed([str(tmp_path)])

    assert [problem.path for problem in plugins.problems] == [f"plug-in acme-odd 2.0 ({RULES_GROUP}: bad)"]
    assert expected in plugins.problems[0].reason
    (other,) = plugins.rules
    assert other.origin == "acme-odd 2.0" and "brings no page" in other.page


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ('calls={"acme.f": Effect("teleport")}', "'acme.f' has the kind 'teleport', which is none of"),
        ('methods={("acme", "f"): Effect("loader")}', "'acme.f' has the kind 'loader', which is none of"),
        ('calls={"torch.save": Effect("plain")}', "describes torch.save, which torch describes already"),
    ],
)
def test_a_framework_that_says_what_is_not_understood_is_not_used(
    table: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"table_{abs(hash(table))}"
    text = "from engine.extending import *\nPREFLIGHT_API = 1\nFRAMEWORK = Framework('acme', 'its manual', {})\n"
    (tmp_path / f"{name}.py").write_text(text.format(table))
    write_metadata(tmp_path, "acme-table", "1", {FRAMEWORKS_GROUP: {"acme": name}})
    monkeypatch.syspath_prepend(tmp_path)
    plugins = installed([str(tmp_path)])
    assert not plugins.frameworks
    assert expected in plugins.problems[0].reason


def test_every_kind_of_call_that_a_table_may_use_is_understood() -> None:
    assert set(CALL_KINDS) <= set(library.HANDLERS)


def test_what_a_plug_in_consists_of_shows_in_its_identity(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(site)
    before = installed([str(site)]).identity
    assert "acme-preflight 1.4" in before and installed([str(site)]).identity == before
    source = site / "acme_preflight" / "loader_timeout.py"
    source.write_text(source.read_text() + "\n")
    assert installed([str(site)]).identity != before


def prints(trace: Trace) -> Iterator[Draft]:
    print("looking")
    yield from ()


def test_what_a_rule_prints_stays_out_of_the_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outside(prints, monkeypatch)
    check(Project.from_mapping({"train.py": STOPS}))
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err == "looking\n"


@pytest.mark.parametrize(("form", "expected"), [("github", "::notice title=Not working::rule ACME9"),
                                                ("sarif", '"locations": []')])  # fmt: skip
def test_every_format_names_a_rule_that_does_not_work(
    form: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outside(raises, monkeypatch)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(STOPS)
    assert main(["check", "--no-cache", "--jobs", "1", "--format", form]) == 1
    assert expected in capsys.readouterr().out


def raises(trace: Trace) -> Iterator[Draft]:
    raise KeyError("of its own making")
    yield


def leaves(trace: Trace) -> Iterator[Draft]:
    sys.exit(3)
    yield


def says_nothing_usable(trace: Trace) -> Iterator[Draft]:
    yield Draft("train.py", "a path is no place")  # type: ignore[arg-type]


def fixes_badly(trace: Trace) -> Iterator[Draft]:
    def made(project: Project) -> None:
        raise AssertionError("of its own making")

    yield Draft(next(iter(trace.events)).place, "Something.", fix=made)


def outside(question: object, monkeypatch: pytest.MonkeyPatch) -> Rule:
    """A rule of another package, installed beside the own ones."""
    made = Rule("ACME9", "acme-nine", "note", "Something", question, "acme 3")  # type: ignore[arg-type]
    monkeypatch.setattr("engine.rules.registry", lambda: (*own_rules(), made))
    return made


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        (raises, "stopped: KeyError: 'of its own making'"),
        (leaves, "stopped: SystemExit: 3"),
        (says_nothing_usable, "stopped: TypeError: a rule yields drafts with a place of the trace"),
        (fixes_badly, "gives no fix: AssertionError: of its own making"),
    ],
)
def test_a_rule_that_fails_at_work_is_named_and_loses_nothing_else(
    question: object, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside(question, monkeypatch)
    report = check(Project.from_mapping({"train.py": STOPS}))
    (failed,) = report.files.failed
    assert failed.path == "rule ACME9 acme-nine of acme 3" and failed.reason.startswith(reason)
    assert "retained-graph" in [finding.name for finding in report.findings]


def test_a_review_names_what_does_not_work_on_either_side_and_leaves_old_comments_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = FailedFile(path=f"plug-in acme 3 ({RULES_GROUP}: nine)", reason="cannot be imported")
    outside(raises, monkeypatch)
    monkeypatch.setattr("engine.check.plugins", lambda: Plugins(problems=(problem,)))
    base, head = Project.from_mapping({"train.py": STOPS}), Project.from_mapping({"train.py": STOPS + "\n"})
    changes = compare(base, head, [FileDiff.from_patch("train.py", None, "modified")], Settings())
    assert {failed.path for failed in changes.failed} == {problem.path, "rule ACME9 acme-nine of acme 3"}
    assert headline((), (), changes.failed).endswith("2 rules or plug-ins not working")
    said = Said((SaidComment("node", "0123456789abcdef", "train.py", False),))
    assert not plan(ReviewReport(failed=tuple(changes.failed)), said, 25).outdated
    assert plan(ReviewReport(), said, 25).outdated


def test_the_pages_of_the_example_say_what_its_rule_does(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(site)
    (acme,) = installed([str(site)]).rules
    monkeypatch.setattr("engine.rules.registry", lambda: (acme,))
    made: list[str] = []
    for example in examples(acme.page):
        report = check(Project.from_mapping(example.files))
        assert {(f.path, f.line, f.severity, f.name) for f in report.findings} == example.expected
        for finding in report.findings:
            assert finding.fix is not None and finding.fix.safe
            before = example.files[finding.path]
            made.append(shown_change(before, applied(before, finding.fix)))
    assert diffs(acme.page) == made


def test_codes_are_selected_by_their_letters() -> None:
    settings = Settings(ignore=("ACME", "PF1"))
    assert not settings.enabled("ACME001", "x") and not settings.enabled("PF101", "x")
    assert settings.enabled("ACMEX1", "x") and settings.enabled("PF201", "x")
    assert Settings(ignore=("A", "AC", "P")).enabled("ACME001", "x")


def test_a_rule_is_made_as_the_own_ones_are() -> None:
    @rule("ACME1", "x", "note", "Nothing")
    def made(trace: Trace) -> Iterator[Draft]:
        yield from ()

    assert made.full_name == "rule ACME1 x"
