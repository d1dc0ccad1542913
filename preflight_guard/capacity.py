"""How much a device leaves for this process."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from hardware_catalog import MIB, Gpu, UnknownGPU, context_range, find_gpu, gpu_of_size, usable_bytes


@dataclass(frozen=True)
class Capacity:
    """Bytes that the process may hold in blocks of torch, and what it holds already beside the model."""

    name: str
    low: int
    """Where the context takes most."""
    high: int
    gpu: Gpu | None
    total: int
    allocated_now: int = 0
    """Live bytes of the process on the device."""


def of_device(device: torch.device) -> Capacity:
    """A CUDA device of this machine: what is free, and what this process has reserved already."""
    free, total = torch.cuda.mem_get_info(device)
    bytes_left = free + torch.cuda.memory_reserved(device)
    name = torch.cuda.get_device_name(device)
    return Capacity(
        name=name,
        low=bytes_left,
        high=bytes_left,
        gpu=_known(name, total),
        total=total,
        allocated_now=torch.cuda.memory_allocated(device),
    )


def of_gpu(name: str) -> Capacity:
    """A device of the catalogue, with nothing else on it. Raises UnknownGPU."""
    gpu = find_gpu(name)
    usable, context = usable_bytes(gpu), context_range(gpu)
    return Capacity(gpu.id, usable - context.high * MIB, usable - context.low * MIB, gpu, usable)


def of_bytes(usable: int) -> Capacity:
    """A number of bytes that is known to be left."""
    return Capacity(f"{usable} bytes", usable, usable, None, usable)


def _known(name: str, total: int) -> Gpu | None:
    try:
        return gpu_of_size(name, total / MIB)
    except UnknownGPU:
        return None
