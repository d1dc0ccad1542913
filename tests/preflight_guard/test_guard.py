"""VRAMGuard: predicts a live model's step without running it, stops what cannot fit, and leaves no trace."""

import functools
import logging
import random
import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the guard needs PyTorch, which is optional")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from preflight_guard import Shape, VRAMGuard, VRAMRisk, VRAMWarning  # noqa: E402

GIB = 1 << 30
HOOKED: list[Any] = []


class Net(nn.Module):
    """A convolution with batch norm and dropout, and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(0.2))
        self.head = nn.Linear(8 * 6 * 6, 10)
        self.calls = 0
        self.last: Any = None

    def forward(self, images: Any) -> Any:
        self.calls += 1
        self.last = self.body(images)
        return self.head(self.last.flatten(1))


def loss(model: Any, batch: Any) -> Any:
    images, labels = batch
    return F.cross_entropy(model(images), labels)


def batch() -> Any:
    return torch.ones(4, 3, 8, 8), torch.zeros(4, dtype=torch.long)


def guard(model: Any, optimizer: Any = None, **options: Any) -> VRAMGuard:
    options.setdefault("device_bytes", GIB)
    options.setdefault("batch", batch())
    return VRAMGuard(model, optimizer, loss=options.pop("loss", loss), **options)


def bytes_of(tensors: Any) -> int:
    return sum(each.numel() * each.element_size() for each in tensors)


# ------------------------------------------------------------------------------------------------- the figures


def test_parameters_gradients_and_state_are_those_of_the_live_objects() -> None:
    model = Net()
    report = guard(model, torch.optim.AdamW(model.parameters())).report
    trained = bytes_of(model.parameters())
    assert report.parameters == trained + bytes_of(model.buffers())
    assert report.gradients == trained
    # Two moments; the step counts stand on the CPU, which in this test is the device: one float a parameter.
    assert report.optimizer_state == 2 * trained + 4 * len(list(model.parameters()))


def test_state_that_exists_is_counted_once() -> None:
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters())
    before = guard(model, optimizer).report
    loss(model, batch()).backward()
    optimizer.step()
    after = guard(model, optimizer).report
    assert (after.optimizer_state, after.at_peak) == (before.optimizer_state, before.at_peak)


def test_frozen_parameters_have_neither_gradients_nor_state() -> None:
    model = Net()
    for parameter in model.body.parameters():
        parameter.requires_grad = False
    report = guard(model, torch.optim.SGD(model.head.parameters(), lr=0.1, momentum=0.9)).report
    assert report.gradients == report.optimizer_state == bytes_of(model.head.parameters())


def test_without_an_optimizer_a_pass_without_gradients_is_rehearsed() -> None:
    model = Net().eval()
    report = guard(model, batch=torch.ones(4, 3, 8, 8), loss=None).report
    assert report.problem is None
    assert report.gradients == report.optimizer_state == 0


def test_a_larger_batch_needs_more_and_checkpointing_less() -> None:
    from torch.utils.checkpoint import checkpoint_sequential

    layers = nn.Sequential(*[nn.Sequential(nn.Linear(64, 512), nn.GELU(), nn.Linear(512, 64)) for _ in range(8)])
    optimizer = torch.optim.SGD(layers.parameters(), lr=0.1)

    def plain(model: Any, rows: Any) -> Any:
        return model(rows).sum()

    def checkpointed(model: Any, rows: Any) -> Any:
        return checkpoint_sequential(model, 8, rows, use_reentrant=False).sum()

    def peak(rows: int, step: Any) -> int:
        allocated = guard(layers, optimizer, batch=Shape(rows, 64), loss=step).report.allocated
        assert allocated is not None
        return allocated.expected

    assert peak(4096, checkpointed) < peak(4096, plain) < peak(8192, plain)


def test_shapes_stand_for_a_batch() -> None:
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    shaped = guard(model, optimizer, batch=((4, 3, 8, 8), Shape(4, dtype=torch.long))).report
    assert shaped.at_peak == guard(model, optimizer).report.at_peak


def test_a_batch_of_names_is_keywords_and_the_models_own_loss_is_taken() -> None:
    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(100, 16)

        def forward(self, ids: Any, labels: Any) -> Any:
            logits = self.table(ids) @ self.table.weight.T
            return {"loss": F.cross_entropy(logits.flatten(0, 1), labels.flatten()), "logits": logits}

    model = Named()
    ids = Shape(2, 16, dtype=torch.long)
    report = guard(model, torch.optim.Adam(model.parameters()), batch={"ids": ids, "labels": ids}, loss=None).report
    assert report.problem is None
    assert report.notes == guard(model, torch.optim.Adam(model.parameters()), batch={"ids": ids, "labels": ids},
                                 loss=lambda m, b: m(**b)["loss"]).report.notes  # fmt: skip


# ------------------------------------------------------------------------------------------------- the verdict


def test_what_fits_is_let_through_and_what_cannot_fit_is_stopped() -> None:
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters())
    with guard(model, optimizer) as open_guard:
        assert open_guard.report.verdict == "fits"
    with pytest.raises(VRAMRisk, match="does-not-fit") as raised, guard(model, optimizer, device_bytes=10_000):
        pass
    assert raised.value.report.allocated is not None


def test_likely_failures_stop_only_the_strict() -> None:
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters())
    report = guard(model, optimizer).report
    assert report.reserved is not None and report.allocated is not None
    # Below what the sequence runs on, above what it cannot do without.
    tight = report.allocated.low + 1
    with guard(model, optimizer, device_bytes=tight) as unlikely:
        assert unlikely.report.verdict == "unlikely"
    with pytest.raises(VRAMRisk), guard(model, optimizer, device_bytes=tight, strict=True):
        pass
    with pytest.warns(VRAMWarning, match="unlikely"), guard(model, optimizer, device_bytes=tight, on_risk="warn"):
        pass


def test_a_warning_in_place_of_a_stop() -> None:
    model = Net()
    reached = []
    with pytest.warns(VRAMWarning, match="does-not-fit"), guard(model, device_bytes=10_000, on_risk="warn"):
        reached.append(True)
    assert reached


def test_a_device_of_the_catalogue_leaves_less_than_its_memory() -> None:
    report = VRAMGuard(Net(), batch=batch(), loss=loss, device="a100-80gb").report
    assert (report.device, report.verdict) == ("a100-sxm4-80gb", "fits")
    assert 70 * GIB < report.available < 80 * GIB


# --------------------------------------------------------------------------------------------- leaving no trace


def test_the_program_is_as_before() -> None:
    model = Net()
    seen: list[Any] = []
    handle = model.head.register_forward_hook(lambda module, args, output: seen.append(output))
    model.body[0].register_forward_hook(_to_a_global)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    loss(model, batch()).backward()
    optimizer.step()
    seen.clear()
    HOOKED.clear()
    model.body.eval()
    random.seed(3)

    def state() -> Any:
        return (
            {name: value.clone() for name, value in model.state_dict().items()},
            {name: parameter.grad.clone() for name, parameter in model.named_parameters()},
            [value["momentum_buffer"].clone() for value in optimizer.state.values()],
            torch.get_rng_state(),
        )

    before = state()
    rest = (
        [module.training for module in model.modules()],
        model.calls,
        model.last,
        [id(each) for each in model.parameters()],
        list(model.head._forward_hooks.values()),
        random.getstate(),
        scheduler.state_dict(),
        optimizer.step,
        torch.is_grad_enabled(),
    )
    with guard(model, optimizer) as entered:
        assert entered.report.problem is None
    for mine, then in zip(state(), before, strict=True):
        torch.testing.assert_close(mine, then, rtol=0, atol=0)
    assert rest == (
        [module.training for module in model.modules()],
        model.calls,
        model.last,
        [id(each) for each in model.parameters()],
        list(model.head._forward_hooks.values()),
        random.getstate(),
        scheduler.state_dict(),
        optimizer.step,
        torch.is_grad_enabled(),
    )
    assert (seen, HOOKED) == ([], [])
    handle.remove()
    loss(model, batch()).backward()
    optimizer.step()


def _to_a_global(module: Any, args: Any, output: Any) -> None:
    HOOKED.append(output)


@functools.lru_cache
def _mask(size: int) -> Any:
    return torch.ones(size, size).tril()


class Cached(nn.Module):
    """Its forward keeps a tensor in a cache of the program."""

    def __init__(self) -> None:
        super().__init__()
        self.line = nn.Linear(8, 8)

    def forward(self, rows: Any) -> Any:
        return (self.line(rows) @ _mask(8)).sum()


def test_a_cache_that_the_forward_fills_holds_no_empty_tensors_afterwards() -> None:
    model = Cached()
    assert guard(model, torch.optim.SGD(model.parameters()), batch=(4, 8), loss=None).report.problem is None
    assert model(torch.ones(4, 8)).item() == model(torch.ones(4, 8)).item()
    assert type(_mask(8)) is torch.Tensor


def test_a_loss_that_uses_the_live_model_is_told_and_leaves_no_gradients() -> None:
    model = Net()
    report = guard(model, torch.optim.SGD(model.parameters()), loss=lambda _, given: loss(model, given)).report
    assert any("live model" in note for note in report.notes)
    assert all(parameter.grad is None for parameter in model.parameters())


# ------------------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"batch": object()}, "the batch holds a object, which is not understood"),
        (
            {"batch": (4, 3), "loss": None},
            r"the model does not take the batch \(float32 \[4, 3\]\): .*; loss=lambda model, batch",
        ),
        (
            {"batch": {"pictures": (4, 3)}, "loss": None},
            r"does not take the batch \(\{pictures: float32 \[4, 3\]\}\): TypeError",
        ),
        ({"batch": (-4, 3)}, "no negative sizes: -4, 3"),
        ({"loss": lambda model: model}, "the loss function failed on the batch .*: TypeError: .*positional argument"),
        ({"loss": lambda model, given: None}, "returns no scalar tensor"),
        ({"loss": lambda model, given: model(given[0]).detach().numpy().sum()}, "does not run on tensors without data"),
    ],
)
def test_what_cannot_be_rehearsed_is_told_and_the_training_goes_on(given: Any, message: str) -> None:
    model = Net()
    optimizer = torch.optim.SGD(model.parameters())
    reached = []
    with pytest.warns(VRAMWarning, match=message), guard(model, optimizer, **given) as entered:
        reached.append(entered.report.verdict)
    assert reached == ["unknown"]
    with pytest.raises(VRAMRisk, match=message), guard(model, optimizer, on_problem="raise", **given):
        pass


def test_a_wrong_batch_is_told_in_one_line_and_logs_no_traceback(caplog: pytest.LogCaptureFixture) -> None:
    model = Net()
    log = logging.getLogger("torch._subclasses.fake_tensor")
    log.addHandler(caplog.handler)
    try:
        with pytest.warns(VRAMWarning) as told, guard(model, torch.optim.SGD(model.parameters()), batch=(4, 3)):
            pass
    finally:
        log.removeHandler(caplog.handler)
    assert not caplog.records and not log.filters
    assert len(str(told[0].message).splitlines()) == 1


def test_without_a_device_there_is_nothing_to_compare_with() -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has a device")
    with pytest.warns(VRAMWarning, match="device_bytes="), VRAMGuard(Net(), batch=batch()):
        pass


def test_wrong_use_is_named() -> None:
    with pytest.raises(ValueError, match="raise, warn or ignore"):
        VRAMGuard(Net(), batch=batch(), on_risk="stop")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a number of bytes, not '80GB'"):
        VRAMGuard(Net(), batch=batch(), device_bytes="80GB")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"torch\.bfloat16, not 'bf16'"):
        VRAMGuard(Net(), batch=batch(), autocast="bf16")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="an optimizer of torch or a list of them, not 'adam'"):
        VRAMGuard(Net(), "adam", batch=batch())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"nn\.Module, not"):
        VRAMGuard(Net, batch=batch())  # type: ignore[arg-type]


def test_figures_bounded_only_above_stop_nothing() -> None:
    model = nn.Linear(8, 8)

    def masked(given: Any, rows: Any) -> Any:
        return given(rows[rows[:, 0] > 0]).sum()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with guard(model, torch.optim.SGD(model.parameters()), batch=(4, 8), loss=masked, device_bytes=1000) as entered:
            assert entered.report.verdict == "borderline"
            assert any("upper bound" in note for note in entered.report.notes)


def test_a_programs_own_autocast_halves_what_is_rehearsed_without_cuda() -> None:
    layers = nn.Sequential(*[layer for _ in range(24) for layer in (nn.Linear(64, 64), nn.Tanh())])
    optimizer = torch.optim.SGD(layers.parameters(), lr=0.1)

    def cast(model: Any, rows: Any) -> Any:
        with torch.autocast("cuda", torch.bfloat16):
            return model(rows).float().sum()

    def activations(step: Any, **options: Any) -> tuple[int, tuple[str, ...]]:
        report = guard(layers, optimizer, batch=Shape(65536, 64), loss=step, **options).report
        assert report.at_peak is not None
        return report.at_peak["activations"], report.notes

    whole, _ = activations(lambda model, rows: model(rows).sum())
    half, notes = activations(cast)
    assert half < 0.75 * whole
    assert any("without CUDA" in note for note in notes)
    assert activations(lambda model, rows: model(rows).float().sum(), autocast=torch.bfloat16) == (half, notes)


def test_a_compiled_model_is_rehearsed_as_written_and_bounded_above() -> None:
    model = Net()
    optimizer = torch.optim.SGD(model.parameters())
    compiled = guard(torch.compile(model), optimizer, device_bytes=10_000).report
    assert compiled.verdict == "borderline"
    assert compiled.at_peak == guard(model, optimizer).report.at_peak


def test_a_sharded_model_is_told() -> None:
    class FullyShardedDataParallel(nn.Linear):
        """Has the name of the wrapper."""

    report = guard(FullyShardedDataParallel(8, 8), batch=(4, 8), loss=None).report
    assert "sharded over processes" in (report.problem or "")


@pytest.mark.parametrize(
    "name", ["Adadelta", "Adafactor", "Adagrad", "Adamax", "ASGD", "LBFGS", "NAdam", "RAdam", "RMSprop", "Rprop"]
)
def test_every_optimizer_of_torch_is_rehearsed(name: str) -> None:
    model = nn.Linear(16, 16)
    report = guard(model, getattr(torch.optim, name)(model.parameters()), batch=(4, 16), loss=None).report
    assert report.problem is None
    assert report.optimizer_state > 0


def test_optimizers_of_odd_settings_are_rehearsed() -> None:
    model, table = nn.Linear(16, 16), nn.Embedding(100, 8, sparse=True)
    rated = torch.optim.Adam(model.parameters(), lr=torch.tensor(0.1))
    fused = torch.optim.AdamW(model.parameters(), fused=True)
    for optimizer in (rated, fused):
        assert guard(model, optimizer, batch=(4, 16), loss=None).report.problem is None
    sparse = guard(table, torch.optim.SparseAdam(table.parameters()), batch=Shape(4, dtype=torch.long), loss=None)
    assert sparse.report.problem is None


def test_a_check_of_values_that_has_to_hold_is_taken_to() -> None:
    model = nn.Linear(8, 8)

    def checked(given: Any, rows: Any) -> Any:
        assert torch.isfinite(rows).all()
        return given(rows).sum()

    assert guard(model, torch.optim.SGD(model.parameters()), batch=(4, 8), loss=checked).report.problem is None
