"""transformers' example scripts from outside the repository: `run_clm.py`, `run_glue.py` ... (examples/pytorch).

Text is grouped into blocks (run_clm, run_mlm) or padded to the given length; without it, the scripts' own defaults.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.memory.trainers import data_sets, model_names, transformers_arguments
from engine.memory.trainers.options import Options
from engine.memory.trainers.recipes import Recipe
from engine.memory.trainers.tables import CannotRead, Field, Settings, Trainer, dtype, integer, text, truth

TABLE = {
    **transformers_arguments.TABLE,
    "model": Field(("model_name_or_path",), meaning=text),
    "config": Field(("config_name",), meaning=text),
    "weights": Field(("dtype", "torch_dtype"), None, text),
    "mixed": Field(("mixed_precision",), None, dtype),
    "sequence_length": Field(("block_size", "max_seq_length", "max_length", "max_source_length"), None, integer),
    "target_length": Field(("max_target_length",), 128, integer),
    "image_size": Field(("image_size",), 224, integer),
    "scratch": Field(("train_from_scratch",), False, truth),
}


@dataclass(frozen=True)
class Example:
    """What a script trains, and how long its rows are where nothing says."""

    task: str
    length: int
    at_most_context: bool = True


SCRIPTS = {
    "run_clm": Example("causal-lm", 1024),
    "run_mlm": Example("masked-lm", 1024),
    "run_glue": Example("classification", 128),
    "run_classification": Example("classification", 128),
    "run_xnli": Example("classification", 128),
    "run_qa": Example("question-answering", 384),
    "run_ner": Example("token-classification", 128),
    "run_summarization": Example("seq2seq", 1024),
    "run_translation": Example("seq2seq", 1024),
    "run_image_classification": Example("image-classification", 0),
}
"""By the script's name without `_no_trainer` and `.py`."""


def read(action: str, options: Options, processes: int) -> Recipe:
    """A run from its options."""
    example = SCRIPTS.get(action.removesuffix("_no_trainer"))
    if example is None:
        raise CannotRead(f"transformers' example {action} is not played")
    settings = Settings(TABLE, options)
    name = settings["model"] or settings["config"]
    if not name:
        settings.required("model", f"transformers' {action}")
    model = model_names.published(str(name))
    autocast = transformers_arguments.autocast(settings) or settings["mixed"]
    if autocast == "float32":
        autocast = None
    length = settings["sequence_length"]
    notes: tuple[str, ...] = ()
    if length is None:
        length = min(example.length, data_sets.context(model) or example.length)
        if example.task != "image-classification":
            notes = (f"rows of {length} tokens are the script's own default",)
    spelled = settings["weights"]
    plain = action.endswith("_no_trainer")
    return Recipe(
        trainer=f"transformers' {action}",
        model=model,
        batch_size=settings["batch_size"] or 8,
        sequence_length=length,
        accumulation_steps=settings["accumulation_steps"] or 1,
        world_size=processes,
        task=example.task,
        weights=None if spelled == "auto" else dtype(spelled) or "float32",
        autocast=autocast,
        from_scratch=settings["model"] is None,
        checkpointing=settings["gradient_checkpointing"],
        checkpoint_options=transformers_arguments.checkpoint_options(settings),
        optimizer="adamw_torch" if plain else settings["optimizer"],
        clip=None if plain else settings["clip"],
        arguments=transformers_arguments.passed_on(settings),
        shape={"target": settings["target_length"], "height": settings["image_size"]},
        places=settings.places,
        notes=notes,
    )


TRAINER = Trainer(
    name="transformers",
    program="transformers",
    read=read,
    commands=tuple((f"{name}{kind}.py",) for name in SCRIPTS for kind in ("", "_no_trainer")),
    positional=("config",),
)
