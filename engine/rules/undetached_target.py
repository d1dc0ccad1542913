"""Gradients flow where a training scheme means a constant."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.evaluation import results
from engine.rules.facts.identity import identities, modules_behind, same
from engine.rules.facts.networks import copied_from, generated, judges, part_of
from engine.rules.facts.order import by_iteration
from engine.rules.facts.samples import freed_sample
from engine.rules.facts.targets import bootstrapped, compared, output_of, predicted_views
from engine.rules.facts.text import together
from engine.rules.facts.training import clears
from engine.rules.remedies.detaching import detached_sample, detached_target, graph_freed
from engine.rules.rule import Draft, FixMaker, rule
from engine.trace import Step, Trace, Value
from engine.trace.events import (
    Activation,
    Backward,
    Event,
    Forward,
    InPlaceUpdate,
    LoadStateDict,
    LossCall,
    OptimizerCreated,
    OptimizerStep,
    RequiresGradChange,
    ZeroGrad,
)

_BOOTSTRAP = frozenset({"max", "amax", "min", "amin", "minimum"})


@rule("PF404", "undetached-target", "error", "A target or a fake sample keeps its graph")
def check(trace: Trace) -> Iterator[Draft]:
    forwards = {id(forward.output): forward for forward in trace.of(Forward)}
    yield from _bootstrap_targets(trace, forwards)
    yield from _target_networks(trace)
    yield from _averaged_networks(trace)
    yield from _judged_samples(trace, forwards)
    yield from _own_prediction(trace, forwards)
    yield from _predicted_views(trace, forwards)
    yield from _sharpened(trace)
    yield from _weighted_log_probabilities(trace, forwards)
    done: set[object] = set()
    for backward in trace.of(Backward):
        loop = trace.step_loop(backward)
        key = id(loop) if loop is not None else id(backward.root)
        if key in done:
            continue
        done.add(key)
        events: list[Event] = list(trace.within(loop)) if loop else list(trace.family(backward))
        for iteration in by_iteration(events, loop)[:1]:
            yield from _shared_graph(trace, iteration, forwards)


def _bootstrap_targets(trace: Trace, forwards: dict[int, Forward]) -> Iterator[Draft]:
    for loss in trace.of(LossCall):
        target, given = loss.target, loss.input
        if target is None or given is None or target.carries_graph is not True or given.carries_graph is not True:
            continue
        chain = list(target.graph_ancestors())
        if not any(value.op in _BOOTSTRAP for value in chain) or target.op in _BOOTSTRAP:
            valued, guess = bootstrapped(target, forwards), output_of(given, forwards)
            if valued is not None and guess is not None and not same(valued.module, guess.module):
                yield from _of_other_networks(loss, target, [valued], [guess])
            continue
        theirs = [forwards[id(value)] for value in chain if id(value) in forwards]
        ours = [forwards[id(value)] for value in given.graph_ancestors() if id(value) in forwards]
        bootstrap = next((t for t in theirs if any(t is not o and same(t.module, o.module) for o in ours)), None)
        if bootstrap is None:
            yield from _of_other_networks(loss, target, theirs, ours)
            continue
        yield Draft(
            target.place,
            "This bootstrap target is computed by the network that is being trained, with its graph: the update also "
            "moves the target. Compute it under `torch.no_grad()` or detach it.",
            (
                Step(bootstrap.place, "the same network, gradients recorded"),
                Step(loss.place, "used as the target here"),
            ),
            fix=detached_target(loss) if loss.place.path == target.place.path and not _shared(trace, loss) else None,
        )


def _of_other_networks(loss: LossCall, target: Value, theirs: list[Forward], ours: list[Forward]) -> Iterator[Draft]:
    """`reward + discount * min(...)` of networks that are not the one that learns from it."""
    if target.op not in ("operator", "add") or len(target.parents) != 2 or not theirs or not ours:
        return
    reward, rest = next(
        ((a, b) for a, b in (target.parents, target.parents[::-1]) if a.carries_graph is not True), (None, None)
    )
    if reward is None or rest is None or reward.is_constant or rest.op != "operator*" or rest.carries_graph is not True:
        return
    if any(t.module.origin.op not in ("parameter-of-function", "attribute") for t in theirs):
        return
    yield Draft(
        target.place,
        "This bootstrap target keeps the graph of the networks that computed it: backward goes through them as well, "
        "and leaves gradients in their parameters. Compute it under `torch.no_grad()` or detach it.",
        (Step(theirs[0].place, "computed here, gradients recorded"), Step(loss.place, "used as the target here")),
        severity="note",
    )


def _shared(trace: Trace, loss: LossCall) -> bool:
    """Whether another loss gets the same target: detached in one place only, it would stay as it is in the other."""
    return any(other.target is loss.target and other.place != loss.place for other in trace.of(LossCall))


def _own_prediction(trace: Trace, forwards: dict[int, Forward]) -> Iterator[Draft]:
    """A difference between a network's output, and a reward plus a fraction of its output for the next state."""
    done: set[int] = set()
    for backward in trace.of(Backward):
        for value in backward.loss.graph_ancestors():
            sides = compared(value)
            if len(sides) != 2 or id(value) in done:
                continue
            done.add(id(value))
            for target, guess in (sides, sides[::-1]):
                nxt = bootstrapped(target, forwards)
                now = output_of(guess, forwards)
                if nxt is None or now is None or nxt is now or not same(nxt.module, now.module):
                    continue
                if any(part is now.output for part in nxt.output.ancestors(through_detach=False, limit=200)):
                    continue
                yield Draft(
                    target.place,
                    "This target is computed by the network that is being trained, with its graph: the update also "
                    "moves the target. Compute it under `torch.no_grad()` or detach it.",
                    (
                        Step(nxt.place, "the same network, gradients recorded"),
                        Step(value.place, "compared with its output here"),
                    ),
                )
                return


def _weighted_log_probabilities(trace: Trace, forwards: dict[int, Forward]) -> Iterator[Draft]:
    """A policy gradient whose weights carry the graph of the network that estimates them."""
    done: set[int] = set()
    for backward in trace.of(Backward):
        for value in backward.loss.graph_ancestors():
            if value.op != "operator*" or len(value.parents) != 2 or id(value) in done:
                continue
            done.add(id(value))
            for log, weight in (value.parents, value.parents[::-1]):
                sampled = any(part.op == "log_prob" for part in log.ancestors(limit=12))
                if not sampled or weight.carries_graph is not True:
                    continue
                chain = list(weight.graph_ancestors())
                if any(part.op == "log_prob" for part in chain):
                    continue
                estimated = next((forwards[id(part)] for part in chain if id(part) in forwards), None)
                if estimated is not None:
                    yield Draft(
                        value.place,
                        "The log-probabilities are weighted by an estimate that carries its graph: the policy's loss "
                        "also trains the network that made it. Detach the weights.",
                        (Step(estimated.place, "estimated here, gradients recorded"),),
                    )
                    return


def _predicted_views(trace: Trace, forwards: dict[int, Forward]) -> Iterator[Draft]:
    """Two views that predict each other: without a stop-gradient, a constant output is the best answer.

    Chen and He, "Exploring Simple Siamese Representation Learning", 2021, section 4.1.
    """
    pairs = list(predicted_views(trace, forwards))
    for view in pairs:
        back = next((p for p in pairs if p.source is view.target and p.target is view.source), None)
        if back is None or not same(view.predicted.module, back.predicted.module):
            continue
        yield Draft(
            view.place,
            "Each view's prediction is held against what the same encoder makes of the other view, with its graph: the "
            "two can agree by becoming constant. Detach what is predicted.",
            (
                Step(view.target.place, "the target, gradients recorded"),
                Step(view.predicted.place, "the prediction of it"),
            ),
        )
        return


def _sharpened(trace: Trace) -> Iterator[Draft]:
    """Soft labels that a network makes for itself, and is differentiated by."""
    probabilities = {id(a.output): a for a in trace.of(Activation) if a.kind == "softmax"}
    logs = {id(a.output): a for a in trace.of(Activation) if a.kind == "log_softmax"}
    for backward in trace.of(Backward) if probabilities and logs else ():
        for value in backward.loss.graph_ancestors():
            if value.op != "operator*" or len(value.parents) != 2:
                continue
            for soft, log in (value.parents, value.parents[::-1]):
                label, guess = probabilities.get(id(soft)), logs.get(id(log))
                if label is None or guess is None or soft.carries_graph is not True or label.input is guess.input:
                    continue
                sharpened = label.input is not None and label.input.op == "operator/"
                if sharpened and guess.input is not None and guess.input.op != "operator/":
                    yield Draft(
                        soft.place,
                        "These sharpened predictions are used as labels with their graph: the loss can also be lowered "
                        "by changing the labels. Detach them, or compute them under `torch.no_grad()`.",
                        (Step(log.place, "the predictions that are held against them"),),
                        severity="warning",
                    )
                    return


def _target_networks(trace: Trace) -> Iterator[Draft]:
    """A copy of a trained network that no optimizer steps, and a loss that is differentiated by its weights too."""
    optimizers = [created.optimizer for created in trace.of(OptimizerCreated)]
    held = [modules_behind(optimizer) for optimizer in optimizers]
    if not held or not all(held):
        return
    trained = frozenset[int]().union(*held)
    copies = {
        id(load.target.origin): load
        for load in trace.of(LoadStateDict)
        if load.state is not None
        and load.state.op == "state_dict"
        and not identities(*load.state.parents).isdisjoint(trained)
    }
    targets = {id(part) for loss in trace.of(LossCall) if loss.target is not None for part in loss.target.ancestors()}
    reported: set[int] = set()
    for forward in trace.of(Forward):
        target = forward.module.origin
        load = copies.get(id(target))
        copied = copied_from(forward.module, trained)
        evaluated = forward.mode == "eval" and forward.mode_set_at is not None
        # What is handed in may have been frozen before.
        unseen = evaluated and target.op != "construct" and load is None and not copied
        if load is None and not copied and not evaluated:
            continue
        if id(target) in trained or id(target) in reported or forward.grad is not True or part_of(target, trained):
            continue
        given = any(value.carries_graph for value in forward.inputs)
        as_target = any(id(part) in targets for part in results(forward))
        if target.requires_grad is False or (given and not (as_target and copied)):
            continue
        if not any(part.feeds_backward for part in results(forward)):
            continue
        since = load.place if load is not None else forward.mode_set_at if evaluated and not copied else target.place
        told = "its weights are copied from the trained network" if load or copied else "put into evaluation mode here"
        reported.add(id(target))
        yield Draft(
            forward.place,
            "This network computes a target with gradients recorded, and no optimizer steps it: each backward also "
            "computes gradients for its weights, which are kept and never used. Compute it under `torch.no_grad()`.",
            (Step(since or target.place, told),),
            severity="note" if unseen else "warning",
        )


def _averaged_networks(trace: Trace) -> Iterator[Draft]:
    """A network whose weights follow another one's by hand, and a loss that is differentiated by them too."""
    reported: set[int] = set()
    for update in trace.of(InPlaceUpdate):
        followed = [part for operand in update.operands for part in operand.ancestors(limit=20) if part.of]
        if update.how not in ("mul_", "add_", "lerp_", "copy_", "data") or not followed or not update.target.of:
            continue
        average, leading = identities(*update.target.of), identities(*(m for part in followed for m in part.of))
        if len(average) != 1 or not average.isdisjoint(leading):
            continue
        learns = any(
            f.output.feeds_backward and not identities(f.module).isdisjoint(leading) for f in trace.of(Forward)
        )
        for forward in trace.of(Forward) if learns else ():
            module = forward.module.origin
            if id(module) not in average or id(module) in reported or forward.grad is not True:
                continue
            if not forward.output.feeds_backward or module.requires_grad is False:
                continue
            if any(value.carries_graph for value in forward.inputs) or _in_an_optimizer(trace, module):
                continue
            reported.add(id(module))
            yield Draft(
                forward.place,
                "The weights of this network are an average that is updated by hand, and it computes a target with "
                "gradients recorded: each backward also computes gradients for them. Compute it under "
                "`torch.no_grad()` or detach it.",
                (Step(update.place, "its weights follow another network's"),),
                severity="note" if module.op in ("parameter-of-function", "attribute") else "warning",
            )


def _in_an_optimizer(trace: Trace, module: Value) -> bool:
    return any(id(module) in modules_behind(created.optimizer) for created in trace.of(OptimizerCreated))


def _judged_samples(trace: Trace, forwards: dict[int, Forward]) -> Iterator[Draft]:
    """One network judges real data and another's samples with their graph, and the samples alone in another step."""
    backwards = [backward for backward in trace.of(Backward) if not backward.loops or trace.step_loop(backward)]
    steps: list[tuple[Backward, OptimizerStep, list[tuple[Forward, Forward]], list[Forward]]] = []
    for backward in trace.first_per_place(backwards):
        step = next((s for s in trace.after(backward, OptimizerStep) if s.function == backward.function), None)
        live = [forwards[id(value)] for value in backward.loss.graph_ancestors() if id(value) in forwards]
        live = [forward for forward in live if forward.module.has_parameters is not False]
        if step is None or any(f.module.requires_grad is False for f in live):
            continue
        pairs = [(made, judge) for judge in live for made in live if judges(judge, made)]
        alone = [f for f in live if not any(judges(f, made) or judges(other, f) for made in live for other in live)]
        steps.append((backward, step, pairs, alone))
    for backward, step, pairs, alone in steps:
        judged = next(((m, j) for m, j in pairs if any(same(f.module, j.module) for f in alone)), None)
        if judged is None or len({id(m.module.origin) for m, _ in pairs}) != 1:
            continue
        for other, theirs, others, rest in steps:
            if other is backward or same(theirs.optimizer, step.optimizer) or not others:
                continue
            if any(same(f.module, judged[1].module) for f in rest):
                continue
            if not all(same(m.module, judged[0].module) and same(j.module, judged[1].module) for m, j in others):
                continue
            if any(made is judged[0] for made, _ in others) and backward.index < other.index:
                # Two losses of one sample, the generator's after this one.
                continue
            yield Draft(
                judged[1].place,
                "This step judges real data and generated samples, and its loss goes back through the network that "
                "made them as well, which the other optimizer trains. Detach the samples here.",
                (
                    Step(judged[0].place, "generated here, with its graph"),
                    Step(backward.place, "back-propagated through both"),
                    Step(other.place, "the generator's own step"),
                ),
                severity="warning",
                fix=_cut(trace, backward, judged[1], judged[0]),
            )
            return


def _cut(trace: Trace, first: Backward, judged: Forward, shared: Forward) -> FixMaker | None:
    """The sample without its graph, and with it no reason to keep the graph of this loss."""
    if judged.place.path != first.place.path:
        return None
    detached = detached_sample(judged, shared.output)
    if first.retain_graph is not True:
        return detached
    return together("Detach the generated sample for this loss.", detached, graph_freed(trace, first))


def _shared_graph(trace: Trace, events: list[Event], forwards: dict[int, Forward]) -> Iterator[Draft]:
    """Two backwards over one generator's output: the first one's gradients stay for the second optimizer."""
    backwards = [event for event in events if isinstance(event, Backward)]
    steps = [event for event in events if isinstance(event, OptimizerStep)]
    for first in backwards:
        own = next((step for step in steps if step.index > first.index), None)
        if own is None:
            continue
        second = next((b for b in backwards if b.index > own.index), None)
        other = next((step for step in steps if second is not None and step.index > second.index), None)
        if second is None or other is None or same(own.optimizer, other.optimizer):
            continue
        cleared = any(
            isinstance(e, ZeroGrad) and first.index < e.index < other.index and clears(e, other.optimizer)
            for e in events
        )
        if cleared:
            yield from _walked_again(first, second, forwards)
            yield from _wasted(trace, first, own, other, forwards)
            continue
        found = generated(first.loss, second.loss, forwards)
        if found is None or first.excludes(second):
            continue
        shared, judged = found
        yield Draft(
            first.place,
            "This backward also reaches the network that the other optimizer updates: its gradients are still "
            "there when "
            "that optimizer steps. Detach the generated sample for this loss.",
            (
                Step(shared.place, "generated here, with its graph"),
                Step(other.place, "steps on both losses' gradients"),
            ),
            fix=_cut(trace, first, judged, shared),
        )


def _walked_again(first: Backward, second: Backward, forwards: dict[int, Forward]) -> Iterator[Draft]:
    """The generator's own step has freed the graph of the sample, and the critic's loss walks it again."""
    found = freed_sample(first, second, forwards)
    if found is not None:
        yield Draft(
            found[1].place,
            "This loss goes back through the network that made this sample as well, whose graph the backward before "
            "has freed: it raises. Detach the sample here.",
            (Step(found[0].place, "generated here, with its graph"), Step(first.place, "walks that graph first")),
        )


def _wasted(
    trace: Trace, first: Backward, own: OptimizerStep, other: OptimizerStep, forwards: dict[int, Forward]
) -> Iterator[Draft]:
    """The loss of one network is differentiated by another's weights too, whose gradients are then cleared."""
    stepped, elsewhere = modules_behind(own.optimizer), modules_behind(other.optimizer)
    if not stepped or not elsewhere or first.excludes(own):
        return
    chain = {id(value) for value in first.loss.graph_ancestors()}
    for key in [key for key in chain if key in forwards]:
        made = forwards[key]
        known = identities(made.module)
        if known.isdisjoint(elsewhere) or not known.isdisjoint(stepped) or made.module.requires_grad is False:
            continue
        judged = next(
            (
                f
                for f in forwards.values()
                if id(f.output) in chain
                and not identities(f.module).isdisjoint(stepped)
                and any(part is made.output for value in f.inputs for part in value.ancestors(limit=30))
            ),
            None,
        )
        if judged is None or any(
            same(change.target, made.module) for change in trace.family(first, RequiresGradChange)
        ):
            continue
        yield Draft(
            judged.place,
            "This loss steps one network and is differentiated by the weights of the one that made this sample as "
            "well; those gradients are cleared unused. Detach the sample here.",
            (
                Step(made.place, "generated here, with its graph"),
                Step(first.place, "back-propagated through both"),
                Step(own.place, "only one of them is stepped"),
            ),
            severity="warning",
            fix=_cut(trace, first, judged, made) if judged.place.path == first.place.path else None,
        )
        return
