"""The tensor: a view of a storage with a shape, and its place on the tape."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from engine.memory.tensors import dtypes, machine
from engine.memory.tensors.autograd import Leaf, Node, RemovableHandle, edge_of, run
from engine.memory.tensors.dtypes import DType
from engine.memory.tensors.layout import dense_strides, is_dense, is_row_major
from engine.memory.tensors.storage import Device, Size, Storage, TensorError, contiguous_strides, device_of

NO_STORAGE = Storage(0, "cpu")
"""Stands for an argument that was not given."""


def _as_constructed(*given: Any) -> tuple[Any, DType, Storage]:
    """`torch.Tensor(2, 3)`, `torch.Tensor([1.0, 2.0])` as a program writes them: float32 on the CPU.

    A list gives its values, sizes give memory without values; the parts of the new tensor are returned.
    """
    from engine.memory.tensors.creation import tensor

    sizes = [value for value in given if value is not None and value is not NO_STORAGE and type(value) is not DType]
    first = sizes[0] if sizes else (0,)
    if isinstance(first, Tensor):
        return first.shape, dtypes.float32, first.storage
    if isinstance(first, list) or (isinstance(first, tuple) and type(first) is not Size and first != (0,)):
        made = tensor(list(first), dtype=dtypes.float32)
        return made.shape, made.dtype, made.storage
    shape = tuple(int(size) for size in (first if isinstance(first, tuple) else sizes))
    return shape, dtypes.float32, Storage(4 * prod(shape), "cpu")


class UnknownFloat(float):
    """A number read from a tensor whose data is not known; worth 1.0."""


class UnknownInt(int):
    """An integer read from a tensor whose data is not known; worth 1, or as far from 1 as the program moved it."""


class Tensor:
    """Shape, strides (None: contiguous), dtype and storage; ``values`` holds the data of small known tensors."""

    __slots__ = (
        "__dict__",
        "__weakref__",
        "base",
        "dtype",
        "grad",
        "grad_fn",
        "leaf",
        "output_index",
        "requires_grad",
        "saved_output",
        "shape",
        "storage",
        "strides",
        "values",
    )

    def __init__(
        self,
        shape: tuple[int, ...] = (0,),
        dtype: DType = dtypes.float32,
        storage: Storage = NO_STORAGE,
        strides: tuple[int, ...] | None = None,
        *more: Any,
    ) -> None:
        if storage.__class__ is not Storage or storage is NO_STORAGE:
            shape, dtype, storage = _as_constructed(shape, dtype, storage, strides, *more)
            strides = None
        self.shape: Size = shape if type(shape) is Size else Size(shape)
        self.dtype = dtype
        self.storage = storage
        self.strides = strides
        self.requires_grad = False
        self.grad_fn: Node | None = None
        self.output_index = 0
        self.grad: Tensor | None = None
        self.leaf: weakref.ref[Leaf] | None = None
        self.base: Tensor | None = None
        self.saved_output = False
        self.values: list[Any] | None = None

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

        def __add__(self, other: Any) -> Tensor: ...

        def __sub__(self, other: Any) -> Tensor: ...

        def __mul__(self, other: Any) -> Tensor: ...

        def __truediv__(self, other: Any) -> Tensor: ...

        def __matmul__(self, other: Any) -> Tensor: ...

        def __neg__(self) -> Tensor: ...

        def __pow__(self, other: Any) -> Tensor: ...

        def sum(self, *args: Any, **kwargs: Any) -> Tensor: ...

        def squeeze(self, *args: Any, **kwargs: Any) -> Tensor: ...

        def reshape(self, *args: Any, **kwargs: Any) -> Tensor: ...

        def diagonal(self, *args: Any, **kwargs: Any) -> Tensor: ...

        def __getitem__(self, key: Any) -> Tensor: ...

    # ------------------------------------------------------------------------------------------- shape

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    def dim(self) -> int:
        return len(self.shape)

    ndimension = dim

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def numel(self) -> int:
        return prod(self.shape)

    nelement = numel

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d tensor")
        return int(self.shape[0])

    def element_size(self) -> int:
        return self.dtype.itemsize

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize

    def stride_of(self) -> tuple[int, ...]:
        """Strides in elements."""
        return contiguous_strides(self.shape) if self.strides is None else self.strides

    def stride(self, dim: int | None = None) -> Any:
        strides = self.stride_of()
        return strides if dim is None else strides[dim]

    def storage_offset(self) -> int:
        return 0

    def is_contiguous(self, memory_format: Any = None) -> bool:
        if memory_format is not None and getattr(memory_format, "channels", False):
            return bool(self.strides == memory_format.strides(self.shape))
        return self.strides is None or is_row_major(self.shape, self.strides)

    def is_dense(self) -> bool:
        """Non-overlapping and dense: some order of the dimensions makes it contiguous."""
        return self.strides is None or is_dense(self.shape, self.strides)

    # ------------------------------------------------------------------------------------------ device

    @property
    def device(self) -> Device:
        return device_of(self.storage.device)

    @property
    def is_cuda(self) -> bool:
        return self.storage.device == "cuda"

    @property
    def is_meta(self) -> bool:
        return self.storage.device == "meta"

    is_sparse = False
    is_quantized = False
    is_nested = False
    is_mps = False
    is_xpu = False
    is_mkldnn = False
    layout = "torch.strided"
    names = None

    def get_device(self) -> int:
        return 0 if self.storage.device == "cuda" else -1

    def untyped_storage(self) -> Storage:
        return self.storage

    def data_ptr(self) -> int:
        return id(self.storage)

    def is_floating_point(self) -> bool:
        return self.dtype.kind == 2

    def is_complex(self) -> bool:
        return self.dtype.kind == 3

    def is_signed(self) -> bool:
        return self.dtype.is_signed

    def is_pinned(self) -> bool:
        return False

    def is_inference(self) -> bool:
        return False

    def pin_memory(self, device: Any = None) -> Tensor:
        return self

    def share_memory_(self) -> Tensor:
        return self

    def is_shared(self) -> bool:
        return False

    # ---------------------------------------------------------------------------------------- autograd

    @property
    def is_leaf(self) -> bool:
        return self.grad_fn is None

    def alias(self) -> Tensor:
        """Another tensor over the same storage, without history (what ``detach`` gives)."""
        out = Tensor(self.shape, self.dtype, self.storage, self.strides)
        out.values = self.values
        return out

    detach = alias

    def detach_(self) -> Tensor:
        self.grad_fn = None
        self.requires_grad = False
        return self

    @property
    def data(self) -> Tensor:
        return self.alias()

    @data.setter
    def data(self, other: Tensor) -> None:
        if self.storage is not other.storage and isinstance(self, Parameter):
            other.storage.relabel("parameters")
        self.shape, self.dtype, self.storage, self.strides = other.shape, other.dtype, other.storage, other.strides

    def fresh_copy(self, layout: Tensor | None = None) -> Tensor:
        """A new storage with the same data, dense; not recorded."""
        strides = layout.strides if layout is not None else dense_strides(self.shape, self.strides)
        out = Tensor(
            self.shape, self.dtype, Storage(prod(self.shape) * self.dtype.itemsize, self.storage.device), strides
        )
        out.values = self.values
        return out

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        self.requires_grad = requires_grad
        return self

    def retain_grad(self) -> None:
        if self.grad_fn is not None:
            reference = weakref.ref(self)

            def keep(gradient: Tensor) -> None:
                tensor = reference()
                if tensor is not None:
                    tensor.grad = gradient

            self.register_hook(keep)

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        edge = edge_of(self)
        if edge is None:
            raise TensorError("cannot register a hook on a tensor that doesn't require gradient")
        node, index = edge
        if isinstance(node, Leaf):
            self.__dict__["_kept_leaf"] = weakref.ref(node)
        if node.hooks is None:
            node.hooks = {}
        hooks = node.hooks.setdefault(index, [])
        hooks.append(hook)
        if isinstance(node, Leaf):
            # The accumulator dies with its graph; the hook has to be found again by the next one.
            self.__dict__.setdefault("_leaf_hooks", hooks)
        return RemovableHandle(hooks, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        hooks = self.__dict__.setdefault("_post_accumulate_hooks", [])
        hooks.append(hook)
        return RemovableHandle(hooks, hook)

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        if gradient is None:
            gradient = ones_like_raw(self)
        if inputs is not None:
            inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
        run([self], [gradient], bool(retain_graph) or create_graph, create_graph, inputs)

    # -------------------------------------------------------------------------------------------- data

    def item(self) -> Any:
        if self.values is not None and len(self.values) == 1:
            return self.values[0]
        if self.dtype.kind == 2:
            return UnknownFloat(1.0)
        if self.dtype.kind == 0:
            return machine.current.truth
        return UnknownInt(1)

    def tolist(self) -> Any:
        if self.values is not None:
            return nest(self.values, self.shape)
        # Rows of unknown numbers are one shared row, so that long tables cost nothing.
        value: Any = self.item()
        for size in reversed(self.shape):
            value = [value] * min(size, 1 << 20)
        return value

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    __index__ = __int__

    def __bool__(self) -> bool:
        if self.values is not None and len(self.values) == 1:
            return bool(self.values[0])
        return machine.current.truth

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.unbind(0))

    def __hash__(self) -> int:
        return id(self)

    def __contains__(self, other: Any) -> bool:
        return machine.current.truth

    def __repr__(self) -> str:
        return f"tensor(shape={tuple(self.shape)}, dtype={self.dtype}, device='{self.storage.device}')"

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if not self.shape and spec else repr(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        found = memo.get(id(self))
        if found is None:
            category = self.storage.category
            found = self.fresh_copy(self)
            if self.storage.block is not None and found.storage.block is not None:
                found.storage._allocator.recategorise(found.storage.block, category)
            if isinstance(self, Parameter):
                found = Parameter(found, self.requires_grad)
            else:
                found.requires_grad = self.requires_grad
            if self.grad is not None:
                found.grad = self.grad.__deepcopy__(memo)
            memo[id(self)] = found
        return found

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TensorError("shadow tensors are not pickled")


class Parameter(Tensor):
    """``nn.Parameter``: shares the storage of its data."""

    __slots__ = ()

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        if data is None:
            data = new((0,), machine.current.default_dtype, machine.current.default_device)
        super().__init__(data.shape, data.dtype, data.storage, data.strides)
        self.values = data.values
        self.requires_grad = requires_grad
        data.storage.relabel("parameters")

    def __repr__(self) -> str:
        return "Parameter containing: " + super().__repr__()


def new(shape: tuple[int, ...], dtype: DType, device: str, strides: tuple[int, ...] | None = None) -> Tensor:
    """An empty tensor."""
    return Tensor(shape, dtype, Storage(prod(shape) * dtype.itemsize, device), strides)


def like(x: Tensor, dtype: DType | None = None) -> Tensor:
    """An empty tensor of the shape and, where dense, the strides of ``x``."""
    shape, dt = x.shape, dtype or x.dtype
    strides = x.strides
    if strides is not None:
        strides = dense_strides(shape, strides)
    return Tensor(shape, dt, Storage(prod(shape) * dt.itemsize, x.storage.device), strides)


def ones_like_raw(x: Tensor) -> Tensor:
    return like(x)


def nest(flat: list[Any], shape: Sequence[int]) -> Any:
    """A flat list as nested lists."""
    if not shape:
        return flat[0] if flat else UnknownFloat(1.0)
    if len(shape) == 1:
        return list(flat)
    step = prod(shape[1:])
    return [nest(flat[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0])]


class MemoryFormat:
    """``torch.channels_last`` and its kin."""

    def __init__(self, name: str, channels: int = 0) -> None:
        self.name = name
        self.channels = channels

    def strides(self, shape: Sequence[int]) -> tuple[int, ...] | None:
        if not self.channels or len(shape) != self.channels:
            return None
        order = [0, *range(2, len(shape)), 1]
        out = [0] * len(shape)
        step = 1
        for d in reversed(order):
            out[d] = step
            step *= shape[d]
        return tuple(out)

    def __repr__(self) -> str:
        return f"torch.{self.name}"


CONTIGUOUS_FORMAT = MemoryFormat("contiguous_format")
PRESERVE_FORMAT = MemoryFormat("preserve_format")
CHANNELS_LAST = MemoryFormat("channels_last", 4)
CHANNELS_LAST_3D = MemoryFormat("channels_last_3d", 5)

__all__ = ["Parameter", "Tensor", "TensorError", "UnknownFloat", "UnknownInt", "dtypes", "like", "new"]
