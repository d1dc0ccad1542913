"""The loss that is back-propagated is cut from the network."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.remedies.detaching import attached
from engine.rules.rule import Draft, rule
from engine.trace import Choice, Step, Trace, Value
from engine.trace.events import Backward, Collective, Detach, Forward, LossCall, OptimizerStep, Return

_REWRAPS = frozenset({"tensor", "variable", "Variable", "as_tensor", "from_numpy", "FloatTensor", "Tensor"})
_ALL_REAL = frozenset({"ones_like", "ones", "full", "full_like"})


@rule("PF405", "loss-graph-broken", "error", "backward() starts from a loss that the network does not reach")
def check(trace: Trace) -> Iterator[Draft]:
    forwards = {id(forward.output): forward for forward in trace.of(Forward)}
    detaches = list(trace.of(Detach))
    for backward in trace.of(Backward):
        ancestors = list(backward.loss.ancestors())
        networks = [forwards[id(value)] for value in ancestors if id(value) in forwards]
        live = [forwards[id(v)] for v in backward.loss.graph_ancestors() if id(v) in forwards]
        if networks and not live:
            leaf = _leaf(backward.loss)
            if leaf is not None:
                yield Draft(
                    leaf.place,
                    "This makes a new leaf from numbers of the network's output: backward stops here and the network "
                    "gets no gradient.",
                    (Step(networks[-1].place, "the network"), Step(backward.place, "back-propagated here")),
                )
                continue
            without = [forward for forward in networks if forward.grad is False]
            if without and len(without) == len(networks) and backward.loss.carries_graph is False:
                yield _no_grad(without[0], backward)
        elif not networks:
            yield from _new_leaf(trace, backward, ancestors)
        else:
            yield from _direct_loss_of_no_grad(backward, networks, forwards)
    yield from _generator_cut(trace, detaches, forwards)
    yield from _collectives(trace)


def _collectives(trace: Trace) -> Iterator[Draft]:
    """A collective without a backward of its own, on what a module's forward returns as the result of its inputs."""
    for collective in trace.of(Collective):
        if collective.library != "torch" or collective.grad is not True or collective.name not in _REDUCES:
            continue
        reduced = collective.values[0] if collective.values else None
        if collective.result is None or not collective.result.detached:
            # `torch.distributed.nn.functional` has one.
            continue
        if reduced is None or reduced.role not in ("tensor", None) or reduced.detached:
            continue
        inputs = [part for part in reduced.ancestors(through_detach=False) if part.op == "parameter-of-function"]
        owner = collective.root.owner
        in_forward = owner is not None and owner.role == "module" and collective.function.endswith(".forward")
        if not inputs or not in_forward or isinstance(reduced, Choice) or reduced.op == "parameter-of-function":
            continue
        returned = next(
            (
                event
                for event in trace.after(collective, Return)
                if event.function == collective.function
                and event.value is not None
                and any(part is reduced for part in event.value.ancestors(through_detach=False))
            ),
            None,
        )
        if returned is None:
            continue
        yield Draft(
            collective.place,
            "This collective has no backward: other ranks' part of the result gives no gradient, and the gradient of "
            "this rank's part is not what a single process computes. Use `torch.distributed.nn.functional`.",
            (Step(inputs[0].place, "computed from this input"), Step(returned.place, "returned here")),
            severity="warning",
        )


_REDUCES = frozenset({"all_reduce", "reduce"})


def _leaf(loss: Value) -> Value | None:
    """A tensor that was made from numbers, with `requires_grad=True`, right before the backward."""
    for value in loss.ancestors(through_detach=False):
        if value.op in ("call", "method-call", "forward-result"):
            return None
        if value.requires_grad and value.op in _REWRAPS and value.parents:
            return value
    return None


def _new_leaf(trace: Trace, backward: Backward, ancestors: list[Value]) -> Iterator[Draft]:
    """The loss itself is a new leaf, made of what calls returned, in code that steps an optimizer."""
    leaf = _leaf(backward.loss)
    if leaf is None or not any(step.root is backward.root for step in trace.of(OptimizerStep)):
        return
    called = next((v for v in ancestors if v.op in ("call", "method-call") and v is not leaf), None)
    if called is not None:
        yield Draft(
            leaf.place,
            "This makes a new leaf from numbers: backward stops here, and what computed them gets no gradient.",
            (Step(called.place, "computed here"), Step(backward.place, "back-propagated here")),
        )


def _no_grad(forward: Forward, backward: Backward) -> Draft:
    context = forward.context("no_grad") or forward.context("inference_mode")
    evidence = [Step(context.place, "gradients are off from here")] if context else []
    return Draft(
        forward.place,
        "The forward pass of this loss runs without gradients: the backward that follows raises or trains nothing.",
        (*evidence, Step(backward.place, "back-propagated here")),
    )


def _direct_loss_of_no_grad(
    backward: Backward, networks: list[Forward], forwards: dict[int, Forward]
) -> Iterator[Draft]:
    """The loss is one call over outputs that all lack a graph: the call is the criterion, the outputs the network."""
    criterion = forwards.get(id(backward.loss))
    if criterion is None or len(criterion.inputs) < 2:
        return
    inside = [forward for forward in networks if forward is not criterion]
    if (
        inside
        and all(forward.grad is False for forward in inside)
        and not criterion.module.origin.uses & {"parameters"}
    ):
        made = [forwards.get(id(option)) for option in criterion.inputs[0].options()]
        if all(forward is not None and forward.grad is False for forward in made):
            yield _no_grad(inside[0], backward)


def _generator_cut(trace: Trace, detaches: list[Detach], forwards: dict[int, Forward]) -> Iterator[Draft]:
    """An adversarial loss with the label "real" on a detached fake, in the step that trains the generator."""
    for detach in trace.first_per_place(detaches):
        if detach.how != "detach" or not any(id(v) in forwards for v in detach.value.ancestors(limit=50)):
            continue
        for loss in trace.of(LossCall):
            if loss.input is None or loss.root is not detach.root or not _all_real(loss.target):
                continue
            if not any(value is detach.output for value in loss.input.ancestors()):
                continue
            for backward in trace.of(Backward):
                parts = list(backward.loss.ancestors())
                if loss.output not in parts or not any(v is detach.value for v in backward.loss.graph_ancestors()):
                    continue
                steps = [s for s in trace.of(OptimizerStep) if s.root is backward.root and s.index > backward.index]
                if len({id(step.optimizer) for step in steps}) == 1:
                    yield Draft(
                        detach.place,
                        "The adversarial loss of this step is computed on a detached sample: it gives the generator no "
                        "gradient, only the other terms train it.",
                        (
                            Step(loss.place, 'the loss that asks for "real"'),
                            Step(backward.place, "back-propagated here"),
                        ),
                        fix=attached(detach),
                    )
                    break


def _all_real(target: Value | None) -> bool:
    return target is not None and any(value.op in _ALL_REAL for value in target.ancestors(limit=6))
