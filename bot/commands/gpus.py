"""`/preflight gpus h100`: the devices of the catalogue."""

from __future__ import annotations

from collections.abc import Iterable

from bot.commands import answers
from bot.commands.command import Call, SlashCommand
from bot.commands.parsing import bare
from hardware_catalog import Gpu, UnknownGPU, all_gpus, all_instances, parse_gpu, usable_bytes


async def run(call: Call) -> str:
    """List the devices that have the words in their names, or the one that the words mean."""
    text = " ".join(filter(None, map(bare, call.intent.arguments)))
    everything = all_gpus()
    if not text:
        rented = {instance.gpu for instance in all_instances()}
        rows = _rows(gpu for gpu in reversed(everything) if gpu.id in rented)
        return answers.rented_gpus(rows, len(everything))
    found = [gpu for gpu in everything if _holds(gpu, text)]
    if not found:
        try:
            found = [parse_gpu(text).gpu]
        except UnknownGPU as error:
            return answers.no_word(error)
    return answers.gpu_table(_rows(found))


def _rows(gpus: Iterable[Gpu]) -> list[tuple[str, str, int]]:
    return [(gpu.id, gpu.name, usable_bytes(gpu)) for gpu in gpus]


def _holds(gpu: Gpu, text: str) -> bool:
    names = f"{gpu.id} {gpu.name} {gpu.architecture}".lower()
    return all(word in names for word in text.lower().split())


command = SlashCommand("gpus", "/preflight gpus [TEXT]", "lists the GPUs of the catalogue that have the text", run)
