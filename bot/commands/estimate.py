"""`/preflight estimate a100`: does the run fit this GPU?"""

from __future__ import annotations

from bot import messages
from bot.commands.command import Call, SlashCommand
from bot.review.analysis import AnalysisBroken
from hardware_catalog import GpuRequest, UnknownGPU, parse_gpu


async def run(call: Call) -> str:
    """Estimate the head's peak memory on the GPUs named, or on those of the configuration."""
    try:
        gpus = gpus_named(call.intent.arguments)
    except UnknownGPU as error:
        return messages.unknown_gpu(error.name, error.suggestions)
    change = await call.pipeline.change_of(call.repository, call.intent.number)
    settings = change.configuration.settings
    names = tuple(dict.fromkeys(request.gpu.id for request in gpus)) or settings.gpus
    most = max((request.count for request in gpus), default=1)
    overrides = {"world_size": str(most)} if most > 1 else {}
    try:
        found = await call.pipeline.analyst.estimate(change.sides, change.files, settings, names, overrides)
    except AnalysisBroken as error:
        return messages.estimate_broken(str(error))
    return messages.estimate_answer(found.report, found.script)


def gpus_named(words: tuple[str, ...]) -> tuple[GpuRequest, ...]:
    """Return the GPUs that the words name: one name with spaces (`rtx 4090`), or several names (`a100 8xh100`).

    Raises:
        UnknownGPU: for the first word that is none.
    """
    if not words:
        return ()
    try:
        return (parse_gpu(" ".join(words)),)
    except UnknownGPU:
        if len(words) == 1:
            raise
        return tuple(parse_gpu(word.strip(",")) for word in words if word.strip(","))


command = SlashCommand(
    "estimate", "/preflight estimate a100", "estimates the peak memory, on a GPU where one is named", run
)
