"""Checks inside of a training that it fits its device, and measures one that runs. Needs PyTorch.

>>> from preflight_guard import VRAMGuard
>>> with VRAMGuard(model, optimizer, batch=batch, loss=loss):  # doctest: +SKIP
...     train()
"""

from preflight_guard.copies import CannotRehearse, Shape
from preflight_guard.guard import VRAMGuard, VRAMRisk, VRAMWarning
from preflight_guard.report import Report

__all__ = ["CannotRehearse", "Report", "Shape", "VRAMGuard", "VRAMRisk", "VRAMWarning"]
