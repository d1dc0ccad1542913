"""`/preflight compare t4 a100 8xh100`: on which GPU does the run fit, and what would it take?"""

from __future__ import annotations

from bot.commands import answers
from bot.commands.answers import Candidate
from bot.commands.asked import Asked, Misunderstood
from bot.commands.command import Call, SlashCommand
from bot.review.analysis import AnalysisBroken
from bot.review.exchange import Estimate
from hardware_catalog import usable_bytes

MOST_GPUS = 8
MOST_COUNTS = 3
"""Estimates of one answer: one for each number of devices."""


async def run(call: Call) -> str:
    """Estimate the head once for each number of devices named, and set the GPUs side by side."""
    try:
        asked = Asked.of(call.intent.arguments)
        requests, counts = asked.gpus, asked.counts
        if len(requests) < 2:
            return answers.another_gpu_needed(asked.named[0].word) if requests else answers.GPUS_NEEDED
        if len(requests) > MOST_GPUS:
            return answers.too_many_gpus(len(requests), MOST_GPUS)
        if len(counts) > MOST_COUNTS:
            return answers.too_many_counts(MOST_COUNTS)
        change = await call.pipeline.change_of(call.repository, call.intent.number)
        settings = asked.chosen(change.configuration.settings, change.sides.head)
    except Misunderstood as misunderstood:
        return str(misunderstood)
    found: dict[int, Estimate] = {}
    try:
        for count in counts:
            names = tuple(dict.fromkeys(request.gpu.id for request in requests if request.count == count))
            overrides = ({"world_size": str(count)} if count > 1 else {}) | asked.overrides
            found[count] = await call.pipeline.analyst.estimate(change.sides, change.files, settings, names, overrides)
    except AnalysisBroken as error:
        return answers.estimate_broken(str(error))
    rows = [
        Candidate(request.gpu.id, request.count, usable_bytes(request.gpu), found[request.count].report)
        for request in requests
    ]
    return answers.comparison(rows, found[counts[0]].script) + answers.readings(asked.readings())


command = SlashCommand(
    "compare",
    "/preflight compare GPU GPU ...",
    "sets GPUs side by side: fit, headroom, and the savings that a fit needs",
    run,
)
