"""LitGPT: `litgpt finetune_lora`, `finetune_full`, `finetune`, `pretrain` and their YAML (litgpt/finetune/*.py).

Its loop has no autocast under `bf16-true`, adapters in the weights' dtype, and a loss over the head's output in pieces
of 128 tokens. Fine-tuning pads to the longest sample of the data. Its decoder is its own; a model that it is not known
to have is played with transformers' code.
"""

from __future__ import annotations

from typing import Any

from engine import architectures
from engine.memory.trainers import data_sets, litgpt_programs, model_names
from engine.memory.trainers.options import Options
from engine.memory.trainers.recipes import Adapters, Quantization, Recipe
from engine.memory.trainers.tables import Field, Settings, Trainer, integer, text, truth

TABLE = {
    "model": Field(("checkpoint_dir", "model_name", "initial_checkpoint_dir"), meaning=text),
    "batch_size": Field(("train.micro_batch_size",), 1, integer),
    "global_batch": Field(("train.global_batch_size",), 16, integer),
    "sequence_length": Field(("train.max_seq_length", "model_config.block_size"), None, integer),
    "precision": Field(("precision",), None, text),
    "quantization": Field(("quantize",), None, text),
    "optimizer": Field(("optimizer.class_path", "optimizer"), "AdamW", text),
    "devices": Field(("devices",), 1, integer),
    "nodes": Field(("num_nodes",), 1, integer),
    "lora_rank": Field(("lora_r",), 8, integer),
    "lora_alpha": Field(("lora_alpha",), 16, integer),
    "lora_dropout": Field(("lora_dropout",), 0.05),
    "lora_query": Field(("lora_query",), True, truth),
    "lora_key": Field(("lora_key",), False, truth),
    "lora_value": Field(("lora_value",), True, truth),
    "lora_projection": Field(("lora_projection",), False, truth),
    "lora_mlp": Field(("lora_mlp",), False, truth),
    "lora_head": Field(("lora_head",), False, truth),
    "data": Field(("data.class_path", "data"), "litgpt.data.Alpaca", text),
    "clip": Field(("train.max_norm",), None),
}  # fmt: skip
LORA_ROLES = {
    "lora_query": "query",
    "lora_key": "key",
    "lora_value": "value",
    "lora_projection": "output",
    "lora_mlp": "mlp",
}
PIECE = 128
"""Tokens of the head's output in one piece (lm_head_chunk_size)."""


def read(action: str, options: Options, processes: int) -> Recipe:
    """A run from its options."""
    settings = Settings(TABLE, options)
    pretrains = action == "pretrain"
    model = model_names.published(str(settings.required("model", "LitGPT")).removeprefix("checkpoints/"))
    batch = settings["batch_size"] or 1
    if pretrains and not options.first(TABLE["batch_size"].names):
        batch = 4
    devices = max(processes, (settings["devices"] or 1) * (settings["nodes"] or 1))
    precision = settings["precision"] or ("bf16-mixed" if pretrains else "bf16-true")
    length, once, notes = _length(settings, model, pretrains)
    lora = action in ("finetune_lora", "finetune", "finetune lora")
    weights = {"bf16-true": "bfloat16", "16-true": "float16"}.get(precision, "float32")
    adapters = None
    if lora:
        roles = [role for key, role in LORA_ROLES.items() if settings[key]]
        targets = (*model_names.modules(model, roles), *(("lm_head",) if settings["lora_head"] else ()))
        adapters = Adapters(
            settings["lora_rank"], targets, settings["lora_alpha"], settings["lora_dropout"], dtype=weights
        )
    quantization = None
    if (name := settings["quantization"]) is not None:
        bits = 8 if "int8" in name else 4
        quantization = Quantization(bits, double=name.endswith("-dq"), compute=weights, prepared=False)
    if devices > 1:
        notes = (*notes, "LitGPT shards over its devices: the run is shown unsharded, so it needs less than this")
    structure = litgpt_programs.structure(model) or {}
    if structure:
        structure |= _adapted(settings, lora)
        structure |= {"quantized": quantization is not None, "double": quantization is not None and quantization.double}
    optimizer = (settings["optimizer"] or "AdamW").rsplit(".", 1)[-1].lower()
    chosen = {"sgd": "sgd", "adam": "adam", "adamw8bit": "adamw_bnb_8bit"}.get(optimizer, "adamw_torch")
    if pretrains and chosen == "adamw_torch":
        chosen = "adamw_torch_fused"
    settings.at("accumulation_steps", "train.global_batch_size")
    return Recipe(
        trainer="LitGPT",
        model=model,
        batch_size=batch,
        sequence_length=length,
        longest_once=once,
        accumulation_steps=max(1, (settings["global_batch"] or batch) // (batch * devices)),
        world_size=devices,
        weights=weights,
        autocast={"bf16-mixed": "bfloat16", "16-mixed": "float16"}.get(precision),
        from_scratch=pretrains,
        overrides=_one_gelu(model),
        adapters=adapters,
        quantization=quantization,
        checkpointing=False,
        # quantised weights bring bitsandbytes' paged optimizer with them (litgpt/utils.py, instantiate_bnb_optimizer)
        optimizer="paged_adamw_32bit" if quantization is not None else chosen,
        clip=settings["clip"] or (1.0 if pretrains else None),
        loss="pieces" if lora else "whole",
        loss_pieces=max(1, -(-length // PIECE)),
        structure=structure,
        places=settings.places,
        notes=notes,
    )


def _adapted(settings: Settings, lora: bool) -> dict[str, Any]:
    return {
        "rank": settings["lora_rank"] if lora else 0,
        "alpha": settings["lora_alpha"],
        "dropout": settings["lora_dropout"],
        "adapted_projections": [bool(settings[name]) for name in ("lora_query", "lora_key", "lora_value")],
        "adapted_output": settings["lora_projection"],
        "adapted_mlp": settings["lora_mlp"],
        "adapted_head": settings["lora_head"],
    }


def _one_gelu(model: str) -> dict[str, str]:
    """LitGPT calls torch's own GELU, also where transformers writes the approximation out."""
    found = architectures.lookup(model, library="transformers")
    kind = found.configuration().get("hidden_act") if found is not None else None
    return {"hidden_act": "gelu_pytorch_tanh"} if kind in ("gelu_new", "gelu_fast") else {}


def _length(settings: Settings, model: str, pretrains: bool) -> tuple[int, bool, tuple[str, ...]]:
    """Tokens of the longest sample, whether it is the only one of its length, and what was assumed."""
    bound = settings["sequence_length"]
    most = data_sets.context(model) or 2048
    if pretrains:
        return bound or most, False, ()
    known = data_sets.lengths(settings["data"])
    if known is not None:
        whole = known.of(data_sets.vocabulary(model))
        longest = min(whole, bound or most)
        return longest, longest == whole, (f"samples are padded to the longest of the data set: {longest} tokens",)
    if bound:
        return min(bound, most), False, ()
    return most, False, (f"the longest sample is assumed to fill the model's context of {most} tokens",)


TRAINER = Trainer(
    name="LitGPT",
    program="loop",
    read=read,
    commands=(("litgpt", "*"),),
    positional=("checkpoint_dir",),
    keys=(
        ("checkpoint_dir", "lora_r"),
        ("checkpoint_dir", "train.micro_batch_size"),
        ("model_name", "train.micro_batch_size"),
    ),
    counts=("devices",),
)
