"""Which dimension of a product is summed over, against the dimension that a softmax normalises."""

from __future__ import annotations

from collections.abc import Sequence

from engine.trace import Place, Trace, Value
from engine.trace.events import Activation, FunctionCall, Return

_PRODUCTS = frozenset({"bmm", "matmul", "mm", "baddbmm"})
_SUMMING = _PRODUCTS | {"einsum"}


def products(trace: Trace) -> Sequence[FunctionCall]:
    """The calls that sum over a dimension."""
    return [call for call in trace.of(FunctionCall) if call.arguments and _last(call.name) in _SUMMING]


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def contracted_differently(calls: Sequence[FunctionCall], activation: Activation) -> tuple[Place, str, int] | None:
    """The product, among `calls`, that uses a softmax's output as weights over another dimension; how it differs, and
    which it sums.

    Only products that name their dimensions count: `einsum`, and `bmm` or `matmul` with the weights on the left, which
    sum over the last one. A softmax over the first of several dimensions that feeds one of them runs over the batch.
    """
    for call in calls:
        if call.root is not activation.root:
            continue
        name = _last(call.name)
        if name == "einsum" and call.arguments[0].constant:
            found = _einsum(call, activation)
            if found is not None:
                return call.place, *found
        elif name in ("bmm", "baddbmm") and (summed := _summed_of_two(call, activation.output)) is not None:
            # Weights of two dimensions, one of which a third was put before or behind.
            if activation.dim is not None and activation.dim % 2 != summed:
                return call.place, f"while the product below sums over dimension {summed}", summed
        elif name in _PRODUCTS and _derived(call.arguments[0], activation.output):
            rows = (0, -2, _row_dimension(activation.input))
            if activation.dim is not None and activation.dim in rows:
                return call.place, "while the product below sums over the last one", -1
    return None


def _summed_of_two(call: FunctionCall, weights: Value) -> int | None:
    """Which of two dimensions of `weights` a batched product sums over, where they became its operand by one unsqueeze.

    Both operands of `bmm` have three dimensions: the left one is summed over its last, the right one over its middle.
    """
    operands = call.arguments[1:3] if _last(call.name) == "baddbmm" else call.arguments[:2]
    for operand, summed in zip(operands, (2, 1), strict=False):
        added = operand.keyword("dim", "0") if operand.op == "unsqueeze" and operand.parents else None
        if added is None or not isinstance(added.constant, int) or not -3 <= added.constant < 3:
            continue
        new = added.constant % 3
        if _derived(operand.parents[0], weights, _KEEPS_RANK) and new != summed:
            return summed - (new < summed)
    return None


def over_rows(calls: Sequence[FunctionCall], activation: Activation) -> Place | None:
    """The product that uses a softmax over dimension 1 of scores whose last two dimensions were named from the end.

    `q @ k.transpose(-2, -1)` speaks of tensors with a batch dimension, whose dimension 1 is not their last.
    """
    scores = activation.input
    if activation.dim != 1 or scores is None or scores.shape is not None:
        return None
    product = next(
        (v for v in scores.ancestors(limit=12) if v.op in ("matmul", "bmm", "@") and len(v.parents) == 2), None
    )
    right = product.parents[1] if product is not None else None
    if right is None or right.op != "transpose":
        return None
    exchanged = [d.constant for d in (right.keyword("dim0", "0"), right.keyword("dim1", "1")) if d is not None]
    if sorted(each for each in exchanged if isinstance(each, int)) != [-2, -1]:
        return None
    used = (c for c in calls if c.root is activation.root and _last(c.name) in _PRODUCTS)
    return next((c.place for c in used if _derived(c.arguments[0], activation.output)), None)


def summed_otherwise(trace: Trace, activation: Activation) -> tuple[Place, int] | None:
    """Where weights are multiplied with values element by element and summed over another dimension, and over which."""
    if activation.dim is None or activation.dim < 0:
        return None
    for event in trace.after(activation, Return):
        if event.function != activation.function or event.value is None:
            continue
        for part in event.value.ancestors(limit=80):
            dim = part.keyword("dim", "0") if part.op == "sum" else None
            if dim is None or not isinstance(dim.constant, int) or dim.constant < 0 or dim.constant == activation.dim:
                continue
            product = part.parents[0]
            if product.op != "operator*" or len(product.parents) != 2:
                continue
            if any(_trailing(factor, activation.output) for factor in product.parents):
                return part.place, dim.constant
    return None


def _trailing(value: Value, source: Value) -> bool:
    """Whether a value is the source with dimensions of one added at its end."""
    for _ in range(3):
        added = value.keyword("dim", "0") if value.op == "unsqueeze" else None
        if added is None or added.constant != -1 or not value.parents:
            break
        value = value.parents[0]
    return value is source


def _row_dimension(scores: Value | None) -> int | None:
    """The last dimension but one of scores, counted from the front.

    A product whose right side had its dimensions `n - 2` and `n - 1` exchanged has n of them: only the last two of a
    matrix product are ever exchanged to make it one.
    """
    for value in scores.ancestors(limit=12) if scores is not None else ():
        if value.op in ("matmul", "bmm", "@") and len(value.parents) == 2:
            right = value.parents[1]
            exchanged = [d.constant for d in (right.keyword("dim0", "0"), right.keyword("dim1", "1")) if d is not None]
            if right.op != "transpose" or [type(d) for d in exchanged] != [int, int] or min(exchanged) < 0:
                return None
            low, high = sorted(exchanged)
            return low if high == low + 1 else None
    return None


def _einsum(call: FunctionCall, activation: Activation) -> tuple[str, int] | None:
    equation = str(call.arguments[0].constant).replace(" ", "")
    if "->" not in equation or "..." in equation:
        return None
    inputs, output = equation.split("->")
    for term, operand in zip(inputs.split(","), call.arguments[1:], strict=False):
        if operand is not activation.output or activation.dim is None or not -len(term) <= activation.dim < len(term):
            continue
        letter = term[activation.dim]
        summed = [other for other in term if other not in output]
        if letter in output and len(summed) == 1:
            why = f"`{letter}` of `{term}`, while the product sums over `{summed[0]}`"
            return why, term.index(summed[0])
    return None


_KEEPS_RANK = frozenset({"to", "float", "half", "type_as", "contiguous", "dropout"})
_KEEPS_ORDER = _KEEPS_RANK | {"view", "reshape"}


def _derived(value: Value, source: Value, through: frozenset[str] = _KEEPS_ORDER) -> bool:
    """Whether a value is the source itself, reshaped at most, on some path."""
    if len(value.options()) > 1:
        return any(_derived(option, source, through) for option in value.options())
    for _ in range(8):
        if value is source:
            return True
        keeps = value.op in through or (
            value.op == "call" and value.callee is not None and "Dropout" in value.callee.made_by
        )
        if not keeps or not value.parents:
            return False
        value = value.parents[0]
    return False
