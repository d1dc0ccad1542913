"""What `estimate` writes beside its report, the device that it finds, and what that costs."""

from __future__ import annotations

import json
import pickle
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from engine.findings import ByteRange
from engine.presentation.memory import show_bytes, show_range
from hardware_catalog import cheapest_rental, find_gpu, offered_gpus, usable_bytes

if TYPE_CHECKING:
    from tests.engine.cli.conftest import Run

TRAIN = """
import torch
from torch import nn

batch_size = {size}  # </code><script>alert(1)</script>
class Net_script(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4096, 8192), nn.ReLU(), nn.Linear(8192, 4096))

    def forward(self, batch):
        return self.layers(batch)

model = Net_script().cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(100):
    optimizer.zero_grad()
    model(torch.randn(batch_size, 4096, device="cuda")).square().mean().backward()
    optimizer.step()
"""


class Read(HTMLParser):
    """The tags of a page, its text, and whatever it would load."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.loads: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.loads += [value or "" for name, value in attrs if name in ("src", "href", "action")]
        self.loads += [name for name, _ in attrs if name.startswith("on")]

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture
def script(work: Path) -> str:
    name = "<b>&train.py"
    (work / name).write_text(TRAIN.format(size=64))
    return name


def test_the_page_holds_everything_and_loads_nothing(work: Path, script: str, run: Run) -> None:
    assert run("estimate", script, "--gpu", "t4", "--html", "page.html").code == 0
    page = Read((work / "page.html").read_text())
    assert page.loads == []
    assert not page.tags & {"script", "b", "img", "link", "iframe"}
    assert {"svg", "polygon"} <= page.tags
    for told in (script, "Net_script", "t4", "fits", "activations", "What would save memory", "90 % range"):
        assert told in page.text
    # The line that the batch size was read from, as it stands there.
    assert "batch_size = 64  # </code><script>alert(1)</script>" in page.text


def test_a_program_that_can_not_be_followed_has_a_page_too(work: Path, run: Run) -> None:
    (work / "train.py").write_text("from mystery import Model\nModel().cuda()(1).backward()\n")
    assert run("estimate", "train.py", "--html", "page.html").code == 0
    page = Read((work / "page.html").read_text())
    assert "The peak is unknown" in page.text
    answer = run("estimate", "train.py", "--svg", "step.svg")
    assert answer.code == 2 and "no memory over time" in answer.err


def test_picture_and_snapshot_are_what_they_are_called(work: Path, script: str, run: Run) -> None:
    assert run("estimate", script, "--svg", "a", "--snapshot", "b", "--timeline", "c.json").code == 0
    assert ElementTree.fromstring((work / "a").read_text()).tag.endswith("svg")
    assert pickle.loads((work / "b").read_bytes())["device_traces"][0]
    assert json.loads((work / "c.json").read_text())["samples"]
    answer = run("estimate", script, "--html", str(work / "no" / "where.html"))
    assert answer.code == 2


def test_each_verdict_has_the_price_of_the_devices_that_the_run_uses(script: str, run: Run) -> None:
    words = ["estimate", "--format", "json", "--gpu", "a100-80gb", "--gpu", "rtx-4090", script]
    a100, gaming = json.loads(run(*words).out)["targets"]
    assert (gaming["usd_per_hour"], gaming["instance"]) == (None, None)
    rental = cheapest_rental(find_gpu("a100-80gb"))
    assert rental is not None
    assert (a100["usd_per_hour"], a100["instance"]) == (round(rental.usd_per_hour, 4), rental.instance.id)
    four = json.loads(run(*words, "--set", "world_size=4").out)["targets"][0]
    assert four["usd_per_hour"] > a100["usd_per_hour"]
    out = run("estimate", script, "--gpu", "a100-80gb").out
    assert f"${rental.usd_per_hour:,.2f} {rental.instance.id}" in out and (rental.instance.price_date or "-") in out


def test_a_price_is_that_of_whole_instances_and_of_its_share(script: str, run: Run) -> None:
    (target,) = json.loads(
        run("estimate", script, "--gpu", "a100-40gb", "--set", "world_size=2", "--format", "json").out
    )["targets"]
    rental = cheapest_rental(find_gpu("a100-40gb"), 2)
    assert rental is not None
    assert target["gpus_rented"] == rental.instances * rental.instance.gpu_count
    assert target["usd_per_gpu_hour"] == pytest.approx(target["usd_per_hour"] / 2, abs=1e-4)
    assert target["price_date"] == rental.instance.price_date
    page = run("estimate", script, "--gpu", "a100-40gb", "--set", "world_size=2", "--format", "markdown").out
    assert "for each used" in page and f"({rental.instance.price_date})" in page


def test_every_device_has_a_row_with_what_the_run_takes_on_it(script: str, run: Run) -> None:
    names = ("t4", "a100-80gb", "h100")
    words = [word for name in names for word in ("--gpu", name)]
    targets = json.loads(run("estimate", script, *words, "--format", "json").out)["targets"]
    for name, target in zip(names, targets, strict=True):
        alone = json.loads(run("estimate", script, "--gpu", name, "--format", "json").out)
        assert target == alone["targets"][0]
        assert target["occupied"] == alone["memory"]["occupied"]
    assert len({target["occupied"]["expected"] for target in targets}) > 1
    shown = run("estimate", script, *words).out
    assert all(show_range(ByteRange(**target["occupied"])) in shown for target in targets)


def test_auto_finds_the_cheapest_device_that_fits(script: str, run: Run) -> None:
    found = json.loads(run("estimate", script, "--gpu", "auto", "--format", "json").out)
    (target,) = found["targets"]
    assert target["verdict"] == "fits"
    assert "the cheapest device for rent that it fits" in " ".join(found["notes"])
    cheaper = {
        gpu.id
        for gpu in offered_gpus()
        if (rental := cheapest_rental(gpu)) is not None and rental.usd_per_hour < target["usd_per_hour"]
    }
    for gpu in cheaper:
        judged = json.loads(run("estimate", script, "--gpu", gpu, "--format", "json").out)["targets"][0]
        assert judged["verdict"] != "fits"


def test_where_no_device_is_enough_auto_says_so(work: Path, run: Run) -> None:
    (work / "huge.py").write_text(TRAIN.format(size=40_000_000))
    answer = run("estimate", "huge.py", "--gpu", "auto", "--format", "json", "--fail-on", "borderline")
    assert answer.code == 1
    report = json.loads(answer.out)
    assert "no device with a published price" in " ".join(report["notes"])
    largest = sorted((usable_bytes(gpu) for gpu in offered_gpus()), reverse=True)
    assert report["targets"][0]["usable_bytes"] == largest[0]
    assert all(target["verdict"] == "does-not-fit" for target in report["targets"])
    assert all(
        set(saving["verdict"]) == {target["gpu"] for target in report["targets"]} for saving in report["savings"]
    )
    shown = run("estimate", "huge.py", "--gpu", "auto").out
    missing = report["targets"][0]["occupied"]["expected"] - largest[0]
    assert f"{show_bytes(missing)} (up to" in shown and "What would save memory" in shown


def test_what_makes_it_fit_the_largest_device_is_recommended(work: Path, run: Run) -> None:
    (work / "train.py").write_text(TRAIN.format(size=1_000))
    (work / "big.py").write_text(TRAIN.format(size=6_000_000))
    report = json.loads(run("estimate", "big.py", "--gpu", "auto", "--format", "json").out)
    assert all(target["verdict"] != "fits" for target in report["targets"])
    largest = report["targets"][0]["gpu"]
    (needed,) = [saving for saving in report["savings"] if saving["recommended"]]
    assert needed["verdict"][largest] == "fits"
    assert run("estimate", "big.py", "--gpu", "auto", "--fail-on", "does-not-fit").code == 1
    assert run("estimate", "train.py", "--gpu", "auto", "--fail-on", "unknown").code == 0
