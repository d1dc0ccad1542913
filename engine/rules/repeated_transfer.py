"""The same data is copied to the device in every step."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import identities, same
from engine.rules.remedies.transfers import assigned, moved_once
from engine.rules.rule import Draft, rule
from engine.trace import Container, Loop, Step, Trace, Value
from engine.trace.events import Forward, InPlaceUpdate, Iterate, LoaderBuilt, Store, Transfer

_NOT_TENSORS = frozenset(
    {"module", "optimizer", "scheduler", "scaler", "loader", "number", "array", "metric", "parameter"}
)


@rule("PF802", "repeated-transfer", "warning", "Unchanging data is copied to the device in each step")
def check(trace: Trace) -> Iterator[Draft]:
    forwards = list(trace.of(Forward))
    lost = [transfer for transfer in trace.of(Transfer) if transfer.discarded and _goes_on(transfer, forwards)]
    for transfer in lost:
        yield Draft(
            transfer.place,
            "`.to()` returns a new tensor and leaves this one where it is; the result is thrown away. Assign it.",
            (Step(transfer.value.place, "the tensor"),),
            severity="error",
            fix=assigned(transfer),
        )
    yield from _blocking(trace)
    yield from _made_anew(trace)
    repeated = list(_repeated(trace))
    for transfer, loop in repeated:
        yield Draft(
            transfer.place,
            "This does not change from step to step and is copied to the device in each of them. Move it once, before "
            "the loop.",
            (Step(transfer.value.place, "made here, once"), Step(loop.place, "the training loop")),
            fix=moved_once(transfer, [other for other, around in repeated if around.place == loop.place], loop),
        )


def _blocking(trace: Trace) -> Iterator[Draft]:
    """A loader pins its memory, and the copies of its batches wait all the same."""
    for built in trace.of(LoaderBuilt):
        pinned = built.loader.keyword("pin_memory")
        if pinned is None or pinned.constant is not True:
            continue
        for iterate in trace.of(Iterate):
            if iterate.iterates is None or not iterate.subject.innermost_training:
                continue
            if built.loader not in iterate.iterates.ancestors(limit=20):
                continue
            copies = [
                transfer
                for transfer in trace.within(iterate.subject, Transfer)
                if transfer.loop is iterate.subject
                and transfer.value.op == "data-element"
                and (transfer.how == "cuda" or transfer.device.startswith("cuda"))
            ]
            if copies and all(copy.non_blocking is False for copy in copies):
                yield Draft(
                    copies[0].place,
                    "The loader pins its memory, which lets copies run beside the computation, and this copy waits. "
                    "Pass `non_blocking=True`.",
                    (Step(built.place, "pins its memory"),),
                    severity="note",
                )
                return


_MAKES = frozenset({"tensor", "as_tensor", "FloatTensor", "Tensor", "LongTensor", "from_numpy"})


def _made_anew(trace: Trace) -> Iterator[Draft]:
    """A list of constants from outside of the training loop that each step makes a tensor of, on the device."""
    for transfer in trace.first_per_place(trace.of(Transfer)):
        loop = next((loop for loop in transfer.loops if loop.innermost_training), None)
        value = transfer.value
        if loop is None or transfer.device == "cpu" or transfer.how == "cpu" or transfer.discarded:
            continue
        source = value.parents[0] if value.op in _MAKES and value.parents else None
        if source is None:
            yield from _computed_anew(trace, transfer, loop)
        if not isinstance(source, Container) or not _outside(source, loop) or _changes(trace, source, loop):
            continue
        if source.open or len(source.items) < 2 or not all(item.is_constant for item in source.items):
            continue
        if any(guard.place > loop.place for guard in transfer.guards):
            continue
        yield Draft(
            transfer.place,
            "This makes the same tensor in each step and copies it to the device, which waits for it. Make it once, "
            "before the loop.",
            (Step(source.place, "these numbers do not change"), Step(loop.place, "the training loop")),
        )


def _computed_anew(trace: Trace, transfer: Transfer, loop: Loop) -> Iterator[Draft]:
    """A tensor that each step computes on the host from a setting of an object, and copies."""
    value = transfer.value
    for _ in range(3):
        if value.op in _POINTWISE and value.parents:
            value = value.parents[0]
    source = value.parents[0] if value.op in _MAKES and value.parents else None
    if source is None or source.op not in ("parameter-of-function", "attribute") or not _outside(source, loop):
        return
    if _changes(trace, source, loop) or any(guard.place > loop.place for guard in transfer.guards):
        return
    yield Draft(
        transfer.place,
        "This makes the same tensor in each step and copies it to the device, which waits for it. Make it once, before "
        "the loop.",
        (Step(value.place, "made here"), Step(loop.place, "the training loop")),
        severity="note",
    )


_POINTWISE = frozenset({"log", "exp", "sqrt", "float", "operator/", "operator*", "operator", "view", "unsqueeze"})


def _repeated(trace: Trace) -> Iterator[tuple[Transfer, Loop]]:
    """Copies of unchanging data in a training loop, and that loop."""
    for transfer in trace.of(Transfer):
        loop = next((loop for loop in transfer.loops if loop.innermost_training), None)
        if loop is None or transfer.device == "cpu" or transfer.how == "cpu" or transfer.discarded:
            continue
        value = transfer.value
        if not _outside(value, loop) or not _on_host(value) or _changes(trace, value, loop):
            continue
        if any(guard.place > loop.place for guard in transfer.guards):
            continue
        yield transfer, loop


def _goes_on(transfer: Transfer, forwards: list[Forward]) -> bool:
    """A tensor by what becomes of it: a forward pass takes it as input."""
    value = transfer.value
    if value.role in _NOT_TENSORS or value.is_constant or transfer.value.device:
        return False
    later = [f for f in forwards if f.index > transfer.index]
    if any(same(value, part) for f in later for i in (*f.inputs, *f.keywords.values()) for part in i.options()):
        return True
    # An entry of a batch that is unpacked into the call goes on with the others.
    return value.op == "data-element" and any(value.member_of is f.keywords.get("**", value) for f in later)


def _outside(value: Value, loop: Loop) -> bool:
    return all(loop not in option.loops for option in value.options())


def _on_host(value: Value) -> bool:
    """A tensor that is known, or used, as one that lives on the host."""
    if value.role in _NOT_TENSORS or value.device.startswith("cuda") or value.is_constant:
        return False
    made = list(value.ancestors(limit=40))
    if any(part.device.startswith("cuda") or part.op in ("to", "cuda") for part in made):
        return False
    if value.role == "tensor" and value.op not in ("parameter-of-function", "attribute"):
        return True
    return value.role in ("tensor", None) and value.op == "parameter-of-function" and "cuda" in value.uses


def _changes(trace: Trace, value: Value, loop: Loop) -> bool:
    known = identities(value)
    for event in trace.within(loop, InPlaceUpdate, Store):
        target = event.target if isinstance(event, InPlaceUpdate) else getattr(event, "container", None)
        if isinstance(target, Value) and not known.isdisjoint(identities(target)):
            return True
    return False
