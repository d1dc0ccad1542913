"""`/preflight compare t4 a100 8xh100`: on which GPU does the run fit, and what would it take?"""

from __future__ import annotations

from bot.commands import answers
from bot.commands.answers import Candidate
from bot.commands.command import Call, SlashCommand
from bot.commands.estimate import Asked
from bot.review.analysis import AnalysisBroken
from bot.review.exchange import Estimate
from hardware_catalog import UnknownGPU, usable_bytes

MOST_GPUS = 8
MOST_COUNTS = 3
"""Estimates of one answer: one for each number of devices."""


async def run(call: Call) -> str:
    """Estimate the head once for each number of devices named, and set the GPUs side by side."""
    try:
        asked = Asked.of(call.intent.arguments)
    except UnknownGPU as error:
        return answers.unknown_gpu(error.name, error.suggestions)
    except ValueError as error:
        return answers.wrong_setting(str(error))
    requests = tuple(dict.fromkeys(asked.gpus))[:MOST_GPUS]
    counts = tuple(dict.fromkeys(request.count for request in requests))
    if not requests:
        return answers.GPUS_NEEDED
    if len(counts) > MOST_COUNTS:
        return answers.too_many_counts(MOST_COUNTS)
    change = await call.pipeline.change_of(call.repository, call.intent.number)
    if asked.script is not None and asked.script not in change.sides.head:
        return answers.no_script(asked.script)
    settings = asked.chosen(change.configuration.settings)
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
    return answers.comparison(rows, found[counts[0]].script)


command = SlashCommand(
    "compare",
    "/preflight compare GPU GPU ...",
    "sets GPUs side by side: fit, headroom, and the savings that a fit needs",
    run,
)
