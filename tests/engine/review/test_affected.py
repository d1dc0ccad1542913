"""Which files a change can affect."""

from __future__ import annotations

from engine.affected import affected_files
from engine.entry_scripts import entry_scripts
from engine.project import Project
from engine.settings import EntryPoint, Settings

FILES = {
    "train.py": "import torch\nfrom lib import step\n\nif __name__ == '__main__':\n    step.run()\n",
    "lib/__init__.py": "",
    "lib/step.py": "from .loss import (\n    total,\n)\n\ndef run(model):\n    total(model).backward()\n",
    "lib/loss.py": "def total(model):\n    return model()\n",
    "other.py": "import torch\n",
    "eval.py": "import lib.loss as l\n",
    "launch.sh": "torchrun --nproc_per_node 8 train.py\n",
    "deploy.sh": "echo hello\n",
    "configs/a.yaml": "micro_batch_size: 4\nbase_model: x\n",
    "configs/b.yaml": "name: x\n",
}
PROJECT = Project.from_mapping(FILES)
SOURCES = [path for path in PROJECT.paths() if path.endswith(".py")]


def test_importers_count_directly_or_through_others_nearest_first() -> None:
    assert affected_files(PROJECT, ["lib/loss.py"], SOURCES) == ["lib/loss.py", "eval.py", "lib/step.py", "train.py"]
    assert affected_files(PROJECT, ["other.py"], SOURCES) == ["other.py"]
    assert affected_files(PROJECT, ["gone.py"], SOURCES) == []


def test_entry_scripts_are_those_that_run_training() -> None:
    reached = affected_files(PROJECT, ["lib/loss.py"], SOURCES)
    assert entry_scripts(PROJECT, ["lib/loss.py"], reached, Settings()) == ["train.py"]
    touched = ["configs/a.yaml", "configs/b.yaml", "launch.sh", "deploy.sh"]
    assert entry_scripts(PROJECT, touched, [], Settings()) == ["launch.sh", "configs/a.yaml"]
    named = Settings(entry_points=(EntryPoint(script="other.py"), EntryPoint(script="gone.py")))
    assert entry_scripts(PROJECT, ["train.py"], [], named) == ["other.py"]
    assert entry_scripts(PROJECT, ["other.py"], ["other.py"], Settings()) == []


def test_of_several_entry_points_those_that_a_change_can_affect_are_estimated() -> None:
    points = tuple(EntryPoint(script=path) for path in ("train.py", "other.py", "launch.sh", "gone.py"))
    assert entry_scripts(PROJECT, ["other.py"], ["other.py"], Settings(entry_points=points)) == [
        "other.py",
        "launch.sh",
    ]
    alone = Settings(entry_points=points[:1])
    assert entry_scripts(PROJECT, ["other.py"], ["other.py"], alone) == ["train.py"]


def test_an_entry_point_without_targets_of_its_own_has_the_common_ones() -> None:
    own = EntryPoint(script="a.py", gpus=("h100",), world_size=8)
    settings = Settings(gpus=("t4",), world_size=2, entry_points=(own, EntryPoint(script="b.py")))
    assert settings.entry_point("a.py") == own
    assert settings.entry_point("b.py") == EntryPoint(script="b.py", gpus=("t4",), world_size=2)
    assert settings.entry_point("found.py").gpus == ("t4",)
