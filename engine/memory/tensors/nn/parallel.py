"""Data parallel wrappers: DDP's reduction buckets."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

from engine.memory.tensors import machine
from engine.memory.tensors.nn.module import Module
from engine.memory.tensors.tensor import Tensor, new

FIRST_BUCKET = 1 << 20
BUCKET = 25 << 20


class DistributedDataParallel(Module):
    """Buckets of 25 MiB (the first of 1 MiB) hold every gradient a second time; as bucket views, the only time."""

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.module = module
        self._buckets: list[Tensor] = []
        gradient_as_bucket_view = gradient_as_bucket_view or machine.current.gradient_buckets_as_views
        limit = int(bucket_cap_mb * (1 << 20)) if bucket_cap_mb else BUCKET
        cap = FIRST_BUCKET
        members: list[Any] = []
        for p in reversed([p for p in module.parameters() if p.requires_grad]):
            if members and (members[0].dtype is not p.dtype or members[0].device != p.device):
                self._close(members, gradient_as_bucket_view)
                members = []
            members.append(p)
            if sum(m.nbytes for m in members) >= cap:
                self._close(members, gradient_as_bucket_view)
                members, cap = [], limit
        if members:
            self._close(members, gradient_as_bucket_view)

    def _close(self, members: list[Any], as_views: bool) -> None:
        with machine.current.category("gradients" if as_views else "communication"):
            bucket = new((sum(m.numel() for m in members),), members[0].dtype, members[0].storage.device)
        self._buckets.append(bucket)
        if as_views:
            for m in members:
                m.__dict__["_bucket"] = bucket.storage

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    @contextmanager
    def no_sync(self) -> Any:
        yield

    def join(self, *args: Any, **kwargs: Any) -> Any:
        return self.no_sync()

    def register_comm_hook(self, *args: Any, **kwargs: Any) -> None:
        return None

    def _set_static_graph(self) -> None:
        return None


class DataParallel(Module):
    """One device is simulated: the module itself."""

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module = module
        machine.current.note("DataParallel is taken as running on one device")

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)


PARALLEL: dict[str, Any] = {"DistributedDataParallel": DistributedDataParallel, "DataParallel": DataParallel}
