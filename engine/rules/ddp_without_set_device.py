"""All ranks of a node use the first GPU."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import same
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace, Value
from engine.trace.events import ProcessGroupInit, SetDevice, Transfer, Wrapped


@rule("PF508", "ddp-without-set-device", "error", "Every process of a node trains on the first GPU")
def check(trace: Trace) -> Iterator[Draft]:
    if any(True for _ in trace.of(SetDevice)):
        return
    for wrapped in trace.of(Wrapped):
        launched = next((i for i in trace.family(wrapped, ProcessGroupInit) if i.how == "init_process_group"), None)
        if wrapped.how != "ddp" or launched is None:
            continue
        moved = next((t for t in trace.family(wrapped, Transfer) if _to_default(t, wrapped)), None)
        if moved is None:
            continue
        named = wrapped.wrapper.keyword("device_ids", "1")
        if named is not None:
            yield from _named_later(moved, wrapped, named)
            continue
        yield Draft(
            moved.place,
            "Without a device number and without `torch.cuda.set_device`, every process of a node moves its "
            "model to GPU 0.",
            (Step(launched.place, "several processes"), Step(wrapped.place, "no device_ids here")),
        )


def _named_later(moved: Transfer, wrapped: Wrapped, named: Value) -> Iterator[Draft]:
    """The model went to the first GPU, and the wrapper is told of the process's own."""
    own = any(part.rank for part in named.elements())
    if (
        own
        and moved.how == "cuda"
        and moved.destination is None
        and same(moved.result, wrapped.module)
        and moved.context("device") is None
    ):
        yield Draft(
            moved.place,
            "Without a device number and without `torch.cuda.set_device`, every process of a node moves its model to "
            "GPU 0, and the wrapper, which expects it on the GPU of `device_ids`, raises.",
            (Step(wrapped.place, "the GPU of each process is named here"),),
        )


def _to_default(transfer: Transfer, wrapped: Wrapped) -> bool:
    """Whether a module, or what is wrapped, goes to "the" GPU."""
    module = transfer.value.role == "module" or same(transfer.result, wrapped.module)
    return module and transfer.device == "cuda" and not _numbered(transfer)


def _numbered(transfer: Transfer) -> bool:
    return transfer.how == "to" and any(part.rank for part in (transfer.value, *transfer.value.parents))
