"""Activation checkpointing that cuts the graph."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import identities
from engine.rules.facts.text import replace, source_of
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace, Value
from engine.trace.events import CheckpointCall, CheckpointingEnabled, Forward, Store


@rule("PF107", "checkpointing-misuse", "error", "Reentrant checkpointing over inputs without gradients")
def check(trace: Trace) -> Iterator[Draft]:
    yield from _with_cache(trace)
    frozen = {
        id(f.output)
        for f in trace.of(Forward)
        if f.module.origin.requires_grad is False and f.output.carries_graph is not True
    }
    for call in trace.of(CheckpointCall):
        if call.use_reentrant is not True or not call.inputs or call.grad is not True:
            continue
        if not all(value.carries_graph is False or id(value) in frozen for value in call.inputs):
            continue
        text = source_of(trace.project, call.place)
        fixed = text.replace("use_reentrant=True", "use_reentrant=False")
        yield Draft(
            call.place,
            "Reentrant checkpointing records a graph only if one of its inputs requires gradients, and none "
            "does here: the "
            "parameters inside get none. Pass `use_reentrant=False`.",
            fix=replace(call.place, fixed, "Use the non-reentrant variant") if fixed != text else None,
        )


def _with_cache(trace: Trace) -> Iterator[Draft]:
    """A language model that is asked for its key-value cache and for checkpointing, which excludes it.

    https://huggingface.co/docs/transformers/perf_train_gpu_one#gradient-checkpointing
    """
    for enabled in trace.of(CheckpointingEnabled):
        if not enabled.enabled:
            continue
        known = identities(enabled.module)
        asked: Value | None = None
        for option in enabled.module.options():
            given = option.origin.keyword("use_cache")
            asked = given if given is not None and given.constant is True else asked
        configured = identities(*(option.origin.keyword("config") for option in enabled.module.options()))
        used = next((f.index for f in trace.of(Forward) if not known.isdisjoint(identities(f.module))), None)
        switches = [
            store
            for store in trace.of(Store)
            if store.attribute == "use_cache"
            and (used is None or store.index < used)
            and store.container is not None
            and any(not (known | configured).isdisjoint(identities(part)) for part in _owners(store.container))
        ]
        if switches:
            asked = switches[-1].value if switches[-1].value.constant is True else None
        called = next((f for f in trace.of(Forward) if not known.isdisjoint(identities(f.module)) and _cached(f)), None)
        if called is not None and called.index > enabled.index:
            yield Draft(
                called.place,
                "Checkpointing recomputes the layers and excludes the key-value cache that this call asks for: "
                "transformers warns and switches the cache off. Pass `use_cache=False` in training.",
                (Step(enabled.place, "checkpointing is switched on here"),),
                severity="warning",
            )
        elif asked is not None:
            yield Draft(
                enabled.place,
                "Checkpointing recomputes the layers and excludes the key-value cache that this model is asked for: "
                "transformers warns and switches the cache off. Set `use_cache=False` for training.",
                (Step(asked.place, "the cache is asked for here"),),
                severity="warning",
            )


def _cached(forward: Forward) -> bool:
    given = forward.keywords.get("use_cache")
    return given is not None and given.constant is True and forward.output.feeds_backward


def _owners(value: Value) -> Iterator[Value]:
    """What an attribute belongs to, from the inside out: `model.config`, `model`."""
    part: Value | None = value
    for _ in range(4):
        if part is None:
            return
        yield part
        part = part.member_of
