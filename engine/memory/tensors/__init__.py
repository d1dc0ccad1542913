"""A miniature torch without data: shapes, dtypes, storages, autograd's saved tensors and every allocation.

How it is used
--------------
``Machine`` is one simulated process with one GPU: its caching allocator, gradient mode, autocast state, counters and
notes. Everything below works on the machine that is entered::

    with Machine(arch="sm80") as machine:            # arch: sm70, sm75, sm80, sm86, sm89, sm90, sm100
        torch = namespace("torch")
        ...run the program...
        machine.allocator.allocated / .reserved              # live bytes now
        machine.allocator.peak_allocated / .peak_reserved    # since the last reset_peak()
        machine.allocator.peak_categories()                  # {"parameters": bytes, ...} at the allocated peak
        machine.reset_peak()
        machine.notes                                        # what was assumed (data-dependent shapes, torch.compile)

``namespace(dotted)`` returns the implementation of a ``torch.*`` name, or None where there is none. Modules
(``torch.nn``) come back as module objects whose attributes can be read with ``getattr``; classes
(``torch.nn.Module``, ``torch.optim.Adam``, ``torch.autograd.Function``) are ordinary Python classes that can be
subclassed; functions are ordinary callables. ``import_module(dotted)`` is for ``import torch.x``: None if unknown.

Rules for the interpreter
-------------------------
* Lifetimes are Python's: a storage is freed in the simulated allocator when the last Tensor over it dies. Frames of
  an interpreted function must let go of their locals when they return, and temporaries when the expression ends.
* Callables handed in (checkpointed functions, hooks, closures, ``Function.forward``) are simply called.
* ``Tensor.shape`` is a ``Size`` (a tuple of int). ``item()`` and ``tolist()`` give real numbers for small tensors
  whose data is known (``torch.tensor([...])``, ``arange``, ``linspace``), else ``UnknownFloat``/``UnknownInt``
  (subclasses of float/int worth 1.0 and 1; arithmetic decays to plain numbers). ``bool(tensor)`` of unknown data is
  what ``Machine.truth`` says (False).
* Errors a real torch would raise for wrong shapes are raised as ``TensorError`` (a RuntimeError).
* ``CapacityError`` is ``torch.cuda.OutOfMemoryError``: raised only if ``Machine(capacity=bytes)`` was given.
* CPU and meta tensors have shapes and no bytes. The default device is the CPU, as in torch.
* Hooks for the interpreter on ``Machine``: ``on_step`` (called with the optimizer after each ``step()``),
  ``on_backward`` (called with "begin"/"end"), ``phase`` ("load", "forward", "backward", "optimizer": set "forward"
  when the model is first called; backward and step switch by themselves).
* ``Machine.category(name)`` is a context manager that books allocations under another category
  (``machine.allocator.relabel(tensor, name)`` moves one tensor).

``torch.nn.Module`` calls ``self.forward``; parameters, buffers and submodules are kept as in torch
(``_parameters``, ``_buffers``, ``_modules``; ``__getattr__`` finds them; ``__setattr__`` registers them).
"""

from __future__ import annotations

from typing import Any

from engine.memory.tensors.facade import Namespace, lookup
from engine.memory.tensors.machine import Machine
from engine.memory.tensors.nn.module import Module
from engine.memory.tensors.optim.eight_bit import BITSANDBYTES
from engine.memory.tensors.optim.optimizers import Adafactor, Lion
from engine.memory.tensors.storage import Device, Size, Storage, TensorError
from engine.memory.tensors.tensor import Parameter, Tensor, UnknownFloat, UnknownInt
from hardware_catalog.allocator import Allocator, CapacityError


def namespace(dotted: str) -> Any:
    """The implementation of a ``torch.*`` name, or None where there is none."""
    return lookup(dotted)


def import_module(dotted: str) -> Any:
    """What ``import dotted`` gives; None where there is no such module."""
    found = lookup(dotted)
    return found if isinstance(found, Namespace) else None


__all__ = [
    "BITSANDBYTES",
    "Adafactor",
    "Allocator",
    "CapacityError",
    "Device",
    "Lion",
    "Machine",
    "Module",
    "Namespace",
    "Parameter",
    "Size",
    "Storage",
    "Tensor",
    "TensorError",
    "UnknownFloat",
    "UnknownInt",
    "import_module",
    "namespace",
]
