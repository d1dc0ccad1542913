"""Strides of element-wise results: the expectations are those of torch.empty_strided inputs under PyTorch 2.13."""

import pytest

from engine.memory.tensors.layout import dense_strides, elementwise_strides, is_dense

SHAPE = (2, 5, 3, 4)


@pytest.mark.parametrize(
    ("operands", "expected"),
    [
        # (2, 5, 3) turned from (2, 3, 5), with a last dimension of its own, times rows of four: the first operand
        # tells the order of the three, the last dimension stays innermost.
        ((((2, 5, 3, 1), (15, 1, 5, 1)), ((2, 5, 1, 4), None)), (60, 4, 20, 1)),
        # The same with the row-major operand first: it says nothing of the second and third dimension.
        ((((2, 5, 1, 4), None), ((2, 5, 3, 1), (15, 1, 5, 1))), (60, 4, 20, 1)),
        # A row-major operand of the full shape decides alone where it comes first.
        ((((2, 5, 3, 4), None), ((2, 5, 3, 4), (60, 1, 5, 15))), None),
        # Channels last is kept.
        ((((2, 5, 3, 4), (60, 1, 20, 5)), ((5, 1, 1), None)), (60, 1, 20, 5)),
        # Expanded dimensions tell nothing.
        ((((2, 5, 3, 4), (0, 0, 0, 1)),), None),
    ],
)
def test_the_first_operand_that_tells_dimensions_apart_orders_them(
    operands: tuple[tuple[tuple[int, ...], tuple[int, ...] | None], ...], expected: tuple[int, ...] | None
) -> None:
    assert elementwise_strides(SHAPE, operands) == expected


def test_a_dense_copy_keeps_the_order_of_dimensions() -> None:
    assert dense_strides((4, 6), (1, 4)) == (1, 4)
    assert dense_strides((4, 6), (2, 8)) == (1, 4)
    assert dense_strides((4, 6), (12, 2)) is None
    assert is_dense((4, 6), (1, 4))
    assert is_dense((4, 1, 6), (1, 999, 4))
    assert not is_dense((4, 6), (2, 8))
