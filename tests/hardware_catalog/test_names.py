"""The names people type reach the right device, and unknown ones get suggestions."""

import pytest

from hardware_catalog import (
    GIB,
    AmbiguousGPU,
    UnknownGPU,
    all_gpus,
    find_gpu,
    gpu_of_size,
    names_no_gpu,
    other_sizes,
    parse_gpu,
    usable_bytes,
)
from hardware_catalog.names import spellings


@pytest.mark.parametrize(
    ("typed", "device"),
    [
        ("a100", "a100-sxm4-40gb"),
        ("A100-80GB", "a100-sxm4-80gb"),
        ("a100 80g", "a100-sxm4-80gb"),
        ("NVIDIA A100-SXM4-80GB", "a100-sxm4-80gb"),
        ("NVIDIA A100 80GB PCIe", "a100-pcie-80gb"),
        ("rtx 4090", "rtx-4090"),
        ("4090", "rtx-4090"),
        ("NVIDIA GeForce RTX 3090", "rtx-3090"),
        ("nvidia-tesla-t4", "t4"),
        ("Tesla T4", "t4"),
        ("l40s", "l40s"),
        ("l4", "l4"),
        ("H100!", "h100-sxm5-80gb"),
        ("h100 nvl", "h100-nvl-94gb"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm5-80gb"),
        ("a10g", "a10g"),
        ("gb200", "gb200"),
        ("A6000", "rtx-a6000"),
        ("mi300x", "mi300x"),
        ("NVIDIA A100-SXM4-40GB MIG 1g.10gb", "a100-sxm4-40gb-mig-1g.10gb"),
    ],
)
def test_names_people_type(typed: str, device: str) -> None:
    assert find_gpu(typed).id == device


@pytest.mark.parametrize(
    ("typed", "device", "count"),
    [("8xh100", "h100-sxm5-80gb", 8), ("H100:8", "h100-sxm5-80gb", 8), ("4x A100-80GB", "a100-sxm4-80gb", 4)],
)
def test_counts(typed: str, device: str, count: int) -> None:
    request = parse_gpu(typed)
    assert (request.gpu.id, request.count) == (device, count)


def test_instances_name_their_gpus() -> None:
    request = parse_gpu("p4d.24xlarge")
    assert (request.gpu.id, request.count) == ("a100-sxm4-40gb", 8)


@pytest.mark.parametrize("typed", ["a1000000", "", "voodoo", "rtx 4091", "0GB", "99999 GB"])
def test_unknown_names_raise(typed: str) -> None:
    with pytest.raises(UnknownGPU):
        find_gpu(typed)


@pytest.mark.parametrize(("typed", "name"), [("37GiB", "37gb"), ("100 GB", "100gb"), ("13gb card", "13gb")])
def test_a_size_that_no_device_has_is_a_device_of_that_size(typed: str, name: str) -> None:
    gpu = find_gpu(typed)
    assert (gpu.id, find_gpu(gpu.id)) == (name, gpu)
    assert 0.9 * gpu.memory_gb < usable_bytes(gpu) / GIB < gpu.memory_gb


def test_unknown_names_get_the_closest() -> None:
    with pytest.raises(UnknownGPU, match="did you mean") as raised:
        find_gpu("rtx 4091")
    assert "rtx-4090" in raised.value.suggestions


def test_every_identifier_finds_itself() -> None:
    assert [find_gpu(gpu.id).id for gpu in all_gpus()] == [gpu.id for gpu in all_gpus()]


def test_words_for_no_device() -> None:
    assert names_no_gpu("Unspecified")
    assert not names_no_gpu("t4")


@pytest.mark.parametrize("name", sorted(name for name, ids in spellings().items() if len(ids) > 1))
def test_a_name_of_several_devices_is_none_of_them_silently(name: str) -> None:
    """Either people mean one of them, and the others are to be had, or all of them are named, the largest first."""
    ids = spellings()[name]
    try:
        meant = find_gpu(name)
    except AmbiguousGPU as problem:
        assert set(problem.suggestions) == ids
        sizes = [find_gpu(each).memory_gb for each in problem.suggestions]
        assert sizes == sorted(sizes, reverse=True)
        assert all(each in str(problem) for each in ids)
    else:
        assert ids - {meant.id} <= {gpu.id for gpu in other_sizes(name)}


@pytest.mark.parametrize(
    ("typed", "others"),
    [
        ("A100", {"a100-sxm4-80gb", "a100-pcie-80gb"}),
        ("8xA100", {"a100-sxm4-80gb", "a100-pcie-80gb"}),
        ("gpu:v100:2", {"v100-sxm2-32gb"}),
        ("NVIDIA GeForce RTX 3060", {"rtx-3060-8gb"}),
        ("rtx 4060 ti", {"rtx-4060-ti-16gb"}),
        ("A100-80GB", set()),
        ("h200", set()),
        ("t4", set()),
        ("24GB", set()),
    ],
)
def test_the_other_sizes_of_a_plain_name(typed: str, others: set[str]) -> None:
    assert {gpu.id for gpu in other_sizes(typed)} == others


@pytest.mark.parametrize(
    ("driver", "mib", "device"),
    [
        ("Orin", 30_697, "jetson-agx-orin-32gb"),
        ("Orin", 15_655, "jetson-orin-nx-16gb"),
        ("NVIDIA GeForce RTX 3060", 8_192, "rtx-3060-8gb"),
        ("NVIDIA GeForce RTX 3060", 12_288, "rtx-3060-12gb"),
        ("NVIDIA H200", 143_771, "h200-sxm-141gb"),
        ("Tesla T4", 15_360, "t4"),
    ],
)
def test_a_driver_says_the_size_beside_the_name(driver: str, mib: int, device: str) -> None:
    assert gpu_of_size(driver, mib).id == device
