"""What devices cost for rent: dated prices, whole devices, the cheapest that is enough."""

import pytest

from hardware_catalog import (
    GIB,
    all_gpus,
    all_instances,
    cheapest_rental,
    cheapest_that,
    cheapest_with,
    find_gpu,
    find_instances,
    offered_gpus,
    usable_bytes,
)
from hardware_catalog.renting import rentals


@pytest.mark.parametrize("gigabytes", [10, 20, 40, 70, 100, 150])
def test_the_cheapest_with_room_is_no_dearer_than_any_other_with_room(gigabytes: int) -> None:
    found = cheapest_with(gigabytes * GIB)
    assert found is not None
    assert usable_bytes(found.gpu) >= gigabytes * GIB
    for gpu in offered_gpus():
        rental = cheapest_rental(gpu)
        assert rental is not None
        assert usable_bytes(gpu) < gigabytes * GIB or rental.usd_per_hour >= found.usd_per_hour


def test_more_than_any_device_holds_has_no_rental() -> None:
    assert cheapest_with(2000 * GIB) is None


def test_devices_beyond_one_instance_are_several_instances() -> None:
    two = cheapest_rental(find_gpu("h100"), devices=16, provider="aws")
    assert two is not None
    assert (two.instance.name, two.instances) == ("p5.48xlarge", 2)
    assert two.usd_per_hour == pytest.approx(2 * (two.instance.price_usd_per_hour or 0))


def test_devices_that_one_instance_holds_are_not_spread() -> None:
    eight = cheapest_with(70 * GIB, devices=8)
    assert eight is not None
    assert eight.instances == 1
    assert eight.instance.gpu_count >= 8


def test_one_device_of_an_instance_of_eight_costs_the_instance() -> None:
    one = cheapest_rental(find_gpu("a100-40gb"), provider="aws")
    assert one is not None
    assert one.usd_per_hour == one.usd_per_device_hour == one.instance.price_usd_per_hour
    assert one.instance.gpu_count == 8


def test_a_part_of_a_device_is_not_rented_as_one() -> None:
    parts = [row for row in all_instances() if row.gpu_count < 1 and row.price_usd_per_hour]
    assert parts
    for row in parts:
        gpu = next(gpu for gpu in all_gpus() if gpu.id == row.gpu)
        assert all(rental.instance.id != row.id for rental in rentals(gpu))


def test_what_fits_is_asked_from_the_cheapest_on_and_no_further() -> None:
    asked: list[str] = []

    def fits(gpu: object) -> bool:
        asked.append(str(gpu))
        return len(asked) == 2

    assert cheapest_that(fits) is not None
    assert len(asked) == 2


def test_providers_and_types_are_found_by_their_words() -> None:
    assert {row.provider for row in find_instances("sagemaker")} == {"sagemaker"}
    assert all(row.name.startswith("ml.") for row in find_instances("sagemaker"))
    assert [row.id for row in find_instances("AWS p4d.24xlarge")] == ["aws/p4d.24xlarge"]
