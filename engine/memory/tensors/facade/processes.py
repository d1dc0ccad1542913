"""``torch.distributed``: one rank of several, whose collectives move nothing."""

from __future__ import annotations

from typing import Any

from engine.memory.tensors import (
    machine,
)
from engine.memory.tensors.facade.inert import Inert, Namespace, always, first, namespace_of, nothing
from engine.memory.tensors.nn.fsdp import FSDP, WRAP


def _custom(function: Any = None, **kwargs: Any) -> Any:
    return first if function is None else function


def distributed() -> Namespace:
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
        lambda *a, **k: Inert(),
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
        nothing,
    )
    return namespace_of(
        "torch.distributed",
        {
            **work,
            **quiet,
            "is_available": always(True),
            "is_initialized": lambda: machine.current.world_size > 1,
            "get_rank": always(0),
            "get_node_local_rank": always(0),
            "get_world_size": lambda *a: machine.current.world_size,
            "is_nccl_available": always(True),
            "is_torchelastic_launched": always(True),
            "new_group": lambda *a, **k: Inert(),
            "get_backend": always("nccl"),
            "get_process_group_ranks": always([0]),
            "ReduceOp": namespace_of(
                "torch.distributed.ReduceOp", dict.fromkeys(("SUM", "AVG", "MAX", "MIN", "PRODUCT"), "op")
            ),
            "group": namespace_of("torch.distributed.group", {"WORLD": None}),
            "nn": namespace_of(
                "torch.distributed.nn",
                {
                    "all_reduce": first,
                    "functional": namespace_of(
                        "torch.distributed.nn.functional", {"all_gather": lambda x, *a, **k: [x], "all_reduce": first}
                    ),
                },
            ),
            "ProcessGroup": Inert,
            "Backend": Inert,
            "fsdp": namespace_of(
                "torch.distributed.fsdp", {**FSDP, "wrap": namespace_of("torch.distributed.fsdp.wrap", WRAP)}
            ),
            "_composable": namespace_of(
                "torch.distributed._composable", {"fsdp": namespace_of("torch.distributed._composable.fsdp", FSDP)}
            ),
            "device_mesh": namespace_of(
                "torch.distributed.device_mesh", {"init_device_mesh": lambda *a, **k: Inert(), "DeviceMesh": Inert}
            ),
        },
    )
