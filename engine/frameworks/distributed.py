"""torch.distributed, DDP and FSDP."""

from __future__ import annotations

from engine.frameworks.effects import Effect, Framework

#: Calls that every rank of the group must make. https://docs.pytorch.org/docs/stable/distributed.html
COLLECTIVES = (
    "all_reduce",
    "all_gather",
    "all_gather_object",
    "all_gather_into_tensor",
    "broadcast",
    "broadcast_object_list",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "gather",
    "gather_object",
    "scatter",
    "scatter_object_list",
    "barrier",
    "monitored_barrier",
    "all_to_all",
    "all_to_all_single",
)

CALLS: dict[str, Effect] = {
    **{f"torch.distributed.{name}": Effect("collective", name) for name in COLLECTIVES},
    **{f"torch.distributed.nn.functional.{name}": Effect("collective", name + ":autograd") for name in COLLECTIVES},
    **{f"torch.distributed.nn.{name}": Effect("collective", name + ":autograd") for name in COLLECTIVES},
    "torch.distributed.init_process_group": Effect("process-group", "init_process_group", ("backend",)),
    "torch.distributed.get_rank": Effect("rank", "rank"),
    "torch.distributed.get_world_size": Effect("rank", "world-size"),
    "torch.distributed.get_node_local_rank": Effect("rank", "local-rank"),
    "torch.distributed.is_initialized": Effect("plain"),
    "torch.distributed.is_available": Effect("plain"),
    "torch.nn.parallel.DistributedDataParallel": Effect("wrap", "ddp", ("module", "device_ids")),
    "apex.parallel.DistributedDataParallel": Effect("wrap", "ddp", ("module",)),
    "torch.distributed.fsdp.FullyShardedDataParallel": Effect("wrap", "fsdp", ("module",)),
    "torch.distributed.fsdp.fully_shard": Effect("wrap", "fsdp", ("module",)),
    "torch.distributed._composable.fsdp.fully_shard": Effect("wrap", "fsdp", ("module",)),
    "torch.distributed.checkpoint.state_dict.get_model_state_dict": Effect("collective", "get_model_state_dict"),
    "torch.distributed.checkpoint.save": Effect("collective", "checkpoint.save"),
    "datasets.distributed.split_dataset_by_node": Effect("dataset", "sharded", ("dataset", "rank", "world_size")),
}
DISTRIBUTED = Framework(
    "torch.distributed",
    "https://docs.pytorch.org/docs/stable/distributed.html, notes/ddp.html, fsdp.html",
    calls=CALLS,
    prefixes={"torch.distributed.": Effect("plain")},
)
