"""`--set key=value`: which settings there are, and which values each takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


LARGEST_NUMBER = 1_000_000_000
"""No batch, sequence or world comes near; what is larger is a slip of the hand, and costs only time to follow."""


class WrongOverride(ValueError):
    """A key or a value that is none: what is possible instead, and what is close to what was written."""

    def __init__(self, key: str, value: str | None, possible: str, close: Sequence[str] = ()) -> None:
        """`value` is None where it is the key that does not exist."""
        self.key, self.value, self.possible, self.close = key, value, possible, tuple(close)
        if value is not None:
            text = f"{key} takes {possible}, not {value!r}"
        else:
            text = f"no setting {key!r}" + ("" if close else f": {possible}")
        super().__init__(f"{text}; did you mean {' or '.join(close)}?" if close else text)


def checked(overrides: Mapping[str, str]) -> dict[str, str]:
    """The overrides as they are taken. Raises WrongOverride for a key or a value that is none."""
    taken = {key: value.lower() if key in CHOICES else value for key, value in overrides.items()}
    for key, value in taken.items():
        if key not in KEYS:
            raise WrongOverride(key, None, ", ".join(KEYS), get_close_matches(key, KEYS, n=1))
        if key in WHOLE_NUMBERS and not _counts(value):
            raise WrongOverride(key, value, f"a whole number from 1 to {LARGEST_NUMBER:,}")
        if key in CHOICES and value not in CHOICES[key]:
            raise WrongOverride(key, value, ", ".join(CHOICES[key]), get_close_matches(value, CHOICES[key], n=2))
    return taken


def _counts(value: str) -> bool:
    digits = value.isascii() and value.isdigit() and len(value.lstrip("0")) <= len(str(LARGEST_NUMBER))
    return digits and 1 <= int(value) <= LARGEST_NUMBER


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


__all__ = ["KEYS", "WrongOverride", "checked", "shown"]
