"""What only the whole run tells: what feeds a loss, which loops train, what unknown receivers were."""

from __future__ import annotations

from typing import Any

from engine.interpreter.conversion import convert
from engine.interpreter.registration import define_modules
from engine.interpreter.roles import infer, number_steps
from engine.trace import events as ev
from engine.trace.places import Loop
from engine.trace.trace import Trace
from engine.trace.values import Choice, Container, FunctionValue, Value


def finish(trace: Trace, values: list[Value]) -> None:
    """Fill in roles, convert events, mark loops and containers. `values` are all values made in the run."""
    _mark_backward(trace)
    for _ in range(2):
        infer(trace, values)
    number_steps(trace)
    convert(trace)
    _loops(trace)
    _crossings(trace)
    define_modules(trace)
    _doubt_by_candidates(trace)
    for index, event in enumerate(trace.events):
        event.index = index


def _mark_backward(trace: Trace) -> None:
    """feeds_backward on everything a loss is made of."""
    for event in trace.events:
        if isinstance(event, ev.Backward):
            for value in event.loss.ancestors(through_detach=False):
                value.feeds_backward = True
            for value in event.loss.ancestors():
                value.feeds_cut_loss = True
            loss = event.loss
            nameless = isinstance(loss, Choice | Container) or loss.op in (
                "parameter-of-function",
                "attribute",
                "unknown",
            )
            if event.via == "tensor" and loss.role is None and not nameless:
                loss.role = "tensor"
        elif isinstance(event, ev.AutogradGrad) and event.output is not None:
            for value in event.output.ancestors(through_detach=False):
                value.feeds_autograd_grad = True
        elif isinstance(event, ev.Return) and event.value is not None and _is_framework_loss(event):
            for value in event.value.ancestors(through_detach=False):
                value.feeds_backward = True
    for event in trace.events:
        if isinstance(event, ev.Forward) and isinstance(event.output, Container):
            # A pass that returns several things trains if any of them does.
            parts = _inside(event.output)
            event.output.feeds_backward |= any(part.feeds_backward for part in parts)
            event.output.feeds_autograd_grad |= any(part.feeds_autograd_grad for part in parts)


def _inside(container: Container, limit: int = 60) -> list[Value]:
    """The elements of a container, and of those in it."""
    found = list(container.elements())
    for value in found:
        if len(found) < limit:
            found += value.elements()
    return found


def _is_framework_loss(event: ev.Return) -> bool:
    """What `training_step` of a LightningModule or `compute_loss` of a HF Trainer returns is the loss."""
    owner = event.root.owner
    if owner is None or owner.cls is None:
        return False
    name = event.function.rsplit(".", 1)[-1]
    return (owner.cls.family == "lightning-module" and name == "training_step") or (
        owner.cls.family == "hf-trainer" and name in ("compute_loss", "training_step")
    )


def _loops(trace: Trace) -> None:
    """Which loops train, and which of them hold the single steps."""
    trains: dict[int, Loop] = {}
    for event in trace.events:
        if isinstance(event, ev.Backward):
            for loop in event.loops:
                loop.trains = True
                trains[id(loop)] = loop
            if event.loops:
                event.loops[-1].innermost_training = True
    for event in trace.events:
        if not isinstance(event, ev.Backward):
            continue
        for position, loop in enumerate(event.loops):
            if any(inner.kind not in ("literal",) for inner in event.loops[position + 1 :]):
                loop.innermost_training = False
            elif all(inner.kind == "literal" for inner in event.loops[position + 1 :]):
                loop.innermost_training = True
    for event in trace.events:
        if isinstance(event, ev.Iterate) and event.iterates is not None:
            loop = event.subject
            if loop.kind == "iterable":
                source = event.iterates
                while source.op in ("enumerate", "tqdm", "passthrough", "zip") and source.parents:
                    source = source.parents[0]
                if source.role == "loader":
                    loop.kind = "loader"
                elif source.role is None and loop.trains and source.op in (
                    "parameter-of-function", "attribute", "call", "unknown", "getitem"):  # fmt: skip
                    source.role = "loader"
                    loop.kind = "loader"


def _crossings(trace: Trace) -> None:
    """Loops that reset a container or accumulator are not crossed by what it holds."""
    for event in trace.events:
        if isinstance(event, ev.Store):
            holders = [
                v for v in (event.container if event.how != "attribute" else None, event.result) if v is not None
            ]
            reset: frozenset[int] = frozenset()
            for holder in holders:
                reset |= holder.reset_in
            if event.how == "attribute":
                reset |= event.value.reset_in
            if event.previous is not None and event.how == "accumulate":
                reset |= event.previous.reset_in
            if reset:
                event.crossing = tuple(loop for loop in event.crossing if id(loop) not in reset)


def _doubt_by_candidates(trace: Trace) -> None:
    """An unknown module may be one of the project's: where such a class returns an element without its graph, the
    same element of the unknown module's result is not known to carry one."""
    candidates: list[tuple[Any, Value]] = []
    for event in trace.events:
        if isinstance(event, ev.Return) and isinstance(event.value, Container) and event.function.endswith(".forward"):
            owner = event.root.owner
            if owner is not None and owner.cls is not None and owner.cls.family == "module":
                method = owner.cls.method("forward")
                if isinstance(method, FunctionValue):
                    candidates.append((method.node.args, event.value))
    if not candidates:
        return
    for event in trace.events:
        if not isinstance(event, ev.Forward) or event.module.origin.cls is not None or event.module.origin.made_by:
            continue
        count = len(event.inputs) + len(event.keywords)
        for spec, returned in candidates:
            names = len(spec.posonlyargs) + len(spec.args) - 1
            if not names - len(spec.defaults) <= count <= names:
                continue
            for position, element in enumerate(returned.elements()):
                taken = event.output.attributes.get(f"[{position}]")
                if taken is not None and element.carries_graph is False:
                    taken._graph = None
