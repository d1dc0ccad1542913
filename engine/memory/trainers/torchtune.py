"""torchtune: `tune run RECIPE --config CONFIG key=value` and its YAML (recipes/*.py).

Its loop has no autocast: weights, adapters and optimizer states are in `dtype`. The logits are made float32, whole or
in eight pieces; activations that wait on the host exclude the head's.
"""

from __future__ import annotations

import re

from engine.memory.trainers import data_sets, model_names
from engine.memory.trainers.options import Options
from engine.memory.trainers.recipes import Adapters, Loss, Quantization, Recipe
from engine.memory.trainers.tables import CannotRead, Field, Settings, Trainer, dtype, integer, names, text, truth

TABLE = {
    "model": Field(("model._component_",), meaning=text),
    "folder": Field(("checkpointer.checkpoint_dir",), meaning=text),
    "batch_size": Field(("batch_size",), 2, integer),
    "accumulation_steps": Field(("gradient_accumulation_steps",), 1, integer),
    "sequence_length": Field(("tokenizer.max_seq_len", "dataset.max_seq_len"), None, integer),
    "packed": Field(("dataset.packed",), False, truth),
    "data": Field(("dataset._component_",), meaning=text),
    "precision": Field(("dtype",), "bf16", dtype),
    "optimizer": Field(("optimizer._component_",), "torch.optim.AdamW", text),
    "fused": Field(("optimizer.fused",), False, truth),
    "step_in_backward": Field(("optimizer_in_bwd",), False, truth),
    "gradient_checkpointing": Field(("enable_activation_checkpointing",), False, truth),
    "offload": Field(("enable_activation_offloading",), False, truth),
    "loss": Field(("loss._component_",), "", text),
    "compiled": Field(("compile",), False),
    "lora_rank": Field(("model.lora_rank",), 8, integer),
    "lora_alpha": Field(("model.lora_alpha",), 16),
    "lora_dropout": Field(("model.lora_dropout",), 0.0),
    "attention_targets": Field(("model.lora_attn_modules",), (), names),
    "mlp_targets": Field(("model.apply_lora_to_mlp",), False, truth),
    "head_target": Field(("model.apply_lora_to_output",), False, truth),
    "dora": Field(("model.use_dora",), False, truth),
    "clip": Field(("clip_grad_norm",), None),
}

BUILDERS = {
    "llama2_7b": "meta-llama/Llama-2-7b-hf",
    "llama2_13b": "meta-llama/Llama-2-13b-hf",
    "llama2_70b": "meta-llama/Llama-2-70b-hf",
    "code_llama2_7b": "codellama/CodeLlama-7b-hf",
    "code_llama2_13b": "codellama/CodeLlama-13b-hf",
    "llama3_8b": "meta-llama/Meta-Llama-3-8B",
    "llama3_70b": "meta-llama/Meta-Llama-3-70B",
    "llama3_1_8b": "meta-llama/Llama-3.1-8B",
    "llama3_1_70b": "meta-llama/Llama-3.1-70B",
    "llama3_1_405b": "meta-llama/Llama-3.1-405B",
    "llama3_3_70b": "meta-llama/Llama-3.1-70B",
    "llama3_2_1b": "meta-llama/Llama-3.2-1B",
    "llama3_2_3b": "meta-llama/Llama-3.2-3B",
    "mistral_7b": "mistralai/Mistral-7B-v0.1",
    "gemma_2b": "google/gemma-2b",
    "gemma_7b": "google/gemma-7b",
    "gemma2_2b": "google/gemma-2-2b",
    "gemma2_9b": "google/gemma-2-9b",
    "gemma2_27b": "google/gemma-2-27b",
    "phi3_mini": "microsoft/Phi-3-mini-4k-instruct",
    "phi4_14b": "microsoft/phi-4",
}
"""torchtune's builders by the checkpoint of the same shape; Qwen's builders spell theirs."""

_ADAPTED = re.compile(r"^(lora|qlora|dora)_")
_QWEN = re.compile(r"^qwen(2_5|2|3)_(\d+)(?:_(\d+))?b(?:_(?:instruct|base))?$")
_ROLE = {"q_proj": "query", "k_proj": "key", "v_proj": "value", "output_proj": "output"}
PIECES = 8
"""Pieces of the chunked losses (num_output_chunks)."""


def model_of(component: str, folder: str | None) -> str:
    """The published checkpoint that a builder makes; raises CannotRead."""
    name = _ADAPTED.sub("", component.rsplit(".", 1)[-1])
    if name in BUILDERS:
        return BUILDERS[name]
    if (match := _QWEN.match(name)) is not None:
        size = f"{match[2]}.{match[3]}" if match[3] else match[2]
        return f"Qwen/Qwen{match[1].replace('_', '.')}-{size}B"
    if folder:
        return model_names.published(folder)
    raise CannotRead(f"torchtune: the model {component} is not known")


def read(action: str, options: Options, processes: int) -> Recipe:
    """A run from its options."""
    settings = Settings(TABLE, options)
    component = str(settings.required("model", "torchtune"))
    model = model_of(component, settings["folder"])
    kind = component.rsplit(".", 1)[-1]
    weights = settings["precision"] or "bfloat16"
    adapters = None
    if _ADAPTED.match(kind) or "lora_attn_modules" in (options.value("model") or {}):
        roles = [_ROLE[name] for name in settings["attention_targets"] if name in _ROLE]
        roles += ["mlp"] if settings["mlp_targets"] else []
        targets = (*model_names.modules(model, roles), *(("lm_head",) if settings["head_target"] else ()))
        adapters = Adapters(
            settings["lora_rank"],
            targets,
            settings["lora_alpha"],
            settings["lora_dropout"],
            dtype=weights,
            dora=settings["dora"],
        )
    quantized = kind.startswith("qlora_") or truth(options.value("model.quantize_base", default=False))
    if quantized:
        settings.at("quantization", "model.quantize_base", "model._component_")
    length, notes = _length(settings, model)
    if settings["compiled"] not in (False, None):
        notes = (*notes, "torch.compile is not modelled: fused operations save less, so the run needs less than this")
    if processes > 1:
        notes = (*notes, "torchtune shards over its processes: the run is shown unsharded, so it needs less than this")
    in_backward = settings["step_in_backward"]
    return Recipe(
        trainer="torchtune",
        model=model,
        batch_size=settings["batch_size"] or 1,
        sequence_length=length,
        varied=not settings["packed"],
        accumulation_steps=1 if in_backward else settings["accumulation_steps"] or 1,
        world_size=processes,
        weights=weights,
        adapters=adapters,
        quantization=Quantization(4, double=True, compute=weights, prepared=False) if quantized else None,
        checkpointing=settings["gradient_checkpointing"],
        offload_activations=settings["offload"],
        optimizer=_optimizer(settings),
        step_in_backward=in_backward,
        clip=settings["clip"],
        loss=_loss(settings),
        loss_pieces=PIECES,
        places=settings.places,
        notes=notes,
    )


def _loss(settings: Settings) -> Loss:
    name = settings["loss"] or ""
    compiled = settings["compiled"] not in (False, None)
    if not any(word in name for word in ("Chunked", "LinearCrossEntropy")):
        return "whole-float32-fused" if compiled else "whole-float32"
    # Where a piece's cross entropy is compiled (modules/loss, apply_compile_strategy), so is its float32 copy.
    return "pieces-fused" if compiled else "pieces-float32"


def _optimizer(settings: Settings) -> str:
    name = settings["optimizer"]
    if "8bit" in name:
        return "paged_adamw_8bit" if "Paged" in name else f"adamw_{'torch' if 'torchao' in name else 'bnb'}_8bit"
    if "4bit" in name:
        return "adamw_torch_4bit"
    if name.endswith("SGD"):
        return "sgd"
    if name.endswith("PagedAdamW"):
        return "paged_adamw_32bit"
    return "adamw_torch_fused" if settings["fused"] else "adamw_torch"


def _length(settings: Settings, model: str) -> tuple[int, tuple[str, ...]]:
    bound, packed = settings["sequence_length"], settings["packed"]
    if packed:
        if not bound:
            raise CannotRead("torchtune: a packed data set needs tokenizer.max_seq_len")
        return bound, ()
    known = data_sets.lengths(settings["data"])
    if known is not None:
        length = min(known.long, bound or known.long)
        return length, (f"samples of this data set are not packed: batches of {length} tokens are assumed",)
    length = bound or min(2048, data_sets.context(model) or 2048)
    return length, (f"samples are not packed: every one is assumed to be as long as {length} tokens",)


TRAINER = Trainer(
    name="torchtune",
    program="loop",
    read=read,
    commands=(("tune", "run", "*"),),
    keys=(("model._component_", "tokenizer._component_"), ("model._component_", "checkpointer._component_")),
    counts=("nproc_per_node",),
)
