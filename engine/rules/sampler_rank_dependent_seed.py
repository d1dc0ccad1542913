"""Ranks shuffle differently and no longer split the data."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.distributed import from_rank
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace
from engine.trace.events import SamplerBuilt


@rule("PF506", "sampler-rank-dependent-seed", "error", "A distributed sampler is seeded by the rank")
def check(trace: Trace) -> Iterator[Draft]:
    for built in trace.of(SamplerBuilt):
        seed = built.sampler.keyword("seed", "4")
        if built.sampler.made_by.endswith("DistributedSampler") and from_rank(seed):
            assert seed is not None
            yield Draft(
                seed.place if seed.place.path == built.place.path else built.place,
                "A DistributedSampler splits one permutation among the ranks, so all must draw the same; with a "
                "seed from "
                "the rank, samples are repeated on some and left out on others.",
                (Step(built.place, "splits the data among the ranks"),),
            )
