"""GPUs, cloud instances and what a device really leaves for tensors.

>>> find_gpu("rtx 4090").id
'rtx-4090'
"""

from hardware_catalog.catalogue import (
    all_gpus,
    all_instances,
    context_range,
    cublas_workspace_bytes,
    instances_with,
    nccl_range,
    next_smaller,
    total_bytes,
    usable_bytes,
)
from hardware_catalog.models import GIB, MIB, Gpu, Instance, MibRange
from hardware_catalog.names import GpuRequest, UnknownGPU, find_gpu, names_no_gpu, parse_gpu

__all__ = [
    "GIB",
    "MIB",
    "Gpu",
    "GpuRequest",
    "Instance",
    "MibRange",
    "UnknownGPU",
    "all_gpus",
    "all_instances",
    "context_range",
    "cublas_workspace_bytes",
    "find_gpu",
    "instances_with",
    "names_no_gpu",
    "nccl_range",
    "next_smaller",
    "parse_gpu",
    "total_bytes",
    "usable_bytes",
]
