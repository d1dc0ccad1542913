"""Hydra: defaults lists, groups, overrides and objects made from the configuration."""

from engine.estimate import estimate
from engine.findings import EstimateReport
from engine.project import Project

FILES = {
    "conf/config.yaml": (
        "defaults:\n  - model: small\n  - optim: adam\n  - _self_\nbatch_size: 8\nlr: 1e-3\nsteps: ${batch_size}\n"
    ),
    "conf/model/small.yaml": "_target_: net.Net\nwidth: 64\ndepth: 2\n",
    "conf/model/large.yaml": "defaults:\n  - small\nwidth: 256\n",
    "conf/optim/adam.yaml": "_target_: torch.optim.Adam\n_partial_: true\nlr: ${lr}\n",
    "conf/experiment/big.yaml": "# @package _global_\ndefaults:\n  - override /model: large\nbatch_size: 32\n",
    "net.py": (
        "import torch\n\nclass Net(torch.nn.Module):\n    def __init__(self, width, depth):\n"
        "        super().__init__()\n"
        "        self.layers = torch.nn.Sequential(*[torch.nn.Linear(width, width) for _ in range(depth)])\n"
        "        self.width = width\n\n    def forward(self, x):\n        return self.layers(x)\n"
    ),
    "train.py": (
        "import hydra\nimport torch\nfrom hydra.utils import instantiate\n\n"
        "@hydra.main(version_base=None, config_path='conf', config_name='config')\ndef main(cfg):\n"
        "    model = instantiate(cfg.model).cuda()\n    optimizer = instantiate(cfg.optim)(model.parameters())\n"
        "    for _ in range(cfg.get('loops', 4)):\n"
        "        x = torch.randn(cfg.steps, cfg.model.width, device='cuda')\n"
        "        model(x).sum().backward()\n        optimizer.step()\n        optimizer.zero_grad()\n\n"
        "if __name__ == '__main__':\n    main()\n"
    ),
}


def report(command: str) -> EstimateReport:
    found = estimate(Project.from_mapping({**FILES, "run.sh": command}), "run.sh", savings=False)
    assert found.memory is not None, found.notes
    return found


def test_defaults_and_interpolation() -> None:
    found = report("python train.py")
    assert found.model.parameters == 2 * (64 * 64 + 64)
    assert found.configuration["batch_size"].value == 8


def test_groups_and_dotted_overrides() -> None:
    found = report("python train.py model=large model.depth=3 batch_size=16")
    assert found.model.parameters == 3 * (256 * 256 + 256)
    place = found.configuration["batch_size"]
    assert (place.value, place.path, place.line) == (16, "run.sh", 1)


def test_an_experiment_overrides_what_the_list_chose() -> None:
    found = report("python train.py +experiment=big")
    assert found.configuration["batch_size"].value == 32
