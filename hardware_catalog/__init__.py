"""GPUs, cloud instances and what a device really leaves for tensors.

>>> find_gpu("rtx 4090").id
'rtx-4090'
"""

from hardware_catalog.catalogue import (
    all_gpus,
    all_instances,
    bf16_tflops,
    context_range,
    cublas_workspace_bytes,
    instances_with,
    memory_bandwidth_gb_s,
    nccl_range,
    next_smaller,
    total_bytes,
    usable_bytes,
)
from hardware_catalog.models import GIB, MIB, Gpu, Instance, MibRange
from hardware_catalog.names import (
    AmbiguousGPU,
    GpuRequest,
    NoDevices,
    UnknownGPU,
    find_gpu,
    gpu_of_size,
    names_no_gpu,
    other_sizes,
    parse_gpu,
)
from hardware_catalog.renting import (
    Rental,
    cheapest_rental,
    cheapest_that,
    cheapest_with,
    find_instances,
    offered_gpus,
)

__all__ = [
    "GIB",
    "MIB",
    "AmbiguousGPU",
    "Gpu",
    "GpuRequest",
    "Instance",
    "MibRange",
    "NoDevices",
    "Rental",
    "UnknownGPU",
    "all_gpus",
    "all_instances",
    "bf16_tflops",
    "cheapest_rental",
    "cheapest_that",
    "cheapest_with",
    "context_range",
    "cublas_workspace_bytes",
    "find_gpu",
    "find_instances",
    "gpu_of_size",
    "instances_with",
    "memory_bandwidth_gb_s",
    "names_no_gpu",
    "nccl_range",
    "next_smaller",
    "offered_gpus",
    "other_sizes",
    "parse_gpu",
    "total_bytes",
    "usable_bytes",
]
