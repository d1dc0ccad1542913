"""`datasets`: tables whose rows are all alike; maps run once, on rows without content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from engine.memory.libraries.tokenizers import TokenIds, as_tensor
from engine.memory.program.namespaces import Namespace
from engine.memory.program.unknown import Unknown

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter

ROWS = 50_000
"""Rows of a table whose size nothing says."""

_LABELS = ("label", "labels", "target", "class", "fine_label", "score", "idx", "id")
_IMAGES = ("image", "img", "pixel_values")


class AnyText(str):
    """A text without content."""


class Row(dict[str, Any]):
    """A row of a table that was never read: every column exists, and holds a text, a label or an image."""

    open_record = True

    def __missing__(self, name: str) -> Any:
        if name in _LABELS:
            return 1
        if name in _IMAGES:
            from engine.memory.libraries.images import Image

            return Image()
        return AnyText("<text>")

    def __contains__(self, name: object) -> bool:
        return True

    def get(self, name: str, default: Any = None) -> Any:
        """A column, which exists."""
        return self[name]


class Columns(Row):
    """A batch of rows by column."""

    def __missing__(self, name: str) -> Any:
        value = super().__missing__(name)
        return [value, value]


class Dataset:
    """`datasets.Dataset`."""

    open_record = True

    def __init__(self, interpreter: Interpreter, row: Mapping[str, Any] | None = None, rows: int = ROWS) -> None:
        self.preflight_interpreter = interpreter
        self.row: dict[str, Any] = dict(row) if row is not None else Row(text=AnyText("<text>"), label=1)
        self.rows = rows
        self.transform: Any = None
        self.as_tensors = False
        self.features = Unknown("the columns of a dataset that was not read")

    def _like(self, row: Mapping[str, Any]) -> Dataset:
        made = Dataset(self.preflight_interpreter, None, self.rows)
        made.row = row  # type: ignore[assignment]
        made.as_tensors = self.as_tensors
        return made

    @property
    def column_names(self) -> list[str]:
        return list(self.row) or ["text"]

    @property
    def num_rows(self) -> int:
        return self.rows

    def map(self, function: Any = None, batched: Any = False, remove_columns: Any = None, **options: Any) -> Dataset:
        """Run the function once and take every row to become what it made."""
        kept: dict[str, Any]
        if batched:
            known = Columns({key: [value, value] for key, value in self.row.items()})
            made = self.preflight_interpreter.call(function, [known], dict(options.get("fn_kwargs") or {}))
            made = (
                {key: value[0] if len(value) else value for key, value in made.items()}
                if isinstance(made, Mapping)
                else made
            )
        else:
            made = self.preflight_interpreter.call(function, [_copy(self.row)], dict(options.get("fn_kwargs") or {}))
        if not isinstance(made, Mapping):
            return self
        kept = _copy(self.row)
        if remove_columns is not None:
            names = remove_columns if isinstance(remove_columns, (list, tuple)) else [remove_columns]
            kept = {key: value for key, value in kept.items() if key not in names}
        kept.update(made)
        return self._like(kept)

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return [self.row[key]]
        if isinstance(key, slice):
            return {name: [value] * 2 for name, value in self.row.items()}
        row = _copy(self.row)
        if self.as_tensors:
            row = {name: as_tensor(value) for name, value in row.items() if not isinstance(value, str)}
        if self.transform is not None:
            made = self.preflight_interpreter.call(
                self.transform, [{name: [value] for name, value in row.items()} or Columns()], {}
            )
            if isinstance(made, Mapping):
                row = {name: value[0] for name, value in made.items()}
        return row

    def __iter__(self) -> Iterator[Any]:
        for index in range(self.rows):
            yield self[index]

    def set_format(self, kind: Any = "torch", columns: Any = None, **options: Any) -> None:
        self.as_tensors = True
        if isinstance(columns, (list, tuple)):
            self.row = {name: self.row[name] for name in columns}

    def with_format(self, kind: Any = "torch", *args: Any, **options: Any) -> Dataset:
        made = self._like(self.row)
        made.as_tensors = kind is not None
        return made

    def set_transform(self, function: Any, **options: Any) -> None:
        self.transform = function

    def with_transform(self, function: Any, **options: Any) -> Dataset:
        made = self._like(self.row)
        made.transform = function
        return made

    def select(self, indices: Any, **options: Any) -> Dataset:
        made = self._like(self.row)
        made.rows = len(indices) if hasattr(indices, "__len__") else self.rows
        return made

    def _same(self, *args: Any, **options: Any) -> Dataset:
        return self

    shuffle = filter = sort = flatten_indices = shard = cast_column = cast = repeat = take = skip = (
        class_encode_column
    ) = _same

    def rename_column(self, old: str, new: str) -> Dataset:
        row = _copy(self.row)
        row[new] = row.pop(old, self.row[old])
        return self._like(row)

    def remove_columns(self, names: Any) -> Dataset:
        gone = names if isinstance(names, (list, tuple)) else [names]
        return self._like({key: value for key, value in self.row.items() if key not in gone})

    def select_columns(self, names: Any) -> Dataset:
        return self._like({key: self.row[key] for key in (names if isinstance(names, (list, tuple)) else [names])})

    def add_column(self, name: str, values: Any) -> Dataset:
        return self._like({**self.row, name: values[0] if len(values) else 1})

    def train_test_split(self, *args: Any, **options: Any) -> DatasetDict:
        return DatasetDict({"train": self, "test": self})

    def save_to_disk(self, *args: Any, **options: Any) -> None:
        return None


class DatasetDict(dict[str, Any]):
    """`datasets.DatasetDict`: its splits alike; any split's name is answered."""

    open_record = True

    def __missing__(self, name: str) -> Any:
        return next(iter(self.values()))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

        def apply(*args: Any, **options: Any) -> Any:
            results = {key: getattr(value, name)(*args, **options) for key, value in self.items()}
            return DatasetDict(results) if all(isinstance(v, Dataset) for v in results.values()) else None

        return apply

    @property
    def column_names(self) -> dict[str, list[str]]:
        return {key: value.column_names for key, value in self.items()}


def _copy(row: Mapping[str, Any]) -> dict[str, Any]:
    return type(row)(row) if isinstance(row, dict) else dict(row)


def provide(interpreter: Interpreter, dotted: str) -> Any:
    """`datasets`."""

    def load_dataset(*args: Any, split: Any = None, **options: Any) -> Any:
        interpreter.note("a dataset that is not in the repository is taken to have rows of the lengths asked for")
        table = Dataset(interpreter)
        if isinstance(split, (list, tuple)):
            return [table for _ in split]
        return table if split is not None else DatasetDict({"train": table, "validation": table, "test": table})

    def from_dict(columns: Any, *args: Any, **options: Any) -> Any:
        if not isinstance(columns, Mapping):
            return Dataset(interpreter)
        sizes = [len(values) for values in columns.values() if hasattr(values, "__len__")]
        return Dataset(interpreter, {key: values[0] for key, values in columns.items()}, sizes[0] if sizes else ROWS)

    def from_generator(generator: Any, *args: Any, **options: Any) -> Any:
        row = next(iter(interpreter.call(generator, [], dict(options.get("gen_kwargs") or {}))), None)
        return Dataset(interpreter, row if isinstance(row, Mapping) else None)

    def from_list(rows: Any, *args: Any, **options: Any) -> Any:
        return Dataset(interpreter, rows[0], len(rows))

    def passthrough(tables: Any, *args: Any, **options: Any) -> Any:
        return tables[0]

    maker = SimpleNamespace(
        from_dict=from_dict,
        from_generator=from_generator,
        from_list=from_list,
        from_pandas=lambda *a, **k: Dataset(interpreter),
    )
    return Namespace(
        dotted,
        {
            "load_dataset": load_dataset,
            "load_from_disk": load_dataset,
            "Dataset": maker,
            "IterableDataset": maker,
            "DatasetDict": DatasetDict,
            "concatenate_datasets": passthrough,
            "interleave_datasets": passthrough,
            "disable_caching": lambda: None,
        },
    )


__all__ = ["Dataset", "DatasetDict", "TokenIds", "provide"]
