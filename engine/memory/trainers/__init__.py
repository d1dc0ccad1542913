"""Trainers that are not in the repository: their command lines and configuration files become programs to follow.

One file a trainer holds its table of options. What it says is put into a recipe, the recipe into a small Python program
over the libraries that the shadow run knows, and that program is estimated as any script is. Each value of the answer
keeps the file and line that gave it.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from engine.memory.trainers.launching import CannotPlay, from_command, from_file

if TYPE_CHECKING:
    from engine.memory.trainers.tables import Trainer

MODULES = (
    "litgpt",
    "torchtune",
    "swift",
    "axolotl",
    "llama_factory",
    "trl",
    "transformers_examples",
    "cogvideox",
    "diffusers_examples",
)
"""A file of this folder for each trainer."""


def trainers() -> Sequence[Trainer]:
    """Every known trainer."""
    found: list[Trainer] = []
    for name in MODULES:
        module = import_module(f"engine.memory.trainers.{name}")
        found += getattr(module, "TRAINERS", None) or [module.TRAINER]
    return found


__all__ = ["CannotPlay", "from_command", "from_file", "trainers"]
