"""A data loader with workers and no timeout, on a network store that sometimes hangs."""

from __future__ import annotations

from collections.abc import Iterator

from engine.extending import Draft, Fix, Place, Project, Step, Trace, events, fixes, rule

PREFLIGHT_API = 1

SECONDS = "120"


@rule("ACME001", "loader-timeout", "warning", "A data loader with workers waits for ever where the store hangs")
def check(trace: Trace) -> Iterator[Draft]:
    for built in trace.of(events.LoaderBuilt):
        workers = built.loader.keyword("num_workers")
        if not built.complete or workers is None or not workers.constant or built.loader.keyword("timeout"):
            continue
        yield Draft(
            built.place,
            f"A worker that hangs on the store stops this job without a word; pass `timeout={SECONDS}`.",
            (Step(workers.place, "worker processes are asked for here"),),
            fix=lambda project, place=built.place: _with_timeout(project, place),
        )


def _with_timeout(project: Project, place: Place) -> Fix | None:
    return fixes.add_keyword(project.module(place.path), place, "timeout", SECONDS, safe=True)
