"""How a framework's knowledge is written down: what a call or a method does, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Effect:
    """What calling something does.

    `kind` selects the interpreter's handler; `detail` refines it (the loss's functional name, the collective's name,
    the role of what is constructed); `parameters` are the argument names in order, for positional arguments.
    """

    kind: str
    detail: str = ""
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Framework:
    """The knowledge of one library.

    `calls`: qualified name to effect. `prefixes`: the same for whole families (`torch.optim.`). `methods`: effects of
    methods by the receiver's role. `bases`: families of project classes that derive from a library class.
    `source`: where the facts were read.
    """

    name: str
    source: str
    calls: Mapping[str, Effect] = field(default_factory=dict)
    prefixes: Mapping[str, Effect] = field(default_factory=dict)
    methods: Mapping[tuple[str, str], Effect] = field(default_factory=dict)
    bases: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
