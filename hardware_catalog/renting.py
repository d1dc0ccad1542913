"""What devices cost for rent: the cheapest that is enough, and the price of a number of them.

Prices are US dollars an hour on demand, as published at each row's date; they compare offers of different dates and
regions, so they rank devices and say orders of magnitude, not what a bill will be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hardware_catalog.catalogue import OLDEST_OFFERED, all_gpus, all_instances, instances_with, usable_bytes
from hardware_catalog.models import Gpu, Instance

NO_BUILDS = frozenset({"t4g"})
"""Devices on Arm hosts whose generation the Arm builds of torch hold no kernels for (they begin with Ampere)."""


@dataclass(frozen=True)
class Rental:
    """Enough instances of one type to hold a number of devices, and what they cost together."""

    gpu: Gpu
    devices: int
    instance: Instance
    instances: int
    usd_per_hour: float

    @property
    def devices_rented(self) -> int:
        """The devices that are paid for: instances are rented whole."""
        return int(self.instances * self.instance.gpu_count)

    @property
    def usd_per_device_hour(self) -> float:
        """The price of one hour of one of the devices asked for; devices rented beside them are paid as well."""
        return self.usd_per_hour / self.devices


def rentals(gpu: Gpu, devices: int = 1, provider: str | None = None) -> Iterator[Rental]:
    """Every priced way to rent `devices` of this GPU, in the order of the table.

    Instances that carry a part of a device are left out: they hold a part of its memory. `provider` is the first
    part of an instance's id, such as `aws`; SageMaker's `ml.` types are `sagemaker`.
    """
    for instance in instances_with(gpu.id):
        price = instance.price_usd_per_hour
        if price is None or instance.gpu_count < 1 or provider not in (None, instance.provider):
            continue
        count = math.ceil(devices / instance.gpu_count)
        yield Rental(gpu, devices, instance, count, count * price)


def cheapest_rental(gpu: Gpu, devices: int = 1, provider: str | None = None) -> Rental | None:
    """The cheapest priced way to rent `devices` of this GPU on as few instances as can be; None without a price."""
    return min(
        rentals(gpu, devices, provider), key=lambda rental: (rental.instances, rental.usd_per_hour), default=None
    )


def offered_gpus(vendor: str | None = "NVIDIA") -> tuple[Gpu, ...]:
    """The devices that can be rented at a known price and that current builds of torch have kernels for."""
    priced = {row.gpu for row in all_instances() if row.price_usd_per_hour is not None and row.gpu_count >= 1}
    return tuple(
        gpu
        for gpu in all_gpus()
        if gpu.id in priced
        and gpu.id not in NO_BUILDS
        and vendor in (None, gpu.vendor)
        and (gpu.vendor != "NVIDIA" or float(gpu.compute_capability or 0) >= OLDEST_OFFERED)
    )


def cheapest_that(
    fits: Callable[[Gpu], bool], devices: int = 1, provider: str | None = None, vendor: str | None = "NVIDIA"
) -> Rental | None:
    """The cheapest rental of `devices` GPUs among those that `fits` accepts; None where it accepts none.

    Devices that fewer instances hold come first, since those of one instance reach each other fastest; then the price
    decides, and of equal prices the larger device. `fits` is asked in that order and no further than needed: it may be
    a whole estimate.
    """
    offers = [found for gpu in offered_gpus(vendor) if (found := cheapest_rental(gpu, devices, provider)) is not None]
    offers.sort(key=lambda rental: (rental.instances, rental.usd_per_hour, -usable_bytes(rental.gpu), rental.gpu.id))
    return next((rental for rental in offers if fits(rental.gpu)), None)


def cheapest_with(
    bytes_per_device: int, devices: int = 1, provider: str | None = None, vendor: str | None = "NVIDIA"
) -> Rental | None:
    """The cheapest rental whose devices each leave at least `bytes_per_device`; None where no device does."""
    return cheapest_that(lambda gpu: usable_bytes(gpu) >= bytes_per_device, devices, provider, vendor)


def find_instances(text: str) -> tuple[Instance, ...]:
    """Instances whose id or GPU contains every word of `text`, in any case, in the order of the table."""
    words = text.lower().split()
    return tuple(row for row in all_instances() if all(word in f"{row.id} {row.gpu}".lower() for word in words))
