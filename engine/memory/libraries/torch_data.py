"""`torch.utils.data`: datasets, samplers and loaders that give batches of the right shapes.

A batch is built from the dataset's first items: where two of them have the same shapes, all are taken to have them.
Batches lie on the CPU and so cost no device memory until the program moves them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from engine.memory.program.namespaces import Namespace
from engine.memory.program.unknown import Unknown
from engine.memory.tensors import Tensor, namespace

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter

MAX_BATCHES = 256
"""Batches that one pass over a loader gives at most; a training loop ends long before."""
UNKNOWN_LENGTH = 10_000
"""Items of a dataset whose length cannot be known."""


def is_tensor(value: Any) -> bool:
    """Whether a shadow tensor."""
    return isinstance(value, Tensor)


def shapes_of(item: Any) -> Any:
    """The structure of an item with its tensors' shapes and dtypes, to compare two items by."""
    if is_tensor(item):
        return ("tensor", tuple(item.shape), str(item.dtype))
    if isinstance(item, Mapping):
        return {key: shapes_of(value) for key, value in item.items()}
    if isinstance(item, (list, tuple)):
        return [shapes_of(value) for value in item]
    return type(item).__name__


def collate(items: list[Any]) -> Any:
    """`default_collate`."""
    first = items[0]
    if isinstance(first, Unknown):
        return first
    if is_tensor(first):
        return namespace("torch.stack")(items)
    if hasattr(first, "shape") and hasattr(first, "to_tensor"):
        return namespace("torch.stack")([item.to_tensor() for item in items])
    if isinstance(first, bool):
        return namespace("torch.empty")(len(items), dtype=namespace("torch.bool"))
    if isinstance(first, int):
        return namespace("torch.empty")(len(items), dtype=namespace("torch.int64"))
    if isinstance(first, float):
        return namespace("torch.empty")(len(items), dtype=namespace("torch.float64"))
    if isinstance(first, (str, bytes)) or first is None:
        return items
    if isinstance(first, Mapping):
        return {key: collate([item[key] for item in items]) for key in first}
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*[collate(list(column)) for column in zip(*items, strict=False)])
    if isinstance(first, (list, tuple)):
        return [collate(list(column)) for column in zip(*items, strict=False)]
    return Unknown(f"a batch of {type(first).__name__} items")


class Dataset:
    """`torch.utils.data.Dataset`."""

    def __class_getitem__(cls, item: Any) -> Any:
        return cls

    def __add__(self, other: Any) -> Any:
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """`torch.utils.data.IterableDataset`."""


class TensorDataset(Dataset):
    """`torch.utils.data.TensorDataset`."""

    def __init__(self, *tensors: Any) -> None:
        self.tensors = tensors

    def __len__(self) -> int:
        return int(self.tensors[0].shape[0])

    def __getitem__(self, index: Any) -> Any:
        return tuple(tensor[index] for tensor in self.tensors)


class Subset(Dataset):
    """`torch.utils.data.Subset`."""

    def __init__(self, dataset: Any, indices: Any) -> None:
        self.dataset, self.indices = dataset, indices

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: Any) -> Any:
        return self.dataset[self.indices[index] if not isinstance(self.indices, Unknown) else 0]


class ConcatDataset(Dataset):
    """`torch.utils.data.ConcatDataset`."""

    def __init__(self, datasets: Any) -> None:
        self.datasets = list(datasets)

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self.datasets)

    def __getitem__(self, index: Any) -> Any:
        return self.datasets[0][index]


def random_split(dataset: Any, lengths: Any, generator: Any = None) -> list[Subset]:
    """`torch.utils.data.random_split`."""
    total = length_of(dataset)
    sizes = [int(total * part) if isinstance(part, float) else int(part) for part in lengths]
    return [Subset(dataset, range(size)) for size in sizes]


def length_of(dataset: Any) -> int:
    """Items of a dataset, UNKNOWN_LENGTH where it cannot say."""
    if isinstance(dataset, Unknown):
        return UNKNOWN_LENGTH
    try:
        return len(dataset)
    except TypeError:
        return UNKNOWN_LENGTH


class Sampler:
    """Samplers of every kind: only their length matters here."""

    def __class_getitem__(cls, item: Any) -> Any:
        return cls

    def __init__(self, data_source: Any = None, *args: Any, **kwargs: Any) -> None:
        self.data_source = data_source
        self.num_replicas = kwargs.get("num_replicas") or 1

    def __iter__(self) -> Iterator[Any]:
        return iter(range(len(self)))

    def __len__(self) -> int:
        return length_of(self.data_source)

    def set_epoch(self, epoch: Any) -> None:
        """Shuffling anew changes no shapes."""


class BatchSampler(Sampler):
    """`torch.utils.data.BatchSampler`."""

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool = False) -> None:
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[Any]:
        for start in range(len(self)):
            yield list(range(start * self.batch_size, (start + 1) * self.batch_size))

    def __len__(self) -> int:
        return max(1, length_of(self.sampler) // self.batch_size)


def make_loader(interpreter: Interpreter) -> type:
    """The DataLoader class of one run."""

    class DataLoader:
        """`torch.utils.data.DataLoader`."""

        def __class_getitem__(cls, item: Any) -> Any:
            return cls

        def __init__(
            self,
            dataset: Any,
            batch_size: Any = 1,
            shuffle: Any = None,
            sampler: Any = None,
            batch_sampler: Any = None,
            num_workers: Any = 0,
            collate_fn: Callable[[list[Any]], Any] | None = None,
            pin_memory: Any = False,
            drop_last: Any = False,
            **options: Any,
        ) -> None:
            self.dataset, self.sampler, self.batch_sampler = dataset, sampler, batch_sampler
            if batch_sampler is not None and not isinstance(batch_sampler, Unknown):
                batch_size = getattr(batch_sampler, "batch_size", None) or len(next(iter(batch_sampler)))
            override = interpreter.state.get("overrides", {}).get("batch_size")
            if override is not None and batch_size is not None:
                batch_size = int(override)
            self.batch_size, self.collate_fn, self.drop_last = batch_size, collate_fn or collate, drop_last
            self.num_workers, self.pin_memory = num_workers, pin_memory
            self._items: list[Any] | None = None

        def __len__(self) -> int:
            total = length_of(self.sampler if self.sampler is not None else self.dataset)
            if not self.batch_size or isinstance(self.batch_size, Unknown):
                return total
            return max(1, total // int(self.batch_size))

        def _batch_items(self) -> list[Any]:
            if self._items is not None:
                return self._items
            count = 1 if not self.batch_size else self.batch_size
            if isinstance(self.dataset, Unknown) or isinstance(count, Unknown):
                return [self.dataset if isinstance(self.dataset, Unknown) else count]
            if not hasattr(self.dataset, "__getitem__") or isinstance(self.dataset, IterableDataset):
                items = []
                for item in iter(self.dataset):
                    items.append(item)
                    if len(items) == count:
                        break
                if not items:
                    return [Unknown("a dataset without items")]
                self._items = (items * (-(-count // len(items))))[:count]
                return self._items
            total = max(1, length_of(self.dataset))
            items = [self.dataset[index] for index in range(min(2, count, total))]
            if len(items) == 2 and shapes_of(items[0]) != shapes_of(items[1]):
                items += [self.dataset[index] for index in range(2, min(count, total, 64))]
            self._items = (items * (-(-count // len(items))))[:count]
            return self._items

        def __iter__(self) -> Iterator[Any]:
            length = min(MAX_BATCHES, max(1, len(self)))
            for _ in range(length):
                items = self._batch_items()
                if not self.batch_size and self.collate_fn is collate:
                    yield items[0]
                else:
                    yield self.collate_fn(list(items) if self.batch_size else items[0])

    return DataLoader


def make_module(interpreter: Interpreter) -> Namespace:
    """`torch.utils.data` for one run."""

    class DistributedSampler(Sampler):
        """`torch.utils.data.distributed.DistributedSampler`: a rank's share of the items."""

        def __len__(self) -> int:
            replicas = self.num_replicas if isinstance(self.num_replicas, int) else 1
            return max(1, length_of(self.data_source) // max(1, replicas))

    members: dict[str, Any] = {
        "DataLoader": make_loader(interpreter),
        "Dataset": Dataset,
        "IterableDataset": IterableDataset,
        "TensorDataset": TensorDataset,
        "Subset": Subset,
        "ConcatDataset": ConcatDataset,
        "ChainDataset": ConcatDataset,
        "StackDataset": TensorDataset,
        "random_split": random_split,
        "BatchSampler": BatchSampler,
        "DistributedSampler": DistributedSampler,
        "default_collate": collate,
        "get_worker_info": lambda: None,
        "distributed": Namespace("torch.utils.data.distributed", {"DistributedSampler": DistributedSampler}),
        "dataloader": Namespace(
            "torch.utils.data.dataloader", {"default_collate": collate, "DataLoader": make_loader(interpreter)}
        ),
        "dataset": Namespace(
            "torch.utils.data.dataset", {"Dataset": Dataset, "Subset": Subset, "TensorDataset": TensorDataset}
        ),
    }
    for name in ("Sampler", "RandomSampler", "SequentialSampler", "WeightedRandomSampler", "SubsetRandomSampler"):
        members[name] = type(name, (Sampler,), {}) if name != "Sampler" else Sampler
    members["sampler"] = Namespace("torch.utils.data.sampler", dict(members))
    return Namespace("torch.utils.data", members)


def make_tensorboard(interpreter: Interpreter) -> Namespace:
    """`torch.utils.tensorboard`: writers that write nothing."""
    from engine.memory.program.stdlib_models import Silent

    return Namespace("torch.utils.tensorboard", {"SummaryWriter": lambda *args, **kwargs: Silent()})
