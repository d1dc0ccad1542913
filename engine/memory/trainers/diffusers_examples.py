"""Example scripts of diffusers: text_to_image, dreambooth and amused (examples/*/train_*.py)."""

from __future__ import annotations

from engine.memory.trainers import model_names
from engine.memory.trainers.options import Options
from engine.memory.trainers.recipes import Adapters, Recipe
from engine.memory.trainers.tables import CannotRead, Field, Settings, Trainer, dtype, integer, names, text, truth

TABLE = {
    "model": Field(("pretrained_model_name_or_path",), meaning=text),
    "batch_size": Field(("train_batch_size",), None, integer),
    "accumulation_steps": Field(("gradient_accumulation_steps",), 1, integer),
    "image_size": Field(("resolution",), None, integer),
    "precision": Field(("mixed_precision",), None, dtype),
    "gradient_checkpointing": Field(("gradient_checkpointing",), False, truth),
    "small": Field(("use_8bit_adam",), False, truth),
    "adapted": Field(("use_lora",), False, truth),
    "lora_rank": Field(("rank", "lora_r"), None, integer),
    "lora_alpha": Field(("lora_alpha",), None),
    "targets": Field(("lora_target_modules",), (), names),
    "averaged": Field(("use_ema",), False, truth),
    "encoder": Field(("train_text_encoder",), False, truth),
    "clip": Field(("max_grad_norm",), None),
}

FIRST_BATCH = {"text_to_image": 16, "dreambooth": 4, "amused": 16}
"""train_batch_size where none is given."""


def read(action: str, options: Options, processes: int) -> Recipe:
    """A run from its options."""
    settings = Settings(TABLE, options)
    model = model_names.published(str(settings.required("model", "diffusers")))
    kind = next(name for name in FIRST_BATCH if name in action)
    if kind != "amused" and not any(word in model for word in ("stable-diffusion-v1", "stable-diffusion-2")):
        raise CannotRead(f"diffusers: training of {model} is not played")
    if settings["encoder"]:
        raise CannotRead("diffusers: training of the text encoder is not played")
    adapted = settings["adapted"] or "lora" in action
    adapters = None
    if adapted:
        rank = settings["lora_rank"] or (16 if kind == "amused" else 4)
        first = ("to_q", "to_k", "to_v") if kind == "amused" else ("to_k", "to_q", "to_v", "to_out.0")
        alpha = settings["lora_alpha"] or (32 if kind == "amused" else rank)
        adapters = Adapters(rank, tuple(settings["targets"]) or first, alpha)
    settings.at("optimizer", "use_8bit_adam")
    precision = settings["precision"]
    notes = ["images that validation makes are assumed to need no more than training"]
    if kind == "amused" and settings["gradient_checkpointing"]:
        notes.append("diffusers: UVit2DModel's gradient checkpointing does nothing, every layer's tensors are kept")
    return Recipe(
        trainer="diffusers",
        model=model,
        batch_size=settings["batch_size"] or FIRST_BATCH[kind],
        accumulation_steps=settings["accumulation_steps"] or 1,
        world_size=processes,
        weights="float32",
        autocast=None if precision == "float32" else precision,
        adapters=adapters,
        checkpointing=settings["gradient_checkpointing"],
        optimizer="adamw_bnb_8bit" if settings["small"] else "adamw_torch",
        averaged=settings["averaged"],
        clip=settings["clip"] or (None if kind == "amused" else 1.0),
        shape={"height": settings["image_size"] or 512},
        places=settings.places,
        notes=tuple(notes),
    )


TRAINER = Trainer(
    name="diffusers",
    program="diffusers",
    read=read,
    commands=(
        ("train_amused.py",),
        ("train_text_to_image.py",),
        ("train_text_to_image_lora.py",),
        ("train_dreambooth.py",),
        ("train_dreambooth_lora.py",),
    ),
)
