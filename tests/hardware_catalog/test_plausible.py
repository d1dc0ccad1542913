"""Every row of the catalogue is plausible, and every name means one device."""

import re

import pytest

from hardware_catalog import (
    MIB,
    Gpu,
    Instance,
    all_gpus,
    all_instances,
    bf16_tflops,
    find_gpu,
    memory_bandwidth_gb_s,
    parse_gpu,
    total_bytes,
    usable_bytes,
)
from hardware_catalog.names import PLAIN_NAMES, spellings

BY_ID = {gpu.id: gpu for gpu in all_gpus()}
PROVIDERS = {"aws", "sagemaker", "gcp", "azure", "lambda", "coreweave", "oci"}


@pytest.mark.parametrize("gpu", all_gpus(), ids=lambda gpu: str(gpu.id))
def test_device(gpu: Gpu) -> None:
    assert re.fullmatch(r"[a-z0-9.+-]+", gpu.id)
    assert 2 <= gpu.memory_gb <= 600
    assert 0.6 * total_bytes(gpu) < usable_bytes(gpu) <= 1.005 * total_bytes(gpu)
    assert gpu.source
    if gpu.torch_visible_range_mib is not None:
        low, high = gpu.torch_visible_range_mib
        assert gpu.torch_visible_mib == low <= high <= 1.005 * gpu.memory_gb * 1024
    if gpu.measured:
        assert gpu.torch_visible_mib is not None
    if gpu.vendor == "NVIDIA":
        assert re.fullmatch(r"(3|5|6|7|8|9|10|11|12)\.\d", gpu.compute_capability or "")
    else:
        assert gpu.compute_capability is None
    bandwidth, rate = memory_bandwidth_gb_s(gpu), bf16_tflops(gpu)
    assert bandwidth is None or 50 <= bandwidth <= 10_000
    assert rate is None or 3 <= rate <= 3_000


@pytest.mark.parametrize("gpu", [gpu for gpu in all_gpus() if gpu.kind == "mig-slice"], ids=lambda gpu: str(gpu.id))
def test_slice(gpu: Gpu) -> None:
    parent = BY_ID[gpu.parent or ""]
    assert gpu.id.startswith(f"{parent.id}-mig-")
    assert gpu.compute_capability == parent.compute_capability
    assert usable_bytes(gpu) <= usable_bytes(parent)
    whole = memory_bandwidth_gb_s(parent)
    part = memory_bandwidth_gb_s(gpu)
    assert (part is None) == (whole is None)
    assert part is None or whole is None or part <= whole


@pytest.mark.parametrize("row", all_instances(), ids=lambda row: str(row.id))
def test_instance(row: Instance) -> None:
    assert row.gpu in BY_ID
    assert BY_ID[row.gpu].kind != "mig-slice"
    assert 0 < row.gpu_count <= 72
    assert row.gpu_count < 1 or row.gpu_count == int(row.gpu_count)
    assert row.source
    if row.price_usd_per_hour is not None:
        assert row.price_source
        assert re.fullmatch(r"202\d(-202\d|-[01]\d(-[0-3]\d)?)?", row.price_date or ""), "a day, a month or years"
        assert 0.1 <= row.price_usd_per_hour / row.gpu_count <= 30
    assert row.ram_gb is None or row.ram_gb >= 1
    if row.provider == "sagemaker":
        assert row.name.startswith("ml.")


def test_the_catalogue_is_wide() -> None:
    whole = [gpu for gpu in all_gpus() if gpu.kind != "mig-slice"]
    assert len(whole) >= 70
    assert len(all_instances()) >= 150
    assert {row.provider for row in all_instances()} >= PROVIDERS
    generations = {gpu.architecture.split()[0] for gpu in all_gpus() if gpu.vendor == "NVIDIA"}
    assert generations >= {"Kepler", "Maxwell", "Pascal", "Volta", "Turing", "Ampere", "Ada", "Hopper", "Blackwell"}
    assert {gpu.vendor for gpu in whole} >= {"NVIDIA", "AMD", "Intel", "Apple"}
    for start in ("jetson-", "gaudi", "intel-max-", "mi", "rx-", "apple-", "quadro-", "rtx-", "h100"):
        assert any(gpu.id.startswith(start) for gpu in whole), start


def test_the_devices_people_rent_have_bandwidth_and_rate() -> None:
    for name in ("t4", "v100", "a10g", "a100", "a100-80gb", "l4", "l40s", "h100", "h200", "b200", "rtx 4090"):
        assert memory_bandwidth_gb_s(find_gpu(name)) and bf16_tflops(find_gpu(name)), name


@pytest.mark.parametrize("row", [*all_gpus(), *all_instances()], ids=lambda row: str(row.id))
def test_a_source_is_an_address_or_says_that_there_is_none(row: Gpu | Instance) -> None:
    said = re.compile(r"https?://|github:\w|not kept|no source")
    for source in (row.source, getattr(row, "price_source", None), getattr(row, "context_source", None)):
        assert source is None or said.search(source), source


def test_a_spelling_means_one_device_or_those_of_one_maker_and_family() -> None:
    for spelling, ids in spellings().items():
        assert spelling
        assert len({gpu_id.split("-")[0] for gpu_id in ids}) == 1, spelling


def test_plain_names_contradict_no_spelling() -> None:
    for plain, gpu_id in PLAIN_NAMES.items():
        assert gpu_id in spellings().get(plain, {gpu_id}), plain


def test_instance_names_mean_one_device_and_count() -> None:
    seen: dict[str, tuple[str, float]] = {}
    for row in all_instances():
        assert seen.setdefault(row.name.lower(), (row.gpu, row.gpu_count)) == (row.gpu, row.gpu_count), row.id


@pytest.mark.parametrize(
    ("written", "device", "count"),
    [
        ("gpu:a100:2", "a100-sxm4-40gb", 2),
        ("gpu:a100_3g.20gb:1", "a100-sxm4-40gb-mig-3g.20gb", 1),
        ("a100_3g.40gb", "a100-sxm4-80gb-mig-3g.40gb", 1),
        ("nvidia_h100_80gb_hbm3_3g.40gb", "h100-sxm5-80gb-mig-3g.40gb", 1),
        ("NVIDIA-A100-SXM4-80GB-MIG-3g.40gb", "a100-sxm4-80gb-mig-3g.40gb", 1),
        ("nvidia.com/mig-1g.18gb", "h200-sxm-141gb-mig-1g.18gb", 1),
        ("NVIDIA_H100_MEGA_80GB", "h100-sxm5-80gb", 1),
        ("ml.p4d.24xlarge", "a100-sxm4-40gb", 8),
        ("Standard_NC24ads_A100_v4", "a100-pcie-80gb", 1),
        ("gpu_8x_h100_sxm5", "h100-sxm5-80gb", 8),
        ("rtx-pro-server-6000", "rtx-pro-6000-blackwell-server", 1),
        ("m3 max", "apple-m3-max-128gb", 1),
    ],
)
def test_names_of_schedulers_and_clouds(written: str, device: str, count: int) -> None:
    request = parse_gpu(written)
    assert (request.gpu.id, request.count) == (device, count)


def test_readings_are_marked_as_such() -> None:
    measured = [gpu for gpu in all_gpus() if gpu.measured]
    assert len(measured) >= 60
    assert find_gpu("a100-80gb").measured
    assert usable_bytes(find_gpu("t4")) < 15_110 * MIB
