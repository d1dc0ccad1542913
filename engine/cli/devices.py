"""`--gpu`: names of the catalogue, or the devices of this machine as its driver names them."""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Sequence

from engine.cli.usage import WrongUse

HERE = "here"
"""What `--gpu` takes for the devices of this machine."""
SECONDS = 20


def devices_here() -> tuple[str, ...]:
    """Names of the devices that nvidia-smi lists, each once. Raises WrongUse where there is none to ask."""
    query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=SECONDS, check=True)
    except (OSError, subprocess.SubprocessError) as problem:
        raise WrongUse(f"--gpu {HERE} asks nvidia-smi, which did not answer; name the device instead") from problem
    names = tuple(dict.fromkeys(line.strip() for line in answer.stdout.splitlines() if line.strip()))
    if not names:
        raise WrongUse(f"--gpu {HERE}: nvidia-smi lists no device")
    return names


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
    """The names, each checked against the catalogue; `unspecified` and the like are left out.

    Raises WrongUse with suggestions.
    """
    if not names:
        return ()
    from hardware_catalog import UnknownGPU, names_no_gpu, parse_gpu

    names = [each for name in names for each in (devices_here() if name == HERE else (name,))]
    names = [name for name in names if not names_no_gpu(name)]
    for name in names:
        try:
            parse_gpu(name)
        except UnknownGPU as problem:
            raise WrongUse(str(problem)) from problem
    return tuple(names)
