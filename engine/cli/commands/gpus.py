"""Lists the devices of the catalogue with the memory that a process can really use, or cloud instances."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from engine.cli.usage import WrongUse

if TYPE_CHECKING:
    from hardware_catalog import Gpu, Instance

HELP = "list known GPUs and what they leave for tensors, or cloud instances"
EXAMPLES = (
    ("preflight gpus", "every device of the catalogue"),
    ("preflight gpus a100-80gb", "one device, with the instances that carry it"),
    ("preflight gpus blackwell", "the devices with this word in their name or architecture"),
    ("preflight gpus --instances aws h100", "the instances that match, cheapest first"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of `preflight gpus`."""
    parser.add_argument(
        "text", nargs="*", metavar="TEXT", help="a device by any common name, or words of what is looked for"
    )
    parser.add_argument("--instances", action="store_true", help="cloud instances instead of devices")
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(arguments: argparse.Namespace) -> int:
    """Prints what matches. Raises WrongUse where nothing does."""
    text = " ".join(arguments.text)
    if arguments.instances:
        instances = _instances(text)
        if arguments.format == "json":
            print(json.dumps([instance.model_dump() for instance in instances], indent=2))
        else:
            from engine.cli.formats.hardware import print_instances

            print_instances(instances)
        return 0
    gpus, named = _gpus(text)
    if arguments.format == "json":
        print(json.dumps([_row(gpu, with_instances=named) for gpu in gpus], indent=2))
    else:
        from engine.cli.formats.hardware import print_gpu, print_gpus

        print_gpus(gpus)
        if named:
            print_gpu(gpus[0])
    return 0


def _gpus(text: str) -> tuple[Sequence[Gpu], bool]:
    """The device that a text names, or all that hold its words; and whether it was a name. Raises WrongUse."""
    from hardware_catalog import UnknownGPU, all_gpus, find_gpu

    if not text:
        return all_gpus(), False
    try:
        return [find_gpu(text)], True
    except UnknownGPU as problem:
        words = text.lower().split()
        found = [
            gpu
            for gpu in all_gpus()
            if all(
                word in f"{gpu.id} {gpu.name} {gpu.vendor} {gpu.architecture} {gpu.memory_type or ''}".lower()
                for word in words
            )
        ]
        if not found:
            raise WrongUse(str(problem)) from problem
        return found, False


def _instances(text: str) -> Sequence[Instance]:
    """The instances that match, cheapest first. Raises WrongUse where none does."""
    from hardware_catalog import UnknownGPU, find_gpu, find_instances, instances_with

    found = list(find_instances(text))
    if not found:
        try:
            found = list(instances_with(find_gpu(text).id))
        except UnknownGPU:
            found = []
    if not found:
        raise WrongUse(
            f"no instance matches {text!r}: it takes words of an instance's or a device's name, such as `aws h100`"
        )
    return sorted(found, key=lambda row: (row.price_usd_per_hour is None, row.price_usd_per_hour or 0.0, row.id))


def _row(gpu: Gpu, *, with_instances: bool) -> dict[str, Any]:
    from hardware_catalog import bf16_tflops, instances_with, memory_bandwidth_gb_s, total_bytes, usable_bytes

    return {
        "id": gpu.id,
        "name": gpu.name,
        "kind": gpu.kind,
        "architecture": gpu.architecture,
        "compute_capability": gpu.compute_capability,
        "total_bytes": total_bytes(gpu),
        "usable_bytes": usable_bytes(gpu),
        "measured": gpu.measured,
        "memory_bandwidth_gb_s": memory_bandwidth_gb_s(gpu),
        "bf16_tflops": bf16_tflops(gpu),
        "source": gpu.source,
        "instances": [instance.id for instance in instances_with(gpu.id)] if with_instances else [],
    }
