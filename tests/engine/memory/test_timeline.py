"""The step's memory over time, in its three formats."""

import json
import pickle
from xml.etree import ElementTree

import pytest

from engine.memory.timeline import as_json, as_snapshot, as_svg, record, rendered, samples
from engine.project import Project
from hardware_catalog.allocator import CATEGORIES, CATEGORY_INDEX, Allocator


def recorded() -> Allocator:
    allocator = Allocator(record=True)
    weights = allocator.allocate(4 << 20, CATEGORY_INDEX["parameters"])
    activations = allocator.allocate(30 << 20, CATEGORY_INDEX["activations"])
    allocator.release(activations)
    allocator.allocate(1 << 20, CATEGORY_INDEX["gradients"])
    allocator.release(weights)
    return allocator


def test_the_curve_reaches_the_peak_and_ends_at_what_lives() -> None:
    allocator = recorded()
    curve = samples(allocator.events or [])
    assert max(sample.allocated for sample in curve) == allocator.peak_allocated
    assert curve[-1].allocated == allocator.allocated
    assert curve[-1].reserved == allocator.reserved


def test_thinning_keeps_the_peak() -> None:
    allocator = Allocator(record=True)
    for size in range(1, 400):
        allocator.release(allocator.allocate(size * 4096, CATEGORY_INDEX["activations"]))
    events = allocator.events or []
    assert len(samples(events, points=10)) < 30
    assert max(s.allocated for s in samples(events, points=10)) == 399 * 4096


def test_json_has_every_category() -> None:
    document = json.loads(as_json(samples(recorded().events or [])))
    assert document["categories"] == list(CATEGORIES)
    assert all(len(row["live"]) == len(CATEGORIES) for row in document["samples"])


def test_svg_is_well_formed_and_its_title_is_escaped() -> None:
    root = ElementTree.fromstring(as_svg(samples(recorded().events or []), title="<b>&"))
    assert root.tag.endswith("svg")
    assert as_svg([]).startswith("<svg")


def test_snapshot_frees_what_it_allocated() -> None:
    trace = pickle.loads(as_snapshot(recorded().events or []))["device_traces"][0]
    allocated = {entry["addr"] for entry in trace if entry["action"] == "alloc"}
    freed = {entry["addr"] for entry in trace if entry["action"] == "free_completed"}
    assert freed and freed <= allocated


SCRIPT = """
import torch

net = torch.nn.Linear(256, 256).cuda()
optimizer = torch.optim.Adam(net.parameters())
for step in range(3):
    optimizer.zero_grad()
    net(torch.randn(64, 256, device="cuda")).sum().backward()
    optimizer.step()
"""


def test_a_run_is_recorded_with_its_categories() -> None:
    events = record(Project.from_mapping({"train.py": SCRIPT}), "train.py")
    assert {"parameters", "gradients", "optimizer"} <= {event.category for event in events}


@pytest.mark.parametrize("suffix", [".json", ".svg", ".pickle"])
def test_the_file_name_chooses_the_format(suffix: str) -> None:
    assert rendered(recorded().events or [], suffix)


def test_another_file_name_is_refused() -> None:
    with pytest.raises(ValueError, match="a timeline ends in"):
        rendered([], ".png")
