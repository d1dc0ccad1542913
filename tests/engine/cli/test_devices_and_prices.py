"""`compare` sets devices side by side; `gpus` searches devices and instances."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.engine.cli.conftest import Run

TRAIN = """
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4096, 8192), nn.ReLU(), nn.Linear(8192, 4096)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(100):
    optimizer.zero_grad()
    model(torch.randn({size}, 4096, device="cuda")).square().mean().backward()
    optimizer.step()
"""


@pytest.fixture
def script(work: Path) -> str:
    (work / "train.py").write_text(TRAIN.format(size=250_000))
    return "train.py"


class TestCompare:
    def test_those_that_hold_the_run_come_first_and_the_cheapest_of_them_before(self, script: str, run: Run) -> None:
        found = json.loads(run("compare", script, "--format", "json").out)
        verdicts = [device["verdict"] for device in found["devices"]]
        assert verdicts == sorted(verdicts, key=["fits", "borderline", "unknown", "does-not-fit"].index)
        assert {"fits", "does-not-fit"} <= set(verdicts)
        prices = [device["usd_per_hour"] for device in found["devices"] if device["verdict"] == "fits"]
        assert None not in prices and prices == sorted(prices)

    def test_each_device_is_judged_as_estimate_judges_it(self, script: str, run: Run) -> None:
        names = ("t4", "rtx-4090", "h100-sxm5-80gb")
        words = [word for name in names for word in ("--gpu", name)]
        devices = {d["gpu"]: d for d in json.loads(run("compare", script, *words, "--format", "json").out)["devices"]}
        assert set(devices) == set(names)
        for name in names:
            alone = json.loads(run("estimate", script, "--gpu", name, "--format", "json").out)
            assert devices[name]["occupied"] == alone["memory"]["occupied"]
            assert {key: devices[name][key] for key in alone["targets"][0]} == alone["targets"][0]

    def test_the_table_says_what_it_takes_and_what_it_costs(self, script: str, run: Run) -> None:
        lines = run("compare", script, "--gpu", "a100-80gb", "--gpu", "t4").out.split("\n")
        (a100,) = [line for line in lines if line.startswith("a100-sxm4-80gb")]
        (t4,) = [line for line in lines if line.startswith("t4")]
        assert " fits " in a100 and "$" in a100
        assert "does not fit" in t4

    def test_settings_are_followed_and_the_whole_catalogue_can_be_asked(self, script: str, run: Run) -> None:
        found = json.loads(run("compare", script, "--gpu", "all", "--set", "world_size=8", "--format", "json").out)
        assert found["configuration"]["world_size"]["value"] == 8
        assert len(found["devices"]) > 70

    def test_what_can_not_be_followed_is_unknown_everywhere_with_the_reason(self, work: Path, run: Run) -> None:
        (work / "train.py").write_text("from mystery import Model\nModel().cuda()(1).backward()\n")
        found = json.loads(run("compare", "train.py", "--gpu", "t4", "--format", "json").out)
        assert found["devices"][0]["verdict"] == "unknown"
        assert "could not be followed" in found["notes"][0]


class TestGpus:
    def test_words_find_devices_by_name_maker_and_architecture(self, run: Run) -> None:
        found = json.loads(run("gpus", "blackwell", "rtx", "--format", "json").out)
        assert len(found) > 3
        assert all(row["architecture"] == "Blackwell" and "rtx" in row["id"] for row in found)

    def test_a_name_means_one_device_with_its_instances(self, run: Run) -> None:
        (row,) = json.loads(run("gpus", "H100", "--format", "json").out)
        assert row["id"] == "h100-sxm5-80gb" and row["instances"]
        assert row["memory_bandwidth_gb_s"] > 3000
        text = run("gpus", "H100").out
        assert "aws/p5.48xlarge" in text and "Source:" in text

    def test_a_device_is_one_line_and_a_narrow_terminal_keeps_ids_and_figures_whole(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("COLUMNS", raising=False)
        listed = json.loads(run("gpus", "--format", "json").out)
        lines = run("gpus").out.splitlines()
        assert [line.split()[0] for line in lines[1 : len(listed) + 1]] == [row["id"] for row in listed]
        monkeypatch.setenv("COLUMNS", "80")
        narrow = run("gpus", "H100").out
        assert "h100-sxm5-80gb" in narrow and "80.00 GiB" in narrow and "3,350" in narrow
        assert "…" not in run("gpus").out and "…" not in run("gpus", "--instances").out

    def test_instances_are_searched_and_sorted_by_price(self, run: Run) -> None:
        found = json.loads(run("gpus", "--instances", "aws", "a100", "--format", "json").out)
        assert all(row["id"].startswith("aws/") for row in found)
        prices = [row["price_usd_per_hour"] for row in found if row["price_usd_per_hour"] is not None]
        assert prices and prices == sorted(prices)
        # A device's common name finds what carries it too.
        assert json.loads(run("gpus", "--instances", "nvidia tesla t4", "--format", "json").out)
        assert "2026" in run("gpus", "--instances", "p5.48xlarge").out

    @pytest.mark.parametrize("words", [["warp-drive"], ["--instances", "warp-drive"]])
    def test_what_nothing_matches_is_wrong_use(self, run: Run, words: list[str]) -> None:
        answer = run("gpus", *words)
        assert (answer.code, answer.out) == (2, "")
        assert "warp-drive" in answer.err


class TestNames:
    def test_a_name_of_several_devices_is_asked_about(self, script: str, run: Run) -> None:
        answer = run("estimate", script, "--gpu", "orin")
        assert (answer.code, answer.out) == (2, "")
        assert "jetson-agx-orin-64gb" in answer.err and "jetson-orin-nano-4gb" in answer.err
        assert len(answer.err.strip().splitlines()) == 1

    def test_how_a_plain_name_is_read_is_said(self, script: str, run: Run) -> None:
        told = run("estimate", script, "--gpu", "a100").err
        assert "a100 is read as a100-sxm4-40gb" in told and "a100-sxm4-80gb" in told
        assert run("estimate", script, "--gpu", "a100-80gb").err == ""
