"""LitGPT's runs as programs over its own decoder (`engine/architectures/models/litgpt.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine import architectures
from engine.memory.trainers.recipes import Recipe
from engine.memory.trainers.stepping import MOST_MICRO_BATCHES, optimizer_lines

PLAIN: Mapping[str, Any] = {
    "norm": "rms",
    "gated": True,
    "gelu": False,
    "bias": False,
    "projection_bias": False,
    "head_bias": False,
    "parallel_residual": False,
    "shared_norm": False,
    "norm_qk": False,
    "post_norms": False,
    "scaled_embeddings": False,
    "attention_cap": None,
    "head_cap": None,
}
"""Llama; a family says what it has otherwise."""

_NEOX: Mapping[str, Any] = {"norm": "layer", "gated": False, "bias": True, "projection_bias": True}
FAMILIES: Mapping[str, Mapping[str, Any]] = {
    "llama": {},
    "mistral": {},
    "phi3": {},
    "qwen2": {"projection_bias": True},
    "qwen3": {"norm_qk": True},
    "gemma": {"norm": "offset", "gelu": True, "scaled_embeddings": True},
    "gemma2": {"norm": "offset", "gelu": True, "scaled_embeddings": True, "post_norms": True},
    "phi": {**_NEOX, "head_bias": True, "parallel_residual": True, "shared_norm": True},
    "gpt_neox": _NEOX,
    "falcon": {"norm": "layer", "gated": False, "parallel_residual": True},
    "stablelm": {"norm": "layer"},
}
"""By transformers' model type (litgpt/config.py)."""


SHORT = 64
"""Tokens of the many samples that are not the longest one."""


def structure(model: str) -> dict[str, Any] | None:
    """LitGPT's configuration of a published decoder; None where it has none that is known here."""
    found = architectures.lookup(model, library="transformers")
    if found is None or found.model_type not in FAMILIES:
        return None
    values = found.configuration()
    if found.model_type == "falcon" and values.get("alibi"):
        return None
    width, heads = values["hidden_size"], values["num_attention_heads"]
    size = values.get("head_dim") or width // heads
    groups = values.get("num_key_value_heads") or heads
    rotated = values.get("partial_rotary_factor") or 1.0
    chosen: dict[str, Any] = {**PLAIN, **FAMILIES[found.model_type]}
    if found.model_type == "falcon":
        grouped = bool(values.get("new_decoder_architecture"))
        groups = values.get("num_kv_heads") or heads if grouped else 1
        chosen["shared_norm"] = not grouped
    if found.model_type == "gpt_neox":
        chosen["parallel_residual"] = bool(values.get("use_parallel_residual", True))
    if found.model_type == "gemma2":
        chosen["attention_cap"] = values.get("attn_logit_softcapping")
        chosen["head_cap"] = values.get("final_logit_softcapping")
    return {
        **chosen,
        "n_layer": values["num_hidden_layers"],
        "n_embd": width,
        "n_head": heads,
        "n_query_groups": groups,
        "head_size": size,
        "rotated": int(rotated * size),
        "intermediate_size": values.get("intermediate_size") or values.get("ffn_hidden_size") or 4 * width,
        "vocab_size": values["vocab_size"],
    }


def litgpt_program(recipe: Recipe) -> str:
    """The loop of litgpt/finetune and litgpt/pretrain: a loss over pieces of 128 tokens, in float32."""
    weights = recipe.weights or "float32"
    batch, length = recipe.batch_size, recipe.sequence_length
    # What the step before the longest sample's holds is a short sample's.
    varied = f"{length} if step % {MOST_MICRO_BATCHES} == 0 else {SHORT}"
    lengths = varied if recipe.longest_once else str(length)
    autocast = f"torch.{recipe.autocast}" if recipe.autocast else "torch.bfloat16"
    lines = [
        "import torch",
        "from torch.nn import functional as F",
        "from engine.architectures.models.litgpt import GPT, PIECE",
        f"torch.set_default_dtype(torch.{weights})",
        f"model = GPT(**{dict(recipe.structure)!r}).to('cuda')",
        "torch.set_default_dtype(torch.float32)",
        "model.train()",
        *optimizer_lines(recipe),
        "def losses(logits, labels):",
        "    pairs = zip(logits, labels)",
        "    parts = [F.cross_entropy(a.flatten(0, -2), b.flatten(), reduction='none') for a, b in pairs]",
        "    return torch.cat(parts).mean()",
        f"for step in range({4 * MOST_MICRO_BATCHES}):",
        f"    length = {lengths}",
        f"    ids = torch.randint(0, 1000, ({batch}, length), device='cuda')",
        f"    labels = torch.randint(0, 1000, ({batch}, length), device='cuda')",
        f"    with torch.autocast('cuda', dtype={autocast}, enabled={recipe.autocast is not None}):",
        f"        logits = model(ids, pieces={recipe.loss == 'pieces'})",
    ]
    if recipe.loss == "pieces":
        lines.append("    loss = losses(logits, labels.split(PIECE, dim=1))")
    else:
        # fine-tuning leaves the last position out and so copies the logits once more
        sliced = "logits" if recipe.from_scratch else "logits[..., :-1, :]"
        targets = "labels" if recipe.from_scratch else "labels[..., 1:]"
        lines += [
            f"    flat, wanted = {sliced}.reshape(-1, logits.size(-1)), {targets}.reshape(-1)",
            "    loss = losses(flat.split(PIECE), wanted.split(PIECE))",
        ]
    micro = min(recipe.accumulation_steps, MOST_MICRO_BATCHES)
    lines += [f"    (loss / {micro}).backward()", f"    if (step + 1) % {micro} == 0:"]
    if recipe.clip:
        lines.append(f"        torch.nn.utils.clip_grad_norm_(model.parameters(), {recipe.clip!r})")
    lines += ["        optimizer.step()", "        optimizer.zero_grad()"]
    return "\n".join(lines) + "\n"
