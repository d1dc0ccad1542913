"""`einops`: rearrange, repeat, reduce, einsum and the layers, by reshapes and permutations of shadow tensors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from engine.memory.program.namespaces import Namespace
from engine.memory.tensors import namespace

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter

Group = list[str]


def parse(side: str) -> list[Group]:
    """`"b (h d) 1"` as [["b"], ["h", "d"], ["1"]]; `()` is [[]]."""
    groups: list[Group] = []
    inner: Group | None = None
    for word in side.replace("(", " ( ").replace(")", " ) ").split():
        if word == "(":
            inner = []
        elif word == ")":
            groups.append(inner or [])
            inner = None
        elif inner is not None:
            inner.append("(...)" if word == "..." else word)
        else:
            groups.append([word])
    return groups


def _with_ellipsis(groups: list[Group], names: Group) -> list[Group]:
    result: list[Group] = []
    for group in groups:
        if group == ["..."]:
            result.extend([name] for name in names)
        else:
            result.append([part for item in group for part in (names if item == "(...)" else [item])])
    return result


def _sizes(groups: list[Group], shape: Any, given: dict[str, int]) -> dict[str, int]:
    if len(groups) != len(shape):
        raise ValueError(f"einops: {len(groups)} axes expected, the tensor has {len(shape)}")
    sizes = {name: int(value) for name, value in given.items()}
    for group, size in zip(groups, shape, strict=True):
        known = math.prod(int(name) if name.isdigit() else sizes.get(name, 1) for name in group)
        unknown = [name for name in group if not name.isdigit() and name not in sizes]
        if len(unknown) > 1:
            raise ValueError(f"einops: cannot infer {unknown}")
        if unknown:
            sizes[unknown[0]] = size // known
        elif known != size:
            raise ValueError(f"einops: {group} is {known}, the tensor has {size}")
    return sizes


def _stacked(tensor: Any) -> Any:
    return namespace("torch.stack")(list(tensor)) if isinstance(tensor, (list, tuple)) else tensor


def transform(tensor: Any, pattern: str, given: dict[str, int], reduction: Any = None) -> Any:
    """The operation that `pattern` describes; axes only on the right are repeated, only on the left are reduced."""
    tensor = _stacked(tensor)
    left_text, _, right_text = pattern.partition("->")
    left, right = parse(left_text), parse(right_text)
    fixed = sum(group != ["..."] for group in left)
    names = [f".{index}" for index in range(len(tensor.shape) - fixed)]
    left, right = _with_ellipsis(left, names), _with_ellipsis(right, names)
    sizes = _sizes(left, tensor.shape, given)
    flat_left = [name for group in left for name in group if name != "1"]
    flat_right = [name for group in right for name in group if name != "1"]
    shape = [sizes[name] if not name.isdigit() else int(name) for name in flat_left]
    if list(tensor.shape) != shape:
        tensor = tensor.reshape(shape)
    gone = [index for index, name in enumerate(flat_left) if name not in flat_right]
    if gone:
        method = reduction if isinstance(reduction, str) else "mean"
        tensor = getattr(tensor, {"max": "amax", "min": "amin"}.get(method, method))(dim=tuple(gone))
        flat_left = [name for name in flat_left if name in flat_right]
    kept = [name for name in flat_right if name in flat_left]
    order = [flat_left.index(name) for name in kept]
    if order != list(range(len(order))):
        tensor = tensor.permute(*order)
    if len(kept) < len(flat_right):
        wide = []
        for index, name in enumerate(flat_right):
            if name not in kept:
                tensor = tensor.unsqueeze(index)
            wide.append(int(name) if name.isdigit() else sizes[name])
        tensor = tensor.expand(*wide)
    final = [math.prod(int(name) if name.isdigit() else sizes[name] for name in group) for group in right]
    return tensor if list(tensor.shape) == final else tensor.reshape(final)


def rearrange(tensor: Any, pattern: str, **sizes: int) -> Any:
    """`einops.rearrange`."""
    return transform(tensor, pattern, sizes)


def repeat(tensor: Any, pattern: str, **sizes: int) -> Any:
    """`einops.repeat`."""
    return transform(tensor, pattern, sizes)


def reduce(tensor: Any, pattern: str, reduction: Any = "mean", **sizes: int) -> Any:
    """`einops.reduce`."""
    return transform(tensor, pattern, sizes, reduction)


def einsum(*operands: Any) -> Any:
    """`einops.einsum`: names of several letters become single ones."""
    *tensors, pattern = operands
    letters: dict[str, str] = {}

    def short(side: str) -> str:
        words = side.split()
        return "".join(
            "..." if word == "..." else letters.setdefault(word, chr(ord("a") + len(letters))) for word in words
        )

    inputs, _, output = pattern.partition("->")
    equation = ",".join(short(part) for part in inputs.split(",")) + "->" + short(output)
    return namespace("torch.einsum")(equation, *tensors)


def pack(tensors: Any, pattern: str) -> Any:
    """`einops.pack`."""
    words = pattern.split()
    star, after = words.index("*"), len(words) - words.index("*") - 1
    shapes, flat = [], []
    for tensor in tensors:
        middle = tuple(tensor.shape[star : len(tensor.shape) - after])
        shapes.append(middle)
        flat.append(tensor.reshape(*tensor.shape[:star], math.prod(middle), *tensor.shape[len(tensor.shape) - after :]))
    return (flat[0] if len(flat) == 1 else namespace("torch.cat")(flat, dim=star)), shapes


def unpack(tensor: Any, shapes: Any, pattern: str) -> list[Any]:
    """`einops.unpack`."""
    star = pattern.split().index("*")
    parts = tensor.split([math.prod(shape) for shape in shapes], dim=star)
    return [
        part.reshape(*part.shape[:star], *shape, *part.shape[star + 1 :])
        for part, shape in zip(parts, shapes, strict=True)
    ]


def provide(interpreter: Interpreter, dotted: str) -> Any:
    """`einops` and `einops.layers.torch`."""
    state: dict[str, Any] = interpreter.state.setdefault("einops names", {})
    if not state:
        module = namespace("torch.nn.Module")

        def initialise(self: Any, pattern: str, reduction: Any = None, **sizes: int) -> None:
            module.__init__(self)
            self.pattern, self.reduction, self.sizes = pattern, reduction, sizes

        def forward(self: Any, tensor: Any) -> Any:
            return transform(tensor, self.pattern, self.sizes, self.reduction)

        layers = {
            name: type(name, (module,), {"__init__": initialise, "forward": forward})
            for name in ("Rearrange", "Reduce")
        }
        state.update(
            rearrange=rearrange,
            repeat=repeat,
            reduce=reduce,
            einsum=einsum,
            pack=pack,
            unpack=unpack,
            parse_shape=lambda tensor, pattern: {
                n: s for n, s in zip(pattern.split(), tensor.shape, strict=False) if n != "_"
            },
            asnumpy=lambda tensor: tensor,
            layers=Namespace("einops.layers", {"torch": Namespace("einops.layers.torch", layers)}),
        )
    value: Any = Namespace("einops", state)
    for part in dotted.split(".")[1:]:
        value = getattr(value, part, None)
    return value
