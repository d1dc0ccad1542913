"""The loss is divided by hand where the framework divides it too."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from engine.rules.facts.identity import same
from engine.rules.facts.training import lightning_step, modulo_guard
from engine.rules.remedies.frameworks import divided_once
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace, Value
from engine.trace.events import Backward, Divided, FrameworkTrainer, OptimizerStep, Store

_DIVIDES = frozenset({"accelerator", "deepspeed"})


@rule("PF215", "accumulation-double-scaled", "error", "The loss is divided by the accumulation count twice")
def check(trace: Trace) -> Iterator[Draft]:
    divisions = list(trace.of(Divided))
    yield from _by_hand_twice(trace, divisions)
    yield from _by_lightning(trace, divisions)
    for backward in trace.of(Backward):
        if backward.via not in _DIVIDES:
            continue
        counts = list(_configured(backward))
        made_from = {id(value) for value in backward.loss.ancestors(limit=60)}
        for divided in divisions:
            if id(divided.output) not in made_from or divided.operator not in ("/", "div") or divided.by is None:
                continue
            owner = backward.through
            known = any(_one_from_the_other(count, divided.by) for count in counts) or any(
                _asked_of(part, owner) for part in divided.by.ancestors(limit=20)
            )
            if not known and not (backward.via == "deepspeed" and _set_in_config(trace, divided.by)):
                continue
            yield Draft(
                divided.place,
                "The framework's backward already divides by the number of accumulation steps; dividing here as well "
                "shrinks the gradients twice.",
                (
                    Step(backward.place, "divides by the accumulation steps itself"),
                    *((Step(owner.place, "configured here"),) if owner is not None else ()),
                ),
                fix=divided_once(divided, backward),
            )
            break


def _by_hand_twice(trace: Trace, divisions: list[Divided]) -> Iterator[Draft]:
    """One loss that is divided by the same number in two places, as where the criterion does it already."""
    for backward in trace.of(Backward):
        if backward.via in _DIVIDES:
            continue
        made_from = {id(value) for value in backward.loss.ancestors(through_detach=False, limit=60)}
        by_count = [d for d in divisions if id(d.output) in made_from and d.operator in ("/", "div") and _counts(d.by)]
        for first, second in pairwise(by_count):
            again = any(part is first.output for part in second.value.ancestors(limit=60))
            if again and first.place != second.place and first.by is second.by and _steps_seldom(trace, backward):
                yield Draft(
                    second.place,
                    "The loss has already been divided by this number: the gradients of an accumulated step become "
                    "too small by it.",
                    (Step(first.place, "divided here first"), Step(backward.place, "back-propagated here")),
                )
                break


def _counts(by: Value | None) -> bool:
    return by is not None and by.role not in ("tensor", "parameter") and by.op not in ("size", "len", "sum")


def _steps_seldom(trace: Trace, backward: Backward) -> bool:
    return any(
        modulo_guard(step, backward.loop) is not None and backward.loop in step.loops
        for step in trace.of(OptimizerStep)
        if backward.loop is not None
    )


def _by_lightning(trace: Trace, divisions: list[Divided]) -> Iterator[Draft]:
    """`training_step` divides by what the Trainer accumulates over, which divides by it itself.

    https://lightning.ai/docs/pytorch/stable/common/trainer.html#accumulate-grad-batches
    """
    counts = [
        count
        for built in trace.of(FrameworkTrainer)
        if built.library in ("lightning", "pytorch_lightning")
        and (count := built.keywords.get("accumulate_grad_batches")) is not None
    ]
    fitted = [run.keywords.get("model") for run in trace.of(FrameworkTrainer) if run.what == "fit"]
    for divided in divisions:
        if not divided.function.endswith(".training_step") or not lightning_step(divided) or divided.by is None:
            continue
        if divided.operator not in ("/", "div") or divided.value.carries_graph is not True:
            continue
        asked = divided.by_text.endswith("trainer.accumulate_grad_batches")
        name = divided.by_text.removeprefix("self.")
        given = [value for model in fitted if model is not None and (value := model.attributes.get(name)) is not None]
        count = next((each for each in counts if any(same(each, own) or _alike(each, own) for own in given)), None)
        if not asked and count is None:
            continue
        yield Draft(
            divided.place,
            "Lightning divides the loss by `accumulate_grad_batches` itself; dividing here as well shrinks the "
            "gradients twice.",
            (Step(count.place, "accumulated over this number of batches"),) if count is not None else (),
        )


def _alike(count: Value, by: Value) -> bool:
    """Whether both are one number of more than one step."""
    number = by.constant
    return isinstance(number, int) and not isinstance(number, bool) and number > 1 and count.constant == number


def _asked_of(value: Value, owner: Value | None) -> bool:
    """`accelerator.gradient_accumulation_steps`, `engine.gradient_accumulation_steps()`."""
    named = value.name.removesuffix("()").endswith("gradient_accumulation_steps")
    asked = value.parents[0] if value.op == "call" and value.parents else None
    return named and same(value.member_of or value.callee or asked, owner)


def _set_in_config(trace: Trace, by: Value) -> bool:
    """Whether the same value is written into a DeepSpeed configuration."""
    return any("gradient_accumulation_steps" in store.target and same(store.value, by) for store in trace.of(Store))


def _configured(backward: Backward) -> Iterator[Value]:
    """Values that the framework object was configured with as the number of accumulation steps."""
    if backward.through is None:
        return
    owners = {id(owner): owner for owner in (backward.through, backward.through.origin)}
    for name, value in (item for owner in owners.values() for item in owner.keywords.items()):
        if "accumulation" in name:
            yield value
        if name in ("config", "config_params", "args"):
            entry = getattr(value, "entries", {}).get("gradient_accumulation_steps")
            if entry is not None:
                yield entry


def _one_from_the_other(count: Value, by: Value) -> bool:
    """Whether one was computed from the other. That both come from one configuration object says nothing."""
    if _alike(count, by):
        return True
    return any(same(part, count) for part in by.ancestors(limit=20)) or any(
        same(part, by) for part in count.ancestors(limit=20)
    )
