"""The names people type for GPUs, and which device each means.

`a100`, `A100-80GB`, `rtx 4090`, `8xh100`, `NVIDIA A100-SXM4-80GB`, `nvidia-tesla-t4`, `H100:8`, `ml.p4d.24xlarge`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from hardware_catalog.catalogue import all_gpus, all_instances, usable_bytes
from hardware_catalog.models import MIB, Gpu

# What a bare family name means. SkyPilot, Modal, Vertex AI and GKE all sell the 40 GB card as plain "A100" and the
# 16 GB one as plain "V100"; plain "H100" is the SXM card nearly everywhere.
PLAIN_NAMES = {
    "a100": "a100-sxm4-40gb",
    "a10040gb": "a100-sxm4-40gb",
    "a10080gb": "a100-sxm4-80gb",
    "a10080gbsxm": "a100-sxm4-80gb",
    "a100sxm": "a100-sxm4-80gb",
    "a100pcie": "a100-pcie-80gb",
    "a800": "a800-80gb",
    "v100": "v100-sxm2-16gb",
    "v10016gb": "v100-sxm2-16gb",
    "v10032gb": "v100-sxm2-32gb",
    "p100": "p100-pcie-16gb",
    "h100": "h100-sxm5-80gb",
    "h10080gb": "h100-sxm5-80gb",
    "h100sxm": "h100-sxm5-80gb",
    "h100sxm5": "h100-sxm5-80gb",
    "h10080gbhbm3": "h100-sxm5-80gb",
    "h100mega": "h100-sxm5-80gb",
    "h100mega80gb": "h100-sxm5-80gb",
    "h100pcie": "h100-pcie-80gb",
    "h100nvl": "h100-nvl-94gb",
    "h800": "h800-80gb",
    "h200": "h200-sxm-141gb",
    "h200141gb": "h200-sxm-141gb",
    "h200sxm": "h200-sxm-141gb",
    "h200nvl": "h200-nvl-141gb",
    "gh200": "gh200-96gb",
    "gh200480gb": "gh200-96gb",
    "gh200120gb": "gh200-96gb",
    "a6000": "rtx-a6000",
    "a5000": "rtx-a5000",
    "a4000": "rtx-a4000",
    "rtx8000": "quadro-rtx-8000",
    "rtx6000": "quadro-rtx-6000",
    "6000ada": "rtx-6000-ada",
    "rtx3060": "rtx-3060-12gb",
    "3060": "rtx-3060-12gb",
    "rtx4060ti": "rtx-4060-ti-8gb",
    "rtx5060ti": "rtx-5060-ti-8gb",
    "rtxpro6000": "rtx-pro-6000-blackwell-workstation",
    "rtxpro6000ws": "rtx-pro-6000-blackwell-workstation",
    "rtxpro6000s": "rtx-pro-6000-blackwell-server",
    "rtxproserver6000": "rtx-pro-6000-blackwell-server",
    "rtxpro4500": "rtx-pro-4500-blackwell",
    "2080ti": "rtx-2080-ti",
    "1080ti": "gtx-1080-ti",
}

# Words that people leave where a device would stand: no device is meant.
NO_DEVICE = frozenset({"unspecified", "unknown", "any", "none", "n/a"})

LARGEST_GB = 1024
"""Largest size that stands for a device by itself."""
_SIZE_ALONE = re.compile(r"(\d+)\s*gi?b(?:\s+(?:gpu|card|vram))?")
# Schedulers and Kubernetes write a slice behind the device or its resource: `a100_3g.20gb`, `nvidia.com/mig-1g.18gb`.
_SLICE = re.compile(r"(?P<parent>.*?)(?:[/\s_-]*mig)?[\s_-]*(?P<profile>\d+g\.\d+gb)")
_SCHEDULER = re.compile(r"^\s*(?:gres[:/])?gpu:(?=[a-z])", re.IGNORECASE)
_NO_OTHER_NAME = re.compile(r"(?:sxm\d?|pcie|nvl|oam|ada|[1-9]\d*gb)*")
"""What stands behind a name and makes it no other: a form, a generation, a size."""
_SIZE_LAST = re.compile(r"-\d+gb$")
_COUNT_BEFORE = re.compile(r"^\s*([0-9]{1,3})\s*[x×]\s*(?=[a-z])", re.IGNORECASE)
_COUNT_AFTER = re.compile(r"\s*[:x×]\s*([0-9]{1,3})\s*$", re.IGNORECASE)
_ANY_COUNT = re.compile(r"^\d+[x×](?=[a-z])")
"""A number in front that is none of devices, such as one of six digits: the name behind it can still be told."""
_NOISE = re.compile(r"nvidia|tesla|geforce|generation|graphics|accelerator|instinct|\bamd\b|radeon", re.IGNORECASE)


class UnknownGPU(LookupError):
    """No device of the catalogue has this name; `suggestions` are the closest ones."""

    def __init__(self, name: str, suggestions: tuple[str, ...]) -> None:
        self.name = name
        self.suggestions = suggestions
        closest = f"; did you mean {', '.join(suggestions)}?" if suggestions else ""
        super().__init__(f"no GPU named {name!r} in the catalogue{closest} (`preflight gpus` lists them all)")


class AmbiguousGPU(UnknownGPU):
    """Several devices have this name and differ in size; `suggestions` are all of them, the largest first."""

    def __init__(self, name: str, suggestions: tuple[str, ...]) -> None:
        LookupError.__init__(
            self, f"{name!r} is the name of {len(suggestions)} devices; write which: {', '.join(suggestions)}"
        )
        self.name = name
        self.suggestions = suggestions


class NoDevices(UnknownGPU):
    """None of a device is asked for; `suggestions` say how one is."""

    def __init__(self, name: str, suggestions: tuple[str, ...]) -> None:
        LookupError.__init__(self, f"{name!r} asks for no device at all; a number is 1 or more")
        self.name = name
        self.suggestions = suggestions


@dataclass(frozen=True)
class GpuRequest:
    """A GPU and how many of it were asked for."""

    gpu: Gpu
    count: int = 1


def _compact(name: str) -> str:
    text = _NOISE.sub("", name)
    text = re.sub(r"(\d+)\s*g(?:ib|b)?(?![a-z0-9])", r"\1gb", text, flags=re.IGNORECASE)
    return re.sub(r"[\s_\-!+()]+", "", text).lower()


@cache
def spellings() -> Mapping[str, frozenset[str]]:
    """The devices that each spelling of the catalogue may mean, by the spelling without spaces and makers' words.

    More than one where a maker gives memory sizes of a device one name: torch says `Orin` of six modules.
    """
    found: dict[str, set[str]] = {}
    for gpu in all_gpus():
        names = {gpu.id, *gpu.device_names, gpu.name}
        names |= {gpu.id.removeprefix(prefix) for prefix in ("rtx-", "gtx-", "rtx-pro-", "intel-", "rx-", "apple-")}
        if gpu.kind == "unified-memory" or gpu.id.startswith("jetson-"):
            whole = _SIZE_LAST.sub("", gpu.id)
            names |= {whole, whole.removeprefix("apple-")}
        for spelling in map(_compact, names):
            found.setdefault(spelling, set()).add(gpu.id)
    return {spelling: frozenset(ids) for spelling, ids in found.items()}


@cache
def _index() -> dict[str, str]:
    """What means one device: the spellings of one alone, and the plain names."""
    return {name: next(iter(ids)) for name, ids in spellings().items() if len(ids) == 1} | PLAIN_NAMES


@cache
def _shared() -> dict[str, tuple[str, ...]]:
    """The spellings that several devices have, none of which people mean more than the others; the largest first."""
    return {
        name: tuple(sorted(ids, key=lambda each: (-_by_id()[each].memory_gb, each)))
        for name, ids in spellings().items()
        if len(ids) > 1 and name not in PLAIN_NAMES
    }


def _named(compact: str) -> str | None:
    """The device of a spelling; the many spellings of the catalogue are put together only where no plain name is it."""
    return PLAIN_NAMES.get(compact) or _index().get(compact)


@cache
def _by_id() -> dict[str, Gpu]:
    return {gpu.id: gpu for gpu in all_gpus()}


@cache
def _instance_names() -> dict[str, tuple[str, int]]:
    return {row.id.split("/", 1)[1].lower(): (row.gpu, int(row.gpu_count) or 1) for row in all_instances()}


def names_no_gpu(name: str) -> bool:
    """Whether `name` says that no particular device is meant (`unspecified`, `any`)."""
    return name.strip().lower() in NO_DEVICE


def parse_gpu(name: str) -> GpuRequest:
    """The device and count that a person means by `name`.

    Raises UnknownGPU with the closest names when nothing fits, AmbiguousGPU for a name of several devices, and
    NoDevices where the number of them is 0.
    """
    text = name.strip().lower()
    if not text:
        raise UnknownGPU(name, ())
    exact = _by_id().get(text)
    if exact is not None:
        return GpuRequest(exact)
    text = _SCHEDULER.sub("", text)
    count = 1
    before = _COUNT_BEFORE.match(text)
    if before:
        count, text = int(before.group(1)), text[before.end() :]
    else:
        after = _COUNT_AFTER.search(text)
        if after and _named(_compact(text)) is None and _compact(text) not in _shared():
            count, text = int(after.group(1)), text[: after.start()]
    compact = _compact(text)
    if compact not in PLAIN_NAMES and compact in _shared():
        raise AmbiguousGPU(name, _shared()[compact])
    gpu_id = _named(compact)
    if gpu_id is None and not before and ("." in text or "_" in text or "-" in text):
        found = _instance_names().get(text)
        if found is not None:
            gpu_id, count = found
    if gpu_id is None:
        gpu_id = _slice_named(text)
    sized = _SIZE_ALONE.fullmatch(text.strip())
    if gpu_id is None and sized is not None:
        gpu_id = _smallest_of(float(sized.group(1)))
        if gpu_id is None and 1 <= int(sized.group(1)) <= LARGEST_GB:
            return _request(name, _of_size(int(sized.group(1))), count)
    if gpu_id is None or gpu_id not in _by_id():
        raise UnknownGPU(name, _closest(_ANY_COUNT.sub("", compact)))
    return _request(name, _by_id()[gpu_id], count)


def _request(name: str, gpu: Gpu, count: int) -> GpuRequest:
    if count < 1:
        raise NoDevices(name, (gpu.id, f"8x{gpu.id}"))
    return GpuRequest(gpu, count)


def _slice_named(text: str) -> str | None:
    """The MIG slice that a profile behind a device's name means; of several parents' the one that leaves least."""
    written = _SLICE.fullmatch(text.strip())
    if written is None:
        return None
    parent = _compact(written["parent"])
    ending = f"-mig-{written['profile']}"
    slices = [gpu for gpu in all_gpus() if gpu.kind == "mig-slice" and gpu.id.endswith(ending)]
    named = _named(parent)
    same = [gpu for gpu in slices if gpu.parent == named] or [
        gpu for gpu in slices if parent in ("", ".com") or _compact(gpu.parent or "").startswith(parent)
    ]
    found = min(same, key=usable_bytes, default=None)
    return None if found is None else found.id


def _smallest_of(memory_gb: float) -> str | None:
    """The single device of this size that leaves least: what fits there fits on any of them."""
    same = [g for g in all_gpus() if g.memory_gb == memory_gb and g.kind == "gpu" and g.compute_capability]
    current = [g for g in same if float(g.compute_capability or 0) >= 7.5]
    found = min(current or same, key=usable_bytes, default=None)
    return None if found is None else found.id


def _of_size(memory_gb: int) -> Gpu:
    """A device of a size that none of the catalogue has, taken for an Ampere card: its name is its size."""
    return Gpu(
        id=f"{memory_gb}gb",
        name=f"a device of {memory_gb} GB",
        kind="gpu",
        vendor="NVIDIA",
        architecture="Ampere",
        memory_gb=memory_gb,
        memory_type="GDDR6",
        source="its size, as it was asked for",
    )


def find_gpu(name: str) -> Gpu:
    """The device that a person means by `name`; raises UnknownGPU."""
    return parse_gpu(name).gpu


def other_sizes(name: str) -> tuple[Gpu, ...]:
    """Devices that people write as this name too and whose memory is of another size; the smallest first.

    `a100` is read as the card of 40 GB and `v100` as that of 16: most who sell them mean those. Empty where the name
    says the size, or where there is but one. Raises UnknownGPU.
    """
    meant = find_gpu(name)
    return tuple(gpu for gpu in _named_alike(name) if gpu.memory_gb != meant.memory_gb)


def gpu_of_size(name: str, mib: float) -> Gpu:
    """The device of this name, as drivers give it, whose memory is closest to `mib`: makers sell cards of two sizes
    as one product. Raises UnknownGPU."""
    closest = min(_named_alike(name), key=lambda gpu: abs(usable_bytes(gpu) / MIB - mib), default=None)
    try:
        meant = find_gpu(name)
    except AmbiguousGPU:
        if closest is None:
            raise
        return closest
    return meant if closest is None or closest.memory_gb == meant.memory_gb else closest


def _named_alike(name: str) -> list[Gpu]:
    """The devices whose names are this one with nothing but a size, a form or a generation behind it."""
    text = _COUNT_BEFORE.sub("", _SCHEDULER.sub("", name.strip().lower()))
    compact = _compact(_COUNT_AFTER.sub("", text))
    if not compact or _SIZE_ALONE.fullmatch(text):
        return []
    ids = {
        gpu_id
        for spelling, some in spellings().items()
        if spelling.startswith(compact) and _NO_OTHER_NAME.fullmatch(spelling, len(compact))
        for gpu_id in some
        if _by_id()[gpu_id].kind != "mig-slice"
    }
    found = {*ids, *([PLAIN_NAMES[compact]] if compact in PLAIN_NAMES else ())}
    return sorted((_by_id()[each] for each in found), key=lambda gpu: (gpu.memory_gb, gpu.id))


def _closest(compact: str) -> tuple[str, ...]:
    near = difflib.get_close_matches(compact, [*_index(), *_shared()], n=8, cutoff=0.55)
    suggestions = [each for key in near for each in _shared().get(key) or (_index()[key],)]
    return tuple(dict.fromkeys(suggestions))[:3]
