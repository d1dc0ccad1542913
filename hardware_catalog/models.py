"""Models of the catalogue's rows. Every figure carries the source it was read from."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

MIB = 1 << 20
GIB = 1 << 30


class Row(BaseModel):
    """Base of the catalogue's rows: immutable, and strict about its fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Gpu(Row):
    """A device as torch sees it: one GPU, one GPU die of a dual card, or one MIG slice."""

    id: str
    name: str
    kind: Literal["gpu", "mig-slice", "unified-memory", "accelerator"]
    vendor: str
    architecture: str
    compute_capability: str | None = None
    memory_gb: float
    memory_type: str | None = None
    smi_mib: float | None = None
    ecc: str | None = None
    torch_visible_mib: float | None = None
    torch_visible_range_mib: tuple[float, float] | None = None
    measured: bool = False
    context_mib: int | None = None
    context_source: str | None = None
    memory_bandwidth_gb_s: float | None = None
    bf16_fp16_dense_tflops: float | None = None
    parent: str | None = None
    memory_fraction: str | float | None = None
    sm_fraction: str | None = None
    device_names: tuple[str, ...] = ()
    source: str

    @property
    def kernels(self) -> str:
        """Whose kernels it runs, as compilers name them: `sm80` and the like; Ampere's where no capability is known."""
        return f"sm{self.compute_capability.replace('.', '')}" if self.compute_capability else "sm80"


class Instance(Row):
    """A cloud instance type; `id` is `provider/name`, the price of the whole is in US dollars an hour.

    `price_date` says when it was published: a day, a month, a year, or the years between which it was.
    """

    id: str
    gpu: str
    gpu_count: float
    vcpus: float | None = None
    ram_gb: float | None = None
    price_usd_per_hour: float | None = None
    price_region: str | None = None
    price_date: str | None = None
    source: str
    price_source: str | None = None

    @property
    def provider(self) -> str:
        """Who rents it out: the first part of the id. SageMaker's `ml.` types are `sagemaker`."""
        return self.id.split("/", 1)[0]

    @property
    def name(self) -> str:
        """The type's name at its provider."""
        return self.id.split("/", 1)[1]


class MibRange(Row):
    """A low, expected and high figure in MiB, with its source."""

    low: int
    expected: int
    high: int
    source: str


class VisibleShare(Row):
    """Share of the nominal memory that torch reports, for devices without a reading of their own."""

    device_class: str
    share: float
    source: str


class Workspace(Row):
    """cuBLAS workspace in KiB from a compute capability on."""

    min_compute_capability: float
    kib: int
    source: str
