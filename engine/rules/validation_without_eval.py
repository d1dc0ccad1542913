"""A model is evaluated in training mode."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.evaluation import (
    evaluation_loop,
    forwards_by_place,
    inputs_want_gradients,
    only_read,
    trains_nothing,
)
from engine.rules.facts.identity import identities, modules_behind, same
from engine.rules.facts.layers import has_mode_layers
from engine.rules.remedies.modes import evaluation_mode
from engine.rules.rule import Draft, rule
from engine.trace import Place, Step, Trace, Value
from engine.trace.events import (
    Forward,
    FunctionCall,
    LoadStateDict,
    LossCall,
    MethodCall,
    ModeChange,
    ModuleDefined,
    OptimizerCreated,
    Store,
)

_LOOPS = frozenset({"loader", "iterable", "comprehension"})


@rule("PF302", "validation-without-eval", "error", "A model is evaluated while it is in training mode")
def check(trace: Trace) -> Iterator[Draft]:
    yield from _forced(trace)
    calls, loaded = {forward.place for forward in trace.of(Forward)}, list[Step]()
    # A step that training and validation share is judged for each of them.
    for forwards in forwards_by_place(trace, by_caller=True):
        if any(forward.mode == "eval" for forward in forwards) or not all(map(trains_nothing, forwards)):
            continue
        yield from [draft for forward in forwards for draft in _read_only(trace, forward)][:1]
        for draft in [draft for forward in forwards for draft in _loaded(trace, forward, calls)][:1]:
            if draft.evidence[0] not in loaded:
                loaded.append(draft.evidence[0])
                yield draft
        for forward in forwards:
            loop = evaluation_loop(forward)
            if loop is None or loop.kind not in _LOOPS or forward.grad is not False or not _used(trace, forward):
                continue
            layers = has_mode_layers(forward.module)
            explicit = forward.mode == "train" and forward.mode_set_at is not None
            trained = _trained(trace, forward)
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


def _loaded(trace: Trace, forward: Forward, calls: set[Place]) -> Iterator[Draft]:
    """Inference with weights that were loaded, where nothing trains the model."""
    if forward.grad is not False or forward.mode or calls & set(forward.stack) or not _differs(forward):
        return
    module = forward.module
    weights = next((load for load in trace.before(forward, LoadStateDict) if same(load.target, module)), None)
    if (
        weights is None
        or not _used(trace, forward)
        or any(_may_be(change.module, module) for change in trace.family(forward, ModeChange))
    ):
        return
    if any(not modules_behind(made.optimizer).isdisjoint(identities(module)) for made in trace.of(OptimizerCreated)):
        return
    if any(other.output.feeds_backward and same(other.module, module) for other in trace.of(Forward)):
        return
    yield Draft(
        weights.place if weights.place.path == forward.place.path else forward.place,
        "A trained model is used in training mode: modules start in it, and loading weights does not change that. "
        "Dropout stays active and batch norm uses the statistics of each batch. Call `eval()` once the weights are in.",
        (Step(weights.place, "the weights are loaded here"), Step(forward.place, "the model is used here")),
        severity="warning",
    )


def _differs(forward: Forward) -> bool:
    """Whether the model is known to compute something else in training mode, and nothing said which one it is in."""
    return has_mode_layers(forward.module) is True and (forward.mode == "train" or not forward.mode)


def _may_be(changed: Value, module: Value) -> bool:
    """Whether a change of mode may reach a module: it is the same, holds it, or is not known."""
    return same(changed, module) or any(option.op != "construct" for option in changed.options())


def _forced(trace: Trace) -> Iterator[Draft]:
    """A part is put (back) into training mode when the whole computes, whatever mode that is in."""
    for change in trace.first_per_place(trace.of(ModeChange)):
        cls, _, name = change.function.rpartition(".")
        if change.mode != "train" or "forward" not in name or any("training" in guard.text for guard in change.guards):
            continue
        whole = next((defined for defined in trace.of(ModuleDefined) if defined.cls.name == cls), None)
        if whole is None or not any(same(change.module, held) for held in whole.instance.attributes.values()):
            continue
        if has_mode_layers(change.module) is False:
            continue
        yield Draft(
            change.place,
            "This puts a part of the module into training mode, whatever mode the module itself is in: in evaluation "
            "the part trains on. Do so only `if self.training`.",
            (Step(whole.place, "the module whose mode it does not follow"),),
        )


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
        if any(value is output for value in given):
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
