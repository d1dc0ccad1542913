"""What a device leaves for tensors: never more than its nominal memory, and known readings as read."""

from hardware_catalog import (
    MIB,
    all_gpus,
    all_instances,
    context_range,
    cublas_workspace_bytes,
    find_gpu,
    instances_with,
    nccl_range,
    next_smaller,
    total_bytes,
    usable_bytes,
)


def test_usable_is_below_nominal_for_every_device() -> None:
    over = [gpu.id for gpu in all_gpus() if usable_bytes(gpu) > total_bytes(gpu) * 1.005]
    assert over == []


def test_t4_reads_as_measured() -> None:
    assert 14_900 * MIB < usable_bytes(find_gpu("t4")) < 15_110 * MIB


def test_every_figure_has_a_source() -> None:
    assert all(gpu.source for gpu in all_gpus())
    assert all(row.source for row in all_instances())


def test_identifiers_are_unique() -> None:
    ids = [gpu.id for gpu in all_gpus()]
    assert len(ids) == len(set(ids)) >= 200


def test_instances_carry_devices_of_the_catalogue() -> None:
    known = {gpu.id for gpu in all_gpus()}
    assert {row.gpu for row in all_instances()} - known == set()
    cheapest = instances_with("t4")
    assert cheapest[0].price_usd_per_hour is not None


def test_contexts_grow_with_the_generation() -> None:
    assert context_range(find_gpu("t4")).expected < context_range(find_gpu("a100-80gb")).expected
    assert context_range(find_gpu("a100-80gb")).expected < context_range(find_gpu("b200")).expected


def test_cublas_workspace_is_larger_on_hopper() -> None:
    assert cublas_workspace_bytes(find_gpu("a100")) == 8320 * 1024
    assert cublas_workspace_bytes(find_gpu("h100")) == 32 * MIB


def test_one_process_has_no_communicator() -> None:
    assert nccl_range(1).high == 0
    assert nccl_range(2).expected < nccl_range(8).expected


def test_the_next_smaller_device_is_one_to_rent_of_the_same_vendor() -> None:
    for gpu in all_gpus():
        smaller = next_smaller(gpu)
        if smaller is not None:
            assert smaller.vendor == gpu.vendor
            assert usable_bytes(smaller) < usable_bytes(gpu)
            assert instances_with(smaller.id)
    assert next_smaller(find_gpu("a10")) == find_gpu("t4")
