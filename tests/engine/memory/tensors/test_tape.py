"""What operators keep for backward, and how long."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.memory.tensors import CapacityError, Machine, TensorError, namespace

torch = namespace("torch")
MIB = 1 << 20


@pytest.fixture
def machine() -> Iterator[Machine]:
    with Machine(arch="sm80") as made:
        yield made


def test_relu_keeps_its_output_and_addition_keeps_nothing(machine: Machine) -> None:
    x = torch.empty(MIB, device="cuda", requires_grad=True)
    before = machine.allocator.allocated
    y = (x + 1).relu() + 1
    assert machine.allocator.allocated - before == 2 * 4 * MIB
    del y
    assert machine.allocator.allocated == before


def test_nothing_is_kept_without_gradients(machine: Machine) -> None:
    x = torch.empty(MIB, device="cuda", requires_grad=True)
    before = machine.allocator.allocated
    with torch.no_grad():
        y = x.exp().exp().exp()
    assert machine.allocator.allocated - before == 4 * MIB
    assert not y.requires_grad


def test_backward_frees_what_was_saved_and_leaves_gradients(machine: Machine) -> None:
    x = torch.empty(MIB, device="cuda", requires_grad=True)
    loss = x.exp().sum()
    loss.backward()
    del loss
    assert machine.allocator.allocated == 2 * 4 * MIB
    assert machine.allocator.categories()["gradients"] == 4 * MIB
    assert x.grad.shape == x.shape


def test_a_second_backward_is_refused(machine: Machine) -> None:
    x = torch.empty(8, device="cuda", requires_grad=True)
    loss = x.exp().sum()
    loss.backward()
    with pytest.raises(TensorError, match="second time"):
        loss.backward()


def test_retained_graph_allows_a_second_backward(machine: Machine) -> None:
    x = torch.empty(8, device="cuda", requires_grad=True)
    loss = x.exp().sum()
    loss.backward(retain_graph=True)
    loss.backward()


def test_views_share_their_storage(machine: Machine) -> None:
    x = torch.empty(4, 6, device="cuda")
    before = machine.allocator.allocated
    views = [x.t(), x.view(2, 12), x[1:], x[:, None], x.expand(3, 4, 6), *x.chunk(2), *x.unbind(1)]
    assert machine.allocator.allocated == before
    assert views[4].shape == (3, 4, 6)
    assert x.t().contiguous().storage is not x.storage
    with pytest.raises(TensorError, match="reshape"):
        x.t().view(24)


def test_autocast_keeps_one_copy_of_a_weight_until_it_ends(machine: Machine) -> None:
    layer = torch.nn.Linear(1024, 1024, bias=False).cuda()
    x = torch.empty(1024, 1024, device="cuda", dtype=torch.bfloat16)
    before = machine.allocator.allocated
    with torch.no_grad(), torch.autocast("cuda", dtype=torch.bfloat16):
        layer(x)
        layer(x)
        copy = 2 * MIB
        workspace = 8320 * 1024
        assert machine.allocator.allocated - before == copy + workspace
    assert machine.allocator.allocated - before == workspace


def test_gradient_penalty_differentiates_twice(machine: Machine) -> None:
    weight = torch.empty(64, 64, device="cuda", requires_grad=True)
    x = torch.empty(32, 64, device="cuda", requires_grad=True)
    score = (x @ weight).tanh().sum()
    (gradient,) = torch.autograd.grad(score, x, create_graph=True)
    assert gradient.requires_grad
    ((gradient.norm(2, 1) - 1) ** 2).mean().backward()
    assert weight.grad.shape == weight.shape


@pytest.mark.parametrize(
    ("arch", "dtype", "masked", "kernel"),
    [
        ("sm80", "float16", False, "flash"),
        ("sm80", "float16", True, "efficient"),
        ("sm80", "float32", False, "efficient"),
        ("sm75", "bfloat16", False, "math"),
        ("sm75", "float16", False, "efficient"),
    ],
)
def test_attention_kernel(arch: str, dtype: str, masked: bool, kernel: str) -> None:
    with Machine(arch=arch) as machine:
        q = torch.empty(2, 8, 128, 64, device="cuda", dtype=getattr(torch, dtype))
        mask = torch.ones(128, 128, device="cuda", dtype=torch.bool) if masked else None
        torch.nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=mask)
        assert machine.sdpa_used == {kernel}


def test_known_data_is_carried_along() -> None:
    with Machine():
        assert torch.tensor([2, 3]).prod().item() == 6
        assert [x.item() for x in torch.linspace(0, 1, 3)] == [0.0, 0.5, 1.0]
        assert int(torch.arange(5).sum()) == 10


def test_a_full_device_raises() -> None:
    with Machine(capacity=64 * MIB), pytest.raises(CapacityError):
        torch.empty(128 * MIB, device="cuda", dtype=torch.uint8)


@pytest.mark.parametrize(
    ("optimizer", "settings", "states", "lists"),
    [
        ("SGD", {"lr": 0.1}, 0, 0),
        ("SGD", {"lr": 0.1, "momentum": 0.9}, 1, 0),
        ("AdamW", {}, 2, 1),
        ("AdamW", {"fused": True}, 2, 0),
        ("Adam", {"amsgrad": True}, 3, 1),
        ("Adagrad", {}, 1, 2),
        ("RMSprop", {}, 1, 1),
    ],
)
def test_optimizer_states_and_temporaries(
    machine: Machine, optimizer: str, settings: dict[str, object], states: int, lists: int
) -> None:
    p = torch.nn.Parameter(torch.empty(MIB, device="cuda"))
    made = getattr(torch.optim, optimizer)([p], **settings)
    p.grad = torch.empty(MIB, device="cuda")
    machine.reset_peak()
    made.step()
    size = 4 * MIB
    assert machine.allocator.allocated // size == 2 + states
    assert machine.allocator.peak_allocated // size == 2 + states + lists
