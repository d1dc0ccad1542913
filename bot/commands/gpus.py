"""`/preflight gpus h100`: the devices of the catalogue."""

from __future__ import annotations

from bot.commands import answers
from bot.commands.command import Call, SlashCommand
from hardware_catalog import Gpu, UnknownGPU, all_gpus, parse_gpu, usable_bytes


async def run(call: Call) -> str:
    """List the devices that have the words in their names, or the one that the words mean."""
    text = " ".join(call.intent.arguments)
    found = [gpu for gpu in all_gpus() if _holds(gpu, text)]
    if not found:
        try:
            found = [parse_gpu(text).gpu]
        except UnknownGPU as error:
            return answers.unknown_gpu(error.name, error.suggestions)
    return answers.gpu_table([(gpu.id, gpu.name, usable_bytes(gpu)) for gpu in found])


def _holds(gpu: Gpu, text: str) -> bool:
    names = f"{gpu.id} {gpu.name} {gpu.architecture}".lower()
    return all(word in names for word in text.lower().split())


command = SlashCommand("gpus", "/preflight gpus [TEXT]", "lists the GPUs of the catalogue that have the text", run)
