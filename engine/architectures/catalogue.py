"""The tables in `data/*.toml`, validated, and the questions asked of them."""

import ast
import copy
import difflib
import functools
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

FOLDER = Path(__file__).parent
Library = Literal["transformers", "torchvision", "timm", "diffusers"]

HEADS: Mapping[str, str] = {
    "AutoModel": "base",
    "AutoModelForCausalLM": "causal_lm",
    "AutoModelWithLMHead": "causal_lm",
    "AutoModelForMaskedLM": "masked_lm",
    "AutoModelForPreTraining": "pretraining",
    "AutoModelForSeq2SeqLM": "seq2seq_lm",
    "AutoModelForSequenceClassification": "sequence_classification",
    "AutoModelForTokenClassification": "token_classification",
    "AutoModelForQuestionAnswering": "question_answering",
    "AutoModelForMultipleChoice": "multiple_choice",
    "AutoModelForImageClassification": "image_classification",
    "AutoModelForSpeechSeq2Seq": "speech_seq2seq",
    "AutoModelForCTC": "ctc",
    "AutoModelForAudioClassification": "audio_classification",
    "AutoModelForObjectDetection": "object_detection",
    "AutoModelForSemanticSegmentation": "semantic_segmentation",
    "AutoModelForMaskGeneration": "mask_generation",
    "AutoModelForZeroShotImageClassification": "base",
}
"""transformers' Auto classes, and the head each asks for."""

_SUFFIXES: Mapping[str, Sequence[str]] = {
    "base": ("Model",),
    "causal_lm": ("ForCausalLM", "LMHeadModel"),
    "masked_lm": ("ForMaskedLM",),
    "pretraining": ("ForPreTraining",),
    "seq2seq_lm": ("ForConditionalGeneration", "MTModel"),
    "speech_seq2seq": ("ForConditionalGeneration",),
    "sequence_classification": ("ForSequenceClassification",),
    "token_classification": ("ForTokenClassification",),
    "question_answering": ("ForQuestionAnswering",),
    "multiple_choice": ("ForMultipleChoice",),
    "image_classification": ("ForImageClassification",),
    "ctc": ("ForCTC",),
    "audio_classification": ("ForSequenceClassification",),
    "object_detection": ("ForObjectDetection",),
    "semantic_segmentation": ("ForSemanticSegmentation",),
    "mask_generation": ("Model",),
}


class ModelClass(BaseModel):
    """A class in one of the model files."""

    model_config = ConfigDict(frozen=True)
    module: str
    name: str
    model_type: str


class Family(BaseModel):
    """One model type: the file that holds it, its configuration class and that class's defaults."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    model_type: str
    library: Library
    module: str
    prefix: str = Field(description="what the class names begin with, e.g. Llama")
    config_class: str = ""
    classes: dict[str, str] = Field(
        default_factory=dict, description="heads whose class name does not follow from the prefix"
    )
    aliases: dict[str, str] = Field(default_factory=dict)
    defaults: dict[str, Any] = Field(default_factory=dict)
    source: str = ""


class Checkpoint(BaseModel):
    """One published set of weights, or for torchvision and timm one named architecture."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str
    model_type: str
    library: Library
    architecture: str = Field(description="the class that the published configuration names")
    config: dict[str, Any] = Field(default_factory=dict)
    dtype: Literal["float32", "float16", "bfloat16"] = "float32"
    parameters: int | None = Field(default=None, description="as published; tied weights count once")
    source: str = ""
    also: tuple[str, ...] = ()

    def configuration(self, overrides: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The model type's defaults, the checkpoint's values over them, then `overrides`; nested values are merged."""
        return configuration(self.model_type, _merged(self.config, overrides or {}))


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    result = copy.deepcopy(dict(base))
    for key, value in over.items():
        kept = result.get(key)
        if isinstance(kept, dict) and isinstance(value, dict):
            result[key] = _merged(kept, value)
        else:
            result[key] = copy.deepcopy(value)
    return result


_NONE = "<none>"
"""TOML has no null; this string stands for None."""


def _with_none(value: Any) -> Any:
    if value == _NONE:
        return None
    if isinstance(value, dict):
        return {key: _with_none(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_none(item) for item in value]
    return value


@functools.cache
def _tables() -> tuple[dict[str, Family], tuple[Checkpoint, ...]]:
    found: dict[str, Family] = {}
    published: list[Checkpoint] = []
    for path in sorted((FOLDER / "data").glob("*.toml")):
        table = _with_none(tomllib.loads(path.read_text(encoding="utf-8")))
        library = table["library"]
        for model_type, values in table.get("families", {}).items():
            found[model_type] = Family(model_type=model_type, library=library, **values)
        for name, values in table.get("checkpoints", {}).items():
            published.append(Checkpoint(name=name, library=library, **values))
    return found, tuple(published)


def families() -> Mapping[str, Family]:
    """Every model type by its name."""
    return _tables()[0]


def checkpoints() -> Sequence[Checkpoint]:
    """Every published checkpoint."""
    return _tables()[1]


def family(model_type: str) -> Family | None:
    """The family of a `model_type`, as config.json spells it."""
    return families().get(model_type)


_COMMON: Mapping[str, Any] = {
    "_attn_implementation": "sdpa",
    "num_labels": 2,
    "problem_type": None,
    "use_cache": True,
    "output_hidden_states": False,
    "output_attentions": False,
    "return_dict": True,
    "is_encoder_decoder": False,
    "is_decoder": False,
    "add_cross_attention": False,
    "tie_word_embeddings": True,
    "pad_token_id": None,
    "bos_token_id": None,
    "eos_token_id": None,
    "chunk_size_feed_forward": 0,
    "name_or_path": "",
}


def defaults(model_type: str) -> dict[str, Any]:
    """What the configuration class of a model type holds when nothing is passed to it. Unknown types give {}."""
    known = family(model_type)
    if known is None:
        return {}
    if known.library == "transformers":
        return _merged(_merged(_COMMON, {"model_type": model_type}), known.defaults)
    return _merged({}, known.defaults)


def configuration(model_type: str, values: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What `XConfig(**values)` holds: the defaults, the values (aliases resolved), and what is derived from others."""
    aliases = attribute_aliases(model_type)
    given = {aliases.get(name, name): value for name, value in (values or {}).items()}
    merged = _merged(defaults(model_type), given)
    for inner in (merged, *(item for item in merged.values() if isinstance(item, dict))):
        _derive(inner)
    return merged


def _derive(values: dict[str, Any]) -> None:
    heads, width = values.get("num_attention_heads"), values.get("hidden_size")
    if heads and "num_key_value_heads" in values and values["num_key_value_heads"] is None:
        values["num_key_value_heads"] = heads
    if values.get("num_layers") and "num_decoder_layers" in values and values["num_decoder_layers"] is None:
        values["num_decoder_layers"] = values["num_layers"]
    if heads and width and "head_dim" in values and values["head_dim"] is None:
        values["head_dim"] = width // heads


def attribute_aliases(model_type: str) -> Mapping[str, str]:
    """Further spellings of configuration attributes: alias -> the attribute that holds the value."""
    known = family(model_type)
    return known.aliases if known else {}


@functools.cache
def _by_config_class() -> dict[str, str]:
    return {item.config_class: item.model_type for item in families().values() if item.config_class}


def config_class(name: str) -> str | None:
    """The model type of a configuration class: LlamaConfig -> llama."""
    return _by_config_class().get(name)


@functools.cache
def source(module: str) -> str:
    """The text of `models/MODULE.py`."""
    return (FOLDER / "models" / f"{module}.py").read_text(encoding="utf-8")


@functools.cache
def _classes_of(module: str) -> frozenset[str]:
    tree = ast.parse(source(module))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.ClassDef))


def class_for(model_type: str, head: str) -> ModelClass | None:
    """The class for a head. `head` is an Auto class name, a value of HEADS, or a suffix such as ForCausalLM."""
    known = family(model_type)
    if known is None:
        return None
    wanted = HEADS.get(head, head)
    if wanted in known.classes:
        return ModelClass(module=known.module, name=known.classes[wanted], model_type=model_type)
    for suffix in _SUFFIXES.get(wanted, (wanted, wanted.removeprefix("AutoModel"))):
        name = known.prefix + suffix
        if name in _classes_of(known.module):
            return ModelClass(module=known.module, name=name, model_type=model_type)
    return None


@functools.cache
def _class_index() -> dict[str, ModelClass]:
    index: dict[str, ModelClass] = {}
    for item in families().values():
        for name in sorted(_classes_of(item.module)):
            if name not in index or name.startswith(item.prefix):
                index[name] = ModelClass(module=item.module, name=name, model_type=item.model_type)
    return index


def find_class(name: str) -> ModelClass | None:
    """The model file that holds a class, by the class's own name."""
    return _class_index().get(name)


@functools.cache
def _by_name() -> dict[tuple[str, str], Checkpoint]:
    index: dict[tuple[str, str], Checkpoint] = {}
    for item in checkpoints():
        for name in (item.name, *item.also):
            index.setdefault((item.library, _key(name)), item)
    for item in checkpoints():
        for name in (item.name, *item.also):
            index.setdefault((item.library, _key(name.rsplit("/", 1)[-1])), item)
    return index


def _key(name: str) -> str:
    return name.strip().strip("/").lower()


_QUANTISED = re.compile(r"(-bnb-4bit|-unsloth-bnb-4bit|-4bit|-awq|-gptq|-gptq-int4|-int4|-int8)$", re.IGNORECASE)


def lookup(name: str, library: Library | None = None) -> Checkpoint | None:
    """The checkpoint published under a name.

    Mirrors of the same weights are found by the last part of the name (`NousResearch/Llama-2-7b-hf`), and timm's
    names with or without `timm/`, `hf_hub:` and the tag of the weights after the dot. A local folder is never taken
    for a published name.
    """
    if name.startswith((".", "/", "~")) or not name.strip():
        return None
    libraries: Sequence[str] = (library,) if library else ("transformers", "timm", "torchvision", "diffusers")
    for candidate in _spellings(name):
        for each in libraries:
            found = _by_name().get((each, candidate))
            if found is not None:
                return found
    return None


def _spellings(name: str) -> Sequence[str]:
    """The spellings under which one name may be listed, the most exact first."""
    key = _key(name).removeprefix("hf_hub:").removeprefix("hf-hub:")
    last = key.rsplit("/", 1)[-1]
    names = [key, last]
    if key.startswith("timm/") or "/" not in key:
        names.append(last.split(".", 1)[0])
    names.append(_QUANTISED.sub("", last))
    return list(dict.fromkeys(names))


def suggestions(name: str, limit: int = 3) -> list[str]:
    """Published names close to one that is not known."""
    spelled = {_key(item.name): item.name for item in checkpoints()}
    close = difflib.get_close_matches(_key(name), spelled, n=limit, cutoff=0.6)
    return [spelled[item] for item in close]
