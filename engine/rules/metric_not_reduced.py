"""A figure of one rank's share is reported as if it were of all."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import identities
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace
from engine.trace.events import Collective, Forward, Iterate, LoaderBuilt, ProcessGroupInit, Report


@rule("PF507", "metric-not-reduced", "note", "A sharded evaluation is reported by one rank without reduction")
def check(trace: Trace) -> Iterator[Draft]:
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
