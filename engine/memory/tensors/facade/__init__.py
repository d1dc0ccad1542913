"""``torch`` as a tree of names, one module for each part of it."""

from engine.memory.tensors.facade.inert import Namespace
from engine.memory.tensors.facade.tree import lookup

__all__ = ["Namespace", "lookup"]
