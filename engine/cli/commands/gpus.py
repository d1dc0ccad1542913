"""Lists the devices of the catalogue with the memory that a process can really use."""

from __future__ import annotations

import argparse
import json

from engine.cli.usage import WrongUse

HELP = "list known GPUs and what they leave for tensors"
EXAMPLES = (
    ("preflight gpus", "every device of the catalogue"),
    ("preflight gpus a100-80gb", "one device, with the instances that carry it"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of `preflight gpus`."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="one device, by any common name")
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(arguments: argparse.Namespace) -> int:
    """Prints the devices, or one. Raises WrongUse for an unknown name."""
    from hardware_catalog import GIB, UnknownGPU, all_gpus, find_gpu, instances_with, total_bytes, usable_bytes

    try:
        gpus = [find_gpu(arguments.name)] if arguments.name else list(all_gpus())
    except UnknownGPU as problem:
        raise WrongUse(str(problem)) from problem
    if arguments.format == "json":
        rows = [
            {
                "id": gpu.id,
                "name": gpu.name,
                "kind": gpu.kind,
                "architecture": gpu.architecture,
                "compute_capability": gpu.compute_capability,
                "total_bytes": total_bytes(gpu),
                "usable_bytes": usable_bytes(gpu),
                "source": gpu.source,
                "instances": [instance.id for instance in instances_with(gpu.id)] if arguments.name else [],
            }
            for gpu in gpus
        ]
        print(json.dumps(rows, indent=2))
        return 0
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading, justify in (("Id", "left"), ("Name", "left"), ("Architecture", "left"), ("Total", "right")):
        table.add_column(heading, justify="right" if justify == "right" else "left")
    table.add_column("Usable by one process", justify="right")
    for gpu in gpus:
        total, usable = total_bytes(gpu) / GIB, usable_bytes(gpu) / GIB
        table.add_row(gpu.id, gpu.name, gpu.architecture, f"{total:.2f} GiB", f"{usable:.2f} GiB")
    console = Console()
    console.print(table)
    if arguments.name:
        instances = instances_with(gpus[0].id)
        if instances:
            console.print("\nCloud instances:")
        for instance in instances:
            price = f", ${instance.price_usd_per_hour:.2f} an hour" if instance.price_usd_per_hour else ""
            console.print(f"  {instance.id}: {instance.gpu_count:g} of it{price}", highlight=False)
        console.print(f"\nSource: {gpus[0].source}", highlight=False, style="dim")
    return 0
