"""A figure of one rank's share is reported as if it were of all."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import identities
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace
from engine.trace.events import Collective, Forward, Iterate, LoaderBuilt, ProcessGroupInit, Report


@rule("PF507", "metric-not-reduced", "note", "A sharded evaluation is reported by one rank without reduction")
def check(trace: Trace) -> Iterator[Draft]:
    yield from _plain(trace)
    yield from _prepared(trace)


def _plain(trace: Trace) -> Iterator[Draft]:
    """A process group, a DistributedSampler, and no reduction anywhere."""
    for launched in trace.of(ProcessGroupInit):
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
            best = nearest.get(id(iterate.subject.place))
            if best is None or distance < best[0]:
                nearest[id(iterate.subject.place)] = (distance, report, iterate)
    for _, report, iterate in nearest.values():
        yield Draft(
            report.place,
            "The loader of this evaluation is split among processes, and the main process reports the figure of its "
            "own share as the result; reduce it over all processes first.",
            (Step(iterate.subject.place, "each process evaluates its share here"),),
        )


_MOVES_NOTHING = frozenset({"barrier", "wait_for_everyone", "broadcast", "fabric.save", "save_state"})


def _split(iterate: Iterate) -> bool:
    return iterate.iterates is not None and any(
        part.origin.prepared is not None for part in iterate.iterates.ancestors(limit=30)
    )
