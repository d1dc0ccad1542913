"""``torch`` as a tree of names. What is not in the tree does not exist for a program."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, Final

from engine.memory.evidence import EAGER
from engine.memory.tensors import (
    attention,
    casting,
    checkpointing,
    convolution,
    creation,
    decompositions,
    distributions,
    dtypes,
    in_place,
    indexing,
    linear_algebra,
    losses,
    machine,
    modes,
    normalization,
    pointwise,
    rearranging,
    reduction,
    shaping,
    softmax,
    tensor,
    trees,
    unary,
)
from engine.memory.tensors.facade.device import backends, cuda
from engine.memory.tensors.facade.differentiation import autograd, func_grad, functional_call, grad_and_value, vmap
from engine.memory.tensors.facade.inert import Flag, Inert, Namespace, always, first, namespace_of, nothing
from engine.memory.tensors.facade.layers import networks
from engine.memory.tensors.facade.processes import _custom, distributed
from engine.memory.tensors.nn import module
from engine.memory.tensors.optim import optimizer, optimizers, schedulers
from engine.memory.tensors.registry import FFT, FUNCTIONAL, LINALG, SPECIAL, TORCH
from engine.memory.tensors.storage import Device, Size, Storage
from engine.memory.tensors.tensor import Tensor, new
from hardware_catalog.allocator import CapacityError

OPERATORS = (
    attention,
    casting,
    convolution,
    creation,
    in_place,
    indexing,
    linear_algebra,
    decompositions,
    losses,
    normalization,
    pointwise,
    rearranging,
    rearranging,
    reduction,
    shaping,
    softmax,
    unary,
)


class Generator(Inert):
    def manual_seed(self, seed: int) -> Any:
        return self


def _compile(model: Any = None, **kwargs: Any) -> Any:
    machine.current.note(EAGER)
    return first if model is None else model


def _set_default_device(device: Any) -> None:
    from engine.memory.tensors.storage import device_kind

    machine.current.default_device = device_kind(device or "cpu")


def _set_default_dtype(dtype: Any) -> None:
    machine.current.default_dtype = dtype


def build() -> Namespace:
    """The whole tree, once."""
    entries: dict[str, Any] = {"__version__": "2.13.0", **TORCH}
    entries.update(dtypes.NAMES)
    entries["bool"] = dtypes.bool_
    for name in ("relu", "sigmoid", "tanh", "selu", "celu", "softmax", "log_softmax"):
        entries[name] = FUNCTIONAL[name]
    entries.update(
        Tensor=Tensor,
        Size=Size,
        device=Device,
        dtype=dtypes.DType,
        Generator=Generator,
        UntypedStorage=Storage,
        strided="torch.strided",
        channels_last=tensor.CHANNELS_LAST,
        channels_last_3d=tensor.CHANNELS_LAST_3D,
        contiguous_format=tensor.CONTIGUOUS_FORMAT,
        preserve_format=tensor.PRESERVE_FORMAT,
        memory_format=tensor.MemoryFormat,
        inf=float("inf"),
        nan=float("nan"),
        pi=3.141592653589793,
        e=2.718281828459045,
        newaxis=None,
        compile=_compile,
        set_default_device=_set_default_device,
        set_default_dtype=_set_default_dtype,
        get_default_dtype=lambda: machine.current.default_dtype,
        get_default_device=lambda: Device(machine.current.default_device),
        set_default_tensor_type=_default_tensor_type,
        is_tensor=lambda x: isinstance(x, Tensor),
        is_floating_point=lambda x: x.dtype.kind == 2,
        is_complex=lambda x: x.dtype.kind == 3,
        is_storage=lambda x: isinstance(x, Storage),
        numel=lambda x: x.numel(),
        typename=lambda x: type(x).__name__,
        manual_seed=lambda seed: Generator(),
        seed=always(0),
        initial_seed=always(0),
        get_rng_state=lambda: new((16,), dtypes.uint8, "cpu"),
        set_rng_state=nothing,
        use_deterministic_algorithms=nothing,
        set_float32_matmul_precision=nothing,
        get_float32_matmul_precision=always("highest"),
        set_num_threads=nothing,
        get_num_threads=always(1),
        set_printoptions=nothing,
        save=nothing,
        typed_storage=Storage,
        finfo=_Info,
        iinfo=_Info,
        OutOfMemoryError=CapacityError,
        detach=lambda x: x.detach(),
        numpy=nothing,
        is_same_size=lambda a, b: a.shape == b.shape,
        is_nonzero=lambda x: bool(x),
        _dynamo=namespace_of(
            "torch._dynamo",
            {
                "config": Flag(),
                "disable": _custom,
                "reset": nothing,
                "optimize": lambda *a, **k: first,
                "mark_dynamic": nothing,
                "graph_break": nothing,
            },
        ),
        _inductor=namespace_of("torch._inductor", {"config": Flag()}),
        compiler=namespace_of(
            "torch.compiler",
            {
                "disable": _custom,
                "allow_in_graph": _custom,
                "is_compiling": always(False),
                "reset": nothing,
                "cudagraph_mark_step_begin": nothing,
            },
        ),
        jit=namespace_of(
            "torch.jit",
            {
                "script": _custom,
                "trace": first,
                "ignore": _custom,
                "unused": _custom,
                "export": _custom,
                "is_scripting": always(False),
                "is_tracing": always(False),
                "ScriptModule": module.Module,
                "Final": Final,
                "script_method": _custom,
                "annotate": lambda kind, value: value,
            },
        ),
        _foreach_add_=nothing,
        _foreach_mul_=nothing,
        _foreach_lerp_=nothing,
        _foreach_copy_=nothing,
        _foreach_sub_=nothing,
        _foreach_div_=nothing,
        _foreach_zero_=nothing,
        _foreach_norm=lambda xs, *a, **k: [new((), x.dtype, x.storage.device) for x in xs],
    )
    entries["nn"] = networks()
    entries["cuda"] = cuda()
    entries["autograd"] = autograd()
    entries["backends"] = backends()
    entries["distributed"] = distributed()
    entries["linalg"] = namespace_of("torch.linalg", LINALG)
    entries["fft"] = namespace_of("torch.fft", {**FFT, **convolution.SPECTRAL})
    entries["special"] = namespace_of(
        "torch.special",
        {
            **SPECIAL,
            **{n: TORCH[n] for n in ("expm1", "erf", "erfc", "exp2", "digamma", "logit", "sinc") if n in TORCH},
            "expit": TORCH["sigmoid"],
            "xlogy": pointwise.mul,
            "entr": TORCH["gelu"],
        },
    )
    entries["amp"] = namespace_of(
        "torch.amp",
        {
            "autocast": modes.autocast,
            "GradScaler": modes.GradScaler,
            "custom_fwd": _custom,
            "custom_bwd": _custom,
            "is_autocast_available": always(True),
            "autocast_mode": namespace_of("torch.amp.autocast_mode", {"autocast": modes.autocast}),
            "grad_scaler": namespace_of("torch.amp.grad_scaler", {"GradScaler": modes.GradScaler}),
        },
    )
    entries["cpu"] = namespace_of("torch.cpu", {"amp": namespace_of("torch.cpu.amp", {"autocast": modes.CpuAutocast})})
    averaging = namespace_of("torch.optim.swa_utils", schedulers.WEIGHT_AVERAGING)
    schedules = namespace_of("torch.optim.lr_scheduler", schedulers.SCHEDULERS)
    entries["optim"] = namespace_of(
        "torch.optim",
        {
            **optimizers.OPTIMIZERS,
            "lr_scheduler": schedules,
            "swa_utils": averaging,
            "optimizer": namespace_of(
                "torch.optim.optimizer", {"Optimizer": optimizer.Optimizer, "required": object()}
            ),
            **{
                n.lower(): namespace_of(f"torch.optim.{n.lower()}", {n: c})
                for n, c in optimizers.OPTIMIZERS.items()
                if n != "Optimizer"
            },
        },
    )
    saved = {
        "get_device_states": lambda *args: ([], []),
        "set_device_states": nothing,
        "checkpoint": checkpointing.checkpoint,
        "checkpoint_sequential": checkpointing.checkpoint_sequential,
    }
    entries["utils"] = namespace_of(
        "torch.utils",
        {
            "checkpoint": namespace_of("torch.utils.checkpoint", saved),
            "_pytree": namespace_of("torch.utils._pytree", trees.PYTREE),
            "model_zoo": namespace_of("torch.utils.model_zoo", {"load_url": always({})}),
            "hooks": namespace_of("torch.utils.hooks", {"RemovableHandle": Inert}),
        },
    )
    entries["profiler"] = namespace_of(
        "torch.profiler",
        {
            "profile": Inert,
            "record_function": Inert,
            "schedule": Inert,
            "tensorboard_trace_handler": Inert,
            "ProfilerActivity": namespace_of("torch.profiler.ProfilerActivity", {"CPU": 0, "CUDA": 1}),
        },
    )
    entries["func"] = namespace_of(
        "torch.func",
        {"functional_call": functional_call, "vmap": vmap, "grad_and_value": grad_and_value, "grad": func_grad},
    )
    entries["vmap"] = vmap
    kinds = {
        name: namespace_of(f"torch.distributions.{name}", {kind: distributions.DISTRIBUTIONS[kind]})
        for name, kind in distributions.KINDS.items()
    }
    kinds["kl"] = namespace_of("torch.distributions.kl", {"kl_divergence": distributions.kl_divergence})
    entries["distributions"] = namespace_of("torch.distributions", distributions.DISTRIBUTIONS | kinds)
    entries["fx"] = namespace_of("torch.fx", {"wrap": first, "symbolic_trace": first})
    entries["hub"] = namespace_of(
        "torch.hub", {"set_dir": nothing, "get_dir": always(""), "load_state_dict_from_url": always({})}
    )
    entries["serialization"] = namespace_of("torch.serialization", {"add_safe_globals": nothing})
    entries["xpu"] = namespace_of("torch.xpu", {"is_available": always(False)})
    entries["mps"] = namespace_of("torch.mps", {"is_available": always(False), "empty_cache": nothing})
    entries["version"] = namespace_of("torch.version", {"cuda": "12.8", "hip": None, "__version__": "2.13.0"})
    entries["random"] = namespace_of(
        "torch.random", {"manual_seed": entries["manual_seed"], "fork_rng": lambda *a, **k: nullcontext()}
    )
    entries["types"] = namespace_of("torch.types", {"Device": Any, "Number": Any})
    return namespace_of("torch", entries)


def _default_tensor_type(kind: Any) -> None:
    name = str(kind)
    if "cuda" in name:
        machine.current.default_device = "cuda"


class _Info:
    """``torch.finfo`` and ``torch.iinfo``."""

    def __init__(self, dtype: Any = None) -> None:
        dtype = dtype or machine.current.default_dtype
        bits = dtype.itemsize * 8
        self.bits, self.dtype = bits, dtype.name
        if dtype.kind == 2:
            self.max = {"float16": 65504.0, "float64": 1.7976931348623157e308}.get(dtype.name, 3.4028234663852886e38)
            self.min = -self.max
            self.eps = {"float16": 9.765625e-4, "bfloat16": 7.8125e-3, "float64": 2.220446049250313e-16}.get(
                dtype.name, 1.1920928955078125e-07
            )
            self.tiny = self.smallest_normal = 1.1754943508222875e-38
        else:
            self.max = (1 << (bits - 1 if dtype.is_signed else bits)) - 1
            self.min = -(1 << (bits - 1)) if dtype.is_signed else 0


TREE = build()


def lookup(dotted: str) -> Any:
    """The entry of the tree, or None."""
    parts = dotted.split(".")
    if parts[0] != "torch":
        return None
    found: Any = TREE
    for part in parts[1:]:
        found = found.__dict__.get(part) if isinstance(found, Namespace) else getattr(found, part, None)
        if found is None:
            return None
    return found
