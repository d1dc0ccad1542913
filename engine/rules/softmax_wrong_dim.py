"""A softmax normalises over the wrong dimension."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.contraction import contracted_differently, over_rows, products, summed_otherwise
from engine.rules.remedies.activations import over_dimension
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace, Value
from engine.trace.events import Activation, Divided, LossCall, Return

_NORMALISES = frozenset({"softmax", "log_softmax"})


@rule("PF408", "softmax-wrong-dim", "error", "A softmax runs over another dimension than the one that is summed")
def check(trace: Trace) -> Iterator[Draft]:
    yield from _of_samples(trace)
    yield from _of_a_layer(trace)
    yield from _of_pixels(trace)
    calls = products(trace)
    for activation in trace.of(Activation):
        if activation.kind not in _NORMALISES or activation.input is None:
            continue
        otherwise = summed_otherwise(trace, activation)
        if otherwise is not None:
            place, dim = otherwise
            yield Draft(
                activation.place,
                f"This softmax runs over dimension {activation.dim}, while its weights are used for a sum over "
                f"dimension {dim}: the weights of one sum do not add up to one.",
                (Step(place, "summed over the other dimension here"),),
                fix=over_dimension(trace, activation, dim),
            )
            continue
        contradiction = contracted_differently(calls, activation)
        rows = None if contradiction is not None else over_rows(calls, activation)
        if rows is not None:
            yield Draft(
                activation.place,
                f"This softmax runs over dimension {activation.dim} of scores, and the product below sums over their "
                "last one: with a batch dimension, the weights of one query do not sum to one.",
                (Step(rows, "used as weights here"),),
                severity="note",
                fix=over_dimension(trace, activation, -1),
            )
        if contradiction is not None:
            place, why, dim = contradiction
            yield Draft(
                activation.place,
                f"This softmax runs over dimension {activation.dim}, {why}: the weights of one query do not sum "
                "to one.",
                (Step(place, "used as weights here"),),
                fix=over_dimension(trace, activation, dim),
            )


def _of_pixels(trace: Trace) -> Iterator[Draft]:
    """Scores of a 2-d convolution, (samples, classes, rows, columns), that are normalised along an image's axis."""
    for activation in trace.first_per_place(trace.of(Activation)):
        if activation.kind not in _NORMALISES or activation.dim not in (-1, -2, 2, 3) or activation.input is None:
            continue
        made = activation.input
        while made.op == "forward-result" and made.parents:
            made = made.parents[0]
        layer = made.callee.made_by if made.op == "call" and made.callee is not None else ""
        if layer not in _IMAGE_LAYERS or not activation.output.feeds_backward:
            continue
        classes = next((product for product in trace.of(Divided) if _weighs_classes(product, activation.output)), None)
        if classes is not None:
            yield Draft(
                activation.place,
                "These are the scores of a convolution, with the classes in dimension 1, and the softmax runs along an "
                "axis of the image: the classes of one pixel do not sum to one.",
                (Step(made.place, "the convolution"), Step(classes.place, "held against classes here")),
                fix=over_dimension(trace, activation, 1),
            )


_IMAGE_LAYERS = frozenset({"torch.nn.Conv2d", "torch.nn.ConvTranspose2d"})


def _weighs_classes(product: Divided, weights: Value) -> bool:
    """Whether probabilities are multiplied by classes as zeros and ones."""
    sides = [value for value in (product.value, product.by) if value is not None]
    given = [side for side in sides if any(part is weights for part in side.ancestors(limit=20))]
    others = [side for side in sides if side not in given]
    return bool(given) and any(part.op == "one_hot" for side in others for part in side.ancestors(limit=20))


def _of_a_layer(trace: Trace) -> Iterator[Draft]:
    """Log-probabilities of a linear layer's outputs, over the first dimension, as the result of a module."""
    for activation in trace.first_per_place(trace.of(Activation)):
        made = activation.input
        if activation.kind != "log_softmax" or activation.dim != 0 or made is None or made.callee is None:
            continue
        if made.callee.made_by != "torch.nn.Linear" or not activation.function.endswith(".forward"):
            continue
        returned = (event.value for event in trace.after(activation, Return) if event.function == activation.function)
        if any(value is activation.output for value in returned):
            yield Draft(
                activation.place,
                "This log_softmax runs over the first dimension of a linear layer's outputs: for a batch, over the "
                "samples. The classes are the last dimension.",
                (Step(made.place, "the layer's outputs"),),
                severity="note",
                fix=over_dimension(trace, activation, -1),
            )


def _of_samples(trace: Trace) -> Iterator[Draft]:
    """`nll_loss` takes the classes from the second dimension of several samples."""
    for loss in trace.of(LossCall):
        if loss.kind != "nll_loss" or loss.input is None or loss.alternative:
            continue
        value, several = loss.input, loss.input.shape is not None and len(loss.input.shape) > 1
        for _ in range(8):
            # What remains of one sample after an index that is no number could not be a class.
            several = several or (value.op == "getitem" and value.name.endswith("[...]"))
            if value.op == "log_softmax" or value.op not in ("getitem", "forward-result") or not value.parents:
                break
            value = value.parents[0]
        if several and value.op == "log_softmax" and value.dim == 0:
            yield Draft(
                value.place,
                "This log_softmax runs over dimension 0, the samples, and the loss takes the classes from dimension 1: "
                "the classes of one sample do not sum to one.",
                (Step(loss.place, "the loss over several samples"),),
            )
