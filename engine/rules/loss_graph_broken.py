"""The loss that is back-propagated is cut from the network."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.cuts import CUTS, cut_everywhere, differentiable_again, handed, new_leaf
from engine.rules.facts.identity import identities, modules_behind, same
from engine.rules.facts.order import parted
from engine.rules.facts.training import lightning_step
from engine.rules.remedies.detaching import attached
from engine.rules.rule import Draft, rule
from engine.trace import Choice, Container, Place, Step, Trace, Value
from engine.trace.events import (
    AutogradGrad,
    Backward,
    Collective,
    Detach,
    Forward,
    FrameworkTrainer,
    FunctionCall,
    HookRegistered,
    LossCall,
    MethodCall,
    OptimizerStep,
    Return,
    Store,
    ZeroGrad,
)

_ALL_REAL = frozenset({"ones_like", "ones", "full", "full_like"})


@rule("PF405", "loss-graph-broken", "error", "backward() starts from a loss that the network does not reach")
def check(trace: Trace) -> Iterator[Draft]:
    forwards = {
        id(forward.output): forward for forward in trace.of(Forward) if forward.module.has_parameters is not False
    }
    detaches = list(trace.of(Detach))
    for backward in trace.of(Backward):
        ancestors = list(backward.loss.ancestors())
        networks = [forwards[id(value)] for value in ancestors if id(value) in forwards]
        live = [forwards[id(v)] for v in backward.loss.graph_ancestors() if id(v) in forwards]
        cut = cut_everywhere(backward.loss, {id(forward.output) for forward in networks}) if networks else None
        if cut is not None and any(forward.grad is True for forward in networks) and new_leaf(backward.loss) is None:
            yield Draft(
                cut.place,
                f"{CUTS[cut.detached]} leaves the autograd graph, and the loss is computed from nothing else of "
                "the network: backward raises, or gives it no gradient.",
                (Step(networks[-1].place, "the network"), Step(backward.place, "back-propagated here")),
            )
            continue
        if networks and not live:
            leaf = new_leaf(backward.loss)
            if leaf is not None:
                yield Draft(
                    leaf.place,
                    "This makes a new leaf from numbers of the network's output: backward stops here and the network "
                    "gets no gradient.",
                    (Step(networks[-1].place, "the network"), Step(backward.place, "back-propagated here")),
                )
                continue
            rewired = differentiable_again(backward.loss)
            if rewired is not None and not any(True for _ in trace.of(AutogradGrad)):
                yield Draft(
                    rewired.place,
                    f"{CUTS[rewired.detached]} leaves the autograd graph, and `requires_grad_()` on its result makes "
                    "a new leaf: backward stops there, and the network gets no gradient.",
                    (Step(networks[-1].place, "the network"), Step(backward.place, "back-propagated here")),
                )
                continue
            without = [forward for forward in networks if forward.grad is False]
            if without and len(without) == len(networks) and backward.loss.carries_graph is False:
                if _caches_gradients(trace, backward, ancestors):
                    continue
                yield _no_grad(without[0], backward)
        elif not networks:
            yield from _new_leaf(trace, backward, ancestors)
        else:
            yield from _direct_loss_of_no_grad(backward, networks, forwards)
    yield from _generator_cut(trace, detaches, forwards)
    yield from _collectives(trace)
    yield from _gathered(trace)
    yield from _returned_without_graph(trace)
    yield from _never_backward(trace)
    yield from _only_detached(trace, detaches)
    yield from _stepped_on_nothing(trace, detaches)


def _caches_gradients(trace: Trace, backward: Backward, ancestors: list[Value]) -> bool:
    """Whether this backward ends on purpose at leaves that were made of the network's outputs: their gradients are
    kept, and a hook plays the network again with gradients (gradient caching)."""
    leaves = [v for v in ancestors if v is not backward.loss and v.requires_grad and v.detached in ("detach", "data")]
    return any("grad" in leaf.uses for leaf in leaves) or (
        bool(leaves) and any(hook.root is backward.root for hook in trace.of(HookRegistered))
    )


def _returned_without_graph(trace: Trace) -> Iterator[Draft]:
    """Lightning back-propagates what `training_step` returns, in automatic optimization."""
    for returned in trace.of(Return):
        owner, value = returned.root.owner, returned.value
        if not returned.function.endswith(".training_step") or not lightning_step(returned) or value is None:
            continue
        if owner is None or "automatic_optimization" in owner.attributes or any(True for _ in _own(trace, returned)):
            continue
        loss = value.entries.get("loss") if isinstance(value, Container) else value
        parts = [loss] if loss is not None else list(value.elements())
        if parts and all(option.detached in _LEAVES for part in parts for option in part.options()):
            yield Draft(
                returned.place,
                "Lightning back-propagates what this step returns, and it is returned without its graph.",
                (Step(parts[0].place, "the graph is left here"),),
            )


_LEAVES = frozenset({"detach", "item", "data", "float"})


def _own(trace: Trace, returned: Return) -> Iterator[Backward]:
    return (b for b in trace.family(returned, Backward) if b.function == returned.function)


def _never_backward(trace: Trace) -> Iterator[Draft]:
    """An optimizer that is cleared and stepped in each iteration, with a pass of its model, and no backward."""
    if any(True for _ in trace.of(Backward, AutogradGrad, HookRegistered, FrameworkTrainer)):
        return
    for step in trace.of(OptimizerStep):
        loop = step.loop
        if loop is None or step.closure is not None or step.via != "direct" or step.optimizer.origin.op != "construct":
            continue
        zeros = [z for z in trace.within(loop, ZeroGrad) if same(z.target, step.optimizer) and z.loop is loop]
        forwards = [
            f
            for f in trace.within(loop, Forward)
            if f.grad is True and f.index < step.index and f.loop is loop and f.output.carries_graph is not False
        ]
        if not zeros or not forwards or _handed_to_unknown(trace, step):
            continue
        held = modules_behind(step.optimizer)
        trained = next((f for f in forwards if not identities(f.module).isdisjoint(held)), None)
        if trained is not None:
            yield Draft(
                step.place,
                "No backward was found in this loop: the optimizer steps on gradients that nothing computes.",
                (Step(trained.place, "the forward pass"), Step(loop.place, "the loop")),
            )
            return


def _handed_to_unknown(trace: Trace, step: OptimizerStep) -> bool:
    """Whether something that was not followed gets the optimizer, or what the loop computed."""
    loop = step.loop
    assert loop is not None
    outputs = {id(f.output) for f in trace.within(loop, Forward)}
    for event in trace.within(loop, FunctionCall, MethodCall):
        if isinstance(event, FunctionCall) and event.name.startswith(("torch.", "math.", "numpy.")):
            continue
        values = [*event.arguments, *event.keywords.values()]  # type: ignore[attr-defined]
        if isinstance(event, MethodCall):
            values.append(event.receiver)
        for value in values:
            parts = list(value.ancestors(limit=60))
            if any(id(part) in outputs or part is step.optimizer for part in parts):
                return True
    return False


def _only_detached(trace: Trace, detaches: list[Detach]) -> Iterator[Draft]:
    """A network in training mode whose output two optimizers' losses only ever see detached."""
    for forward in trace.of(Forward):
        loop = next((loop for loop in forward.loops if loop.innermost_training), None)
        output = forward.output
        if loop is None or forward.grad is not True or forward.mode != "train" or forward.mode_set_at is None:
            continue
        if output.feeds_backward or not output.feeds_cut_loss or output.carries_graph is not True:
            continue
        if forward.module.requires_grad is False or any(value.carries_graph for value in forward.inputs):
            continue
        if any(other.output.feeds_backward and same(other.module, forward.module) for other in trace.of(Forward)):
            continue
        backwards = [b for b in trace.within(loop, Backward) if any(p is output for p in b.loss.ancestors())]
        steps = {id(step.optimizer) for step in trace.within(loop, OptimizerStep)}
        cuts = [d for d in detaches if d.value is output and loop in d.loops]
        if len({b.place for b in backwards}) < 2 or len(steps) < 2 or len({d.place for d in cuts}) < 2:
            continue
        yield Draft(
            cuts[-1].place,
            "Every loss of this step sees these outputs detached: the network that makes them is in training mode and "
            "gets no gradient.",
            (Step(forward.place, "computed here"), Step(backwards[-1].place, "back-propagated here")),
        )
        return


def _stepped_on_nothing(trace: Trace, detaches: list[Detach]) -> Iterator[Draft]:
    """An optimizer whose network every loss of its function sees detached."""
    reported: set[Place] = set()
    for step in trace.of(OptimizerStep):
        held = modules_behind(step.optimizer)
        backwards = [b for b in trace.of(Backward) if b.root is step.root]
        before = [b for b in backwards if b.index < step.index and b.function == step.function]
        if not held or not before or step.closure is not None or step.via != "direct" or step.place in reported:
            continue
        own = {id(f.output) for f in trace.of(Forward) if not identities(f.module).isdisjoint(held)}
        reached = (part for backward in backwards for part in backward.loss.graph_ancestors())
        if any(id(part) in own or part.role == "parameter" or handed(part, held) for part in reached):
            continue
        seen = {id(part) for part in before[-1].loss.ancestors()}
        for cut in detaches:
            made_from = (part for part in cut.value.ancestors(limit=20))
            if id(cut.output) in seen and cut.function == step.function and any(id(p) in own for p in made_from):
                reported.add(step.place)
                yield Draft(
                    before[-1].loss.place,
                    "The optimizer that steps here trains a network that this loss sees detached only: there is no "
                    "gradient to step on.",
                    (Step(cut.place, "detached here"), Step(step.place, "stepped here")),
                    fix=attached(cut),
                )
                break


def _gathered(trace: Trace) -> Iterator[Draft]:
    """Features of all ranks, gathered without a backward, and a loss that sees this rank's own among them only."""
    for collective in trace.of(Collective):
        if collective.name != "all_gather" or collective.library != "torch" or collective.grad is not True:
            continue
        if len(collective.values) < 2 or (collective.result is not None and not collective.result.detached):
            continue
        parts, own = collective.values[0], collective.values[1]
        if not isinstance(parts, Container) or own.carries_graph is False or own.detached:
            continue
        written = any(store.container is parts and store.index > collective.index for store in trace.of(Store))
        given = own.carries_graph is None and own.op == "parameter-of-function"
        owner = collective.root.owner
        loss_module = owner is not None and owner.role == "module" and collective.root.name.endswith(".forward")
        if written or (given and not loss_module):
            continue
        for loss in trace.after(collective, LossCall):
            made_from = list(loss.input.ancestors()) if loss.input is not None else []
            trained = loss.output.feeds_backward or loss.function.endswith(".forward")
            if not any(part is parts for part in made_from) or not trained:
                continue
            if any(part is own for part in loss.input.ancestors(through_detach=False)) if loss.input else True:
                continue
            yield Draft(
                collective.place,
                "`all_gather` has no backward, and this loss uses the gathered tensors alone: the features that this "
                "rank computed get no gradient from it. Put the rank's own tensor back into the list, or use "
                "`torch.distributed.nn.functional.all_gather`.",
                (
                    Step(loss.place, "used in this loss"),
                    *(Step(call, "called from here") for call in collective.stack[-1:]),
                ),
                severity="warning" if given else None,
            )
            return


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


def _new_leaf(trace: Trace, backward: Backward, ancestors: list[Value]) -> Iterator[Draft]:
    """The loss itself is a new leaf, made of what calls returned, in code that steps an optimizer."""
    leaf = new_leaf(backward.loss)
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
                if len({id(step.optimizer) for step in steps}) == 1 or (
                    steps and _steps_maker(steps[0], detach, forwards)
                ):
                    shared = any(
                        value is detach.output
                        for other in trace.of(LossCall)
                        if other.input is not None and not _all_real(other.target)
                        for value in other.input.ancestors()
                    )
                    yield Draft(
                        # Where the other loss is meant to get it without a graph, this one is given the wrong sample.
                        parted(loss, backward) if shared else detach.place,
                        "The adversarial loss of this step is computed on a detached sample: it gives the generator no "
                        "gradient, only the other terms train it.",
                        (
                            Step(loss.place, 'the loss that asks for "real"'),
                            Step(backward.place, "back-propagated here"),
                        ),
                        fix=None if shared else attached(detach),
                    )
                    break


def _steps_maker(step: OptimizerStep, detach: Detach, forwards: dict[int, Forward]) -> bool:
    """Whether the step is of the network that made the sample which was detached."""
    held = modules_behind(step.optimizer)
    made = (forwards[id(value)] for value in detach.value.ancestors(limit=50) if id(value) in forwards)
    return any(not held.isdisjoint(identities(forward.module)) for forward in made)


def _all_real(target: Value | None) -> bool:
    return target is not None and any(
        value.op in _ALL_REAL and not _filled_with_zero(value) for value in target.ancestors(limit=6)
    )


def _filled_with_zero(value: Value) -> bool:
    filled = value.keyword("fill_value", "1") if value.op in ("full", "full_like") else None
    return filled is not None and filled.is_constant and not filled.constant
