"""A figure of one rank's share is reported as if it were of all."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.rules.facts.identity import identities
from engine.rules.facts.retention import entered_as
from engine.rules.facts.training import lightning_step
from engine.rules.rule import Draft, rule
from engine.trace import Container, Step, Trace
from engine.trace.events import (
    Collective,
    Forward,
    FrameworkHook,
    FrameworkTrainer,
    Iterate,
    LoaderBuilt,
    LossCall,
    ProcessGroupInit,
    Report,
    Return,
    Store,
)


@rule("PF507", "metric-not-reduced", "note", "A sharded evaluation is reported by one rank without reduction")
def check(trace: Trace) -> Iterator[Draft]:
    yield from _plain(trace)
    yield from _prepared(trace)
    yield from _collected(trace)
    yield from _returned(trace)
    yield from _with_duplicates(trace)
    yield from _logged(trace)


def _plain(trace: Trace) -> Iterator[Draft]:
    """A process group, a DistributedSampler, and no reduction anywhere."""
    for launched in (*trace.of(ProcessGroupInit), *_samplers(trace)):
        if any(c.name not in ("barrier", "broadcast") for c in trace.family(launched, Collective)):
            continue
        sharded = {
            id(built.loader): built
            for built in trace.family(launched, LoaderBuilt)
            if (sampler := built.loader.keyword("sampler")) is not None
            and sampler.made_by.endswith("DistributedSampler")
        }
        for iterate in trace.family(launched, Iterate):
            if iterate.iterates is None or iterate.subject.trains or iterate.guarded("rank"):
                continue
            built = next((sharded[i] for i in identities(iterate.iterates) if i in sharded), None)
            outputs = {id(f.output) for f in trace.within(iterate.subject, Forward) if f.grad is False}
            if built is None or not outputs:
                continue
            for report in trace.family(launched, Report):
                guard = report.guarded("rank")
                values = [part for value in report.values for part in value.ancestors(limit=300)]
                if guard is not None and any(id(part) in outputs for part in values):
                    yield Draft(
                        report.place,
                        "This rank has evaluated only its share of the data, and its figure is reported as the result; "
                        "reduce it over all ranks first.",
                        (Step(built.place, "split among ranks here"), Step(iterate.subject.place, "evaluated here")),
                    )
                    return


def _samplers(trace: Trace) -> Iterator[LoaderBuilt]:
    """Loaders split by a DistributedSampler: without a process group it raises, so there is one."""
    for built in trace.of(LoaderBuilt):
        sampler = built.loader.keyword("sampler")
        if sampler is not None and sampler.made_by.endswith("DistributedSampler"):
            yield built


def _prepared(trace: Trace) -> Iterator[Draft]:
    """A loader that Fabric or Accelerate has split, and a figure of its pass that meets no collective."""
    exchanged = {
        id(value)
        for collective in trace.of(Collective)
        if collective.name not in _MOVES_NOTHING
        for value in (*collective.values, collective.result)
        if value is not None
    }
    reports = [report for report in trace.of(Report) if report.through is not None or report.guarded("rank")]
    nearest: dict[int, tuple[int, Report, Iterate]] = {}
    for iterate in trace.of(Iterate) if reports else ():
        if iterate.subject.trains or iterate.guarded("rank") or not _split(iterate):
            continue
        outputs = {id(f.output) for f in trace.within(iterate.subject, Forward) if f.grad is False}
        for report in reports if outputs else ():
            distance = report.index - iterate.index
            if report.root is not iterate.root or distance < 0 or report.guarded("debug"):
                continue
            parts = [p for v in (*report.values, *report.keywords.values()) for p in v.ancestors(limit=400)]
            if not any(id(part) in outputs for part in parts) or any(id(part) in exchanged for part in parts):
                continue
            best = nearest.get(id(iterate))
            if best is None or distance < best[0]:
                nearest[id(iterate)] = (distance, report, iterate)
    # One function may evaluate for several callers, and each of them reports.
    for report, iterate in {report.place: (report, iterate) for _, report, iterate in nearest.values()}.values():
        yield Draft(
            report.place,
            "The loader of this evaluation is split among processes, and the main process reports the figure of its "
            "own share as the result; reduce it over all processes first.",
            (Step(iterate.subject.place, "each process evaluates its share here"),),
        )


def _collected(trace: Trace) -> Iterator[Draft]:
    """Figures that a Hugging Face Trainer collects in `compute_loss` until its `log`, which the main process writes."""
    exchanged = {id(c.result) for c in trace.of(Collective)}
    for hook in trace.of(FrameworkHook):
        if hook.name != "compute_loss" or not any("log" in cls.methods for cls in hook.cls.lineage()):
            continue
        computed = {id(event.output) for event in trace.after(hook, Forward)}
        computed |= {id(event.output) for event in trace.after(hook, LossCall)}
        found = []
        for store in trace.after(hook, Store):
            kept = (
                store.how in ("append", "extend") and isinstance(store.container, Container) and store.container.held_as
            )
            for entry in (*entered_as(trace, store), store)[:40] if kept else ():
                if entry is store and entry.value.op == "element":
                    continue
                parts = {id(part) for part in entry.value.ancestors(limit=600)}
                if parts & computed and not parts & exchanged:
                    found.append((entry, store))
        if found:
            entry, store = min(found, key=lambda pair: pair[0].place)
            yield Draft(
                entry.place,
                "Each process collects this figure of its own share, and the main process alone logs: what is shown is "
                "one process's. `self.accelerator.gather_for_metrics` it first.",
                (Step(store.place, "collected here until `log`"),) if store is not entry else (),
            )


_CUT = re.compile(r"\[\s*:\s*len\(|\.num_samples|samples_seen|remainder")
"""Code that cuts the surplus off by itself."""

_MOVES_NOTHING = frozenset({"barrier", "wait_for_everyone", "broadcast", "fabric.save", "save_state"})


def _split(iterate: Iterate) -> bool:
    return iterate.iterates is not None and any(
        part.origin.prepared is not None for part in iterate.iterates.ancestors(limit=30)
    )


def _returned(trace: Trace) -> Iterator[Draft]:
    """A function evaluates this rank's share, returns a figure of it, and no collective is seen anywhere."""
    exchanging = (c for c in trace.of(Collective) if c.name not in ("barrier", "broadcast"))
    if any(True for _ in exchanging) or not any(True for _ in trace.of(ProcessGroupInit)):
        return
    sharded = {
        id(built.loader): built
        for built in trace.of(LoaderBuilt)
        if (sampler := built.loader.keyword("sampler")) is not None and sampler.made_by.endswith("DistributedSampler")
    }
    for iterate in trace.of(Iterate) if sharded else ():
        if iterate.iterates is None or iterate.subject.trains or iterate.guarded("rank"):
            continue
        built = next((sharded[i] for i in identities(iterate.iterates) if i in sharded), None)
        outputs = {id(f.output) for f in trace.within(iterate.subject, Forward) if f.grad is False}
        if built is None or not outputs:
            continue
        for returned in trace.after(iterate, Return):
            value = returned.value
            if returned.function != iterate.function or value is None or value.role != "number":
                continue
            if any(id(part) in outputs for part in value.ancestors(limit=300)):
                yield Draft(
                    returned.place,
                    "This rank has evaluated only its share of the data, and returns its figure as the result; reduce "
                    "it over all ranks first.",
                    (Step(built.place, "split among ranks here"), Step(iterate.subject.place, "evaluated here")),
                )
                return


def _with_duplicates(trace: Trace) -> Iterator[Draft]:
    """`gather` keeps the samples that fill up the last batch; `gather_for_metrics` drops them.

    https://huggingface.co/docs/accelerate/quicktour#distributed-evaluation
    """
    for collective in trace.of(Collective):
        loop = collective.loop
        if collective.name != "gather" or not collective.library.startswith("accelerat"):
            continue
        if loop is None or loop.trains or any(f.grad is not False for f in trace.within(loop, Forward)):
            continue
        iterate = next((i for i in trace.of(Iterate) if i.subject is loop), None)
        if iterate is not None and _split(iterate) and not _CUT.search(trace.project.read_text(collective.place.path)):
            yield Draft(
                collective.place,
                "`gather` also returns the samples that were repeated to fill the last batch of each process, so they "
                "count twice. Use `gather_for_metrics`.",
                (Step(loop.place, "a prepared loader"),),
            )
            return


def _logged(trace: Trace) -> Iterator[Draft]:
    """Lightning's `self.log` of a tensor in an evaluation step, in a run of several devices.

    https://lightning.ai/docs/pytorch/stable/visualize/logging_advanced.html#sync-dist
    """
    several = next((built for built in trace.of(FrameworkTrainer) if _on_several(built)), None)
    for report in trace.of(Report) if several is not None else ():
        step = report.function.rpartition(".")[2]
        if step not in ("validation_step", "test_step") or not lightning_step(report):
            continue
        if "sync_dist" in report.keywords or len(report.values) < 2 or report.values[1].role == "metric":
            continue
        assert several is not None
        yield Draft(
            report.place,
            "With several devices each logs the figure of its own share; pass `sync_dist=True`, or log a metric object "
            "of torchmetrics.",
            (Step(several.place, "runs on several devices"),),
        )
        return


_SEVERAL = ("ddp", "fsdp", "deepspeed")


def _on_several(built: FrameworkTrainer) -> bool:
    if built.what != "built" or built.library not in ("lightning", "pytorch_lightning"):
        return False
    devices, nodes = built.keywords.get("devices"), built.keywords.get("num_nodes")
    strategy = built.keywords.get("strategy")
    if strategy is not None and str(strategy.constant or "").startswith(_SEVERAL):
        # Named for runs of several, whatever number the caller gives; one device is said plainly.
        return devices is None or devices.constant != 1
    return any(
        count is not None and isinstance(count.constant, int) and count.constant > 1 for count in (devices, nodes)
    )
