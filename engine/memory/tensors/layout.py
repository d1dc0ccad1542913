"""The order of dimensions in memory: which strides torch gives to the result of an operator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Strides = tuple[int, ...]
"""Steps in elements, a dimension each."""


def is_row_major(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether the elements lie in the order of their indices."""
    step = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size != 1:
            if stride != step:
                return False
            step *= size
    return True


def is_dense(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether the elements fill their bytes without gaps or overlaps, in whatever order of dimensions."""
    step = 1
    for stride, size in sorted((stride, size) for stride, size in zip(strides, shape, strict=True) if size != 1):
        if stride != step:
            return False
        step *= size
    return True


def dense_strides(shape: Sequence[int], strides: Strides | None) -> Strides | None:
    """Strides of a dense tensor that keeps the order of dimensions of another one of its shape (None: row-major)."""
    return None if strides is None else elementwise_strides(shape, ((shape, strides),))


def elementwise_strides(
    shape: Sequence[int], operands: Iterable[tuple[Sequence[int], Strides | None]]
) -> Strides | None:
    """Strides of the result of an element-wise operator over `operands` (shape and strides; None: row-major).

    The rule is `TensorIteratorBase::reorder_dimensions` of ATen/TensorIterator.cpp: dimensions are sorted from the
    innermost out by the strides of the first operand that tells them apart; a dimension that an operand is broadcast
    over tells nothing.
    """
    steps = [_broadcast_strides(shape, own, strides) for own, strides in operands]
    order = list(range(len(shape) - 1, -1, -1))
    for i in range(1, len(order)):
        moving = i
        for before in range(i - 1, -1, -1):
            verdict = _compare(shape, steps, order[before], order[moving])
            if verdict > 0:
                order[before], order[moving] = order[moving], order[before]
                moving = before
            elif verdict < 0:
                break
    out = [0] * len(shape)
    step = 1
    for dimension in order:
        out[dimension] = step
        step *= shape[dimension]
    return None if is_row_major(shape, out) else tuple(out)


def _broadcast_strides(shape: Sequence[int], own: Sequence[int], strides: Strides | None) -> list[int]:
    """The strides of an operand in the dimensions of the result: 0 where it is broadcast."""
    steps = [0] * (len(shape) - len(own))
    if strides is None:
        inner = []
        step = 1
        for size in reversed(own):
            inner.append(step)
            step *= size
        strides = tuple(reversed(inner))
    for size, have, stride in zip(shape[len(steps) :], own, strides, strict=True):
        steps.append(0 if have == 1 and size != 1 else stride)
    return steps


def _compare(shape: Sequence[int], steps: Sequence[Sequence[int]], inner: int, outer: int) -> int:
    """1 where `inner` has to move outwards past `outer`, -1 where it must not, 0 where no operand tells."""
    for strides in steps:
        a, b = strides[inner], strides[outer]
        if a == 0 or b == 0:
            continue
        if a != b:
            return -1 if a < b else 1
        if shape[inner] > shape[outer]:
            return 1
    return 0
