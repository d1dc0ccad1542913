"""Model code of public packages beside the script: what such code leans on, kind by kind."""

from collections.abc import Mapping

import pytest

from engine.estimate import estimate
from engine.findings import EstimateReport
from engine.project import Project

LOOP = """
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(10):
    loss = model(torch.randn(SHAPE, device="cuda")).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def follow(model: str, shape: str, files: Mapping[str, str] | None = None) -> EstimateReport:
    script = f"import torch\nfrom torch import nn\n{model}\n" + LOOP.replace("SHAPE", shape)
    return estimate(Project.from_mapping({"train.py": script, **(files or {})}), "train.py", savings=False)


def allocated(report: EstimateReport) -> int:
    assert report.memory is not None, report.notes
    return report.memory.allocated.expected


def test_in_place_activations_on_views_let_go_of_what_they_save() -> None:
    """Instance norm returns a view, so an in-place activation after it goes through the base; measured 709,145,088
    bytes for four residual blocks on autograd itself, with nothing of the first step left in the second."""
    block = """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv3d(32, 32, 3, padding=1), nn.Conv3d(32, 32, 3, padding=1)
        self.norms = nn.ModuleList([nn.InstanceNorm3d(32, affine=True) for _ in range(2)])
        self.act = nn.LeakyReLU(inplace=True)
    def forward(self, x):
        y = self.norms[1](self.second(self.act(self.norms[0](self.first(x)))))
        y += x
        return self.act(y)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv3d(1, 32, 1), *[Block() for _ in range(4)], nn.Conv3d(32, 2, 1))
    def forward(self, x):
        with torch.autocast("cuda", dtype=torch.float16):
            return self.layers(x).float()
model = Net().cuda()
"""
    mean = follow(block, "2, 1, 64, 64, 64").memory
    assert mean is not None
    # The squares of the output (4 MiB) come on top of what was measured with a plain mean.
    assert mean.allocated.expected == pytest.approx(709_145_088, rel=0.02)


def test_norms_under_autocast_read_half_precision_without_a_copy() -> None:
    norm = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(1024, 1024)
    def forward(self, x):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            y = self.layer(x)
            return (y.norm(dim=-1), y.sum(-1), y.cumsum(-1)[:, 0])[WHICH]
model = Net().cuda()
"""
    rows = 8192
    plain = rows * 1024
    # Weights, their gradients and casts are 10 MiB; input 4 bytes an element, its cast and the output 2 each. The
    # backward of a norm makes a float32 product and its masked copy, beside them the gradient in bfloat16.
    assert allocated(follow(norm.replace("WHICH", "0"), f"{rows}, 1024")) < plain * (4 + 2 + 2 + 8) + (32 << 20)
    assert allocated(follow(norm.replace("WHICH", "1"), f"{rows}, 1024")) < plain * (4 + 2 + 2 + 4 + 2) + (32 << 20)


EINX = {
    "add": ("einx.add('b n d, n d', x, p)", (2, 8, 16)),
    "shapes of both sides": ("einx.multiply('b n d, n d -> n (b d)', x, p)", (8, 32)),
    "brackets": ("einx.add('b [n d]', x, p)", (2, 8, 16)),
    "a scalar operand": ("einx.where('b n d, b n d,', x > 0, x, 0.)", (2, 8, 16)),
    "sum": ("einx.sum('b [n] d', x)", (2, 16)),
    "mean over what is missing": ("einx.mean('b n d -> b', x)", (2,)),
    "softmax": ("einx.softmax('b n [d]', x)", (2, 8, 16)),
    "dot": ("einx.dot('b n [d], n [d] -> b n', x, p)", (2, 8)),
    "get_at": ("einx.get_at('b [n] d, b i -> b i d', x, x[:, :3, 0].long())", (2, 3, 16)),
    "ellipsis": ("einx.subtract('b ..., b ... d -> b ... d', x[..., 0], x)", (2, 8, 16)),
    "id": ("einx.id('b (h n) d -> b h n d', x, h=4)", (2, 4, 2, 16)),
}


@pytest.mark.parametrize("kind", sorted(EINX))
def test_einx(kind: str) -> None:
    expression, shape = EINX[kind]
    model = f"""
import einx
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Parameter(torch.zeros(8, 16))
    def forward(self, x):
        p = self.p
        y = {expression}
        assert tuple(y.shape) == {shape}, y.shape
        return y * self.p.sum()
model = Net().cuda()
"""
    assert allocated(follow(model, "2, 8, 16")) > 0


def test_axes_may_be_named_as_arguments_are() -> None:
    model = """
from einops import rearrange
from einops.layers.torch import Reduce
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.expand = nn.Linear(8, 8), Reduce(pattern="b d -> (b s) d", reduction="repeat", s=4)
    def forward(self, x):
        return self.expand(self.layer(rearrange(x, "(b reduction) d -> b reduction d", reduction=2)[:, 0]))
model = Net().cuda()
"""
    assert allocated(follow(model, "4, 8")) > 0


def test_packages_without_an_init_file_registries_and_threads() -> None:
    files = {
        "zoo/__init__.py": "from .parts import small\nfrom .register import build\n",
        "zoo/register.py": "import sys, queue, threading, fnmatch\nMODELS = {}\n"
        "class Prefetch(threading.Thread):\n    def __init__(self):\n        super().__init__()\n"
        "def register(function):\n    assert fnmatch.fnmatch(function.__name__, 's*')\n"
        "    module = sys.modules[function.__module__]\n    module.__all__ = [function.__name__]\n"
        "    MODELS[function.__name__] = function\n    return function\n"
        "def build(name):\n    return MODELS[name]()\n",
        "zoo/parts/small.py": "from torch import nn\nfrom ..register import register\n"
        "@register\ndef small():\n    return nn.Linear(16, 16)\n",
    }
    report = follow("from zoo import build\nmodel = build('small').cuda()", "4, 16", files)
    assert report.model.parameters == 16 * 16 + 16
    assert report.confidence == "high"


def test_containers_made_by_calling_a_type() -> None:
    model = """
from collections import defaultdict
sizes = defaultdict(list)
sizes["a"].append(16)
model = nn.Linear(sizes["a"][0], 4).cuda()
"""
    assert follow(model, "4, 16").model.parameters == 16 * 4 + 4


def test_mamba_takes_less_with_fused_kernels_than_step_by_step() -> None:
    """Four float32 tensors of (batch, width, length, state) a layer are what the fused kernels never make."""
    fused = "from mamba_ssm import Mamba\nmodel = nn.Sequential(*[Mamba(d_model=128) for _ in range(4)]).cuda()"
    stepped = """
from transformers import MambaConfig
from transformers.models.mamba.modeling_mamba import MambaMixer
config = MambaConfig(hidden_size=128)
model = nn.Sequential(*[MambaMixer(config, layer) for layer in range(4)]).cuda()
"""
    one, other = follow(fused, "2, 512, 128"), follow(stepped, "2, 512, 128")
    assert one.model.parameters == other.model.parameters == 4 * 116_480
    state = 2 * 256 * 512 * 16 * 4
    assert allocated(other) - allocated(one) > 4 * 3 * state


def test_diffusers_models_are_built_from_keywords() -> None:
    model = """
from diffusers import DiTTransformer2DModel
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.dit = DiTTransformer2DModel(num_layers=2, num_attention_heads=2, attention_head_dim=32)
    def forward(self, x):
        step = torch.zeros(x.shape[0], dtype=torch.long, device=x.device)
        return self.dit(x, timestep=step, class_labels=step).sample
model = Net().cuda()
"""
    assert allocated(follow(model, "2, 4, 32, 32")) > 0


def test_assertions_about_the_data_of_a_tensor_hold_and_ranges_take_the_device_of_their_output() -> None:
    model = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(16, 16)
    def forward(self, x):
        y = nn.functional.pad(x, (0, 0))
        assert (y == x).all()
        places = torch.arange(0, 16, out=torch.cuda.LongTensor(16))
        return self.layer(y) * (places < 8)
model = Net().cuda()
"""
    assert follow(model, "4, 16").model.parameters == 16 * 16 + 16


def test_hub_mixins_halves_of_encoder_layers_and_the_methods_own_names_of_arguments() -> None:
    model = """
from huggingface_hub import PyTorchModelHubMixin
class Layer(nn.TransformerEncoderLayer):
    def forward(self, x):
        x = x + self._sa_block(self.norm1(x), None, None)
        return x + self._ff_block(self.norm2(x))
class Net(nn.Module, PyTorchModelHubMixin, repo_url="https://example.org", tags=["a"]):
    def __new__(cls, *args, **kwargs):
        return super().__new__(cls, *args, **kwargs)
    def __init__(self, width):
        super().__init__()
        self.layer = Layer(width, 2, 32, batch_first=True)
    def forward(self, x):
        first, second = x.split(split_size=8, dim=1)
        return self.layer(first + second)
model = Net(16).cuda()
"""
    assert allocated(follow(model, "2, 16, 16")) > 0


def test_a_matrix_before_a_batch_gives_a_result_of_its_own_in_row_order() -> None:
    """`weight @ x.transpose(1, 2)` is copied, so what is turned back from it is not contiguous: `reshape` copies."""
    projection = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(256, 64))
    def forward(self, x):
        product = self.weight @ x.transpose(1, 2)
        assert product.is_contiguous() and not product.transpose(1, 2).is_contiguous()
        before = torch.cuda.memory_allocated()
        copied = product.transpose(1, 2).reshape(-1)
        assert torch.cuda.memory_allocated() - before == 8 * 512 * 256 * 4
        return copied
model = Net().cuda()
"""
    assert follow(projection, "8, 512, 64").model.parameters == 256 * 64
    assert allocated(follow(projection, "8, 512, 64")) > 0


def test_packages_that_load_every_module_of_a_folder() -> None:
    files = {
        "zoo/__init__.py": "import pkgutil, importlib\nMODELS = {}\n"
        "for finder, name, is_package in pkgutil.iter_modules(__path__):\n"
        "    importlib.import_module(f'{__name__}.{name}')\n"
        "for info in pkgutil.walk_packages(__path__, __name__ + '.'):\n"
        "    assert info.name in ('zoo.wide', 'zoo.deep', 'zoo.deep.inner'), info.name\n",
        "zoo/wide.py": "from torch import nn\nfrom zoo import MODELS\nMODELS['wide'] = lambda: nn.Linear(16, 64)\n",
        "zoo/deep/__init__.py": "from zoo import MODELS\n",
        "zoo/deep/inner.py": "DEPTH = 3\n",
    }
    report = follow("import zoo\nmodel = zoo.MODELS['wide']().cuda()\n", "4, 16", files)
    assert report.model.parameters == 16 * 64 + 64


def test_small_numpy_computations_give_their_numbers() -> None:
    model = """
import sys, logging, numpy as np
assert sys.version_info.major == 3 and sys.version_info >= (3, 9)
assert "torch" not in logging.root.manager.loggerDict
kernel = np.atleast_1d(3)
padding = tuple(int(p) for p in (kernel - 1) / 2 * np.atleast_1d(1))
widths = np.cumsum([8, 8, 16])
assert not np.any(kernel % 2 == 0) and np.argmax([1, 5, 2]) == 1
model = nn.Sequential(
    nn.Conv1d(int(np.max([3, 8])), int(widths[-1]), 3, padding=padding), nn.Linear(int(np.mean([14, 18])), 4)
).cuda()
"""
    assert follow(model, "2, 8, 16").model.parameters == 8 * 32 * 3 + 32 + 16 * 4 + 4


def test_losses_that_inherit_from_torchs_base_class() -> None:
    model = """
from torch.nn.modules.loss import _Loss
class Dice(_Loss):
    def __init__(self, reduction="mean"):
        super().__init__(reduction=reduction)
        assert nn.CrossEntropyLoss().reduction == "mean" and not nn.ReLU().inplace
    def forward(self, x):
        return x.mean() if self.reduction == "mean" else x
model = nn.Sequential(nn.Linear(16, 16), Dice()).cuda()
"""
    assert follow(model, "4, 16").model.parameters == 16 * 16 + 16


def test_a_base_that_is_not_known_counts_once_a_class_of_it_is_used() -> None:
    reader = "import pickle\nclass Reader(pickle.Unpickler):\n    pass\n"
    model = "import zoo\nmodel = nn.Linear(16, 16).cuda()\n"
    unused = follow(model, "4, 16", {"zoo.py": reader})
    used = follow(model, "4, 16", {"zoo.py": reader + "reader = Reader()\n"})
    assert unused.confidence == "high" and not any("Reader" in note for note in unused.notes)
    assert any(note.startswith("zoo.py:2: Reader inherits from something unknown") for note in used.notes)
