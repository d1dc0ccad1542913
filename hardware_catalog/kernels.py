"""Memory that CUDA kernels take for the time of one operator, beside their outputs. All figures are bytes.

Read from the launchers of aten/src/ATen/native (transformers/cuda/attention_backward.cu, cuda/Embedding.cu): they come
from the caching allocator, so that they count as allocated.
"""

from __future__ import annotations


def _up(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple


def flash_backward(
    batch: int, heads: int, queries: int, width: int, *, key_heads: int, keys: int, itemsize: int
) -> tuple[int, ...]:
    """FlashAttention's backward: the float32 accumulator of dQ and the row sums; with shared heads dK and dV expanded.

    The accumulator is padded to 128 rows and 32 columns.
    """
    rows, columns = _up(queries, 128), _up(width, 32)
    sizes = (batch * heads * rows * columns * 4, batch * heads * rows * 4)
    return sizes if key_heads == heads else (*sizes, *[batch * keys * heads * width * itemsize] * 2)


def efficient_backward(batch: int, heads: int, queries: int, width: int, *, itemsize: int) -> tuple[int, ...]:
    """The memory-efficient kernel's backward: row sums, and in half precision the float32 accumulator of dQ."""
    sizes = (batch * heads * _up(queries, 32) * 4,)
    return sizes if itemsize != 2 else (*sizes, batch * heads * _up(queries, 64) * width * 4)


def embedding_backward(indices: int) -> tuple[int, ...]:
    """An embedding's backward sorts the int64 indices: keys and values, before and after."""
    return (indices * 8,) * 4
