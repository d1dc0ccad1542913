"""CogVideoX fine-tuning with diffusers' and finetrainers' scripts (examples/cogvideo, training/cogvideox)."""

from __future__ import annotations

from typing import Any

from engine.memory.trainers import model_names
from engine.memory.trainers.options import Options, scalar
from engine.memory.trainers.recipes import Adapters, Recipe
from engine.memory.trainers.tables import CannotRead, Field, Settings, Trainer, dtype, integer, text, truth


def largest(value: Any) -> int | None:
    """The largest of several bucket sizes."""
    sizes = [integer(item) for item in (value if isinstance(value, list) else [scalar(value)])]
    return max((size for size in sizes if size is not None), default=None)


TABLE = {
    "model": Field(("pretrained_model_name_or_path",), meaning=text),
    "batch_size": Field(("train_batch_size",), 4, integer),
    "accumulation_steps": Field(("gradient_accumulation_steps",), 1, integer),
    "precision": Field(("mixed_precision",), None, dtype),
    "height": Field(("height_buckets", "height"), 480, largest),
    "width": Field(("width_buckets", "width"), 720, largest),
    "frames": Field(("frame_buckets", "max_num_frames"), 49, largest),
    "lora_rank": Field(("rank",), 128, integer),
    "lora_alpha": Field(("lora_alpha",), 128),
    "gradient_checkpointing": Field(("gradient_checkpointing",), False, truth),
    "optimizer": Field(("optimizer",), "adam", text),
    "small": Field(("use_8bit", "use_8bit_adam"), False, truth),
    "loaded": Field(("load_tensors",), False, truth),
}


def read(action: str, options: Options, processes: int) -> Recipe:
    """A run from its options."""
    settings = Settings(TABLE, options)
    model = model_names.published(str(settings.required("model", "CogVideoX")))
    if not settings["loaded"]:
        raise CannotRead("CogVideoX: without --load_tensors the text encoder and the VAE share the device: not played")
    if "image_to_video" in action:
        raise CannotRead("CogVideoX: image to video is not played")
    optimizer = (settings["optimizer"] or "adam").lower()
    if optimizer not in ("adam", "adamw"):
        raise CannotRead(f"CogVideoX: the optimizer {optimizer} is not played")
    autocast = settings["precision"]
    settings.at("optimizer", "use_8bit" if settings["small"] else "optimizer", "use_8bit_adam")
    adapters = None
    if "lora" in action:
        targets = ("to_k", "to_q", "to_v", "to_out.0")
        adapters = Adapters(settings["lora_rank"], targets, settings["lora_alpha"])
    return Recipe(
        trainer="CogVideoX",
        model=model,
        batch_size=settings["batch_size"] or 1,
        sequence_length=226,
        accumulation_steps=settings["accumulation_steps"] or 1,
        world_size=processes,
        weights=autocast or "float32",
        autocast=None if autocast == "float32" else autocast,
        adapters=adapters,
        checkpointing=settings["gradient_checkpointing"],
        optimizer="adamw_bnb_8bit" if settings["small"] else "adamw_torch",
        shape={"height": settings["height"], "width": settings["width"], "frames": settings["frames"]},
        places=settings.places,
    )


TRAINER = Trainer(
    name="CogVideoX",
    program="cogvideox",
    read=read,
    commands=(
        ("cogvideox_text_to_video_lora.py",),
        ("cogvideox_text_to_video_sft.py",),
        ("cogvideox_image_to_video_lora.py",),
        ("cogvideox_image_to_video_sft.py",),
        ("train_cogvideox_lora.py",),
    ),
)
