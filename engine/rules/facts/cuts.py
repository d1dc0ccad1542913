"""Where a graph is left: what cuts a loss from the passes that it was computed from."""

from __future__ import annotations

from engine.rules.facts.identity import identities
from engine.trace import Value

CUTS = {
    "argmax": "`argmax`",
    "argmin": "`argmin`",
    "comparison": "A comparison",
    "numpy": "NumPy",
    "item": "`.item()`",
    "tolist": "`.tolist()`",
    "float": "`float()`",
    "copied": "Making a new tensor",
    "detach": "`.detach()`",
    "data": "`.data`",
}
_REWRAPS = frozenset({"tensor", "variable", "Variable", "as_tensor", "from_numpy", "FloatTensor", "Tensor"})
_MAY_LEARN = frozenset(
    {"call", "method-call", "library-call", "parameter-of-function", "attribute", "unknown", "getattr", "autograd-grad"}
)
"""Values that may be, or be made from, something that is trained."""


def cut_everywhere(loss: Value, outputs: set[int]) -> Value | None:
    """The first of the cuts, where every way from the loss to a network's output goes through one."""
    found: Value | None = None
    queue, seen = [loss], {id(loss)}
    for value in queue:
        if id(value) in outputs or len(seen) > 2000:
            return None
        if value.detached in CUTS:
            reaches = any(id(part) in outputs for part in value.ancestors())
            found = found or (value if reaches else None)
            continue
        if value.op == "data-element" or value.is_constant or value.role in ("loader", "number", "array"):
            continue
        if value.op in _MAY_LEARN or value.role == "parameter" or (value.requires_grad and value is not loss):
            return None
        # What a module of the project returns depends on its inputs as its own code says.
        for part in value.parents[:1] if value.op == "forward-result" else value.parents:
            if id(part) not in seen:
                seen.add(id(part))
                queue.append(part)
    return found


def new_leaf(loss: Value) -> Value | None:
    """A tensor that was made from numbers, with `requires_grad=True`, right before the backward."""
    for value in loss.ancestors(through_detach=False):
        if value.op in ("call", "method-call", "forward-result"):
            return None
        if value.requires_grad and value.op in _REWRAPS and value.parents:
            # Where its gradient is read, the leaf is what the program asks for.
            return value if "grad" not in value.uses else None
    return None


def differentiable_again(loss: Value) -> Value | None:
    """The result of an operation without a derivative that was told to require gradients, which nothing reads."""
    for value in loss.ancestors(through_detach=False):
        if not value.requires_grad or "grad" in value.uses:
            continue
        for part in value.ancestors(limit=6):
            if part.detached in ("argmax", "argmin", "comparison"):
                return part
    return None


def handed(value: Value, held: frozenset[int]) -> bool:
    """The result of a call that was handed one of these networks."""
    return value.op in _MAY_LEARN and any(not identities(part).isdisjoint(held) for part in value.parents)
