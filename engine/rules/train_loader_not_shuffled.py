"""Training data comes in the same order in every epoch."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import identities
from engine.rules.remedies.loaders import shuffled
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace, Value
from engine.trace.events import Forward, Iterate, LoaderBuilt

_HELD_OUT = ("val", "test", "dev", "eval")

_MAP_STYLE = ("torchvision.datasets.", "torch.utils.data.TensorDataset", "torch.utils.data.dataset.TensorDataset")


@rule("PF603", "train-loader-not-shuffled", "warning", "A training loader is not shuffled")
def check(trace: Trace) -> Iterator[Draft]:
    built = list(trace.of(LoaderBuilt))
    for event in built:
        sampler = event.loader.keyword("sampler", "batch_sampler", "3", "4")
        if sampler is not None and not (sampler.is_constant and sampler.constant is None):
            yield from _by_sampler(trace, event, sampler)
            continue
        if not event.complete:
            continue
        shuffle = event.loader.keyword("shuffle", "2")
        swapped = _swapped(event, built)
        if swapped is not None:
            yield Draft(
                event.place,
                "The training loader reads in order while the loader of the held-out data is shuffled: the two "
                "flags look "
                "swapped.",
                (Step(swapped.place, "the other loader, shuffled"),),
                fix=shuffled(event, swapped),
            )
            continue
        if _read_by_fit(event):
            yield from _in_hook(event, shuffle)
            continue
        if shuffle is not None and shuffle.constant is not False:
            continue
        trained = _trained_in(trace, event.loader)
        known = _map_style(event.loader)
        if trained is None or not (known or _sized(event.loader)) or _carries_state(trace, trained):
            continue
        yield Draft(
            event.place,
            "Training reads this loader in the same order in every epoch: "
            + ("`shuffle=False` is passed" if shuffle is not None else "`shuffle` defaults to False")
            + ".",
            (Step(trained.subject.place, "training reads it here"),),
            severity=None if shuffle is not None and known else "note",
            fix=shuffled(event) if known else None,
        )


def _read_by_fit(event: LoaderBuilt) -> bool:
    """Whether a Lightning `train_dataloader` makes it: `Trainer.fit` reads it in every epoch."""
    owner = event.root.owner
    family = owner.cls.family if owner is not None and owner.cls is not None else ""
    return event.root.name.rpartition(".")[2] == "train_dataloader" and family.startswith("lightning-")


def _in_hook(event: LoaderBuilt, shuffle: Value | None) -> Iterator[Draft]:
    """In order by what is written, or by the default of a parameter: then the data has items that could be shuffled."""
    default = shuffle.default if shuffle is not None else None
    by_default = shuffle is not None and default is not None and default.constant is False and default.is_constant
    written = shuffle is None or shuffle.constant is False
    if not by_default and not (written and _map_style(event.loader)):
        return
    yield Draft(
        event.place,
        "`Trainer.fit` reads this loader in the same order in every epoch"
        + (f": `{shuffle.name}` is False unless told otherwise." if by_default and shuffle is not None else "."),
        (Step(shuffle.place, "False by default"),) if by_default and shuffle is not None else (),
        severity="note",
    )


def _by_sampler(trace: Trace, event: LoaderBuilt, sampler: Value) -> Iterator[Draft]:
    """A sampler of the ranks that keeps the order, or that only a run of several processes has."""
    shuffle = event.loader.keyword("shuffle", "2")
    options = sampler.options()
    splits = [option for option in options if option.made_by.endswith("DistributedSampler")]
    trained = _trained_in(trace, event.loader) if splits else None
    if trained is None or not _reads_items(event.loader) or _carries_state(trace, trained):
        return
    ordered = next(
        (o for o in splits if (kept := o.keyword("shuffle", "3")) is not None and kept.constant is False), None
    )
    if ordered is not None:
        yield Draft(
            ordered.place,
            "This sampler keeps the order of the data (`shuffle=False`), and training reads it in the same order in "
            "every epoch.",
            (Step(event.place, "the loader"), Step(trained.subject.place, "training reads it here")),
            severity="note",
        )
        return
    alone = any(option.is_constant and option.constant is None for option in options)
    if event.complete and alone and (shuffle is None or shuffle.constant is False):
        yield Draft(
            event.place,
            "Where there is no sampler (a run of one process), training reads this loader in the same order in every "
            "epoch. Pass `shuffle=sampler is None`.",
            (Step(sampler.place, "a sampler only for several processes"), Step(trained.subject.place, "training")),
            severity="note",
        )


def _reads_items(loader: Value) -> bool:
    """Whether the data has items that a sampler can choose among: a stream refuses samplers."""
    data = loader.keyword("dataset", "0")
    return data is None or data.origin.cls is None or data.origin.cls.family != "iterable-dataset"


def _swapped(event: LoaderBuilt, built: list[LoaderBuilt]) -> LoaderBuilt | None:
    shuffle = event.loader.keyword("shuffle", "2")
    if shuffle is None or shuffle.constant is not False or not _says(event, "train") or _says(event, *_HELD_OUT):
        return None
    for other in built:
        shuffled = other.loader.keyword("shuffle", "2")
        together = other.root is event.root and other.function == event.function
        if (
            together
            and shuffled is not None
            and shuffled.constant is True
            and _says(other, *_HELD_OUT)
            and not _says(other, "train")
        ):
            return other
    return None


def _says(event: LoaderBuilt, *words: str) -> bool:
    """The name of the data only tells which of two contradicting flags is which."""
    data = event.loader.keyword("dataset", "0")
    name = (data.name if data is not None else "").lower()
    return any(word in name for word in words)


def _trained_in(trace: Trace, loader: Value) -> Iterate | None:
    wanted = identities(loader)
    for iterate in trace.of(Iterate):
        if iterate.iterates is None or not iterate.subject.trains or not iterate.loops:
            continue
        if not wanted.isdisjoint({id(part.origin) for part in iterate.iterates.ancestors(limit=30)}):
            return iterate
    return None


def _map_style(loader: Value) -> bool:
    data = loader.keyword("dataset", "0")
    if data is None:
        return False
    if data.origin.cls is not None:
        return data.origin.cls.family == "dataset"
    return data.made_by.startswith(_MAP_STYLE)


def _sized(loader: Value) -> bool:
    """Whether the program asks an unknown dataset's loader for its length, which a stream of data has not."""
    data = loader.keyword("dataset", "0")
    unknown = data is not None and data.origin.cls is None and not data.made_by
    return unknown and "arg:builtins.len" in loader.uses


def _carries_state(trace: Trace, iterate: Iterate) -> bool:
    return any(
        iterate.subject in trace.carried(option, forward)
        for forward in trace.within(iterate.subject, Forward)
        for value in (*forward.inputs, *forward.keywords.values())
        for option in value.options()
    )
