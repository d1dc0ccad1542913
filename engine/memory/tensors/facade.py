"""``torch`` as a tree of names. What is not in the tree does not exist for a program."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from types import ModuleType
from typing import Any, Final

from engine.memory.allocator import CapacityError
from engine.memory.evidence import EAGER
from engine.memory.tensors import (
    attention,
    casting,
    checkpointing,
    convolution,
    creation,
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
    tensor,
    trees,
    unary,
)
from engine.memory.tensors.nn import functions, layers, module, parallel, recurrent, transformer
from engine.memory.tensors.nn.fsdp import FSDP, WRAP
from engine.memory.tensors.optim import optimizer, optimizers, schedulers
from engine.memory.tensors.registry import FFT, FUNCTIONAL, LINALG, SPECIAL, TORCH
from engine.memory.tensors.storage import Device, Size, Storage
from engine.memory.tensors.tensor import Parameter, Tensor, new

OPERATORS = (
    attention,
    casting,
    convolution,
    creation,
    in_place,
    indexing,
    linear_algebra,
    losses,
    normalization,
    pointwise,
    rearranging,
    rearranging,
    reduction,
    shaping,
    unary,
)


class Namespace(ModuleType):
    """One module of the tree."""


def _namespace(name: str, entries: dict[str, Any]) -> Namespace:
    out = Namespace(name)
    for key, value in entries.items():
        setattr(out, key, value)
    return out


def _nothing(*args: Any, **kwargs: Any) -> None:
    return None


def _always(value: Any) -> Any:
    return lambda *args, **kwargs: value


def _first(x: Any = None, *args: Any, **kwargs: Any) -> Any:
    return x


class _Inert:
    """An object of which nothing matters: profilers, streams, events, work handles."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        return None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exc: object) -> None:
        return None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return args[0] if args and callable(args[0]) else self

    def elapsed_time(self, *args: Any) -> float:
        return 1.0

    def __float__(self) -> float:
        return 1.0


class Generator(_Inert):
    def manual_seed(self, seed: int) -> Any:
        return self


class _Flag:
    """``torch.backends.*``: assignable switches that do not change memory here."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def is_available(self) -> bool:
        return bool(self.__dict__.get("available", True))

    is_built = is_available

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _nothing


class _DeviceProperties:
    name = "GPU"
    multi_processor_count = 108

    @property
    def total_memory(self) -> int:
        return machine.current.allocator.capacity or 80 << 30

    @property
    def major(self) -> int:
        return machine.current.compute // 10

    @property
    def minor(self) -> int:
        return machine.current.compute % 10


def _compile(model: Any = None, **kwargs: Any) -> Any:
    machine.current.note(EAGER)
    return _first if model is None else model


def _set_default_device(device: Any) -> None:
    from engine.memory.tensors.storage import device_kind

    machine.current.default_device = device_kind(device or "cpu")


def _set_default_dtype(dtype: Any) -> None:
    machine.current.default_dtype = dtype


@contextmanager
def _sdpa_kernel(
    backends: Any = None,
    *args: Any,
    set_priority: bool = False,
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Any:
    state = machine.current
    outer = state.sdpa_backends
    if backends is None or isinstance(backends, bool):
        flags = {"flash": enable_flash, "efficient": enable_mem_efficient, "math": enable_math}
        state.sdpa_backends = [name for name, on in flags.items() if on]
    else:
        state.sdpa_backends = list(backends) if isinstance(backends, (list, tuple)) else [backends]
    try:
        yield
    finally:
        state.sdpa_backends = outer


def _functional_call(target: Any, parameters: Any, args: Any = (), kwargs: Any = None, **rest: Any) -> Any:
    items = parameters if isinstance(parameters, dict) else {k: v for d in parameters for k, v in d.items()}
    replaced: list[tuple[dict[str, Any], str, Any]] = []
    for path, value in items.items():
        owner_path, _, name = path.rpartition(".")
        owner = target.get_submodule(owner_path)
        for table in (owner._parameters, owner._buffers):
            if name in table:
                replaced.append((table, name, table[name]))
                table[name] = value
    try:
        return target(*(args if isinstance(args, tuple) else (args,)), **(kwargs or {}))
    finally:
        for table, name, value in replaced:
            table[name] = value


def _func_grad(function: Any, argnums: Any = 0, has_aux: bool = False) -> Any:
    value_and = _grad_and_value(function, argnums, has_aux)
    return lambda *args, **kwargs: (
        (value_and(*args, **kwargs)[0], value_and(*args, **kwargs)[1][1]) if has_aux else value_and(*args, **kwargs)[0]
    )


def _grad_and_value(function: Any, argnums: Any = 0, has_aux: bool = False) -> Any:
    """Gradients with respect to the tensors of one argument, by an ordinary backward."""

    def call(*args: Any, **kwargs: Any) -> Any:
        with modes.enable_grad():
            value = function(*args, **kwargs)
        loss = value[0] if has_aux else value
        leaves, spec = trees.tree_flatten(args[argnums if isinstance(argnums, int) else argnums[0]])
        found = modes.gradients_of(loss, [x for x in leaves if isinstance(x, Tensor)], allow_unused=True)
        return trees.tree_unflatten(list(found), spec), value

    return call


def _vmap(function: Any, in_dims: Any = 0, out_dims: Any = 0, **kwargs: Any) -> Any:
    machine.current.note("vmap: the function is run on the whole batch")
    return function


def _cuda() -> Namespace:
    stats = {
        "memory_allocated": lambda *a, **k: machine.current.allocator.allocated,
        "max_memory_allocated": lambda *a, **k: machine.current.allocator.peak_allocated,
        "memory_reserved": lambda *a, **k: machine.current.allocator.reserved,
        "max_memory_reserved": lambda *a, **k: machine.current.allocator.peak_reserved,
        "memory_cached": lambda *a, **k: machine.current.allocator.reserved,
        "empty_cache": lambda: machine.current.allocator.empty_cache() and None,
        "memory_summary": _always(""),
        "memory_stats": lambda *a, **k: {
            "allocated_bytes.all.peak": machine.current.allocator.peak_allocated,
            "allocated_bytes.all.current": machine.current.allocator.allocated,
        },
        "mem_get_info": lambda *a, **k: (
            (machine.current.allocator.capacity or 80 << 30) - machine.current.allocator.reserved,
            machine.current.allocator.capacity or 80 << 30,
        ),
    }
    amp = _namespace(
        "torch.cuda.amp",
        {"autocast": modes.CudaAutocast, "GradScaler": modes.GradScaler, "custom_fwd": _custom, "custom_bwd": _custom},
    )
    quiet = dict.fromkeys(
        (
            "reset_peak_memory_stats",
            "reset_max_memory_allocated",
            "synchronize",
            "manual_seed",
            "manual_seed_all",
            "seed_all",
            "set_device",
            "init",
            "ipc_collect",
            "set_per_process_memory_fraction",
            "seed",
            "reset_accumulated_memory_stats",
            "set_rng_state",
            "set_rng_state_all",
        ),
        _nothing,
    )
    entries: dict[str, Any] = {
        **stats,
        **quiet,
        "amp": amp,
        "is_available": _always(True),
        "device_count": lambda: max(machine.current.world_size, 1),
        "current_device": _always(0),
        "is_bf16_supported": lambda *a, **k: machine.current.compute >= 80,
        "is_initialized": _always(True),
        "get_device_name": _always("GPU"),
        "get_device_capability": lambda *a: divmod(machine.current.compute, 10),
        "get_device_properties": lambda *a: _DeviceProperties(),
        "OutOfMemoryError": CapacityError,
        "Stream": _Inert,
        "Event": _Inert,
        "current_stream": lambda *a: _Inert(),
        "default_stream": lambda *a: _Inert(),
        "stream": lambda *a: nullcontext(),
        "device": lambda *a: nullcontext(),
        "nvtx": _Inert(),
        "get_rng_state": lambda *a: new((16,), dtypes.uint8, "cpu"),
        "get_rng_state_all": _always([]),
        "CUDAGraph": _Inert,
        "memory": _namespace(
            "torch.cuda.memory", stats | {"_record_memory_history": _nothing, "_dump_snapshot": _nothing}
        ),
        **creation.CUDA_CONSTRUCTORS,
    }
    return _namespace("torch.cuda", entries)


def _custom(function: Any = None, **kwargs: Any) -> Any:
    return _first if function is None else function


def _distributed() -> Namespace:
    work = dict.fromkeys(
        (
            "all_reduce",
            "broadcast",
            "reduce",
            "scatter",
            "gather",
            "all_gather",
            "reduce_scatter",
            "all_gather_into_tensor",
            "reduce_scatter_tensor",
            "send",
            "recv",
            "all_to_all",
            "all_to_all_single",
            "isend",
            "irecv",
        ),
        lambda *a, **k: _Inert(),
    )
    quiet = dict.fromkeys(
        (
            "init_process_group",
            "destroy_process_group",
            "barrier",
            "monitored_barrier",
            "broadcast_object_list",
            "all_gather_object",
            "gather_object",
        ),
        _nothing,
    )
    return _namespace(
        "torch.distributed",
        {
            **work,
            **quiet,
            "is_available": _always(True),
            "is_initialized": lambda: machine.current.world_size > 1,
            "get_rank": _always(0),
            "get_node_local_rank": _always(0),
            "get_world_size": lambda *a: machine.current.world_size,
            "is_nccl_available": _always(True),
            "is_torchelastic_launched": _always(True),
            "new_group": lambda *a, **k: _Inert(),
            "get_backend": _always("nccl"),
            "get_process_group_ranks": _always([0]),
            "ReduceOp": _namespace(
                "torch.distributed.ReduceOp", dict.fromkeys(("SUM", "AVG", "MAX", "MIN", "PRODUCT"), "op")
            ),
            "group": _namespace("torch.distributed.group", {"WORLD": None}),
            "nn": _namespace(
                "torch.distributed.nn",
                {
                    "all_reduce": _first,
                    "functional": _namespace(
                        "torch.distributed.nn.functional", {"all_gather": lambda x, *a, **k: [x], "all_reduce": _first}
                    ),
                },
            ),
            "ProcessGroup": _Inert,
            "Backend": _Inert,
            "fsdp": _namespace(
                "torch.distributed.fsdp", {**FSDP, "wrap": _namespace("torch.distributed.fsdp.wrap", WRAP)}
            ),
            "_composable": _namespace(
                "torch.distributed._composable", {"fsdp": _namespace("torch.distributed._composable.fsdp", FSDP)}
            ),
            "device_mesh": _namespace(
                "torch.distributed.device_mesh", {"init_device_mesh": lambda *a, **k: _Inert(), "DeviceMesh": _Inert}
            ),
        },
    )


def _nn() -> Namespace:
    entries: dict[str, Any] = dict(layers.exported())
    for name in ("Module", "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"):
        entries[name] = getattr(module, name)
    for name in ("RNN", "LSTM", "GRU", "RNNBase", "RNNCell", "LSTMCell", "GRUCell"):
        entries[name] = getattr(recurrent, name)
    for name in (
        "MultiheadAttention",
        "Transformer",
        "TransformerEncoder",
        "TransformerEncoderLayer",
        "TransformerDecoder",
        "TransformerDecoderLayer",
    ):
        entries[name] = getattr(transformer, name)
    entries.update(parallel.PARALLEL)
    entries["Parameter"] = Parameter
    entries["Buffer"] = lambda data, persistent=True: data
    entries["functional"] = _namespace("torch.nn.functional", FUNCTIONAL)
    entries["init"] = _namespace("torch.nn.init", functions.INIT)
    rnn = _namespace("torch.nn.utils.rnn", functions.RNN)
    extra = {
        "rnn": rnn,
        "parametrizations": _namespace("torch.nn.utils.parametrizations", functions.PARAMETRIZATIONS),
        "parametrize": _namespace("torch.nn.utils.parametrize", functions.PARAMETRIZE),
    }
    stateless = _namespace("torch.nn.utils.stateless", {"functional_call": _functional_call})
    entries["utils"] = _namespace(
        "torch.nn.utils",
        functions.UTILS
        | extra
        | {"stateless": stateless, "clip_grad": _namespace("torch.nn.utils.clip_grad", functions.UTILS)},
    )
    entries["parallel"] = _namespace("torch.nn.parallel", parallel.PARALLEL)
    entries["parameter"] = _namespace("torch.nn.parameter", {"Parameter": Parameter, "Buffer": entries["Buffer"]})
    kernels = _namespace(
        "torch.nn.attention.SDPBackend",
        {"FLASH_ATTENTION": "flash", "EFFICIENT_ATTENTION": "efficient", "MATH": "math", "CUDNN_ATTENTION": "flash"},
    )
    entries["attention"] = _namespace("torch.nn.attention", {"sdpa_kernel": _sdpa_kernel, "SDPBackend": kernels})
    everything = _namespace("torch.nn.modules", dict(entries))
    for part in (
        "module",
        "container",
        "linear",
        "conv",
        "batchnorm",
        "normalization",
        "activation",
        "loss",
        "rnn",
        "transformer",
        "sparse",
        "dropout",
        "pooling",
        "upsampling",
        "instancenorm",
    ):
        setattr(
            everything,
            part,
            _namespace(
                f"torch.nn.modules.{part}",
                dict(entries)
                | {
                    "_BatchNorm": layers._BatchNorm,
                    "_ConvNd": layers._Conv,
                    "_ConvTransposeNd": layers._ConvTranspose,
                    "_NormBase": layers._BatchNorm,
                    "_Loss": module.Module,
                    "_DropoutNd": module.Module,
                    "_InstanceNorm": layers._InstanceNorm,
                },
            ),
        )
    everything.__dict__["utils"] = _namespace(
        "torch.nn.modules.utils",
        {f"_{word}": _tupled(n) for n, word in enumerate(("single", "pair", "triple", "quadruple"), 1)},
    )
    entries["modules"] = everything
    return _namespace("torch.nn", entries)


def _tupled(n: int) -> Any:
    return lambda x: tuple(x) if isinstance(x, (tuple, list)) else (x,) * n


def _autograd() -> Namespace:
    profiler = _namespace(
        "torch.autograd.profiler", {"record_function": _Inert, "profile": _Inert, "emit_nvtx": _Inert}
    )
    return _namespace(
        "torch.autograd",
        {
            "Function": modes.Function,
            "grad": modes.gradients_of,
            "backward": modes.backward,
            "Variable": _variable,
            "no_grad": modes.no_grad,
            "enable_grad": modes.enable_grad,
            "set_grad_enabled": modes.set_grad_enabled,
            "inference_mode": modes.inference_mode,
            "set_detect_anomaly": _Inert,
            "detect_anomaly": _Inert,
            "profiler": profiler,
            "function": _namespace(
                "torch.autograd.function",
                {
                    "Function": modes.Function,
                    "once_differentiable": modes.once_differentiable,
                    "FunctionCtx": modes.FunctionContext,
                },
            ),
            "graph": _namespace(
                "torch.autograd.graph",
                {"saved_tensors_hooks": modes.saved_tensors_hooks, "save_on_cpu": modes.save_on_cpu},
            ),
            "functional": _namespace(
                "torch.autograd.functional", {"jacobian": modes.jacobian, "hessian": modes.jacobian}
            ),
        },
    )


def _variable(data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
    return data.requires_grad_() if requires_grad else data


def _backends() -> Namespace:
    cuda = _Flag(
        matmul=_Flag(allow_tf32=True, allow_fp16_reduced_precision_reduction=True, fp32_precision="ieee"),
        sdp_kernel=_sdpa_kernel,
    )
    cudnn = _Flag(benchmark=False, deterministic=False, enabled=True, allow_tf32=True, version=_always(90100))
    return _namespace(
        "torch.backends",
        {
            "cuda": cuda,
            "cudnn": cudnn,
            "mps": _Flag(available=False),
            "mkl": _Flag(),
            "mkldnn": _Flag(enabled=True),
            "openmp": _Flag(),
            "opt_einsum": _Flag(enabled=True),
        },
    )


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
        seed=_always(0),
        initial_seed=_always(0),
        get_rng_state=lambda: new((16,), dtypes.uint8, "cpu"),
        set_rng_state=_nothing,
        use_deterministic_algorithms=_nothing,
        set_float32_matmul_precision=_nothing,
        get_float32_matmul_precision=_always("highest"),
        set_num_threads=_nothing,
        get_num_threads=_always(1),
        set_printoptions=_nothing,
        save=_nothing,
        typed_storage=Storage,
        finfo=_Info,
        iinfo=_Info,
        OutOfMemoryError=CapacityError,
        detach=lambda x: x.detach(),
        numpy=_nothing,
        is_same_size=lambda a, b: a.shape == b.shape,
        is_nonzero=lambda x: bool(x),
        _dynamo=_namespace(
            "torch._dynamo",
            {
                "config": _Flag(),
                "disable": _custom,
                "reset": _nothing,
                "optimize": lambda *a, **k: _first,
                "mark_dynamic": _nothing,
                "graph_break": _nothing,
            },
        ),
        _inductor=_namespace("torch._inductor", {"config": _Flag()}),
        compiler=_namespace(
            "torch.compiler",
            {
                "disable": _custom,
                "allow_in_graph": _custom,
                "is_compiling": _always(False),
                "reset": _nothing,
                "cudagraph_mark_step_begin": _nothing,
            },
        ),
        jit=_namespace(
            "torch.jit",
            {
                "script": _custom,
                "trace": _first,
                "ignore": _custom,
                "unused": _custom,
                "export": _custom,
                "is_scripting": _always(False),
                "is_tracing": _always(False),
                "ScriptModule": module.Module,
                "Final": Final,
                "script_method": _custom,
                "annotate": lambda kind, value: value,
            },
        ),
        _foreach_add_=_nothing,
        _foreach_mul_=_nothing,
        _foreach_lerp_=_nothing,
        _foreach_copy_=_nothing,
        _foreach_sub_=_nothing,
        _foreach_div_=_nothing,
        _foreach_zero_=_nothing,
        _foreach_norm=lambda xs, *a, **k: [new((), x.dtype, x.storage.device) for x in xs],
    )
    entries["nn"] = _nn()
    entries["cuda"] = _cuda()
    entries["autograd"] = _autograd()
    entries["backends"] = _backends()
    entries["distributed"] = _distributed()
    entries["linalg"] = _namespace("torch.linalg", LINALG)
    entries["fft"] = _namespace("torch.fft", {**FFT, **convolution.SPECTRAL})
    entries["special"] = _namespace(
        "torch.special",
        {
            **SPECIAL,
            **{n: TORCH[n] for n in ("expm1", "erf", "erfc", "exp2", "digamma", "logit", "sinc") if n in TORCH},
            "expit": TORCH["sigmoid"],
            "xlogy": pointwise.mul,
            "entr": TORCH["gelu"],
        },
    )
    entries["amp"] = _namespace(
        "torch.amp",
        {
            "autocast": modes.autocast,
            "GradScaler": modes.GradScaler,
            "custom_fwd": _custom,
            "custom_bwd": _custom,
            "is_autocast_available": _always(True),
            "autocast_mode": _namespace("torch.amp.autocast_mode", {"autocast": modes.autocast}),
            "grad_scaler": _namespace("torch.amp.grad_scaler", {"GradScaler": modes.GradScaler}),
        },
    )
    entries["cpu"] = _namespace("torch.cpu", {"amp": _namespace("torch.cpu.amp", {"autocast": modes.CpuAutocast})})
    averaging = _namespace("torch.optim.swa_utils", schedulers.WEIGHT_AVERAGING)
    schedules = _namespace("torch.optim.lr_scheduler", schedulers.SCHEDULERS)
    entries["optim"] = _namespace(
        "torch.optim",
        {
            **optimizers.OPTIMIZERS,
            "lr_scheduler": schedules,
            "swa_utils": averaging,
            "optimizer": _namespace("torch.optim.optimizer", {"Optimizer": optimizer.Optimizer, "required": object()}),
            **{
                n.lower(): _namespace(f"torch.optim.{n.lower()}", {n: c})
                for n, c in optimizers.OPTIMIZERS.items()
                if n != "Optimizer"
            },
        },
    )
    saved = {
        "get_device_states": lambda *args: ([], []),
        "set_device_states": _nothing,
        "checkpoint": checkpointing.checkpoint,
        "checkpoint_sequential": checkpointing.checkpoint_sequential,
    }
    entries["utils"] = _namespace(
        "torch.utils",
        {
            "checkpoint": _namespace("torch.utils.checkpoint", saved),
            "_pytree": _namespace("torch.utils._pytree", trees.PYTREE),
            "model_zoo": _namespace("torch.utils.model_zoo", {"load_url": _always({})}),
            "hooks": _namespace("torch.utils.hooks", {"RemovableHandle": _Inert}),
        },
    )
    entries["profiler"] = _namespace(
        "torch.profiler",
        {
            "profile": _Inert,
            "record_function": _Inert,
            "schedule": _Inert,
            "tensorboard_trace_handler": _Inert,
            "ProfilerActivity": _namespace("torch.profiler.ProfilerActivity", {"CPU": 0, "CUDA": 1}),
        },
    )
    entries["func"] = _namespace(
        "torch.func",
        {"functional_call": _functional_call, "vmap": _vmap, "grad_and_value": _grad_and_value, "grad": _func_grad},
    )
    entries["vmap"] = _vmap
    kinds = {
        name: _namespace(f"torch.distributions.{name}", {kind: distributions.DISTRIBUTIONS[kind]})
        for name, kind in distributions.KINDS.items()
    }
    kinds["kl"] = _namespace("torch.distributions.kl", {"kl_divergence": distributions.kl_divergence})
    entries["distributions"] = _namespace("torch.distributions", distributions.DISTRIBUTIONS | kinds)
    entries["fx"] = _namespace("torch.fx", {"wrap": _first, "symbolic_trace": _first})
    entries["hub"] = _namespace(
        "torch.hub", {"set_dir": _nothing, "get_dir": _always(""), "load_state_dict_from_url": _always({})}
    )
    entries["serialization"] = _namespace("torch.serialization", {"add_safe_globals": _nothing})
    entries["xpu"] = _namespace("torch.xpu", {"is_available": _always(False)})
    entries["mps"] = _namespace("torch.mps", {"is_available": _always(False), "empty_cache": _nothing})
    entries["version"] = _namespace("torch.version", {"cuda": "12.8", "hip": None, "__version__": "2.13.0"})
    entries["random"] = _namespace(
        "torch.random", {"manual_seed": entries["manual_seed"], "fork_rng": lambda *a, **k: nullcontext()}
    )
    entries["types"] = _namespace("torch.types", {"Device": Any, "Number": Any})
    return _namespace("torch", entries)


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
