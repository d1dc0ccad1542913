"""One simulated process with one GPU: its allocator, modes and notes. Exactly one machine is current at a time."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from engine.memory.tensors import dtypes
from hardware_catalog.allocator import CATEGORY_INDEX, MIB, Allocator

# cuBLAS: 2 x 4 MiB + 8 x 16 KiB per handle and stream, 32 MiB from Hopper on
# (aten/src/ATen/cuda/CublasHandlePool.cpp, parseChosenWorkspaceSize).
CUBLAS_WORKSPACE = 8320 * 1024
CUBLAS_WORKSPACE_HOPPER = 32 * MIB

PHASE_CATEGORY = {
    "load": CATEGORY_INDEX["other"],
    "forward": CATEGORY_INDEX["activations"],
    "backward": CATEGORY_INDEX["temporaries"],
    "optimizer": CATEGORY_INDEX["temporaries"],
}


class Machine:
    """State that in a real run belongs to the process and its device."""

    def __init__(
        self,
        arch: str = "sm80",
        capacity: int | None = None,
        expandable_segments: bool = False,
        max_split_size: int | None = None,
        record: bool = False,
        world_size: int = 1,
    ) -> None:
        self.arch = arch
        self.compute = int("".join(c for c in arch if c.isdigit()) or "80")
        self.allocator = Allocator(capacity, expandable_segments, max_split_size, record)
        self.grad_enabled = True
        self.inference_mode = False
        self.sequence = 0
        self.default_dtype = dtypes.float32
        self.default_device = "cpu"
        self.autocast: dtypes.DType | None = None
        self.autocast_cache: dict[int, Any] = {}
        self.autocast_keep = True
        self.autocast_depth = 0
        self.in_backward = False
        self.checkpoints = 0
        self.saved_tensor_hooks: list[tuple[Callable[..., Any], Callable[..., Any]]] = []
        self.sdpa_backends: list[str] | None = None
        self.cublas_handles: set[bool] = set()
        self.world_size = world_size
        # Whether DistributedDataParallel keeps gradients in its buckets even where the program does not ask for it.
        self.gradient_buckets_as_views = False
        self.truth = False
        self.notes: list[str] = []
        self.on_call: Callable[[str, Any, tuple[Any, ...], dict[str, Any]], None] | None = None
        self.on_step: Callable[[Any], None] | None = None
        self.on_backward: Callable[[str], None] | None = None
        # Every optimizer that the program has made, for as long as it lives.
        self.optimizers: list[weakref.ref[Any]] = []
        self.backward_ends: list[Callable[[], None]] = []
        # What `fully_shard` has sharded so far.
        self.open_sharding: Any = None
        self.sdpa_used: set[str] = set()
        # How many equal blocks the published models of the program have, and how many they are made with where not all.
        self.depths: set[int] = set()
        self.made_with: int | None = None
        # Whether the program has asked how much memory there is or was taken.
        self.counters_read = False
        # torch adds gradients that meet at a branch in place where it holds the only reference.
        self.inplace_accumulation = False
        self._phase = "load"
        self.current_category = PHASE_CATEGORY["load"]
        self._outer: Machine | None = None

    def __enter__(self) -> Machine:
        global current
        self._outer = current
        current = self
        return self

    def __exit__(self, *exc: object) -> None:
        global current
        if self._outer is not None:
            current = self._outer

    @property
    def phase(self) -> str:
        return self._phase

    @phase.setter
    def phase(self, name: str) -> None:
        self._phase = name
        self.current_category = PHASE_CATEGORY[name]

    @contextmanager
    def category(self, name: str) -> Iterator[None]:
        """Book allocations under ``name`` meanwhile."""
        before = self.current_category
        self.current_category = CATEGORY_INDEX[name]
        try:
            yield
        finally:
            self.current_category = before

    def reset_peak(self) -> None:
        self.allocator.reset_peak()

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def use_cublas(self) -> None:
        """A matrix product on this thread: its handle's workspace is allocated once and kept."""
        if self.in_backward not in self.cublas_handles:
            self.cublas_handles.add(self.in_backward)
            size = CUBLAS_WORKSPACE_HOPPER if 90 <= self.compute < 100 else CUBLAS_WORKSPACE
            self.allocator.allocate(size, CATEGORY_INDEX["workspace"])


current: Machine = Machine()
