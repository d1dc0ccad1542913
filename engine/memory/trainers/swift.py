"""ms-swift: `swift sft` and `swift pt` of versions 1 to 4 (swift/llm/argument/*.py). Built on transformers' Trainer."""

from __future__ import annotations

from engine import architectures
from engine.memory.trainers import model_names
from engine.memory.trainers.options import Options
from engine.memory.trainers.recipes import Adapters, Quantization, Recipe
from engine.memory.trainers.tables import Field, Settings, Trainer, dtype, integer, names, text, truth

TABLE = {
    "model": Field(("model_id_or_path", "model", "model_type"), meaning=text),
    "tuner": Field(("sft_type", "train_type", "tuner_type"), "lora", text),
    "batch_size": Field(("per_device_train_batch_size", "batch_size"), 1, integer),
    "accumulation_steps": Field(("gradient_accumulation_steps",), None, integer),
    "sequence_length": Field(("max_length",), 2048, integer),
    "precision": Field(("torch_dtype", "dtype"), "bfloat16", dtype),
    "quantization": Field(("quantization_bit", "quant_bits"), 0, integer),
    "double": Field(("bnb_4bit_use_double_quant",), True, truth),
    "gradient_checkpointing": Field(("gradient_checkpointing",), True, truth),
    "flash": Field(("use_flash_attn",), None, text),
    "attention": Field(("attn_impl",), None, text),
    "optimizer": Field(("optim",), "adamw_torch", text),
    "lora_rank": Field(("lora_rank",), 8, integer),
    "lora_alpha": Field(("lora_alpha",), 32),
    "lora_dropout": Field(("lora_dropout", "lora_dropout_p"), 0.05),
    "targets": Field(("target_modules", "lora_target_modules"), ("DEFAULT",), names),
    "deepspeed": Field(("deepspeed",), None, text),
    "liger": Field(("use_liger_kernel",), False, truth),
    "packing": Field(("packing", "streaming_packing"), False, truth),
    "clip": Field(("max_grad_norm",), 1.0),
}

FIRST_TARGETS = {"qwen": ("c_attn",), "phi": ("q_proj", "k_proj", "v_proj"), "gpt_neox": ("query_key_value",)}
"""What DEFAULT stands for by model type; q, k and v elsewhere (swift/llm/utils/model.py of versions 1 and 2)."""


def read(action: str, options: Options, processes: int) -> Recipe:
    """A run from its options."""
    settings = Settings(TABLE, options)
    model = model_names.published(str(settings.required("model", "ms-swift")))
    weights = settings["precision"] or "bfloat16"
    quantization = settings["quantization"] or 0
    checkpointing = settings["gradient_checkpointing"]
    attention = settings["attention"]
    if attention is None and settings["flash"] is not None:
        # Refused, it is not SDPA that is taken instead (get_model_tokenizer_with_flash_attn of versions 1 and 2).
        attention = "flash_attention_2" if truth(settings["flash"]) else "eager"
    attention = {"flash_attn": "flash_attention_2", "flash_attention_2": "flash_attention_2"}.get(
        attention or "", attention if attention in ("sdpa", "eager") else None
    )
    accumulation = settings["accumulation_steps"] or max(1, 16 // ((settings["batch_size"] or 1) * processes))
    tuner = (settings["tuner"] or "lora").lower()
    adapters = None
    if tuner != "full":
        adapters = Adapters(
            settings["lora_rank"], _targets(settings, model), settings["lora_alpha"], settings["lora_dropout"]
        )
    arguments = {
        name: value
        for name, value in (("deepspeed", settings["deepspeed"]), ("use_liger_kernel", settings["liger"]))
        if value
    }
    return Recipe(
        trainer="ms-swift",
        model=model,
        batch_size=settings["batch_size"] or 1,
        sequence_length=settings["sequence_length"],
        varied=not settings["packing"],
        accumulation_steps=accumulation,
        world_size=processes,
        weights=weights,
        autocast=weights if weights != "float32" else None,
        attention=attention,
        adapters=adapters,
        quantization=Quantization(quantization, double=settings["double"], compute=weights) if quantization else None,
        checkpointing=checkpointing,
        optimizer=settings["optimizer"],
        clip=settings["clip"],
        arguments=arguments,
        places=settings.places,
    )


def _targets(settings: Settings, model: str) -> tuple[str, ...] | str:
    chosen = settings["targets"]
    word = chosen[0].upper() if len(chosen) == 1 else ""
    if word in ("ALL", "ALL-LINEAR"):
        return "all-linear"
    if word in ("DEFAULT", "AUTO"):
        if settings.options.first(("model_type", "sft_type")) is None:
            return "all-linear"
        found = architectures.lookup(model, library="transformers")
        kind = found.model_type if found is not None else ""
        return FIRST_TARGETS.get(kind) or model_names.modules(model, ("query", "key", "value"))
    return tuple(chosen)


TRAINER = Trainer(
    name="ms-swift",
    program="transformers",
    read=read,
    commands=(("swift", "sft"), ("swift", "pt")),
    keys=(("sft_type", "max_length"), ("train_type", "max_length")),
)
