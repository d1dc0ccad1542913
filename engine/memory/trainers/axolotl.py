"""Axolotl: `axolotl train CONFIG`, `accelerate launch -m axolotl.cli.train CONFIG` (axolotl/utils/schemas)."""

from __future__ import annotations

from typing import Any

from engine.memory.trainers import model_names, transformers_arguments
from engine.memory.trainers.options import Options
from engine.memory.trainers.recipes import Adapters, Quantization, Recipe
from engine.memory.trainers.tables import CannotRead, Field, Settings, Trainer, integer, names, text, truth

TABLE = {
    "model": Field(("base_model",), meaning=text),
    "batch_size": Field(("micro_batch_size",), 1, integer),
    "accumulation_steps": Field(("gradient_accumulation_steps",), 1, integer),
    "sequence_length": Field(("sequence_len",), 512, integer),
    "packing": Field(("sample_packing",), False, truth),
    "padding": Field(("pad_to_sequence_len",), False, truth),
    "bf16": Field(("bf16", "bfloat16"), "auto", text),
    "fp16": Field(("fp16", "float16"), False, truth),
    "gradient_checkpointing": Field(("gradient_checkpointing",), False, text),
    "checkpoint_options": Field(("gradient_checkpointing_kwargs",), None),
    "optimizer": Field(("optimizer",), "adamw_torch_fused", text),
    "clip": Field(("max_grad_norm",), 1.0),
    "adapter": Field(("adapter",), None, text),
    "load_in_4bit": Field(("load_in_4bit",), False, truth),
    "load_in_8bit": Field(("load_in_8bit",), False, truth),
    "lora_rank": Field(("lora_r",), 8, integer),
    "lora_alpha": Field(("lora_alpha",), 16),
    "lora_dropout": Field(("lora_dropout",), 0.0),
    "targets": Field(("lora_target_modules",), (), names),
    "linear": Field(("lora_target_linear",), False, truth),
    "saved": Field(("lora_modules_to_save",), (), names),
    "dora": Field(("peft_use_dora",), False, truth),
    "flash": Field(("flash_attention",), False, truth),
    "sdpa": Field(("sdp_attention",), False, truth),
    "eager": Field(("eager_attention",), False, truth),
    "attention": Field(("attn_implementation",), None, text),
    "rl": Field(("rl",), None, text),
}


def read(action: str, options: Options, processes: int) -> Recipe:
    """A run from its options."""
    settings = Settings(TABLE, options)
    model = model_names.published(str(settings.required("model", "Axolotl")))
    if settings["rl"]:
        raise CannotRead(f"Axolotl: rl: {settings['rl']} is not played")
    weights, autocast = _precision(settings)
    adapter = (settings["adapter"] or "").lower()
    four, eight = settings["load_in_4bit"] or adapter == "qlora", settings["load_in_8bit"]
    settings.at("quantization", "load_in_4bit" if four else "load_in_8bit")
    flash = settings["flash"] or settings["attention"] == "flash_attention_2"
    if flash:
        settings.at("attention", "flash_attention")
    attention = settings["attention"]
    if attention is None:
        attention = (
            "flash_attention_2" if flash else "sdpa" if settings["sdpa"] else "eager" if settings["eager"] else None
        )
    length = settings["sequence_length"] or 512
    notes: tuple[str, ...] = ()
    if not (settings["packing"] or settings["padding"]):
        notes = (f"samples are not packed: every one is assumed to be as long as {length} tokens",)
    checkpointing = str(settings["gradient_checkpointing"]).lower()
    chosen = settings["targets"]
    targets: Any = "all-linear" if settings["linear"] or chosen == ("all-linear",) else tuple(chosen) or None
    arguments = transformers_arguments.passed_on(settings)
    if _loss_kernel(options):
        arguments["use_liger_kernel"] = True
    return Recipe(
        trainer="Axolotl",
        model=model,
        batch_size=settings["batch_size"] or 1,
        sequence_length=length,
        varied=not (settings["packing"] or settings["padding"]),
        accumulation_steps=settings["accumulation_steps"] or 1,
        world_size=processes,
        weights=weights,
        autocast=autocast,
        attention=attention if attention in ("flash_attention_2", "sdpa", "eager") else None,
        adapters=Adapters(
            settings["lora_rank"],
            targets,
            settings["lora_alpha"],
            settings["lora_dropout"],
            saved_modules=settings["saved"],
            dora=settings["dora"],
        )
        if adapter
        else None,
        quantization=Quantization(4 if four else 8, True, weights, prepared=not (flash or settings["packing"]))
        if four or eight
        else None,
        checkpointing=checkpointing not in ("false", "none", "null"),
        checkpoint_options=transformers_arguments.checkpoint_options(settings),
        offload_activations=checkpointing.startswith("offload"),
        optimizer=settings["optimizer"],
        clip=settings["clip"],
        arguments=arguments,
        places=settings.places,
        notes=notes,
    )


def _precision(settings: Settings) -> tuple[str, str | None]:
    bf16 = str(settings["bf16"]).lower()
    if settings["fp16"]:
        settings.at("precision", "fp16", "float16")
        return "float16", "float16"
    settings.at("precision", "bf16", "bfloat16")
    if bf16 in ("true", "auto", "full"):
        return "bfloat16", None if bf16 == "full" else "bfloat16"
    return "float32", None


def _loss_kernel(options: Options) -> bool:
    """Whether a plugin takes the loss without whole logits."""
    plugins = str(options.value("plugins", default=""))
    liger = "LigerPlugin" in plugins and truth(options.value("liger_fused_linear_cross_entropy", default=False))
    cut = "CutCrossEntropyPlugin" in plugins and truth(options.value("cut_cross_entropy", default=True))
    return liger or cut


TRAINER = Trainer(
    name="Axolotl",
    program="transformers",
    read=read,
    commands=(("axolotl", "train"), ("axolotl.cli.train",), ("scripts/finetune.py",)),
    positional=("config",),
    keys=(("base_model", "micro_batch_size"), ("base_model", "sequence_len"), ("base_model", "datasets", "adapter")),
)
