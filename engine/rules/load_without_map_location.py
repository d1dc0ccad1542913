"""Every rank loads a checkpoint onto the device that it was saved from."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.distributed import distributed_by
from engine.rules.facts.identity import same
from engine.rules.facts.text import source_of
from engine.rules.rule import Draft, FixMaker, rule
from engine.trace import Step, Trace, Value
from engine.trace.events import (
    Backward,
    Collective,
    DeviceSync,
    Forward,
    FunctionCall,
    Load,
    LoadStateDict,
    MethodCall,
    Prepare,
    Released,
    Save,
    Store,
    TensorCreated,
    Transfer,
)


@rule("PF701", "load-without-map-location", "warning", "A distributed run loads a checkpoint without map_location")
def check(trace: Trace) -> Iterator[Draft]:
    yield from _kept(trace)
    yield from _kept_while_training(trace)
    for load in trace.of(Load):
        if load.how != "torch.load" or load.map_location is not None:
            continue
        launched = distributed_by(trace, load) or _exchanges(trace, load)
        used = _used_as_state(trace, load)
        chosen = any(other.map_location is not None and other.excludes(load) for other in trace.family(load, Load))
        moved = None if launched else _moved_after(trace, load, used)
        beside = None if moved is not None or (launched and used) else _chosen_beside(trace, load)
        if beside is not None and not chosen:
            yield Draft(
                load.place,
                "These tensors are restored onto the device they were saved from, while what is loaded beside them "
                "gets a `map_location`. Pass it here too.",
                (Step(beside.place, "loaded with `map_location`"),),
                severity="note",
            )
        if moved is not None and not chosen:
            yield Draft(
                load.place,
                "The tensors are restored onto the device they were saved from and moved only afterwards: on a host "
                "without that device this raises. Pass `map_location`.",
                (Step(moved.place, "moved here"),),
                severity="note",
            )
        given = None if launched or moved or beside or used or chosen else _given_host_tensors(trace, load)
        if given is not None:
            yield Draft(
                load.place,
                "What is loaded here stays on the device that it was saved from, and is given tensors of the host: "
                'saved from a GPU, that raises. Pass `map_location="cpu"`.',
                (Step(given.place, "used with tensors made on the CPU"),),
                severity="note",
            )
        told = moved is not None or beside is not None
        if used is not None and launched is None and not told and not chosen and _of_callers(trace, load):
            yield Draft(
                load.place,
                "The tensors of a file that the caller names are restored onto the device they were saved from: on a "
                "host without that device this raises. Pass `map_location`.",
                (Step(used.place, "the weights go in here"),),
                severity="note",
            )
        if launched is None or used is None or load.guarded("rank") or chosen:
            continue
        yield Draft(
            load.place,
            "Without `map_location` each process restores these tensors onto the GPU they were saved from, so all "
            'ranks allocate there; pass `map_location="cpu"` or the rank\'s own device.',
            (Step(launched.place, "several processes run this code"), Step(used.place, "the weights go in here")),
            fix=_fix(trace, load),
        )


def _kept(trace: Trace) -> Iterator[Draft]:
    """A checkpoint that was loaded to the GPU, and that an object keeps after its weights were copied."""
    for store in trace.of(Store):
        load = next((e for e in trace.of(Load) if e.result is store.value), None) if store.how == "attribute" else None
        if load is None or load.how != "torch.load":
            continue
        where = load.map_location
        used = _used_as_state(trace, load)
        if used is None or where is None or _replaced(trace, store):
            continue
        on_gpu = where.is_constant and str(where.constant).startswith("cuda")
        if not on_gpu and not _lives_on(trace, used, where):
            continue
        where_told = "the GPU" if on_gpu else "the device of the model"
        yield Draft(
            load.place,
            f"The checkpoint is loaded to {where_told} and stays in `{store.target}`: its weights take memory a second "
            "time for as long as this object lives. Load it to the CPU, or keep only what is needed of it.",
            (Step(store.place, "kept here"), Step(used.place, "copied into the model here")),
            severity="warning",
        )


def _replaced(trace: Trace, store: Store) -> bool:
    """Whether the object lets go of what it keeps later."""
    return any(
        other.how == "attribute"
        and other.attribute == store.attribute
        and other.index > store.index
        and other.value is not store.value
        for other in trace.family(store, Store)
    )


def _lives_on(trace: Trace, used: LoadStateDict, device: Value) -> bool:
    """Whether the model that got the weights is moved to a device that the program calls the same."""
    return any(
        transfer.destination is device and same(transfer.value, used.target)
        for transfer in trace.family(used, Transfer)
    )


def _kept_while_training(trace: Trace) -> Iterator[Draft]:
    """A checkpoint that was loaded to the GPU, and whose name lives on in the function that trains."""
    for load in trace.of(Load):
        where = load.map_location
        on_gpu = where is not None and where.is_constant and str(where.constant).startswith("cuda")
        if load.how != "torch.load" or where is None or load.stack or load.result is None or load.loops:
            continue
        used = _used_as_state(trace, load)
        if not on_gpu and (used is None or not _where_the_model_goes(trace, where, used)):
            continue
        if used is None or any(part is load.result for part in (used.state,)):
            # `load_state_dict(torch.load(...))` leaves no name.
            continue
        training = next(
            (b for b in trace.after(used, Backward) if b.loops and b.loops[0].place.path == load.place.path), None
        )
        # A name that is bound anew only when the first checkpoint is saved holds the old one in the steps before.
        if training is None or any(
            released.value is load.result and training.loops[0] not in released.loops for released in trace.of(Released)
        ):
            continue
        if training.root is not load.root or _loop_function(training) != load.function:
            continue
        yield Draft(
            load.place,
            f"The checkpoint is loaded to {'the GPU' if on_gpu else 'the device of the model'} and stays there while "
            "this function trains: its weights and optimizer state take memory a second time. Load it to the CPU, or "
            "delete it once it is copied.",
            (Step(used.place, "copied here"), Step(training.loops[0].place, "the training that follows")),
            severity="warning" if on_gpu else "note",
        )


def _where_the_model_goes(trace: Trace, where: Value, used: LoadStateDict) -> bool:
    """Whether a checkpoint is loaded to the device that the module which takes its weights is moved to."""
    if where.is_constant:
        return False
    return any(
        same(transfer.value, used.target) and transfer.destination is not None and same(transfer.destination, where)
        for transfer in trace.of(Transfer)
    )


def _loop_function(backward: Backward) -> str:
    """The function that the outermost loop around a backward stands in."""
    if not backward.stack:
        return backward.function
    return backward.root.name


def _used_as_state(trace: Trace, load: Load) -> LoadStateDict | None:
    if load.result is None:
        return None
    for used in trace.of(LoadStateDict):
        if used.state is not None and any(part is load.result for part in used.state.ancestors(limit=200)):
            return used
        if used.state is not None and any(value is load.result for value in _receivers(used)):
            return used
    return None


def _moved_after(trace: Trace, load: Load, used: LoadStateDict | None) -> Transfer | Prepare | None:
    """A move of what was loaded, or of the module that took it, to a device that the program chooses, itself or through
    a framework's `prepare` or `setup`."""
    for transfer in trace.of(Transfer):
        if transfer.device.startswith("cpu") or load.result is None:
            continue
        if transfer.how == "to" and any(part is load.result for part in transfer.value.ancestors(limit=30)):
            return transfer
        if used is None or transfer.index < used.index or transfer.root is not used.root:
            continue
        # `if torch.cuda.is_available(): net.cuda()` is meant to run on hosts without a GPU as well.
        optional = any("is_available" in guard.text for guard in transfer.guards)
        chosen = transfer.how == "to" and _either(transfer.destination)
        if (chosen or (transfer.how == "cuda" and optional)) and same(transfer.value, used.target):
            return transfer
    if used is None:
        return None
    for prepare in trace.after(used, Prepare):
        if any(same(each, used.target) for each in prepare.objects if each.role == "module"):
            return prepare
    return None


def _given_host_tensors(trace: Trace, load: Load) -> Forward | MethodCall | FunctionCall | None:
    """A call of a loaded object with tensors that are created without a device, where nothing moves either."""
    created = {id(event.output) for event in trace.of(TensorCreated) if not event.device_given}
    calls: list[Forward | MethodCall | FunctionCall] = [*trace.after(load, Forward), *trace.after(load, MethodCall)]
    calls += trace.after(load, FunctionCall)
    for call in calls if created else ():
        target = (
            call.module if isinstance(call, Forward) else call.receiver if isinstance(call, MethodCall) else call.callee
        )
        if target is None or not any(part is load.result for part in target.ancestors(limit=20)):
            continue
        if isinstance(call, MethodCall) and call.method in ("to", "cuda"):
            return None
        given = call.inputs if isinstance(call, Forward) else call.arguments
        if any(id(option) in created and option.device in ("", "cpu") for value in given for option in value.options()):
            return call
    return None


def _either(device: Value | None) -> bool:
    """Whether a device is the GPU or the CPU, by what the host has."""
    if device is None:
        return False
    for part in device.ancestors(limit=20):
        for value in (part, *part.keywords.values()):
            names = {str(option.constant).split(":")[0] for option in value.options() if option.is_constant}
            if {"cuda", "cpu"} <= names:
                return True
    return False


def _exchanges(trace: Trace, load: Load) -> Collective | None:
    """A collective in the same class: several processes run it."""
    if load.root.owner is None:
        return None
    return next((event for event in trace.family(load, Collective) if event.library == "torch"), None)


def _chosen_beside(trace: Trace, load: Load) -> Load | None:
    """Another load of the same class or function, for which a device is chosen."""
    for other in trace.of(Load) if load.function else ():
        if other.how != "torch.load" or other.map_location is None or other.place.path != load.place.path:
            continue
        if _home(other) == _home(load) and other.place != load.place and not other.excludes(load):
            return other
    return None


def _of_callers(trace: Trace, load: Load) -> bool:
    """Whether a function loads the file that whoever calls it names: that may be another host than wrote it.

    Not where the same file writes from the CPU."""
    source = load.source
    if source is None or load.root.kind == "script":
        return False
    saves = {(save.place.path, save.function) for save in trace.of(Save)}
    if any(sync.how == "cpu" and (sync.place.path, sync.function) in saves for sync in trace.of(DeviceSync)):
        return False
    return any(part.op == "parameter-of-function" for part in source.ancestors(limit=30))


def _home(load: Load) -> str:
    """The class whose method a load stands in, or the function itself."""
    return load.function.rpartition(".")[0] or load.function


def _receivers(used: LoadStateDict) -> Iterator[object]:
    value = used.state
    for _ in range(8):
        if value is None:
            return
        yield value
        value = value.callee


def _fix(trace: Trace, load: Load) -> FixMaker | None:
    from engine.rules.facts.text import replace

    text = source_of(trace.project, load.place)
    if not text.endswith(")"):
        return None
    inner = text[:-1].rstrip()
    comma = "" if inner.endswith(("(", ",")) else ","
    return replace(
        load.place, f'{inner}{comma} map_location="cpu")', "Load to host memory; load_state_dict copies to each device"
    )
