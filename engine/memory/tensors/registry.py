"""Where operators are entered: by name in ``torch``, ``torch.nn.functional`` and as methods of Tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from engine.memory.tensors.tensor import Tensor

F = TypeVar("F", bound=Callable[..., Any])

TORCH: dict[str, Any] = {}
FUNCTIONAL: dict[str, Any] = {}
LINALG: dict[str, Any] = {}
SPECIAL: dict[str, Any] = {}
FFT: dict[str, Any] = {}


def _name(function: Callable[..., Any]) -> str:
    name = function.__name__
    return (
        name[:-1]
        if name.endswith("_") and name[:-1] in ("sum", "max", "min", "any", "all", "abs", "round", "pow")
        else name
    )


def function(f: F) -> F:
    """``torch.<name>``."""
    TORCH[_name(f)] = f
    return f


def method(f: F) -> F:
    """``Tensor.<name>``."""
    setattr(Tensor, _name(f), f)
    return f


def both(f: F) -> F:
    """``torch.<name>`` and ``Tensor.<name>``."""
    name = _name(f)
    TORCH[name] = f
    setattr(Tensor, name, f)
    return f


def functional(f: F) -> F:
    """``torch.nn.functional.<name>``."""
    FUNCTIONAL[_name(f)] = f
    return f


def alias(name: str, f: Any) -> None:
    """A further name for an operator, in ``torch`` and as a method."""
    TORCH[name] = f
    setattr(Tensor, name, f)
