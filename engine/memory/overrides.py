"""`--set key=value`: which settings there are, and which values each takes."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from engine.findings import Setting

WHOLE_NUMBERS = frozenset(
    {"batch_size", "sequence_length", "image_size", "accumulation_steps", "world_size", "lora_rank", "max_new_tokens"}
)
CHOICES: Mapping[str, tuple[str, ...]] = {
    "precision": ("fp32", "amp-fp16", "amp-bf16", "pure-fp16", "pure-bf16"),
    "sharding": ("none", "ddp", "fsdp", "zero-1", "zero-2", "zero-3"),
    "gradient_checkpointing": ("on", "off", "true", "false"),
}
WORDS = frozenset({"optimizer", "attention", "quantization", "offload"})
KEYS = tuple(sorted(WHOLE_NUMBERS | CHOICES.keys() | WORDS))

SEEN_IN_THE_RUN = ("batch_size", "precision", "optimizer", "gradient_checkpointing", "attention", "sharding")
"""Settings of which the run itself shows whether they were followed."""


def checked(overrides: Mapping[str, str]) -> dict[str, str]:
    """The overrides as they are taken. Raises ValueError, with what is possible, for a key or a value that is none."""
    taken = {key: value.lower() if key in CHOICES else value for key, value in overrides.items()}
    for key, value in taken.items():
        if key not in KEYS:
            close = get_close_matches(key, KEYS, n=1)
            raise ValueError(
                f"no setting {key!r}" + (f"; did you mean {close[0]}?" if close else f": {', '.join(KEYS)}")
            )
        if key in WHOLE_NUMBERS and not (value.isascii() and value.isdigit() and int(value) > 0):
            raise ValueError(f"{key} takes a whole number from 1 up, not {value!r}")
        if key in CHOICES and value not in CHOICES[key]:
            raise ValueError(f"{key} takes {', '.join(CHOICES[key])}, not {value!r}")
    return taken


def _same(seen: Any, asked: str) -> bool:
    if isinstance(seen, bool):
        return seen == (asked in ("on", "true"))
    return str(seen).lower() == asked.lower()


def shown(settings: Mapping[str, Setting], overrides: Mapping[str, str]) -> tuple[dict[str, Setting], list[str]]:
    """The settings with the overrides that were followed, and a note on each that the program did not follow."""
    merged, notes = dict(settings), []
    for key, value in overrides.items():
        seen = settings.get(key, Setting(value="none") if key == "sharding" else None)
        if key not in SEEN_IN_THE_RUN or seen is None:
            merged[key] = Setting(value=int(value) if key in WHOLE_NUMBERS else value, path="--set")
        elif _same(seen.value, value):
            merged[key] = Setting(value=seen.value, path="--set")
        else:
            notes.append(f"{key}={value} was not followed: the program takes {key} from nothing that can be set")
    return merged, notes


__all__ = ["KEYS", "checked", "shown"]
