"""An evaluation loop records an autograd graph that nothing uses."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.evaluation import (
    call_in_loop,
    evaluated_once,
    evaluation_loop,
    forwards_by_place,
    frozen,
    inputs_want_gradients,
    only_read,
    taken_by_numpy,
    trains_nothing,
)
from engine.rules.facts.retention import kept_graphs
from engine.rules.remedies.modes import without_gradients
from engine.rules.rule import Draft, rule
from engine.trace import External, FunctionValue, Place, Step, Trace
from engine.trace.events import Forward, GradModeChange, Referenced

_SWITCHES = frozenset({"torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad"})


@rule("PF301", "eval-without-no-grad", "warning", "An evaluation loop runs the model with gradients recorded")
def check(trace: Trace) -> Iterator[Draft]:
    for change in trace.of(GradModeChange):
        if change.uncalled:
            yield Draft(
                change.place,
                f"`{change.how}` is named here and not called: a class is no context manager, so this raises. Write "
                f"`{change.how}()`.",
                severity="error",
            )
    for named in trace.of(Referenced):
        qualified = f"{getattr(named.receiver, 'qualified', '')}.{named.attribute}"
        if qualified in _SWITCHES:
            yield Draft(
                named.place,
                f"`{qualified}` is named here and not used: gradients are recorded as before. Write "
                f"`with {qualified}():` around what needs none.",
            )
    reported = set()
    calls = {forward.place for forward in trace.of(Forward)}
    retaining = {loop.place for store in kept_graphs(trace) for loop in store.loops}
    for forwards in forwards_by_place(trace):
        if not all(trains_nothing(forward) for forward in forwards):
            continue
        once = [draft for forward in forwards for draft in _once(trace, forward, calls)][:1]
        yield from once or [draft for forward in forwards for draft in _rollouts(trace, forward, calls)][-1:]
        for forward in forwards:
            loop = evaluation_loop(forward)
            if loop is None or loop.place in retaining or _may_switch_off(trace, forward):
                continue
            if not _records(forward) or calls & set(forward.stack):
                continue
            if (id(loop), id(forward.module)) in reported or loop.place in reported:
                continue
            reported |= {(id(loop), id(forward.module)), loop.place}
            evidence = [Step(loop.place, "the loop around it: no backward in it")]
            if forward.mode_set_at is not None:
                evidence.insert(0, Step(forward.mode_set_at, "put into evaluation mode here; that leaves autograd on"))
            evidence += [Step(place, "called from here, with gradients on") for place in forward.stack[-1:]]
            evidence += [
                Step(change.place, "called without `with`: its effect ends here")
                for change in trace.family(forward, GradModeChange)
                if change.discarded
            ][:1]
            yield Draft(
                loop.place.start,
                "This evaluation pass records an autograd graph that no backward uses: activations of each batch are "
                "held for it. Run the loop under `torch.no_grad()` or `torch.inference_mode()`.",
                tuple(evidence),
                fix=without_gradients(trace, call_in_loop(forward, loop), loop),
            )


def _once(trace: Trace, forward: Forward, calls: set[Place]) -> Iterator[Draft]:
    """A test that calls the model once: outside of the training loops the graph lives for a moment only."""
    trained = evaluated_once(trace, forward) if _records(forward) and not calls & set(forward.stack) else None
    if trained is None:
        return
    evidence = [Step(forward.mode_set_at, "put into evaluation mode here")] if forward.mode_set_at else []
    yield Draft(
        forward.place,
        "This evaluation pass records an autograd graph that no backward uses: its activations are held for it. Run it "
        "under `torch.no_grad()` or `torch.inference_mode()`.",
        (*evidence, Step(trained.place, "the same model is trained here")),
        severity="warning" if forward.loop is not None else "note",
    )


def _rollouts(trace: Trace, forward: Forward, calls: set[Place]) -> Iterator[Draft]:
    """A pass whose result the host only reads, in each step: an agent acting, a text being generated."""
    if forward.grad is not True or forward.mode == "eval" or forward.loop is None or calls & set(forward.stack):
        return
    if forward.output.carries_graph is not True or frozen(forward.module) or inputs_want_gradients(forward):
        return
    if not forward.loop.trains and not _begins(trace, forward):
        return
    grows = not forward.loop.trains and any(
        option.carries_graph is True and trace.carried(option, forward)
        for value in (*forward.inputs, *forward.keywords.values())
        for part in (value, *value.elements())
        for option in part.options()
    )
    if not only_read(trace, forward):
        return
    yield Draft(
        forward.place,
        "The state that this pass hands to the next carries its graph: memory grows with each iteration, and no "
        "backward uses it. Run the loop under `torch.no_grad()`."
        if grows
        else "Only numbers are read from this pass, and it records an autograd graph all the same. Run it under "
        "`torch.no_grad()`.",
        (Step(forward.loop.place, "the loop around it"),),
        severity="warning" if grows else "note",
    )


def _begins(trace: Trace, forward: Forward) -> bool:
    """Whether a graph begins with this pass: that of a loss, or of a part, is told of with the network before it."""
    if forward.module.has_parameters is False or forward.loop is None:
        return False
    others = [other for other in trace.within(forward.loop, Forward) if other.index < forward.index]
    made = {id(part) for other in others for part in (other.output, *other.output.elements())}
    return not any(value.comes_from(made) for value in (*forward.inputs, *forward.keywords.values()))


def _may_switch_off(trace: Trace, forward: Forward) -> bool:
    """Whether the method of an unknown model is one that a class of the project puts under `no_grad`."""
    if forward.module.origin.cls is not None or forward.method in ("__call__", "forward"):
        return False
    methods = (cls.method(forward.method) for cls in trace.classes)
    return any(
        option.kind in _OFF or (isinstance(option, External) and option.qualified.rpartition(".")[2] in _OFF)
        for method in methods
        if isinstance(method, FunctionValue)
        for decorator in method.decorators
        for option in decorator.options()
    )


_OFF = frozenset({"no_grad", "inference_mode"})


def _records(forward: Forward) -> bool:
    return (
        forward.grad is True
        and forward.mode == "eval"
        and forward.output.carries_graph is not False
        and not frozen(forward.module)
        and not inputs_want_gradients(forward)
        and not taken_by_numpy(forward.output)
    )
