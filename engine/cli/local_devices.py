"""The GPUs of this machine, as its driver names them."""

from __future__ import annotations

import subprocess

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
