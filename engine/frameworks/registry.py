"""All frameworks together: lookup by qualified name, by method, by base class."""

from __future__ import annotations

from functools import lru_cache

from engine.frameworks.accelerate import ACCELERATE
from engine.frameworks.deepspeed import DEEPSPEED
from engine.frameworks.distributed import DISTRIBUTED
from engine.frameworks.effects import Effect, Framework
from engine.frameworks.lightning import LIGHTNING
from engine.frameworks.torch_core import TORCH
from engine.frameworks.trainers import IGNITE, TRANSFORMERS

FRAMEWORKS: tuple[Framework, ...] = (DISTRIBUTED, ACCELERATE, LIGHTNING, DEEPSPEED, TRANSFORMERS, IGNITE, TORCH)

_CALLS: dict[str, Effect] = {}
_METHODS: dict[tuple[str, str], Effect] = {}
_BASES: dict[str, str] = {}
_PREFIXES: list[tuple[str, Effect]] = []
_ALIASES: list[tuple[str, str]] = []
for _framework in FRAMEWORKS:
    for _name, _effect in _framework.calls.items():
        _CALLS.setdefault(_name, _effect)
    for _key, _effect in _framework.methods.items():
        _METHODS.setdefault(_key, _effect)
    for _name, _family in _framework.bases.items():
        _BASES.setdefault(_name, _family)
    _PREFIXES.extend(_framework.prefixes.items())
    _ALIASES.extend(_framework.aliases.items())
# The longest prefix decides.
_PREFIXES.sort(key=lambda item: -len(item[0]))
_ALIASES.sort(key=lambda item: -len(item[0]))


@lru_cache(maxsize=8192)
def canonical(qualified: str) -> str:
    """The name under which a library's object is known here, whatever module it was imported from."""
    for prefix, replacement in _ALIASES:
        if qualified.startswith(prefix):
            return replacement + qualified[len(prefix) :]
    return qualified


@lru_cache(maxsize=8192)
def call_effect(qualified: str) -> Effect | None:
    """What calling this library function or class does; None where nothing is known."""
    found = _CALLS.get(qualified)
    if found is not None:
        return found
    for prefix, effect in _PREFIXES:
        if qualified.startswith(prefix):
            return effect
    return None


def method_effect(role: str, method: str) -> Effect | None:
    """What a method does on a receiver of that role."""
    return _METHODS.get((role, method))


def base_family(qualified: str) -> str:
    """The family of project classes that derive from this library class ("" if none)."""
    found = _BASES.get(qualified)
    if found is not None:
        return found
    last = qualified.rsplit(".", 1)[-1]
    if (
        qualified.startswith(("torch.nn.", "torchvision.models.", "timm.models.", "torch_geometric.nn."))
        and last[:1].isupper()
    ):
        return "module"
    if qualified.startswith("transformers.") and (
        last.endswith("PreTrainedModel") or last.endswith("Model") or "For" in last
    ):
        return "module"
    if qualified.startswith("torch.optim.lr_scheduler."):
        return "scheduler"
    if qualified.startswith("torch.optim."):
        return "optimizer"
    if qualified.startswith("torch.utils.data.") and last.endswith("Sampler"):
        return "sampler"
    return "module" if qualified.startswith("torchvision.ops.") and last[:1].isupper() else ""
