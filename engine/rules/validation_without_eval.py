"""A model is evaluated in training mode."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.evaluation import (
    call_in_loop,
    evaluation_loop,
    forwards_by_place,
    inputs_want_gradients,
    only_read,
    scored_as_a_whole,
    trains_nothing,
)
from engine.rules.facts.identity import same
from engine.rules.facts.layers import has_mode_layers
from engine.rules.remedies.modes import evaluation_mode
from engine.rules.rule import Draft, rule
from engine.trace import Loop, Place, Step, Trace, Value
from engine.trace.events import (
    Backward,
    Forward,
    FunctionCall,
    Load,
    LoadStateDict,
    LossCall,
    MethodCall,
    ModeChange,
    ModuleDefined,
    Store,
)

_LOOPS = frozenset({"loader", "iterable", "comprehension"})


@rule("PF302", "validation-without-eval", "error", "A model is evaluated while it is in training mode")
def check(trace: Trace) -> Iterator[Draft]:
    yield from _forced(trace)
    yield from _targets(trace)
    yield from _phases(trace)
    yield from _unpickled(trace)
    told: set[Place] = set()
    calls = {forward.place for forward in trace.of(Forward)}
    # A step that training and validation share is judged for each of them.
    for forwards in forwards_by_place(trace):
        if any(forward.mode == "eval" for forward in forwards) or not all(map(trains_nothing, forwards)):
            continue
        yield from [draft for forward in forwards for draft in _read_only(trace, forward)][:1]
        yield from [draft for forward in forwards for draft in _as_a_whole(trace, forward)][:1]
        for forward in forwards:
            loop = evaluation_loop(forward)
            if loop is None or loop.kind not in _LOOPS or forward.grad is not False or not _used(trace, forward):
                continue
            if _of_the_network(forward, loop, calls):
                continue
            layers = has_mode_layers(forward.module)
            explicit = forward.mode == "train" and forward.mode_set_at is not None
            trained = _trained(trace, forward)
            if not trained:
                for draft in _only_evaluated(trace, forward, loop, layers, explicit):
                    if draft.place not in told:
                        told.add(draft.place)
                        yield draft
            if layers is False or not trained or not (explicit or (layers and not forward.mode)):
                continue
            evidence = [Step(forward.mode_set_at, "put into training mode here")] if forward.mode_set_at else []
            trained_at = trained.place if trained.place != forward.place else trained.stack[-1]
            evidence += [Step(trained_at, "the same model is trained here"), Step(loop.place, "the evaluation loop")]
            yield Draft(
                forward.place,
                "This evaluation pass runs the model in training mode: dropout stays active and batch norm uses and "
                "updates batch statistics, so the figures are off. No `eval()` was found on this path.",
                tuple(evidence),
                fix=evaluation_mode(forward, loop),
            )
            break


def _of_the_network(forward: Forward, loop: Loop, calls: set[Place]) -> bool:
    """Whether the loop is a part of what another module computes: over crops, scales or layers."""
    places = (*forward.stack, forward.place)
    return not calls.isdisjoint(places[: places.index(call_in_loop(forward, loop))])


def _phases(trace: Trace) -> Iterator[Draft]:
    """One pass for two phases, `for phase in ("train", "val")`, whose second is evaluated in training mode."""
    for forwards in forwards_by_place(trace):
        trained = next((forward for forward in forwards if forward.output.feeds_backward), None)
        if trained is None:
            continue
        for forward in forwards:
            phases = next((loop for loop in forward.loops if loop.kind == "literal" and loop in trained.loops), None)
            if phases is None or forward.grad is not False or forward.mode != "train" or not trains_nothing(forward):
                continue
            depth = forward.loops.index(phases)
            set_at = forward.mode_set_at
            if set_at is None or forward.iterations[depth] == trained.iterations[trained.loops.index(phases)]:
                continue
            if has_mode_layers(forward.module) is False or not same(forward.module, trained.module):
                continue
            yield Draft(
                forward.place,
                "In its second phase this pass evaluates, without gradients, and the model is still in training mode: "
                "dropout stays active and batch norm updates its statistics.",
                (Step(set_at, "put into training mode here"), Step(phases.place, "the phases")),
            )
            break


def _targets(trace: Trace) -> Iterator[Draft]:
    """A copy of the trained network that computes targets without gradients, and was put into training mode."""
    for forward in trace.first_per_place(trace.of(Forward)):
        module = forward.module
        if forward.grad is not False or forward.mode != "train" or forward.mode_set_at is None:
            continue
        if module.wrapping != "copy" or module.wrapped is None or has_mode_layers(module) is not True:
            continue
        original = module.wrapped
        trained = next(
            (f for f in trace.of(Forward) if f.output.feeds_backward and same(f.module, original)),
            None,
        )
        in_step = trained is not None and any(loop.trains and loop in trained.loops for loop in forward.loops)
        if trained is None or not in_step or not forward.output.feeds_cut_loss:
            continue
        yield Draft(
            forward.place,
            "This copy computes targets in training mode: dropout makes them noisy, and batch norm mixes the batch "
            "into them. Put it into evaluation mode.",
            (Step(forward.mode_set_at, "put into training mode here"), Step(trained.place, "the network that learns")),
            severity="warning",
        )


def _read_only(trace: Trace, forward: Forward) -> Iterator[Draft]:
    """A loop that only reads figures from a model which is trained elsewhere, with gradients recorded as well."""
    loop = evaluation_loop(forward)
    if loop is None or loop.kind not in _LOOPS or forward.grad is not True or inputs_want_gradients(forward):
        return
    trained = _trained(trace, forward)
    if trained is None or not _differs(forward) or not only_read(trace, forward, cut=True):
        return
    yield Draft(
        loop.place.start,
        "This loop evaluates the model in training mode: dropout stays active and batch norm uses and updates batch "
        "statistics, so the figures are off. No `eval()` was found on this path.",
        (Step(forward.place, "the forward pass"), Step(trained.place, "the same model is trained here")),
    )


def _as_a_whole(trace: Trace, forward: Forward) -> Iterator[Draft]:
    """A test on one graph or one tensor of data, between the steps that train on it."""
    if not _differs(forward):
        return
    figure, trained = scored_as_a_whole(trace, forward), _trained(trace, forward)
    if figure is None or trained is None:
        return
    evidence = [Step(forward.mode_set_at, "put into training mode here")] if forward.mode_set_at else []
    yield Draft(
        forward.place,
        "This evaluation pass runs the model in training mode: dropout stays active and batch norm uses and updates "
        "batch statistics, so the figures are off. No `eval()` was found on this path.",
        (*evidence, Step(trained.place, "the same model is trained here"), Step(figure, "a figure is read here")),
    )


def _differs(forward: Forward) -> bool:
    """Whether the model is known to compute something else in training mode, and nothing said which one it is in."""
    return has_mode_layers(forward.module) is True and (forward.mode == "train" or not forward.mode)


def _forced(trace: Trace) -> Iterator[Draft]:
    """A part is put (back) into training mode when the whole computes, whatever mode that is in."""
    for change in trace.first_per_place(trace.of(ModeChange)):
        cls, _, name = change.function.rpartition(".")
        if change.mode != "train" or "forward" not in name or any("training" in guard.text for guard in change.guards):
            continue
        whole = next((defined for defined in trace.of(ModuleDefined) if defined.cls.name == cls), None)
        if whole is None or not any(same(change.module, held) for held in whole.instance.attributes.values()):
            continue
        if has_mode_layers(change.module) is False and "annotated" not in change.module.origin.uses:
            # A class that only an annotation names may stand for others that derive from it.
            continue
        yield Draft(
            change.place,
            "This puts a part of the module into training mode, whatever mode the module itself is in: in evaluation "
            "the part trains on. Do so only `if self.training`.",
            (Step(whole.place, "the module whose mode it does not follow"),),
        )


def _only_evaluated(trace: Trace, forward: Forward, loop: Loop, layers: bool | None, explicit: bool) -> Iterator[Draft]:
    """A program that only evaluates: the model gets saved weights and stays in the mode that it is built in, or is put
    into training mode for a pass that a figure is made of."""
    module = forward.module.origin
    if explicit:
        repeated = any(
            inner.kind in ("range", "comprehension") for inner in forward.loops[forward.loops.index(loop) + 1 :]
        )
        if layers is not False and not repeated and _compared(trace, forward):
            yield Draft(
                forward.place,
                "The model is put into training mode for this evaluation: dropout is active, and batch norm uses and "
                "updates batch statistics.",
                (Step(forward.mode_set_at or loop.place, "put into training mode here"),),
                severity="warning",
            )
        return
    loaded = next((load for load in trace.of(LoadStateDict) if same(load.target, module)), None)
    zoo = module.op == "construct" and module.made_by.startswith("torchvision.models.") and module.cls is None
    if forward.mode or loaded is None or not (layers or zoo) or any(True for _ in trace.of(ModeChange)):
        return
    yield Draft(
        _function_or_call(trace, forward, loop),
        "The model that got saved weights is evaluated in the mode it was built in, which is training mode: dropout is "
        "active, and batch norm uses and updates batch statistics. No `eval()` was found.",
        (
            Step(module.place, "built here"),
            Step(loaded.place, "gets its weights here"),
            Step(forward.place, "used here"),
        ),
        severity="warning",
        fix=evaluation_mode(forward, loop),
    )


def _function_or_call(trace: Trace, forward: Forward, loop: Loop) -> Place:
    """A function that is called for each input and calls the model, once or several times; else the call itself."""
    if call_in_loop(forward, loop) == forward.place:
        return forward.place
    return trace.functions.get((forward.place.path, forward.function), forward.place)


def _unpickled(trace: Trace) -> Iterator[Draft]:
    """A whole module that was unpickled, and that computes in whatever mode it was saved in."""
    for load in trace.of(Load):
        whole = load.result
        if load.how != "torch.load" or whole is None:
            continue
        calls: tuple[FunctionCall | Forward, ...] = (*trace.of(FunctionCall), *trace.of(Forward))
        used = next((call for call in calls if _called(call, whole)), None)
        if used is None or not used.loops or any(loop.trains for loop in used.loops):
            continue
        if any(same(change.module, whole) for change in trace.of(ModeChange)) or _known_otherwise(trace, whole, used):
            continue
        yield Draft(
            load.place,
            "A whole module is unpickled here and used in the mode it was saved in, which may be training mode: then "
            "dropout is active, and batch norm uses and updates batch statistics. Call `eval()` on it.",
            (Step(used.place, "used here"),),
            severity="note",
        )


def _called(call: FunctionCall | Forward, whole: Value) -> bool:
    callee = call.module if isinstance(call, Forward) else call.callee
    return callee is not None and any(option.origin is whole for option in callee.options())


def _known_otherwise(trace: Trace, whole: Value, used: FunctionCall | Forward) -> bool:
    """Whether it is trained, or given to code that may choose the mode."""
    if any(backward.root is used.root for backward in trace.of(Backward)):
        return True
    return any(use.startswith("arg:") for use in whole.uses)


def _compared(trace: Trace, forward: Forward) -> bool:
    """Whether predictions are held against something: an `argmax` or a maximum of the output, or a loss."""
    if forward.loop is None:
        return False
    outputs = {id(part) for part in (forward.output, *forward.output.elements())}
    for event in trace.within(forward.loop, LossCall, Store):
        value = event.input if isinstance(event, LossCall) else event.value if isinstance(event, Store) else None
        made_from = list(value.ancestors(limit=80)) if value is not None else []
        if any(id(part) in outputs for part in made_from) and (
            isinstance(event, LossCall) or any(part.op in ("argmax", "compare") for part in made_from)
        ):
            return True
    return False


def _used(trace: Trace, forward: Forward) -> bool:
    """Whether anything is made of the output: a pass without use renews batch statistics."""
    output = forward.output
    if output.uses or forward.loop is None:
        return bool(output.uses)
    for event in trace.within(forward.loop, FunctionCall, LossCall, MethodCall, Store):
        given: tuple[Value | None, ...] = ()
        if isinstance(event, LossCall):
            given = (event.input, event.target)
        elif isinstance(event, Store):
            given = (event.value,)
        elif isinstance(event, (FunctionCall, MethodCall)):
            given = event.arguments
        if any(part is output for value in given if value is not None for part in (value, *value.elements())):
            return True
    return False


def _trained(trace: Trace, forward: Forward) -> Forward | None:
    return next(
        (
            other
            for other in trace.of(Forward)
            if other.output.feeds_backward
            and (other.place, other.stack) != (forward.place, forward.stack)
            and same(other.module, forward.module)
        ),
        None,
    )
