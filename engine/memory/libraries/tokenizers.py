"""Tokenizers, processors and collators: they give ids of the lengths that a program asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from engine.memory.libraries.torch_data import collate, is_tensor
from engine.memory.program.unknown import Unknown
from engine.memory.tensors import namespace

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter

DEFAULT_LENGTH = 512
"""Tokens of a text whose length nothing bounds: what most published encoders take at most."""


class TokenIds:
    """Token ids without values: a length, and tensors of it on request. Lists of ids are never built."""

    __slots__ = ("length",)

    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return TokenIds(len(range(*index.indices(self.length))))
        return 1

    def __iter__(self) -> Iterator[int]:
        return iter([1] * self.length)

    def __add__(self, other: Any) -> TokenIds:
        return TokenIds(self.length + len(other))

    __radd__ = __add__

    def __mul__(self, times: int) -> TokenIds:
        return TokenIds(self.length * times)

    def copy(self) -> TokenIds:
        """Another of the same length."""
        return TokenIds(self.length)

    @property
    def shape(self) -> tuple[int, ...]:
        """As an array's."""
        return (self.length,)

    def to_tensor(self) -> Any:
        """A tensor of that many ids."""
        return namespace("torch.ones")(self.length, dtype=namespace("torch.int64"))


class BatchEncoding(dict[str, Any]):
    """What a tokenizer returns: a dictionary whose keys are attributes, movable as one."""

    open_record = True

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise AttributeError(name)

    def to(self, *args: Any, **kwargs: Any) -> BatchEncoding:
        """Move every tensor."""
        return type(self)(
            {key: value.to(*args, **kwargs) if is_tensor(value) else value for key, value in self.items()}
        )

    @property
    def data(self) -> dict[str, Any]:
        """The dictionary itself."""
        return self


def _length(interpreter: Interpreter, text: Any, maximum: Any, padding: Any) -> int:
    override = interpreter.state.get("overrides", {}).get("sequence_length")
    if override is not None:
        return int(override)
    if isinstance(maximum, int):
        if padding != "max_length" and isinstance(text, str) and "known text" in interpreter.state:
            return min(maximum, max(1, len(text) // 4))
        return maximum
    if isinstance(text, str) and text and "<text>" not in text:
        # English text runs to about four characters a token in the published vocabularies.
        return max(1, len(text) // 4)
    interpreter.note(f"a text of unknown length is assumed to have {DEFAULT_LENGTH} tokens")
    return DEFAULT_LENGTH


def make_tokenizer(interpreter: Interpreter) -> Any:
    """The tokenizer class of one run."""

    class Tokenizer:
        """Any tokenizer."""

        open_record = True

        def __init__(self, *args: Any, **options: Any) -> None:
            self.pad_token = self.eos_token = self.bos_token = self.unk_token = self.cls_token = self.sep_token = (
                "<token>"
            )
            self.mask_token = "<mask>"
            self.pad_token_id = self.eos_token_id = self.bos_token_id = self.cls_token_id = self.sep_token_id = 0
            self.mask_token_id = self.unk_token_id = 1
            self.padding_side = options.get("padding_side", "right")
            self.truncation_side = "right"
            limit = options.get("model_max_length")
            self.model_max_length = limit if isinstance(limit, int) else DEFAULT_LENGTH
            self.chat_template = None
            self.vocab_size = 32000

        @classmethod
        def from_pretrained(cls, name: Any = None, *args: Any, **options: Any) -> Any:
            made = cls(**options)
            if isinstance(name, str):
                from engine import architectures

                checkpoint = architectures.lookup(name, library="transformers")
                if checkpoint is not None:
                    values = checkpoint.configuration()
                    made.vocab_size = int(values.get("vocab_size") or 32000)
                    limit = values.get("max_position_embeddings") or values.get("n_positions")
                    if isinstance(limit, int) and not isinstance(options.get("model_max_length"), int):
                        made.model_max_length = limit
            return made

        def __len__(self) -> int:
            return self.vocab_size

        def __call__(
            self,
            text: Any = None,
            text_pair: Any = None,
            *,
            max_length: Any = None,
            padding: Any = False,
            truncation: Any = False,
            return_tensors: Any = None,
            **options: Any,
        ) -> Any:
            text = options.get("text_target", text) if text is None else text
            limit = max_length if isinstance(max_length, int) else None
            if limit is None and (padding == "max_length" or truncation) and self.model_max_length < 100_000:
                limit = self.model_max_length
            many = isinstance(text, (list, tuple))
            first = text[0] if many and text else text
            length = _length(interpreter, first, limit, padding)
            count = len(text) if many else 1
            if return_tensors is not None:
                ones = namespace("torch.ones")
                whole = namespace("torch.int64")
                return BatchEncoding(
                    input_ids=ones(count, length, dtype=whole), attention_mask=ones(count, length, dtype=whole)
                )
            ids: Any = TokenIds(length)
            if many:
                ids = [TokenIds(length) for _ in range(count)]
            return BatchEncoding(
                input_ids=ids, attention_mask=ids if not many else [TokenIds(length) for _ in range(count)]
            )

        batch_encode_plus = encode_plus = __call__

        def encode(self, text: Any = None, *args: Any, return_tensors: Any = None, **options: Any) -> Any:
            return self(text, return_tensors=return_tensors, **options)["input_ids"]

        def pad(self, items: Any, *args: Any, **options: Any) -> Any:
            return BatchEncoding(pad_collate(items))

        def apply_chat_template(
            self, conversation: Any = None, *args: Any, tokenize: Any = True, **options: Any
        ) -> Any:
            if not tokenize:
                return "<text>"
            made = self("<text>", max_length=options.get("max_length"), return_tensors=options.get("return_tensors"))
            return made if options.get("return_dict") else made["input_ids"]

        def decode(self, *args: Any, **options: Any) -> str:
            return ""

        def batch_decode(self, sequences: Any, *args: Any, **options: Any) -> list[str]:
            return [""]

        def add_special_tokens(self, tokens: Any, *args: Any, **options: Any) -> int:
            return len(tokens) if hasattr(tokens, "__len__") else 0

        def add_tokens(self, tokens: Any, *args: Any, **options: Any) -> int:
            return len(tokens) if isinstance(tokens, list) else 1

        def save_pretrained(self, *args: Any, **options: Any) -> None:
            return None

        push_to_hub = save_pretrained

        def convert_tokens_to_ids(self, tokens: Any) -> Any:
            return [1] * len(tokens) if isinstance(tokens, list) else 1

        def tokenize(self, text: Any, *args: Any, **options: Any) -> list[str]:
            return ["token"] * _length(interpreter, text, None, False)

    return Tokenizer


def make_processor(interpreter: Interpreter) -> Any:
    """Image processors and feature extractors: tensors of the model's own input size."""

    class Processor:
        """Any processor."""

        open_record = True

        def __init__(self, size: int = 224) -> None:
            self.size = {"height": size, "width": size, "shortest_edge": size}
            self.image_mean = self.image_std = [0.5, 0.5, 0.5]
            self.tokenizer = make_tokenizer(interpreter)()
            self.feature_extractor = self.image_processor = self

        @classmethod
        def from_pretrained(cls, name: Any = None, *args: Any, **options: Any) -> Any:
            from engine import architectures

            size = 224
            checkpoint = architectures.lookup(name, library="transformers") if isinstance(name, str) else None
            if checkpoint is not None:
                values = checkpoint.configuration()
                vision = values.get("vision_config") if isinstance(values.get("vision_config"), dict) else values
                found = vision.get("image_size") if isinstance(vision, dict) else None
                size = int(found) if isinstance(found, int) else 224
            return cls(size)

        def __call__(self, images: Any = None, *args: Any, text: Any = None, **options: Any) -> Any:
            count = len(images) if isinstance(images, (list, tuple)) else 1
            side = self.size["height"]
            made = BatchEncoding(pixel_values=namespace("torch.empty")(count, 3, side, side))
            if text is not None:
                made.update(
                    self.tokenizer(
                        text,
                        return_tensors="pt",
                        **{k: v for k, v in options.items() if k in ("max_length", "padding", "truncation")},
                    )
                )
            return made

        def save_pretrained(self, *args: Any, **options: Any) -> None:
            return None

    return Processor


def as_tensor(value: Any) -> Any:
    """A tensor of a column's item: ids, numbers or tensors."""
    if is_tensor(value):
        return value
    if hasattr(value, "to_tensor"):
        return value.to_tensor()
    if isinstance(value, list) and value and isinstance(value[0], int) and not isinstance(value[0], bool):
        return TokenIds(len(value)).to_tensor()
    if isinstance(value, (int, float, list)):
        return namespace("torch.tensor")(value)
    return value


def pad_collate(items: Any) -> dict[str, Any]:
    """A batch of dictionaries: tensors stacked, shorter ones taken as padded to the longest."""
    first = items[0]
    result: dict[str, Any] = {}
    for key in first:
        if key in ("label", "label_ids") and "labels" in list(first):
            continue
        values = [as_tensor(item[key]) for item in items]
        if not is_tensor(values[0]):
            continue
        longest = max(values, key=lambda value: value.numel())
        result["labels" if key in ("label", "label_ids") else key] = namespace("torch.stack")([longest] * len(values))
    return result


def collators(interpreter: Interpreter) -> dict[str, Any]:
    """`DataCollatorWithPadding` and its kin."""

    def padding(tokenizer: Any = None, *args: Any, **options: Any) -> Callable[[Any], Any]:
        def collate_items(items: Any) -> Any:
            if items and isinstance(items[0], Unknown):
                return items[0]
            return pad_collate(items)

        return collate_items

    def language_modeling(tokenizer: Any = None, mlm: Any = True, *args: Any, **options: Any) -> Callable[[Any], Any]:
        def collate_items(items: Any) -> Any:
            if items and isinstance(items[0], Unknown):
                return items[0]
            rows = [item if isinstance(item, Mapping) else {"input_ids": item} for item in items]
            batch = pad_collate(
                [
                    {k: v for k, v in row.items() if k in ("input_ids", "attention_mask", "token_type_ids")}
                    for row in rows
                ]
            )
            batch["labels"] = batch["input_ids"].clone()
            batch.setdefault("attention_mask", namespace("torch.ones_like")(batch["input_ids"]))
            return batch

        return collate_items

    return {
        "DataCollatorWithPadding": padding,
        "DataCollatorForSeq2Seq": padding,
        "DataCollatorForTokenClassification": padding,
        "DataCollatorForLanguageModeling": language_modeling,
        "DefaultDataCollator": padding,
        "default_data_collator": padding(),
        "DataCollator": padding,
    }


__all__ = ["BatchEncoding", "TokenIds", "collate", "collators", "make_processor", "make_tokenizer", "pad_collate"]
