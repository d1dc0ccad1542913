"""Which files a change can affect."""

from __future__ import annotations

from engine.affected import affected_files
from engine.entry_scripts import entry_scripts
from engine.project import Project
from engine.settings import Settings

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
    named = Settings(memory_scripts=("other.py", "gone.py"))
    assert entry_scripts(PROJECT, ["train.py"], [], named) == ["other.py"]
    assert entry_scripts(PROJECT, ["other.py"], ["other.py"], Settings()) == []
