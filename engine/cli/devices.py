"""`--gpu`: names of the catalogue, or the devices of this machine as its driver names them."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence

from engine.cli.formats.plain import printable
from engine.cli.usage import WrongUse

HERE = "here"
"""What `--gpu` takes for the devices of this machine."""
SECONDS = 20
_NUMBERED = re.compile(r"(?:cuda|gpu|cpu|mps|rocm)?:?\d*", re.IGNORECASE)
"""How programs number their devices, which says nothing of what they are."""


def devices_here() -> tuple[str, ...]:
    """The devices that nvidia-smi lists, each once, by name; by id where the name alone does not say the size.

    Raises WrongUse where there is none to ask.
    """
    query = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=SECONDS, check=True)
    except (OSError, subprocess.SubprocessError) as problem:
        raise WrongUse(f"--gpu {HERE} asks nvidia-smi, which did not answer; name the device instead") from problem
    names = tuple(dict.fromkeys(_of_size(line) for line in answer.stdout.splitlines() if line.strip()))
    if not names:
        raise WrongUse(f"--gpu {HERE}: nvidia-smi lists no device")
    return names


def _of_size(line: str) -> str:
    """`NVIDIA GeForce RTX 3060, 8192` as the device of that size, by its id; other names as they stand."""
    from hardware_catalog import UnknownGPU, gpu_of_size

    name, _, mib = (part.strip() for part in line.rpartition(","))
    if not name or not mib.isdigit():
        # Some drivers do not say how much memory there is.
        return name or line.strip()
    try:
        return gpu_of_size(name, float(mib)).id
    except UnknownGPU:
        return name


def add_gpus(parser: argparse.ArgumentParser, *, more: str = "") -> None:
    """`--gpu NAME`, repeatable. `more` is what else it takes, for the help text."""
    parser.add_argument(
        "--gpu",
        action="append",
        default=[],
        metavar="NAME",
        help="a device the run has to fit, by any common name or by its size (`24GB`), `here` for those of this machine"
        f"{more}; may be repeated",
    )


def known_gpus(names: Sequence[str]) -> tuple[str, ...]:
    """The names, each checked against the catalogue; `unspecified` and the like are left out. Of a name that devices of
    several sizes have, the reading is told on stderr.

    Raises WrongUse with suggestions.
    """
    if not names:
        return ()
    from hardware_catalog import UnknownGPU, names_no_gpu, other_sizes, parse_gpu

    names = [each for name in names for each in (devices_here() if name == HERE else (name,))]
    names = [name for name in names if not names_no_gpu(name)]
    for name in names:
        try:
            gpu = parse_gpu(name).gpu
            others = ", ".join(other.id for other in other_sizes(name))
        except UnknownGPU as problem:
            hint = f"; `{HERE}` stands for the devices of this machine" if _NUMBERED.fullmatch(name) else ""
            raise WrongUse(f"{problem}{hint}") from problem
        if others:
            told = f"{name} is read as {gpu.id}; of other sizes there are {others}"
            print(printable(f"preflight: {told}"), file=sys.stderr)
    return tuple(names)
