"""The clipped parameters are not those that are stepped."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import identities, modules_behind
from engine.rules.facts.training import StepScope, called_steps, step_scopes
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace, Value
from engine.trace.events import Backward, ClipGradients, Forward, OptimizerStep, ZeroGrad

_ALTERNATIVES = 3

_NEAR = 60
"""Values behind a part of a model that are looked through for the model that was walked."""


@rule("PF213", "clip-wrong-parameters", "error", "Gradients of another model are clipped")
def check(trace: Trace) -> Iterator[Draft]:
    for scope in (*step_scopes(trace), *called_steps(trace)):
        steps = [event for event in scope.of(OptimizerStep) if isinstance(event, OptimizerStep)]
        for clip in scope.of(ClipGradients):
            assert isinstance(clip, ClipGradients)
            following = [step for step in steps if step.index > clip.index]
            if not clip.of or clip.measures_only or not following:
                continue
            if len({identity for module in clip.of for identity in identities(module)}) > _ALTERNATIVES:
                # What several paths leave in one attribute.
                continue
            clipped = identities(*clip.of)
            held = [modules_behind(step.optimizer) for step in steps]
            if not all(held):
                yield from _same_again(scope, clip, steps)
                continue
            if any(not clipped.isdisjoint(modules) for modules in held) or any(
                _related(module, step) for module in clip.of for step in steps
            ):
                yield from _of_another_turn(scope, clip, steps)
                continue
            yield Draft(
                clip.place,
                "These parameters belong to a model that no optimizer of this loop steps; the gradients that "
                "are stepped "
                "are not clipped.",
                (Step(following[0].place, "steps on other parameters"),),
            )


def _of_another_turn(scope: StepScope, clip: ClipGradients, steps: list[OptimizerStep]) -> Iterator[Draft]:
    """Between one model's backward and its step, the gradients of a model whose turn it is not are clipped."""
    here = [e for e in scope.events if e.loops == clip.loops and e.iterations == clip.iterations]
    following = next((e for e in here if isinstance(e, OptimizerStep) and e.index > clip.index), None)
    before = [e for e in here if isinstance(e, (Backward, OptimizerStep)) and e.index < clip.index]
    if following is None or following is not scope.step or not before or not isinstance(before[-1], Backward):
        return
    later = [e for e in here if isinstance(e, (Backward, OptimizerStep)) and e.index > following.index]
    mine = [step for step in steps if any(_holds(step, module) for module in clip.of)]
    if any(_holds(following, module) for module in clip.of) or not mine:
        return
    taken = [event for event in before if isinstance(event, OptimizerStep) and event in mine]
    if not (isinstance(later[0], Backward) if later else taken):
        return
    yield Draft(
        clip.place,
        "These parameters belong to a model that is not stepped next: the gradients that the next step uses are not "
        "clipped.",
        (Step(before[-1].place, "the backward"), Step(following.place, "steps on other parameters")),
    )


def _same_again(scope: StepScope, clip: ClipGradients, steps: list[OptimizerStep]) -> Iterator[Draft]:
    """Two optimizers take turns, each with its own backward, and the same parameters are clipped in both turns.

    The turn that went wrong is the one whose loss is differentiated by another model too.
    """
    turn = _turn(scope, clip)
    if turn is None:
        return
    for other in scope.of(ClipGradients):
        if not isinstance(other, ClipGradients) or other.place == clip.place:
            continue
        theirs = _turn(scope, other)
        if theirs is None or identities(*other.of) != identities(*clip.of):
            continue
        if not identities(turn[1].optimizer).isdisjoint(identities(theirs[1].optimizer)):
            continue
        mine, others = _judges(scope, turn[0], clip), _judges(scope, theirs[0], clip)
        if mine is True and others is False:
            yield Draft(
                clip.place,
                "The same parameters are clipped for two optimizers that take turns: here another model's gradients "
                "are stepped, and those are not clipped.",
                (Step(other.place, "clipped for the other optimizer"), Step(turn[1].place, "steps another model")),
            )
            return


def _turn(scope: StepScope, clip: ClipGradients) -> tuple[Backward, OptimizerStep] | None:
    """The backward right before a clipping and the step right after it, of an optimizer whose gradients were cleared
    before that backward."""
    here = [e for e in scope.events if e.loops == clip.loops and e.iterations == clip.iterations]
    turns = [e for e in here if isinstance(e, (Backward, OptimizerStep))]
    before = [e for e in turns if e.index < clip.index]
    after = [e for e in turns if e.index > clip.index]
    if not before or not after or not isinstance(before[-1], Backward) or not isinstance(after[0], OptimizerStep):
        return None
    backward, step = before[-1], after[0]
    own = identities(step.optimizer)
    start = max((e.index for e in before[:-1]), default=-1)
    cleared = any(
        isinstance(e, ZeroGrad) and start < e.index < clip.index and not own.isdisjoint(identities(e.target))
        for e in here
    )
    return (backward, step) if cleared else None


def _judges(scope: StepScope, backward: Backward, clip: ClipGradients) -> bool | None:
    """Whether the clipped model takes what another model made, with its graph; None where the loss does not ask it."""
    clipped = identities(*clip.of)
    chain = {id(value) for value in backward.loss.graph_ancestors()}
    asked = [
        e
        for e in scope.events
        if isinstance(e, Forward) and id(e.output) in chain and not identities(e.module).isdisjoint(clipped)
    ]
    if not asked:
        return None
    return any(
        _made(part) for e in asked for value in e.inputs for part in value.ancestors(through_detach=False, limit=30)
    )


def _made(value: Value) -> bool:
    """Whether a model or a function of unknown kind made it."""
    return value.callee is not None and value.op == "call"


def _holds(step: OptimizerStep, module: Value) -> bool:
    return not identities(module).isdisjoint(modules_behind(step.optimizer)) or _related(module, step)


def _related(module: Value, step: OptimizerStep) -> bool:
    """Whether one is a part of the other."""
    held = modules_behind(step.optimizer)
    parts = [part for option in step.optimizer.options() for part in option.origin.of]
    name = module.name
    if name and any(option.name == name for part in parts for option in part.options()):
        # The same attribute, read at two moments.
        return True
    value: Value | None = module
    for _ in range(8):
        if value is None:
            break
        if id(value.origin) in held:
            return True
        value = value.member_of
    whole = {id(module), id(module.origin)}
    for part in parts:
        inner: Value | None = part
        for _ in range(8):
            if inner is None:
                break
            if inner is module:
                return True
            inner = inner.member_of
        # A copy has parameters of its own.
        options = [option for option in part.options() if option.origin.wrapping != "copy"]
        if any(option.comes_from(whole) or _walked(option, name) for option in options):
            return True
    return False


def _walked(part: Value, name: str) -> bool:
    """Whether a part was found by walking a module under this name, as that was bound when it was walked."""
    return bool(name) and any(value.name == name for value in part.ancestors(limit=_NEAR))
