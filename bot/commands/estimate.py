"""`/preflight estimate a100`: does the run fit this GPU?"""

from __future__ import annotations

from bot import messages
from bot.commands.command import Call, SlashCommand
from bot.review.analysis import AnalysisBroken
from hardware_catalog import UnknownGPU, parse_gpu


async def run(call: Call) -> str:
    """Estimate the head's peak memory on the GPUs named, or on those of the configuration."""
    try:
        gpus = gpus_named(call.intent.arguments)
    except UnknownGPU as error:
        return messages.unknown_gpu(error.name, error.suggestions)
    change = await call.pipeline.change_of(call.repository, call.intent.number)
    settings = change.configuration.settings.model_copy(update={"memory": True})
    try:
        report = await call.pipeline.analyst.analyse(change.sides, change.files, settings, gpus or settings.gpus)
    except AnalysisBroken as error:
        return messages.estimate_broken(str(error))
    return messages.estimate_answer(report.memory.head, report.memory.script)


def gpus_named(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the GPUs that the words name: one name with spaces (`rtx 4090`), or several names.

    Raises:
        UnknownGPU: for the first word that is none.
    """
    if not words:
        return ()
    whole = " ".join(words)
    try:
        parse_gpu(whole)
    except UnknownGPU:
        names = tuple(word.strip(",") for word in words if word.strip(","))
        for name in names:
            parse_gpu(name)
        return names
    return (whole,)


command = SlashCommand(
    "estimate", "/preflight estimate a100", "estimates the peak memory, on a GPU where one is named", run
)
