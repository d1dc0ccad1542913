"""All frameworks together: lookup by qualified name, by method, by base class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from engine.frameworks.accelerate import ACCELERATE
from engine.frameworks.deepspeed import DEEPSPEED
from engine.frameworks.distributed import DISTRIBUTED
from engine.frameworks.effects import Effect, Framework
from engine.frameworks.lightning import LIGHTNING
from engine.frameworks.torch_core import TORCH
from engine.frameworks.trainers import IGNITE, TRANSFORMERS

FRAMEWORKS: tuple[Framework, ...] = (DISTRIBUTED, ACCELERATE, LIGHTNING, DEEPSPEED, TRANSFORMERS, IGNITE, TORCH)
"""The frameworks that Preflight brings. They stand before those of other packages."""


@dataclass(frozen=True, slots=True)
class Tables:
    """Frameworks joined into one table of each kind. The first framework that describes a name decides."""

    calls: Mapping[str, Effect]
    methods: Mapping[tuple[str, str], Effect]
    bases: Mapping[str, str]
    prefixes: Sequence[tuple[str, Effect]]
    aliases: Sequence[tuple[str, str]]

    @classmethod
    def of(cls, frameworks: Iterable[Framework]) -> Tables:
        calls: dict[str, Effect] = {}
        methods: dict[tuple[str, str], Effect] = {}
        bases: dict[str, str] = {}
        prefixes: list[tuple[str, Effect]] = []
        aliases: list[tuple[str, str]] = []
        for framework in frameworks:
            calls = {**framework.calls, **calls}
            methods = {**framework.methods, **methods}
            bases = {**framework.bases, **bases}
            prefixes += framework.prefixes.items()
            aliases += framework.aliases.items()
        # The longest prefix decides.
        prefixes.sort(key=lambda item: -len(item[0]))
        aliases.sort(key=lambda item: -len(item[0]))
        return cls(calls, methods, bases, prefixes, aliases)


@cache
def _tables() -> Tables:
    from engine.plugins import plugins

    return Tables.of((*FRAMEWORKS, *plugins().frameworks))


@lru_cache(maxsize=8192)
def canonical(qualified: str) -> str:
    """The name under which a library's object is known here, whatever module it was imported from."""
    for prefix, replacement in _tables().aliases:
        if qualified.startswith(prefix):
            return replacement + qualified[len(prefix) :]
    return qualified


@lru_cache(maxsize=8192)
def call_effect(qualified: str) -> Effect | None:
    """What calling this library function or class does; None where nothing is known."""
    tables = _tables()
    found = tables.calls.get(qualified)
    if found is not None:
        return found
    for prefix, effect in tables.prefixes:
        if qualified.startswith(prefix):
            return effect
    return None


def method_effect(role: str, method: str) -> Effect | None:
    """What a method does on a receiver of that role."""
    return _tables().methods.get((role, method))


def base_family(qualified: str) -> str:
    """The family of project classes that derive from this library class ("" if none)."""
    found = _tables().bases.get(qualified)
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
