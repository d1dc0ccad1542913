"""Lengths of public instruction data sets in tokens: what a batch of samples that are not packed comes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine import architectures


@dataclass(frozen=True)
class Lengths:
    """Tokens of the longest sample, by the least vocabulary that holds it, and of the 99th of a hundred."""

    longest: Mapping[int, int]
    long: int

    def of(self, vocabulary: int) -> int:
        """The longest sample under a tokenizer: larger vocabularies need fewer tokens."""
        return self.longest[max(size for size in self.longest if size <= max(vocabulary, min(self.longest)))]


ALPACA = Lengths(longest={32_000: 1304, 50_000: 1044, 65_000: 1079}, long=512)
"""Stanford Alpaca, 52 000 samples; the longest as LitGPT's resource tables and its preparation of the data name them.

Its alpaca-cleaned revision has the same texts with the mistakes mended.
"""

DATA_SETS: Mapping[str, Lengths] = {
    "alpaca": ALPACA,
    "tatsu-lab/alpaca": ALPACA,
    "yahma/alpaca-cleaned": ALPACA,
    "alpaca_dataset": ALPACA,
    "alpaca_cleaned_dataset": ALPACA,
    "alpaca_en": ALPACA,
    "alpaca_en_demo": ALPACA,
    "alpaca_gpt4_en": ALPACA,
}
"""By the names that the trainers give them, in lower case."""


def lengths(name: str | None) -> Lengths | None:
    """The lengths of a data set, None where nothing is known of it."""
    if not name:
        return None
    key = name.lower().strip()
    return (
        DATA_SETS.get(key) or DATA_SETS.get(key.rsplit(".", 1)[-1]) or DATA_SETS.get(key.split("#")[0].split(":")[-1])
    )


def vocabulary(model: str) -> int:
    """Tokens of a model's vocabulary; Llama 2's where the model is not in the catalogue."""
    found = architectures.lookup(model, library="transformers")
    size = found.configuration().get("vocab_size") if found is not None else None
    return size if isinstance(size, int) else 32_000


def context(model: str) -> int | None:
    """Most tokens that a model takes."""
    found = architectures.lookup(model, library="transformers")
    values = found.configuration() if found is not None else {}
    size = next(
        (values[name] for name in ("max_position_embeddings", "n_positions", "seq_length") if values.get(name)), None
    )
    if not isinstance(size, int) or found is None:
        return None
    # RoBERTa's kin count positions from behind the padding's.
    return size - 2 if "roberta" in found.model_type or found.model_type == "camembert" else size


def padded(named: tuple[str, ...], bound: int) -> tuple[int, tuple[str, ...]]:
    """Tokens of a batch that is padded to its longest sample, cut at `bound`, and what was assumed of it."""
    known = [lengths(name) for name in named if name != "identity"]
    found = [item.long for item in known if item is not None]
    if found and len(found) == len(known):
        length = min(bound, max(found))
        return length, (f"samples of this data set are not packed: batches of {length} tokens are assumed",)
    return bound, (f"samples are not packed: every one is assumed to be as long as {bound} tokens",)
