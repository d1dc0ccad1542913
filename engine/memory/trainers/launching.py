"""From a command line or a configuration file of a known trainer to a launch of the program that stands for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from engine.memory.evidence import LENGTHS_DIFFER
from engine.memory.launch import CONFIGURATIONS
from engine.memory.shadow import Launch
from engine.memory.trainers.options import Given, NotAConfiguration, Options, read_file, read_words, typed
from engine.memory.trainers.programs import LADDER, program, steps_to_see
from engine.memory.trainers.recipes import Recipe
from engine.memory.trainers.tables import CannotRead, Trainer, integer

if TYPE_CHECKING:
    from engine.memory.shell import Command, Word
    from engine.project import Project


class CannotPlay(ValueError):
    """A known trainer is started, but its settings do not say enough; the message says what is missing."""


def from_command(
    project: Project, command: Command, words: Sequence[Word], processes: int, notes: Sequence[str] = ()
) -> Launch | None:
    """The launch of a trainer's command (`words` without its launcher); None where no trainer is meant."""
    from engine.memory.trainers import trainers

    for trainer in trainers():
        for pattern in trainer.commands:
            action = _matches(pattern, words)
            if action is None:
                continue
            options = _options(project, command, trainer, words[len(pattern) :])
            return _launch(project, command.path, trainer, action, options, processes, notes)
    return None


def from_file(project: Project, path: str) -> Launch | None:
    """The launch that a trainer's configuration file asks for; None where it is no known trainer's."""
    from engine.memory.trainers import trainers

    try:
        options = read_file(project, path)
    except NotAConfiguration as problem:
        raise CannotPlay(str(problem)) from problem
    for trainer in trainers():
        if any(all(name in options for name in keys) for keys in trainer.keys):
            return _launch(project, path, trainer, _action(trainer, options), options, 1, ())
    return None


def _action(trainer: Trainer, options: Options) -> str:
    """What a configuration file alone asks for: adapters where it names any."""
    if trainer.name == "LitGPT":
        return "finetune_lora" if "lora_r" in options else "finetune_full"
    return ""


def _matches(pattern: tuple[str, ...], words: Sequence[Word]) -> str | None:
    """The action where the words begin as the pattern says."""
    if len(words) < len(pattern):
        return None
    action = ""
    for wanted, word in zip(pattern, words, strict=False):
        last = word.text.rsplit("/", 1)[-1]
        if wanted == "*":
            if word.text.startswith("-"):
                return None
            action = last
        elif wanted.endswith(".py*"):
            if not (last.startswith(wanted[:-4]) and last.endswith(".py")):
                return None
            action = last.removesuffix(".py")
        elif last != wanted and word.text != wanted:
            return None
        elif not action:
            action = last.removesuffix(".py")
    return action


def _options(project: Project, command: Command, trainer: Trainer, words: Sequence[Word]) -> Options:
    """The command's options over those of the files that it names."""
    script = command.path
    given = read_words(words, script, positional=trainer.positional)
    base = Options()
    named = (*trainer.files, *trainer.positional)
    for name in named:
        found = given.given(name)
        if found is None or not isinstance(found.value, str) or not found.value.endswith(CONFIGURATIONS):
            continue
        path = _find(project, script, found.value)
        if path is None:
            raise CannotPlay(f"{trainer.name}: the configuration {found.value} is not in the repository")
        try:
            base = read_file(project, path).over(base)
        except NotAConfiguration as problem:
            raise CannotPlay(str(problem)) from problem
        given = given.without([name])
    if (mixed := command.environment.get("ACCELERATE_MIXED_PRECISION")) is not None and "mixed_precision" not in given:
        base = Options({"mixed_precision": Given(mixed)}).over(base)
    return typed(given.over(base))


def _find(project: Project, script: str, named: str) -> str | None:
    folder = script.rpartition("/")[0]
    plain = named.removeprefix("./")
    return next((path for path in (plain, f"{folder}/{plain}".lstrip("/")) if project.exists(path)), None)


def _launch(
    project: Project,
    path: str,
    trainer: Trainer,
    action: str,
    options: Options,
    processes: int,
    notes: Sequence[str],
) -> Launch:
    counted = integer(options.value(*trainer.counts)) if trainer.counts else None
    try:
        recipe = trainer.read(action, options, max(processes, counted or 1))
        text = program(recipe, trainer.program)
    except CannotRead as problem:
        raise CannotPlay(str(problem)) from problem
    except (TypeError, ValueError, AttributeError) as problem:
        # A setting of another kind than the trainer takes: a list for a number, a mapping for a name.
        raise CannotPlay(f"{trainer.name}: the settings of {path} could not be read: {problem}") from problem
    name = f"<{trainer.name}>.py"
    return Launch(
        name,
        world_size=recipe.world_size,
        places=recipe.places,
        notes=(f"{path} starts {trainer.name}, which is not in the repository: its step is followed as published",
               *notes, *recipe.notes, *((LENGTHS_DIFFER,) if recipe.varied else ())),
        sources={name: text},
        state=_state(recipe),
        declared=_declared(recipe),
    )  # fmt: skip


def _state(recipe: Recipe) -> dict[str, Any]:
    """What the run is told beside its program."""
    state: dict[str, Any] = {}
    if recipe.structure:
        state |= {"model name": recipe.model, "model evidence": "catalogue"}
    if (steps := steps_to_see(recipe)) is not None:
        state |= {"steps to see": steps, "parts of the longest batch": LADDER}
    return state


def _declared(recipe: Recipe) -> dict[str, Any]:
    """What a program of the trainer's own model does not show by itself."""
    declared: dict[str, Any] = {"accumulation_steps": recipe.accumulation_steps}
    if recipe.varied or recipe.longest_once:
        declared["sequence_length"] = recipe.sequence_length
    if recipe.structure and recipe.quantization is not None:
        double = "-double" if recipe.quantization.double else ""
        declared["quantization"] = f"nf4{double}" if recipe.quantization.bits == 4 else "int8"
    if recipe.structure and recipe.adapters is not None:
        declared["lora_rank"] = recipe.adapters.rank
    return declared
