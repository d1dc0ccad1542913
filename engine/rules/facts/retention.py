"""Values that are kept with their graph beyond the iteration that made them."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.evaluation import taken_by_numpy
from engine.rules.facts.identity import distinct
from engine.rules.facts.training import lightning_step, within_called_step
from engine.trace import Container, Loop, Trace, Value
from engine.trace.events import Backward, Forward, LossCall, Return, Store

_HANDFUL = 64
_MANY = 1000
_UNKNOWN_CALLS = frozenset({"call", "method-call"})


def kept_graphs(trace: Trace) -> Iterator[Store]:
    """Stores of a value that a network computed with gradients recorded, into something that outlives the iteration."""
    computed = {id(event.output) for event in trace.of(Forward)} | {id(event.output) for event in trace.of(LossCall)}
    # A plain assignment to an attribute replaces what was there: one graph at most.
    # One place may store several values, of which some are numbers.
    every = [store for store in trace.of(Store) if store.value is not None]
    stored = [store for store in every if store.how != "attribute"]
    yield from {store.place: store for store in every if _appended_queue(store)}.values()
    without_gradients = {store.place for store in stored if store.grad is False}
    for store in distinct(store for store in stored if store.value.carries_graph is True):
        assert isinstance(store, Store)
        if store.grad is False or _consumed(trace, store):
            continue
        if store.place in without_gradients and not in_training(store):
            # Inference that its caller switches gradients off for, and a test that does not.
            continue
        if store.how == "item" and isinstance(store.value, Container):
            # A list that is put in place empties what was kept there.
            continue
        if store.how == "item" and not any(loop.trains for loop in store.crossing) and not _held(store):
            # One entry for each name.
            continue
        own = [loop for loop in store.crossing if not _few(trace, loop, store)]
        if not own and not _outlives_framework_step(store) and not _outlives_called_step(trace, store):
            continue
        if _for_the_caller(trace, store):
            continue
        if _perhaps_member(store) or _perhaps_number(store, computed):
            continue
        if any(_computed(part, computed) for part in _parts(store.value)):
            yield store


def _appended_queue(store: Store) -> bool:
    """Whether a tensor that an object keeps is made longer by one that carries its graph, in each step."""
    value, before = store.value, store.previous
    if store.how != "attribute" or before is None or value.op not in ("cat", "concat", "vstack", "hstack"):
        return False
    if store.grad is False or value.carries_graph is not True or not any(loop.trains for loop in store.loops):
        return False
    parts = [part for given in value.parents for part in (given, *given.elements())]
    old = {id(before), *(id(option) for option in before.options())}
    kept = [part for part in parts if part.comes_from(old)]
    return bool(kept) and any(part.carries_graph is True for part in parts if part not in kept)


def _held(store: Store) -> bool:
    if store.how == "accumulate" and store.root.owner is not None:
        # A running total that is an attribute of the object whose method this is.
        return any(value is store.result for value in store.root.owner.attributes.values())
    return isinstance(store.container, Container) and bool(store.container.held_as)


def _few(trace: Trace, loop: Loop, store: Store) -> bool:
    """A loop of a known handful of iterations, or a comprehension, that keeps nothing beyond its function."""
    if loop.kind in ("comprehension", "literal"):
        return True
    if loop.trains or _held(store):
        return False
    if _inside_module(trace, store):
        return True
    return loop.count is not None and loop.count <= _HANDFUL


def _for_the_caller(trace: Trace, store: Store) -> bool:
    """A function that trains and evaluates nothing returns what it collected: its caller may want the graphs."""
    kept = store.container
    if any(loop.trains for loop in store.loops) or not isinstance(kept, Container) or kept.held_as:
        return False
    if any(forward.mode == "eval" for forward in trace.within(store.loops[-1], Forward)):
        return False
    return any(
        any(part is kept for value in _returned(event) for part in value.ancestors(limit=200))
        for event in trace.after(store, Return)
        if event.function == store.root.name
    )


def _returned(event: Return) -> tuple[Value, ...]:
    """What a function returns, with the fields of an object that it returns."""
    options = event.value.options() if event.value is not None else ()
    return (*options, *(field for option in options for field in option.attributes.values()))


def _inside_module(trace: Trace, store: Store) -> bool:
    """A loop of a network's own computation, over layers or time."""
    owner = store.root.owner
    if owner is not None and owner.role == "module" and not lightning_step(store):
        return True
    own = store.function.rpartition(".")[0]
    return bool(own) and any(cls.name == own and cls.family == "module" for cls in trace.classes)


def _parts(value: Value) -> tuple[Value, ...]:
    return (value, *value.elements())


def _computed(value: Value, computed: set[int]) -> bool:
    """Whether the graph comes from a network's computation, and not from a parameter itself."""
    return value.role != "parameter" and any(id(part) in computed for part in value.graph_ancestors())


def _perhaps_member(store: Store) -> bool:
    """A value that is, by path, a member of an object that nothing is known of: modules and settings are too."""
    options = store.value.options()
    return (
        store.how != "accumulate"
        and len(options) > 1
        and any(option.op == "attribute" and option.carries_graph is None for option in options)
    )


def _perhaps_number(store: Store, computed: set[int]) -> bool:
    """A result of an unknown function that is only collected may be a number as well."""
    value = store.value
    return (
        store.how != "accumulate"
        and value.role != "tensor"
        and value.op in _UNKNOWN_CALLS
        and id(value) not in computed
    )


def _consumed(trace: Trace, store: Store) -> bool:
    """Whether a later backward needs the graph that is kept, or there can be none."""
    if taken_by_numpy(store.value, *(value for value in (store.container, store.result) if value is not None)):
        return True
    if store.value.feeds_backward and store.crossing and _backward_after(trace, store):
        return True
    kept = [store.result, store.container]
    return any(value is not None and (value.feeds_backward or value.feeds_autograd_grad) for value in kept)


def bounded(store: Store) -> bool:
    """Whether it goes into a queue that holds a number of values, which the memory does not bound first."""
    container = store.container
    if not isinstance(container, Container) or not container.bounded or store.stack:
        return False
    return container.most is None or container.most <= _MANY


def entered_as(trace: Trace, store: Store) -> Iterator[Store]:
    """Where values entered a dictionary that is kept value by value, by code that knows none of them; nearest first."""
    element = store.value.op == "element"
    made_of = {id(part) for part in store.value.ancestors(limit=30)} if element else {id(store.value)}
    for other in trace.before(store, Store):
        whole = isinstance(other, Store) and other.how == "item" and isinstance(other.container, Container)
        if whole and id(other.value) in made_of and (element or other.function != store.function):
            yield other


def in_training(store: Store) -> bool:
    """Whether a loop that trains surrounds it, the project's own or a framework's."""
    return any(loop.trains for loop in store.loops) or _outlives_framework_step(store)


def _outlives_framework_step(store: Store) -> bool:
    """Whether something that is kept on a trainer or module holds it, in the step that a framework's loop calls."""
    held = _held(store)
    hook, owner = store.root.name.rpartition(".")[2], store.root.owner
    if hook == "compute_loss" and owner is not None and owner.cls is not None and owner.cls.family == "hf-trainer":
        return held
    training = store.function.rpartition(".")[2] == "training_step"
    return held and training and lightning_step(store)


def _outlives_called_step(trace: Trace, store: Store) -> bool:
    """Whether an object that outlives the call holds it, in a function that is one optimization step."""
    container = store.container
    if not _held(store) or store.how == "item" or (isinstance(container, Container) and container.cleared):
        return False
    return within_called_step(trace, store)


def _backward_after(trace: Trace, store: Store) -> bool:
    """Whether a backward outside of the loops that the value outlives starts from it."""
    for backward in trace.of(Backward):
        if backward.root is not store.root or any(loop in backward.loops for loop in store.crossing):
            continue
        if any(part is store.value for part in backward.loss.ancestors(through_detach=False)):
            return True
    return False
