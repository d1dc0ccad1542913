"""``torch.cuda`` and ``torch.backends``: the device, its counters, and switches."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from typing import Any

from engine.memory.tensors import (
    creation,
    dtypes,
    machine,
    modes,
)
from engine.memory.tensors.facade.inert import Flag, Inert, Namespace, always, namespace_of, nothing
from engine.memory.tensors.facade.processes import _custom
from engine.memory.tensors.tensor import new
from hardware_catalog.allocator import Allocator, CapacityError


def _counters() -> Allocator:
    """What the program's own questions about memory are answered from."""
    machine.current.counters_read = True
    return machine.current.allocator


class _DeviceProperties:
    name = "GPU"
    multi_processor_count = 108

    @property
    def total_memory(self) -> int:
        return _counters().capacity or 80 << 30

    @property
    def major(self) -> int:
        return machine.current.compute // 10

    @property
    def minor(self) -> int:
        return machine.current.compute % 10


def cuda() -> Namespace:
    stats = {
        "memory_allocated": lambda *a, **k: _counters().allocated,
        "max_memory_allocated": lambda *a, **k: _counters().peak_allocated,
        "memory_reserved": lambda *a, **k: _counters().reserved,
        "max_memory_reserved": lambda *a, **k: _counters().peak_reserved,
        "memory_cached": lambda *a, **k: _counters().reserved,
        "empty_cache": lambda: machine.current.allocator.empty_cache() and None,
        "memory_summary": always(""),
        "memory_stats": lambda *a, **k: {
            "allocated_bytes.all.peak": _counters().peak_allocated,
            "allocated_bytes.all.current": _counters().allocated,
        },
        "mem_get_info": lambda *a, **k: (
            (_counters().capacity or 80 << 30) - _counters().reserved,
            _counters().capacity or 80 << 30,
        ),
    }
    amp = namespace_of(
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
        nothing,
    )
    entries: dict[str, Any] = {
        **stats,
        **quiet,
        "amp": amp,
        "is_available": always(True),
        "device_count": lambda: max(machine.current.world_size, 1),
        "current_device": always(0),
        "is_bf16_supported": lambda *a, **k: machine.current.compute >= 80,
        "is_initialized": always(True),
        "get_device_name": always("GPU"),
        "get_device_capability": lambda *a: divmod(machine.current.compute, 10),
        "get_device_properties": lambda *a: _DeviceProperties(),
        "OutOfMemoryError": CapacityError,
        "Stream": Inert,
        "Event": Inert,
        "current_stream": lambda *a: Inert(),
        "default_stream": lambda *a: Inert(),
        "stream": lambda *a: nullcontext(),
        "device": lambda *a: nullcontext(),
        "nvtx": Inert(),
        "get_rng_state": lambda *a: new((16,), dtypes.uint8, "cpu"),
        "get_rng_state_all": always([]),
        "CUDAGraph": Inert,
        "memory": namespace_of(
            "torch.cuda.memory", stats | {"_record_memory_history": nothing, "_dump_snapshot": nothing}
        ),
        **creation.CUDA_CONSTRUCTORS,
    }
    return namespace_of("torch.cuda", entries)


@contextmanager
def sdpa_kernel(
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


def backends() -> Namespace:
    cuda = Flag(
        matmul=Flag(allow_tf32=True, allow_fp16_reduced_precision_reduction=True, fp32_precision="ieee"),
        sdp_kernel=sdpa_kernel,
    )
    cudnn = Flag(benchmark=False, deterministic=False, enabled=True, allow_tf32=True, version=always(90100))
    return namespace_of(
        "torch.backends",
        {
            "cuda": cuda,
            "cudnn": cudnn,
            "mps": Flag(available=False),
            "mkl": Flag(),
            "mkldnn": Flag(enabled=True),
            "openmp": Flag(),
            "opt_einsum": Flag(enabled=True),
        },
    )
