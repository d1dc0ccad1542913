"""`einx`: operations in Einstein notation (`einx.add("b n d, n d", x, y)`), by views and one torch function each.

What einx 0.4's torch backend does is kept: operands are permuted and given axes of length one, so that the function
itself broadcasts; `dot` is one einsum; `get_at` adds up the indices of the flattened tensor.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.memory.libraries.einops import parse
from engine.memory.program.namespaces import Namespace
from engine.memory.tensors import namespace

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter

Names = list[str]
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_ELLIPSIS = re.compile(r"(\w*)\.\.\.")
_ELEMENTWISE = (
    "add subtract multiply divide true_divide floor_divide logaddexp logical_and logical_or where maximum minimum less "
    "less_equal greater greater_equal equal not_equal exp log negative"
)
_TORCH = {"equal": "eq", "not_equal": "ne", "max": "amax", "min": "amin"}
"""Names that torch spells differently."""


@dataclass(frozen=True)
class Side:
    """The expression of one operand: groups of axes, and the axes that stand in brackets."""

    groups: list[Names]
    marked: frozenset[str]

    @property
    def names(self) -> Names:
        """Every axis in order, those of length one left out."""
        return [name for group in self.groups for name in group if name != "1"]


def _side(text: str, rank: int | None, depth: int) -> Side:
    """Parse one operand; an ellipsis stands for what is left of `rank` axes, or for `depth` of them."""
    plain = text.replace("[", " ").replace("]", " ")
    words = parse(_ELLIPSIS.sub(lambda found: f" {found[1]}@ ", plain))
    spread = any(name.endswith("@") for group in words for name in group)
    if spread and rank is not None:
        depth = rank - sum(1 for group in words if not group[:1] or not group[0].endswith("@") or len(group) > 1)
    groups: list[Names] = []
    for group in words:
        if len(group) == 1 and group[0].endswith("@"):
            groups.extend([f"{group[0]}{index}"] for index in range(depth))
        else:
            groups.append(
                [
                    axis
                    for name in group
                    for axis in ([f"{name}{index}" for index in range(depth)] if name.endswith("@") else [name])
                ]
            )
    inner = {name for found in _BRACKETS.finditer(text) for part in parse(found[1]) for name in part}
    marked = {name for group in groups for name in group if name in inner or (f"{name.partition('@')[0]}..." in inner)}
    return Side(groups, frozenset(marked))


def _depth(text: str, rank: int) -> int:
    count = len(parse(_ELLIPSIS.sub("", text.replace("[", " ").replace("]", " "))))
    return rank - count if "..." in text else 0


def _sides(operation: str, tensors: list[Any]) -> tuple[list[Side], Side | None]:
    left, arrow, right = operation.partition("->")
    inputs = left.split(",")
    ranks = [len(tensor.shape) if hasattr(tensor, "shape") else 0 for tensor in tensors]
    depth = max((_depth(text, rank) for text, rank in zip(inputs, ranks, strict=False)), default=0)
    sides = [_side(text, rank, depth) for text, rank in zip(inputs, ranks, strict=False)]
    return sides, _side(right, None, depth) if arrow else None


def _measure(side: Side, tensor: Any, sizes: dict[str, int]) -> None:
    if len(side.groups) != len(tensor.shape):
        raise ValueError(f"einx: {len(side.groups)} axes expected, the tensor has {len(tensor.shape)}")
    for group, size in zip(side.groups, tensor.shape, strict=True):
        unknown = [name for name in group if not name.isdigit() and name not in sizes]
        known = math.prod(int(name) if name.isdigit() else sizes.get(name, 1) for name in group)
        if len(unknown) == 1 and known:
            sizes[unknown[0]] = size // known


def _length(name: str, sizes: dict[str, int]) -> int:
    return int(name) if name.isdigit() else sizes[name]


def _flat(side: Side, tensor: Any, sizes: dict[str, int]) -> Any:
    """The tensor with one axis a name."""
    shape = [_length(name, sizes) for name in side.names]
    return tensor if list(tensor.shape) == shape else tensor.reshape(shape)


def _aligned(tensor: Any, names: Names, target: Names) -> Any:
    """Permuted to the order of `target`, with an axis of length one where a name is missing."""
    kept = [name for name in target if name in names]
    order = [names.index(name) for name in kept]
    if order != list(range(len(order))):
        tensor = tensor.permute(*order)
    for index, name in enumerate(target):
        if name not in names:
            tensor = tensor.unsqueeze(index)
    return tensor


def _shaped(tensor: Any, names: Names, out: Side, sizes: dict[str, int]) -> Any:
    """From one axis a name to the axes of the output."""
    target = out.names
    tensor = _aligned(tensor, names, target)
    wide = [_length(name, sizes) for name in target]
    if list(tensor.shape) != wide:
        tensor = tensor.expand(*wide)
    shape = [math.prod(_length(name, sizes) for name in group) for group in out.groups]
    return tensor if list(tensor.shape) == shape else tensor.reshape(shape)


def _elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    def apply(operation: str, *tensors: Any, **sizes: Any) -> Any:
        given = {name: int(value) for name, value in sizes.items() if isinstance(value, int)}
        sides, out = _sides(operation, list(tensors))
        if len(sides) == 1 and len(tensors) == 2:
            # "a [b]" is short for "a b, b"
            whole = sides[0]
            sides = [whole, Side([[n] for n in whole.names if n in whole.marked], frozenset())]
        for side, tensor in zip(sides, tensors, strict=False):
            if hasattr(tensor, "shape"):
                _measure(side, tensor, given)
        if out is None:
            every = {name for side in sides for name in side.names}
            out = next((side for side in sides if every <= set(side.names)), max(sides, key=lambda s: len(s.names)))
        target = out.names
        aligned = [
            _aligned(_flat(side, tensor, given), side.names, target) if hasattr(tensor, "shape") else tensor
            for side, tensor in zip(sides, tensors, strict=False)
        ]
        return _shaped(function(*aligned), target, out, given)

    return apply


def _reduce(function: Callable[..., Any]) -> Callable[..., Any]:
    def apply(operation: str, tensor: Any, *, keepdims: bool = False, **sizes: Any) -> Any:
        given = {name: int(value) for name, value in sizes.items()}
        sides, out = _sides(operation, [tensor])
        side = sides[0]
        _measure(side, tensor, given)
        names = side.names
        gone = [n for n in names if n in side.marked] or [n for n in names if out is not None and n not in out.names]
        tensor = _flat(side, tensor, given)
        if gone:
            tensor = function(tensor, dim=tuple(names.index(name) for name in gone))
        left = [name for name in names if name not in gone]
        if out is None:
            groups = [[n for n in g if n not in gone] or ["1"] for g in side.groups]
            kept = [g for g, old in zip(groups, side.groups, strict=True) if keepdims or g != ["1"] or old == ["1"]]
            out = Side(kept, frozenset())
        return _shaped(tensor, left, out, given)

    return apply


def _along(function: Callable[..., Any]) -> Callable[..., Any]:
    """Functions that keep the shape and run along the marked axis: softmax, flip, sort."""

    def apply(operation: str, tensor: Any, **options: Any) -> Any:
        sides, out = _sides(operation, [tensor])
        side = sides[0]
        sizes: dict[str, int] = {}
        _measure(side, tensor, sizes)
        names = side.names
        axes = tuple(names.index(name) for name in names if name in side.marked)
        result = function(_flat(side, tensor, sizes), axes if len(axes) != 1 else axes[0])
        return _shaped(result, names, out or side, sizes)

    return apply


def rearrange(operation: str, *tensors: Any, **sizes: int) -> Any:
    """`einx.id` and `einx.rearrange` of one tensor."""
    sides, out = _sides(operation, list(tensors))
    given = {name: int(value) for name, value in sizes.items()}
    _measure(sides[0], tensors[0], given)
    return _shaped(_flat(sides[0], tensors[0], given), sides[0].names, out or sides[0], given)


def dot(operation: str, *tensors: Any, **sizes: int) -> Any:
    """`einx.dot`: one einsum over the flattened axes."""
    sides, out = _sides(operation, list(tensors))
    given = {name: int(value) for name, value in sizes.items()}
    for side, tensor in zip(sides, tensors, strict=True):
        _measure(side, tensor, given)
    if out is None:
        kept = list(dict.fromkeys(n for side in sides for n in side.names if n not in side.marked))
        out = Side([[name] for name in kept], frozenset())
    letters: dict[str, str] = {}

    def short(names: Names) -> str:
        return "".join(letters.setdefault(name, chr(ord("a") + len(letters))) for name in names)

    equation = ",".join(short(side.names) for side in sides) + "->" + short(out.names)
    flat = [_flat(side, tensor, given) for side, tensor in zip(sides, tensors, strict=True)]
    return _shaped(namespace("torch.einsum")(equation, *flat), out.names, out, given)


def get_at(operation: str, tensor: Any, *indices: Any, **sizes: int) -> Any:
    """`einx.get_at("b [n] d, b i -> b i d", x, index)` with one index tensor a marked axis."""
    sides, out = _sides(operation, [tensor, *indices])
    given = {name: int(value) for name, value in sizes.items()}
    for side, value in zip(sides, (tensor, *indices), strict=True):
        _measure(side, value, given)
    source = sides[0]
    if out is None:
        every = [n for n in source.names if n not in source.marked] + [n for s in sides[1:] for n in s.names]
        out = Side([[name] for name in dict.fromkeys(every)], frozenset())
    target = out.names
    chosen = iter(zip(sides[1:], indices, strict=True))
    total: Any = None
    stride = math.prod(given[name] for name in source.names)
    for name in source.names:
        stride //= given[name]
        if name in source.marked:
            side, index = next(chosen)
            part = _aligned(_flat(side, index, given), side.names, target)
        else:
            axis = namespace("torch.arange")(given[name], device=tensor.device)
            part = _aligned(axis, [name], target)
        part = part * stride if stride != 1 else part
        total = part if total is None else total + part
    return _shaped(tensor.reshape(-1)[total], target, out, given)


def _members() -> dict[str, Any]:
    members: dict[str, Any] = {
        name: _elementwise(namespace(f"torch.{_TORCH.get(name, name)}")) for name in _ELEMENTWISE.split()
    }
    for name in ("sum", "mean", "var", "std", "max", "min", "any", "all", "logsumexp", "prod"):
        members[name] = _reduce(namespace(f"torch.{_TORCH.get(name, name)}"))
    functional = {name: namespace(f"torch.nn.functional.{name}") for name in ("softmax", "log_softmax")}
    for name, function in functional.items():
        members[name] = _along(lambda tensor, axis, function=function: function(tensor, dim=axis))
    members["flip"] = _along(lambda tensor, axis: tensor.flip(axis))
    members["sort"] = _along(lambda tensor, axis: tensor.sort(dim=axis).values)
    members["argsort"] = _along(lambda tensor, axis: tensor.argsort(dim=axis))
    members.update(id=rearrange, rearrange=rearrange, dot=dot, get_at=get_at)
    return members


def provide(interpreter: Interpreter, dotted: str) -> Any:
    """`einx`; operations that are not listed are Unknown."""
    members: dict[str, Any] = interpreter.state.setdefault("einx names", {})
    if not members:
        members.update(_members())
    return Namespace(dotted, members)
