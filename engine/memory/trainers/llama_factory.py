"""LLaMA-Factory: `llamafactory-cli train CONFIG`, its older `src/train.py`, and YAML (src/llamafactory/hparams/*.py).

The weights are loaded in the compute dtype; what is trained goes to float32 unless `pure_bf16`. Blocks are always
checkpointed unless that is switched off.
"""

from __future__ import annotations

from engine.memory.trainers import data_sets, model_names, transformers_arguments
from engine.memory.trainers.options import Options
from engine.memory.trainers.recipes import Adapters, Quantization, Recipe
from engine.memory.trainers.tables import CannotRead, Field, Settings, Trainer, integer, names, text, truth

TABLE = {
    **transformers_arguments.TABLE,
    "model": Field(("model_name_or_path",), meaning=text),
    "stage": Field(("stage",), "sft", text),
    "tuning": Field(("finetuning_type",), "lora", text),
    "sequence_length": Field(("cutoff_len", "max_length"), 2048, integer),
    "data": Field(("dataset",), (), names),
    "packing": Field(("packing", "neat_packing"), None, truth),
    "pure": Field(("pure_bf16",), False, truth),
    "unchecked": Field(("disable_gradient_checkpointing",), False, truth),
    "reentrant": Field(("use_reentrant_gc",), True, truth),
    "attention": Field(("flash_attn",), "auto", text),
    "quantization": Field(("quantization_bit",), None, integer),
    "double": Field(("double_quantization",), True, truth),
    "upcast_norms": Field(("upcast_layernorm",), False, truth),
    "lora_rank": Field(("lora_rank",), 8, integer),
    "lora_alpha": Field(("lora_alpha",), None),
    "lora_dropout": Field(("lora_dropout",), 0.0),
    "targets": Field(("lora_target",), ("all",), names),
    "saved": Field(("additional_target",), (), names),
    "dora": Field(("use_dora",), False, truth),
    "liger": Field(("enable_liger_kernel",), False, truth),
    "scratch": Field(("train_from_scratch",), False, truth),
}
ATTENTION = {"fa2": "flash_attention_2", "sdpa": "sdpa", "disabled": "eager", "off": "eager"}


def read(action: str, options: Options, processes: int) -> Recipe:
    """A run from its options."""
    settings = Settings(TABLE, options)
    model = model_names.published(str(settings.required("model", "LLaMA-Factory")))
    stage, tuning = settings["stage"], settings["tuning"]
    if stage not in ("sft", "pt"):
        raise CannotRead(f"LLaMA-Factory: the stage {stage} is not played")
    if tuning not in ("lora", "full"):
        raise CannotRead(f"LLaMA-Factory: {tuning} tuning is not played")
    autocast = transformers_arguments.autocast(settings)
    pure = settings["pure"]
    compute = "bfloat16" if pure or autocast is None else autocast
    if pure:
        settings.at("precision", "pure_bf16")
    bits = settings["quantization"]
    settings.at("gradient_checkpointing", "disable_gradient_checkpointing")
    length, notes = _length(settings, stage)
    arguments = transformers_arguments.passed_on(settings)
    if settings["liger"]:
        arguments["use_liger_kernel"] = True
    adapters = None
    if tuning == "lora":
        rank = settings["lora_rank"]
        chosen = settings["targets"]
        adapters = Adapters(
            rank,
            "all-linear" if chosen == ("all",) else tuple(chosen),
            settings["lora_alpha"] or 2 * rank,
            settings["lora_dropout"],
            dtype="bfloat16" if pure else None,
            saved_modules=settings["saved"],
            dora=settings["dora"],
        )
    return Recipe(
        trainer="LLaMA-Factory",
        model=model,
        batch_size=settings["batch_size"] or 1,
        sequence_length=length,
        varied=not _packs(settings, stage),
        accumulation_steps=settings["accumulation_steps"] or 1,
        world_size=processes,
        weights=compute if pure or tuning == "lora" else "float32",
        autocast=autocast,
        from_scratch=settings["scratch"],
        attention=ATTENTION.get(settings["attention"] or "auto"),
        adapters=adapters,
        quantization=Quantization(bits, settings["double"], compute, prepared=settings["upcast_norms"])
        if bits
        else None,
        checkpointing=not settings["unchecked"],
        checkpoint_options={"use_reentrant": settings["reentrant"]},
        optimizer=settings["optimizer"],
        clip=settings["clip"],
        arguments=arguments,
        places=settings.places,
        notes=notes,
    )


def _length(settings: Settings, stage: str) -> tuple[int, tuple[str, ...]]:
    bound = settings["sequence_length"] or 2048
    if _packs(settings, stage):
        return bound, ()
    return data_sets.padded(settings["data"], bound)


def _packs(settings: Settings, stage: str) -> bool:
    packing = settings["packing"]
    return bool(packing) or (packing is None and stage == "pt")


TRAINER = Trainer(
    name="LLaMA-Factory",
    program="transformers",
    read=read,
    commands=(("llamafactory-cli", "train"), ("lmf", "train"), ("train_bash.py",), ("src/train.py",)),
    positional=("config",),
    keys=(("model_name_or_path", "finetuning_type"), ("model_name_or_path", "stage", "cutoff_len")),
)
