"""TRL: `trl sft`, its script `sft.py` and their YAML (trl/trainer/sft_config.py, model_config.py)."""

from __future__ import annotations

from engine.memory.trainers import model_names, transformers_arguments
from engine.memory.trainers.options import Options
from engine.memory.trainers.recipes import Adapters, Quantization, Recipe
from engine.memory.trainers.tables import CannotRead, Field, Settings, Trainer, dtype, integer, names, text, truth

TABLE = {
    **transformers_arguments.TABLE,
    "gradient_checkpointing": Field(("gradient_checkpointing",), True, truth),
    "model": Field(("model_name_or_path",), meaning=text),
    "weights": Field(("dtype", "torch_dtype"), "float32", text),
    "attention": Field(("attn_implementation",), None, text),
    "sequence_length": Field(("max_length", "max_seq_length"), 1024, integer),
    "packing": Field(("packing",), False, truth),
    "peft": Field(("use_peft",), False, truth),
    "lora_rank": Field(("lora_r",), 16, integer),
    "lora_alpha": Field(("lora_alpha",), 32),
    "lora_dropout": Field(("lora_dropout",), 0.05),
    "targets": Field(("lora_target_modules",), (), names),
    "saved": Field(("lora_modules_to_save",), (), names),
    "dora": Field(("use_dora",), False, truth),
    "load_in_4bit": Field(("load_in_4bit",), False, truth),
    "load_in_8bit": Field(("load_in_8bit",), False, truth),
    "double": Field(("use_bnb_nested_quant",), False, truth),
}


def read(action: str, options: Options, processes: int) -> Recipe:
    """A run from its options."""
    if action not in ("sft", ""):
        raise CannotRead(f"TRL: {action} is not played")
    settings = Settings(TABLE, options)
    model = model_names.published(str(settings.required("model", "TRL")))
    autocast = transformers_arguments.autocast(settings, bf16_default=True)
    length = settings["sequence_length"] or 1024
    notes = () if settings["packing"] else (f"samples are assumed to fill max_length: {length} tokens",)
    bits = 4 if settings["load_in_4bit"] else 8 if settings["load_in_8bit"] else 0
    settings.at("quantization", "load_in_4bit" if bits == 4 else "load_in_8bit")
    chosen = settings["targets"]
    spelled = settings["weights"] or "float32"
    return Recipe(
        trainer="TRL",
        model=model,
        batch_size=settings["batch_size"] or 1,
        sequence_length=length,
        varied=not settings["packing"],
        accumulation_steps=settings["accumulation_steps"] or 1,
        world_size=processes,
        weights=None if spelled == "auto" else dtype(spelled) or "float32",
        autocast=autocast,
        attention=settings["attention"] if settings["attention"] in ("sdpa", "eager", "flash_attention_2") else None,
        adapters=Adapters(
            settings["lora_rank"],
            "all-linear" if chosen == ("all-linear",) else tuple(chosen) or None,
            settings["lora_alpha"],
            settings["lora_dropout"],
            saved_modules=settings["saved"],
            dora=settings["dora"],
        )
        if settings["peft"]
        else None,
        quantization=Quantization(bits, settings["double"]) if bits else None,
        checkpointing=settings["gradient_checkpointing"],
        checkpoint_options=transformers_arguments.checkpoint_options(settings),
        optimizer=settings["optimizer"],
        clip=settings["clip"],
        arguments=transformers_arguments.passed_on(settings),
        places=settings.places,
        notes=notes,
    )


TRAINER = Trainer(
    name="TRL",
    program="transformers",
    read=read,
    commands=(("trl", "*"), ("trl.scripts.sft",), ("sft.py",)),
    keys=(("model_name_or_path", "dataset_name", "max_length"), ("model_name_or_path", "use_peft", "dataset_name")),
)
