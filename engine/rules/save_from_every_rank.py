"""Every process writes the same file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.rules.facts.distributed import distributed_by, from_rank
from engine.rules.rule import Draft, rule
from engine.trace import Place, Step, Trace
from engine.trace.events import Event, FrameworkTrainer, FunctionCall, ProcessGroupInit, Save, Store

_ONE_RANK = re.compile(
    r"rank|master|main|primary|leader|gpu|node|process|fabric|accelerator|distributed|parallel|\bddp\b"
    r"|(?<![%\d] )\b\w+ == 0",
    re.IGNORECASE,
)
_COLLECTIVE = frozenset({"fsdp", "deepspeed"})


@rule("PF702", "save-from-every-rank", "warning", "A checkpoint is written by every process")
def check(trace: Trace) -> Iterator[Draft]:
    yield from _once_per_node(trace)
    yield from _pretrained(trace)
    yield from _other_files(trace)
    guarded = {save.place for save in trace.of(Save) if _perhaps_one_rank(save)}
    for save in trace.of(Save):
        if save.how != "torch.save" or save.place in guarded or from_rank(save.target) or _in_memory(save):
            continue
        shown = _shown_by(trace, save)
        if shown is None or _holds_sharded(save):
            continue
        yield Draft(
            save.place,
            "Every process writes this file: they race for it, and a reader may see a half-written checkpoint. "
            "Save on one "
            "rank only.",
            (Step(shown, "several processes run this code"),),
        )


_WRITES = frozenset({"json.dump", "yaml.dump", "yaml.safe_dump", "pickle.dump", "csv.writer"})
_FETCHES = frozenset(
    {
        "torchvision.datasets.utils.download_url",
        "torchvision.datasets.utils.download_and_extract_archive",
        "torch.hub.download_url_to_file",
        "urllib.request.urlretrieve",
        "wget.download",
        "gdown.download",
    }
)


def _other_files(trace: Trace) -> Iterator[Draft]:
    """A file of results that each process writes, and a download that each of them makes."""
    for call in trace.of(FunctionCall):
        if call.name not in _WRITES | _FETCHES or any(
            guard.kinds & {"rank", "local-rank"} or _ONE_RANK.search(guard.text) for guard in call.guards
        ):
            continue
        values = [*call.arguments, *call.keywords.values()]
        files = [value for value in values if value.role == "file"] if call.name in _WRITES else values
        if not files or any(from_rank(value) for value in files):
            continue
        launched = distributed_by(trace, call)
        around: list[Event] = list(trace.family(call))
        if launched is None or launched not in around or launched.index > call.index:
            continue
        if isinstance(launched, ProcessGroupInit) and launched.how != "init_process_group":
            # A framework's launch may start one process as well as several.
            continue
        what = "writes this file" if call.name in _WRITES else "fetches this file to the same place"
        yield Draft(
            call.place if call.function == call.root.name or not call.stack else _nearest(call, launched),
            f"Every process {what}: they race for it. Do it on one rank only, and let the others wait.",
            (Step(launched.place, "several processes run this code"),),
            severity="warning" if call.name in _WRITES else "note",
        )


def _nearest(call: FunctionCall, launched: Event) -> Place:
    """The call in the function that starts the processes, where a condition on the rank belongs."""
    if call.name in _WRITES:
        return call.place
    return next((place for place in reversed(call.stack) if place.path == launched.place.path), call.place)


def _once_per_node(trace: Trace) -> Iterator[Draft]:
    """A local rank lets one process of each node through, in a class that knows its rank among all."""
    for save in trace.of(Save):
        guard = save.guarded("local-rank")
        if save.how != "torch.save" or guard is None or not guard.holds or save.guarded("rank"):
            continue
        known = next((store for store in trace.of(Store) if _keeps_rank(store, save)), None)
        if known is not None and not from_rank(save.target):
            yield Draft(
                guard.place,
                "The local rank is 0 on each node: on several nodes that share the file, all of them write it. Ask for "
                "the rank among all processes.",
                (Step(save.place, "written here"), Step(known.place, "the rank among all is known here")),
                severity="note",
            )


def _pretrained(trace: Trace) -> Iterator[Draft]:
    """`save_pretrained` writes in each process that calls it, unless it is told which one is the main one."""
    for save in trace.first_per_place(trace.of(Save)):
        if save.how != "save_pretrained" or _perhaps_one_rank(save) or from_rank(save.target) or save.value is None:
            continue
        if not {"is_main_process", "save_function", "state_dict", "**"}.isdisjoint(save.keywords):
            continue
        launched = _launched_by_framework(trace, save)
        started = next((e for e in trace.before(save, ProcessGroupInit) if e.how == "init_process_group"), None)
        if launched is None and started is not None and not _holds_sharded(save):
            yield Draft(
                save.place,
                "Every process writes these files: they race for them. Save on one rank only.",
                (Step(started.place, "several processes run this code"),),
            )
        if launched is not None and not _holds_sharded(save):
            yield Draft(
                save.place,
                "Where several processes run this script, each of them writes these files: they race for them. Save on "
                "the main process only (`is_main_process=`).",
                (Step(launched, "prepared for several processes here"),),
                severity="note",
            )


def _launched_by_framework(trace: Trace, save: Save) -> Place | None:
    """What shows that Accelerate or a Trainer may run the script in several processes."""
    framework = save.value.origin.prepared if save.value is not None else None
    if framework is not None:
        return framework.place if framework.role == "accelerator" else None
    for trained in trace.before(save, FrameworkTrainer):
        if trained.library == "transformers" and trained.what == "train" and trained.place.path == save.place.path:
            # A script that asks for its rank is one that several processes run.
            asks = "local_rank" in trace.project.read_text(save.place.path).lower()
            return trained.place if asks else None
    return None


def _keeps_rank(store: Store, save: Save) -> bool:
    """Whether the rank among all processes is kept by the class that saves."""
    cls = save.function.rpartition(".")[0]
    same_class = bool(cls) and store.function.rpartition(".")[0] == cls and store.place.path == save.place.path
    return same_class and store.how == "attribute" and "rank" in store.value.about


def _perhaps_one_rank(save: Save) -> bool:
    """Whether a condition may let one rank through: by what it tests, or, to be silent in doubt, by its words."""
    return any(guard.kinds & {"rank"} or _ONE_RANK.search(guard.text) for guard in save.guards)


def _in_memory(save: Save) -> bool:
    return save.target is not None and any(part.made_by == "io.BytesIO" for part in save.target.options())


def _shown_by(trace: Trace, save: Save) -> Place | None:
    """Evidence of several processes: what is saved is inside a wrapper, or the class or script starts them."""
    launched = distributed_by(trace, save)
    if launched is not None:
        return launched.place
    owner = save.root.owner
    if owner is not None:
        for name, value in owner.attributes.items():
            if value.rank and name:
                return value.place
    return None


def _holds_sharded(save: Save) -> bool:
    if save.value is None:
        return True
    parts = [part for value in (save.value, *save.value.elements()) for part in value.ancestors(limit=60)]
    return any(part.wrapping in _COLLECTIVE for part in parts)
