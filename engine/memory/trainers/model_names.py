"""Names: published checkpoints behind short names and local folders, and a family's modules by their role."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from engine import architectures

ROLES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "": {
        "query": ("q_proj",),
        "key": ("k_proj",),
        "value": ("v_proj",),
        "output": ("o_proj",),
        "mlp": ("gate_proj", "up_proj", "down_proj"),
    },
    "phi": {"output": ("dense",), "mlp": ("fc1", "fc2")},
    "phi3": {
        "query": ("qkv_proj",),
        "key": ("qkv_proj",),
        "value": ("qkv_proj",),
        "mlp": ("gate_up_proj", "down_proj"),
    },
    "gpt_neox": {
        "query": ("query_key_value",),
        "key": ("query_key_value",),
        "value": ("query_key_value",),
        "output": ("dense",),
        "mlp": ("dense_h_to_4h", "dense_4h_to_h"),
    },
    "qwen": {
        "query": ("c_attn",),
        "key": ("c_attn",),
        "value": ("c_attn",),
        "output": ("c_proj",),
        "mlp": ("w1", "w2", "c_proj"),
    },
    "gpt2": {
        "query": ("c_attn",),
        "key": ("c_attn",),
        "value": ("c_attn",),
        "output": ("c_proj",),
        "mlp": ("c_fc", "c_proj"),
    },
    "opt": {"output": ("out_proj",), "mlp": ("fc1", "fc2")},
    "starcoder2": {"mlp": ("c_fc", "c_proj")},
}
"""Linear layers of a decoder block by role and model type; the empty type is Llama, which the others are like."""

_LIKE: Mapping[str, str] = {"falcon": "gpt_neox", "bloom": "gpt_neox"}


def modules(model: str, roles: Iterable[str]) -> tuple[str, ...]:
    """The module names of a model that play some roles."""
    found = architectures.lookup(model, library="transformers")
    kind = found.model_type if found is not None else ""
    own = ROLES.get(_LIKE.get(kind, kind), {})
    chosen = [name for role in roles for name in own.get(role, ROLES[""][role])]
    return tuple(dict.fromkeys(chosen))


def published(name: str) -> str:
    """A name of the catalogue for a checkpoint's name, its short name or the folder it was downloaded to."""
    if architectures.lookup(name) is not None:
        return name
    last = name.rstrip("/").rsplit("/", 1)[-1]
    found = architectures.lookup(last) if last else None
    return found.name if found is not None else name
