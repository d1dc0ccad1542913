"""`/preflight estimate a100 batch_size=8`: does the run fit this GPU?"""

from __future__ import annotations

from dataclasses import dataclass, field

from bot.commands import answers
from bot.commands.command import Call, SlashCommand
from bot.review.analysis import AnalysisBroken
from engine.memory.overrides import checked
from engine.settings import Settings
from hardware_catalog import GpuRequest, UnknownGPU, parse_gpu

SCRIPT_SUFFIXES = (".py", ".ipynb", ".sh", ".bash", ".slurm", ".yaml", ".yml", ".json", ".toml")


@dataclass(frozen=True)
class Asked:
    """The words of an estimate, understood."""

    gpus: tuple[GpuRequest, ...] = ()
    script: str | None = None
    overrides: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, words: tuple[str, ...]) -> Asked:
        """Read GPUs, `key=value` pairs and the path of a script in any order.

        Raises:
            UnknownGPU: for the first word that is no GPU.
            ValueError: for a setting, or a value of one, that does not exist; the message says what does.
        """
        pairs = [word.partition("=") for word in words if "=" in word]
        named = {key.strip().lower().replace("-", "_"): value.strip() for key, _, value in pairs}
        rest = [word for word in words if "=" not in word]
        script = next((word for word in rest if word.endswith(SCRIPT_SUFFIXES)), None)
        return cls(gpus_named(tuple(word for word in rest if word != script)), script, checked(named))

    def chosen(self, settings: Settings) -> Settings:
        """Return the settings for the script that was named; without one they stay as they are."""
        if self.script is None:
            return settings
        return settings.model_copy(update={"entry_points": (settings.entry_point(self.script),)})


async def run(call: Call) -> str:
    """Estimate the head's peak memory on the GPUs named, or on those of the configuration."""
    try:
        asked = Asked.of(call.intent.arguments)
    except UnknownGPU as error:
        return answers.unknown_gpu(error.name, error.suggestions)
    except ValueError as error:
        return answers.wrong_setting(str(error))
    change = await call.pipeline.change_of(call.repository, call.intent.number)
    if asked.script is not None and asked.script not in change.sides.head:
        return answers.no_script(asked.script)
    settings = asked.chosen(change.configuration.settings)
    names = tuple(dict.fromkeys(request.gpu.id for request in asked.gpus))
    most = max((request.count for request in asked.gpus), default=1)
    overrides = ({"world_size": str(most)} if most > 1 else {}) | asked.overrides
    try:
        found = await call.pipeline.analyst.estimate(change.sides, change.files, settings, names, overrides)
    except AnalysisBroken as error:
        return answers.estimate_broken(str(error))
    return answers.estimate(found.report, found.script, overrides)


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
    "estimate",
    "/preflight estimate [GPU ...] [KEY=VALUE ...] [SCRIPT]",
    "estimates the peak memory, as in `estimate 8xh100 batch_size=8 precision=amp-bf16`",
    run,
    aliases=("memory",),
)
