"""`/preflight estimate a100 batch_size=8`: does the run fit this GPU?"""

from __future__ import annotations

from bot.commands import answers
from bot.commands.asked import Asked, Misunderstood
from bot.commands.command import Call, SlashCommand
from bot.review.analysis import AnalysisBroken


async def run(call: Call) -> str:
    """Estimate the head's peak memory on the GPUs named, or on those of the configuration."""
    try:
        asked = Asked.of(call.intent.arguments)
        if len(asked.counts) > 1:
            return answers.different_counts(asked.counts)
        change = await call.pipeline.change_of(call.repository, call.intent.number)
        settings = asked.chosen(change.configuration.settings, change.sides.head)
    except Misunderstood as misunderstood:
        return str(misunderstood)
    names = tuple(dict.fromkeys(request.gpu.id for request in asked.gpus))
    most = max(asked.counts, default=1)
    overrides = ({"world_size": str(most)} if most > 1 else {}) | asked.overrides
    try:
        found = await call.pipeline.analyst.estimate(change.sides, change.files, settings, names, overrides)
    except AnalysisBroken as error:
        return answers.estimate_broken(str(error))
    return answers.estimate(found.report, found.script, overrides) + answers.readings(asked.readings())


command = SlashCommand(
    "estimate",
    "/preflight estimate [GPU ...] [KEY=VALUE ...] [SCRIPT]",
    "estimates the peak memory, as in `estimate 8xh100 batch_size=8 precision=amp-bf16`",
    run,
    aliases=("memory",),
)
