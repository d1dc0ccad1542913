"""What would save memory: which changes are proposed, what each saves, and which of them is recommended."""

from engine.estimate import estimate
from engine.findings import EstimateReport, Saving
from engine.project import Project

WIDTH, LAYERS = 4096, 24
PARAMETERS = LAYERS * (WIDTH * WIDTH + WIDTH)

BLOCKS = f"""
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear({WIDTH}, {WIDTH}), nn.GELU())

    def forward(self, x):
        return x + self.inner(x)

batch_size = 8192
model = nn.Sequential(*[Block() for _ in range({LAYERS})]).cuda()
optimizer = torch.optim.Adam(model.parameters())
for step in range(1000):
    x = torch.randn(batch_size, {WIDTH}, device="cuda")
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
"""
WRAPPED = BLOCKS.replace("optimizer = ", "model = nn.parallel.DistributedDataParallel(model)\noptimizer = ").replace(
    "batch_size = 8192", "batch_size = 8"
)


def report_of(source: str, *gpus: str, **settings: str) -> EstimateReport:
    return estimate(Project.from_mapping({"train.py": source}), "train.py", gpus=gpus, overrides=settings)


def saving(report: EstimateReport, words: str) -> Saving:
    return next(saving for saving in report.savings if saving.change.startswith(words))


def test_savings_are_runs_of_their_own() -> None:
    report = report_of(BLOCKS, "t4")
    assert report.memory is not None
    assert report.savings
    for found in report.savings:
        assert found.occupied_bytes + found.saves_bytes == report.memory.occupied.expected


def test_nothing_is_recommended_to_a_run_that_fits() -> None:
    report = report_of(BLOCKS, "a100-80gb")
    assert report.targets[0].verdict == "fits"
    assert not any(found.recommended for found in report.savings)


def test_the_cheapest_single_change_that_makes_the_run_fit_is_recommended() -> None:
    report = report_of(BLOCKS, "rtx-3080")
    assert report.memory is not None
    assert report.targets[0].verdict != "fits"
    recommended = [found for found in report.savings if found.recommended]
    assert len(recommended) == 1
    assert set(recommended[0].verdict.values()) == {"fits"}
    assert " + " not in recommended[0].change
    assert report.savings[0] is recommended[0]


def test_several_changes_are_proposed_where_one_is_not_enough() -> None:
    report = report_of(BLOCKS.replace("batch_size = 8192", "batch_size = 16384"), "rtx-3080")
    singles = [found for found in report.savings if " + " not in found.change]
    assert not any("fits" in found.verdict.values() for found in singles)
    recommended = next(found for found in report.savings if found.recommended)
    assert recommended.change.count(" + ") in (1, 2)
    assert set(recommended.verdict.values()) == {"fits"}


def test_half_the_micro_batch_keeps_the_gradients_of_the_first_half() -> None:
    report = report_of(BLOCKS, "rtx-4090")
    whole, half = report.memory, saving(report, "half the micro-batch")
    assert whole is not None
    expected = whole.breakdown.activations / 2 - 4 * PARAMETERS
    assert abs(half.saves_bytes - expected) < 0.2 * expected


def test_buckets_as_views_save_a_second_copy_of_the_gradients() -> None:
    report = report_of(WRAPPED, "a100-80gb", world_size="4")
    assert abs(saving(report, "gradient_as_bucket_view").saves_bytes - 4 * PARAMETERS) < 0.02 * 4 * PARAMETERS


def test_each_rank_keeps_its_share_of_the_states() -> None:
    report = report_of(WRAPPED, "a100-80gb", world_size="4")
    saved = saving(report, "ZeroRedundancyOptimizer").saves_bytes
    # Two states of every parameter, of which three quarters live on the other ranks; temporaries of the step go too.
    assert 0.95 * 6 * PARAMETERS < saved < 2 * 6 * PARAMETERS


def test_what_needs_several_ranks_is_not_proposed_to_one() -> None:
    changes = [found.change for found in report_of(BLOCKS, "a100-80gb").savings]
    assert not any("Redundancy" in change or "bucket" in change for change in changes)


def test_the_next_smaller_device_and_what_it_needs() -> None:
    fits = report_of(BLOCKS.replace("batch_size = 8192", "batch_size = 8"), "a100-80gb").smaller
    assert fits is not None
    assert fits.verdict == "fits"
    assert fits.change is None
    needs = report_of(BLOCKS, "t4").smaller
    assert needs is not None
    assert needs.verdict == "fits"
    assert needs.change is not None


def test_each_change_of_a_set_saves_something_of_its_own() -> None:
    source = """
import torch, torchvision
model = torchvision.models.resnet18(num_classes=10).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
for step in range(100):
    optimizer.zero_grad()
    images = torch.randn(64, 3, 224, 224, device="cuda")
    labels = torch.randint(0, 10, (64,), device="cuda")
    torch.nn.functional.cross_entropy(model(images), labels).backward()
    optimizer.step()
"""
    report = report_of(source, "t4")
    assert any(" + " in found.change for found in report.savings)
    for found in report.savings:
        parts = found.change.split(" + ")
        alone = [each for each in report.savings if each.change in parts and len(parts) > 1]
        assert all(found.saves_bytes > each.saves_bytes for each in alone)
        assert "attention" not in found.change
        assert "Liger" not in found.change
