"""Reads the tables and answers what a device leaves for tensors."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from importlib.resources import files
from typing import Any

from hardware_catalog.models import GIB, MIB, Gpu, Instance, MibRange, VisibleShare, Workspace
from hardware_catalog.tables import read_tables

_CARRIES = re.compile(r'^gpu = "([^"]*)"', re.MULTILINE)
OLDEST_OFFERED = 7.5
"""Compute capability below which a device is not proposed: current builds of torch hold no kernels for it."""


def _text(name: str) -> str:
    return files("hardware_catalog").joinpath("data", name).read_text(encoding="utf-8")


def _table(name: str) -> dict[str, list[dict[str, Any]]]:
    return read_tables(_text(name))


@cache
def all_gpus() -> tuple[Gpu, ...]:
    """Every device of the catalogue, MIG slices included, in the order of the table."""
    return tuple(Gpu.model_validate(row) for row in _table("gpus.toml")["gpu"])


@cache
def all_instances() -> tuple[Instance, ...]:
    """Every cloud instance of the catalogue."""
    return tuple(Instance.model_validate(row) for row in _table("instances.toml")["instance"])


@cache
def _instances_by_gpu() -> dict[str, list[str]]:
    """The rows of the table as text, by the device that they carry."""
    found: dict[str, list[str]] = {}
    for row in _text("instances.toml").split("[[instance]]")[1:]:
        named = _CARRIES.search(row)
        if named is not None:
            found.setdefault(named[1], []).append(f"[[instance]]{row}")
    return found


@cache
def rented_gpus() -> frozenset[str]:
    """The devices that some instance carries. Taken from the lines of the table: parsing it whole takes a third of the
    time of a small estimate, and its other columns are rarely asked for."""
    return frozenset(_instances_by_gpu())


def instances_with(gpu_id: str) -> tuple[Instance, ...]:
    """Instances that carry this GPU, cheapest first; those without a price come last."""
    rows = read_tables("".join(_instances_by_gpu().get(gpu_id, ()))).get("instance", ())
    carrying = [Instance.model_validate(row) for row in rows]
    return tuple(sorted(carrying, key=lambda row: (row.price_usd_per_hour is None, row.price_usd_per_hour or 0.0)))


@cache
def _device_memory() -> dict[str, list[dict[str, Any]]]:
    return _table("device_memory.toml")


@cache
def _visible_shares() -> dict[str, VisibleShare]:
    rows = _device_memory()["visible_share"]
    return {
        row["class"]: VisibleShare(device_class=row["class"], share=row["share"], source=row["source"]) for row in rows
    }


def visible_share(gpu: Gpu) -> VisibleShare:
    """The share of nominal memory that torch would report on a device without a reading."""
    if gpu.kind == "unified-memory" or gpu.vendor == "Apple":
        name = "unified"
    elif gpu.vendor == "AMD":
        name = "amd"
    elif gpu.memory_type and gpu.memory_type.upper().startswith("HBM"):
        name = "hbm"
    elif gpu.ecc and "on" in gpu.ecc.lower().split():
        name = "ecc-gddr"
    else:
        name = "gddr"
    return _visible_shares()[name]


def total_bytes(gpu: Gpu) -> int:
    """Nominal memory in bytes, as the vendor prints it (GB taken as GiB, as vendors mean it)."""
    return int(gpu.memory_gb * GIB)


def usable_bytes(gpu: Gpu) -> int:
    """What torch reports as total_memory, in bytes: the context still has to come out of it.

    The lowest Linux reading where there is one, the MIG slice's own figure for slices, and the class's share of the
    nominal size otherwise.
    """
    if gpu.torch_visible_mib is not None:
        return int(gpu.torch_visible_mib * MIB)
    if gpu.kind == "mig-slice" and gpu.smi_mib is not None:
        return int(gpu.smi_mib * MIB)
    return int(total_bytes(gpu) * visible_share(gpu).share)


def _part(whole: float | None, fraction: str | float | None) -> float | None:
    return None if whole is None or fraction is None else whole * float(Fraction(str(fraction)))


@cache
def _parents() -> dict[str, Gpu]:
    return {gpu.id: gpu for gpu in all_gpus() if gpu.kind != "mig-slice"}


def memory_bandwidth_gb_s(gpu: Gpu) -> float | None:
    """Published memory bandwidth in GB/s; a MIG slice has its share of its parent's. None where unpublished."""
    if gpu.memory_bandwidth_gb_s is not None or gpu.parent is None:
        return gpu.memory_bandwidth_gb_s
    return _part(_parents()[gpu.parent].memory_bandwidth_gb_s, gpu.memory_fraction)


def bf16_tflops(gpu: Gpu) -> float | None:
    """Published dense bf16 rate in TFLOP/s (fp16 before Ampere); a MIG slice has its share of the multiprocessors."""
    if gpu.bf16_fp16_dense_tflops is not None or gpu.parent is None:
        return gpu.bf16_fp16_dense_tflops
    return _part(_parents()[gpu.parent].bf16_fp16_dense_tflops, gpu.sm_fraction)


def next_smaller(gpu: Gpu) -> Gpu | None:
    """The largest device for rent that leaves clearly less than this one, of the same vendor; None for the smallest."""
    rented = rented_gpus()
    most = usable_bytes(gpu) * 0.9
    smaller = [
        other
        for other in all_gpus()
        if other.vendor == gpu.vendor
        and other.kind == "gpu"
        and other.id in rented
        and usable_bytes(other) < most
        and float(other.compute_capability or 0) >= OLDEST_OFFERED
    ]
    # Of equal sizes the one that leaves least: what fits there fits on the others.
    largest = max((other.memory_gb for other in smaller), default=None)
    return min((other for other in smaller if other.memory_gb == largest), key=usable_bytes, default=None)


def context_range(gpu: Gpu | None) -> MibRange:
    """CUDA context and loaded kernels, in MiB: invisible to torch's counters, visible to nvidia-smi."""
    rows = {row["architecture"]: row for row in _device_memory()["context"]}
    row = rows["default"]
    if gpu is not None:
        row = next((found for name, found in rows.items() if gpu.architecture.startswith(name)), row)
    figures = MibRange(low=row["low"], expected=row["expected"], high=row["high"], source=row["source"])
    if gpu is None or gpu.context_mib is None:
        return figures
    return MibRange(
        low=min(figures.low, gpu.context_mib),
        expected=gpu.context_mib,
        high=max(figures.high, gpu.context_mib),
        source=gpu.context_source or figures.source,
    )


def nccl_range(world_size: int) -> MibRange:
    """NCCL's buffers of one communicator, in MiB; zero for a single process."""
    best = MibRange(low=0, expected=0, high=0, source="one process has no communicator")
    for row in _device_memory()["nccl"]:
        if world_size >= row["min_world_size"]:
            best = MibRange(low=row["low"], expected=row["expected"], high=row["high"], source=row["source"])
    return best


def cublas_workspace_bytes(gpu: Gpu | None) -> int:
    """Bytes of one cuBLAS workspace (per handle and stream) on this device."""
    capability = float(gpu.compute_capability) if gpu is not None and gpu.compute_capability else 8.0
    rows = [
        Workspace(min_compute_capability=row["min_compute_capability"], kib=row["kib"], source=row["source"])
        for row in _device_memory()["cublas_workspace"]
    ]
    return max((row for row in rows if capability >= row.min_compute_capability), key=lambda r: r.kib).kib * 1024
