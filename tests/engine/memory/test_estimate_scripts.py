"""Estimates of whole scripts: what they read, and what they say when they cannot follow."""

from engine.estimate import estimate
from engine.project import Project

MLP = """
import torch
from torch import nn

BATCH = 64
model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1024)).cuda()
optimizer = torch.optim.Adam(model.parameters())
for step in range(1000):
    x = torch.randn(BATCH, 1024, device="cuda")
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
"""
PARAMETERS = 2 * 1024 * 4096 + 4096 + 1024


def test_a_training_loop() -> None:
    report = estimate(Project.from_mapping({"train.py": MLP}), "train.py", gpus=["t4"])
    assert report.task == "train"
    assert report.model.parameters == PARAMETERS
    assert report.memory is not None
    # Weights, two states, gradients and one foreach temporary of that size at most.
    assert 3 * 4 * PARAMETERS < report.memory.allocated.expected < 6 * 4 * PARAMETERS
    assert report.targets[0].verdict == "fits"
    batch = report.configuration["batch_size"]
    assert (batch.value, batch.path, batch.line) == (64, "train.py", 5)


def test_the_only_step_of_a_program_counts() -> None:
    # Nothing of the first step is left out where no second one repeats it: its backward pass, its states made lazily.
    longer = estimate(Project.from_mapping({"train.py": MLP}), "train.py", savings=False)
    single = estimate(
        Project.from_mapping({"train.py": MLP.replace("range(1000)", "range(1)")}), "train.py", savings=False
    )
    assert single.memory is not None and longer.memory is not None
    # Only the batch of the step before, which lives on into the next, is missing.
    assert 0 <= longer.memory.allocated.expected - single.memory.allocated.expected <= 64 * 1024 * 4 + 512


def test_the_breakdown_adds_up_to_what_is_occupied() -> None:
    memory = estimate(Project.from_mapping({"train.py": MLP}), "train.py", savings=False).memory
    assert memory is not None
    assert sum(memory.breakdown.model_dump().values()) == memory.occupied.expected
    assert memory.occupied.low <= memory.occupied.expected <= memory.occupied.high


def test_a_launch_script_of_the_repository_gives_the_arguments() -> None:
    source = MLP.replace("BATCH = 64", "import sys\nBATCH = int(sys.argv[1])")
    project = Project.from_mapping({"train.py": source, "run.sh": "SIZE=${1:-32}\npython train.py $SIZE\n"})
    report = estimate(project, "train.py", savings=False)
    assert report.configuration["batch_size"].value == 32
    assert any("run.sh" in note for note in report.notes)
    assert estimate(project, "run.sh", savings=False).memory == report.memory


def test_an_unknown_model_gives_no_figure() -> None:
    source = "from mystery import Model\nmodel = Model().cuda()\nfor x in range(3):\n    model(x).backward()\n"
    report = estimate(Project.from_mapping({"train.py": source}), "train.py", gpus=["t4"])
    assert report.memory is None
    assert report.targets[0].verdict == "unknown"
    assert report.notes


def test_a_failing_model_is_named_with_its_place() -> None:
    source = MLP.replace("torch.randn(BATCH, 1024", "torch.randn(BATCH, 1000")
    report = estimate(Project.from_mapping({"train.py": source}), "train.py")
    assert report.memory is None
    assert "train.py:11" in report.notes[0]


TOKENS = """
import numpy as np
import torch
from torch import nn

batch_size = 8
block_size = 64 * 4
tokens = np.memmap("train.bin", dtype=np.uint16, mode="r")

def batch():
    starts = torch.randint(len(tokens) - block_size, (batch_size,))
    rows = [torch.from_numpy(tokens[i : i + block_size].astype(np.int64)) for i in starts]
    shifted = [torch.from_numpy(tokens[1 + i : 1 + i + block_size].astype(np.int64)) for i in starts]
    return torch.stack(rows).cuda(), torch.stack(shifted).cuda()

model = nn.Sequential(nn.Embedding(32000, 256), nn.Linear(256, 32000)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(100):
    x, y = batch()
    loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_windows_at_drawn_places_have_their_length() -> None:
    report = estimate(Project.from_mapping({"train.py": TOKENS}), "train.py", savings=False)
    assert report.configuration["batch_size"].value == 8
    # A product of literals is a place too.
    length = report.configuration["sequence_length"]
    assert (length.value, length.path, length.line) == (256, "train.py", 7)
    assert report.memory is not None
    assert report.memory.allocated.expected > 2 * 8 * 256 * 32000 * 4


def test_data_without_elements_gives_no_figure() -> None:
    source = MLP.replace("torch.randn(BATCH, 1024", "torch.randn(BATCH - 64, 1024")
    report = estimate(Project.from_mapping({"train.py": source}), "train.py", gpus=["t4"])
    assert report.memory is None
    assert "size of its data" in report.notes[0]


def test_a_value_is_placed_where_the_run_read_it() -> None:
    source = '"""Trains with adam in float32."""\nimport model\n' + MLP
    files = {
        "train.py": source,
        "model.py": "DTYPE = 'float32'  # of the tables\n",
        "other/settings.toml": "batch_size = 64\nprecision = 'fp32'\n",
    }
    settings = estimate(Project.from_mapping(files), "train.py", savings=False).configuration
    assert (settings["batch_size"].path, settings["batch_size"].line) == ("train.py", 7)
    assert (settings["optimizer"].path, settings["optimizer"].line) == ("train.py", 9)
    assert settings["precision"].path == "model.py"


def test_a_value_that_only_a_shape_holds_is_placed_there() -> None:
    for shape in ("48, 1024", "(48, 1024)", "size=[48, 1024]"):
        source = MLP.replace("BATCH = 64", "").replace("torch.randn(BATCH, 1024", f"torch.randn({shape}")
        batch = estimate(Project.from_mapping({"train.py": source}), "train.py", savings=False).configuration[
            "batch_size"
        ]
        assert (batch.value, batch.path, batch.line) == (48, "train.py", 9)


def test_compiled_code_is_no_certain_figure() -> None:
    source = MLP.replace("optimizer = ", "model = torch.compile(model)\noptimizer = ")
    report = estimate(Project.from_mapping({"train.py": source}), "train.py", savings=False)
    assert report.confidence == "medium"


RANKED = """
import os
import torch
from torch import nn

model = nn.Linear(4096, 4096).cuda()
if {condition}:
    model = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(100):
    model(torch.randn(8, 4096, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def buckets(condition: str, files: dict[str, str] | None = None) -> int:
    project = Project.from_mapping({"train.py": RANKED.format(condition=condition), **(files or {})})
    memory = estimate(project, "train.py", savings=False).memory
    assert memory is not None
    return memory.breakdown.communication


def test_a_program_started_plainly_has_no_rank() -> None:
    for asks in ("int(os.environ.get('RANK', -1)) != -1", "'LOCAL_RANK' in os.environ", "os.getenv('WORLD_SIZE')"):
        assert buckets(asks) == 0
        assert buckets(asks, {"run.sh": "torchrun --nproc_per_node 2 train.py\n"}) > 0
    # A program that cannot do without is made for a launcher.
    assert buckets("int(os.environ['RANK']) >= 0") > 0


def test_a_combination_that_saves_no_more_than_its_part_is_not_offered() -> None:
    # Nothing repeats in this model, so there is nothing to checkpoint.
    changes = [saving.change for saving in estimate(Project.from_mapping({"train.py": MLP}), "train.py").savings]
    assert not any("checkpoint" in change for change in changes)
