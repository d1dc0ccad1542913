"""Results that are kept between runs: each with all that it was made from, so that it is taken again only while all of
that still holds.
"""

from engine.kept.observed import Observations, ObservedProject
from engine.kept.store import FolderStore, MemoryStore, Store

__all__ = ["FolderStore", "MemoryStore", "Observations", "ObservedProject", "Store"]
