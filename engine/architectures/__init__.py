"""Published architectures: what `from_pretrained("gpt2")` or `timm.create_model("resnet50")` builds.

Two kinds of data live here:

- `models/*.py`: one small plain-PyTorch file a family, with the class names of the library it stands for. They are
  *read* by the estimator's interpreter and never imported by the engine. They import only `torch`, `torch.nn`,
  `torch.nn.functional`, `torch.utils.checkpoint`, `math`, and each other, always in the form
  `from engine.architectures.models.NAME import A, B`; `source("NAME")` is the text of that module.
- `data/*.toml`: the defaults of every configuration class and the hyper-parameters of published checkpoints.

How a caller builds a model::

    checkpoint = lookup("meta-llama/Llama-2-7b-hf")  # Checkpoint or None; suggestions(name) when None
    values = checkpoint.configuration({"num_labels": 4})  # defaults, then the checkpoint's values, then overrides
    found = class_for(checkpoint.model_type, "AutoModelForCausalLM")  # ModelClass(module="llama", ...)
    # interpret source(found.module), then call the class found.name on a config having `values` as attributes

- A config object is anything with attributes. `attribute_aliases("gpt2")` maps the further spellings of an
  attribute (`hidden_size` -> `n_embd`): reading or writing the alias reads or writes the target. Nested
  dictionaries (`text_config`) become nested config objects; `_attn_implementation` is always there ("sdpa" unless
  the model type cannot), as is `num_labels` (2).
- Loading: weights take the dtype asked for, else (transformers >= 5) `checkpoint.dtype`, else float32; then
  `model.eval()`.
- `XConfig(**values)`: `config_class("LlamaConfig")` gives the model type, `configuration("llama", values)` what the
  object holds (derived values too). A config.json dictionary names its `model_type`, so
  `AutoConfig.for_model(model_type, **values)` is the same thing.
- A class used by name: `find_class("GPT2LMHeadModel")` gives its ModelClass; blocks such as `LlamaDecoderLayer` are
  found too.
- timm and torchvision: `lookup("resnet50", library="timm")` and `lookup("resnet50", library="torchvision")` are
  different checkpoints; their classes take one config too, and `class_for(model_type, "image_classification")`
  names them. `num_classes`, `drop_rate`, `drop_path_rate`, `img_size` and `in_chans` override the configuration.
- Attention masks: a model asks `attended_everywhere(mask)` (`models/foundation.py`), which is `bool(mask.all())`: the
  interpreter answers it (True unless the program is known to pad).
- Checkpointing: `model.gradient_checkpointing_enable(gradient_checkpointing_kwargs=None)` sets
  `gradient_checkpointing` on every module that has the attribute, and layers then run in
  `torch.utils.checkpoint.checkpoint`.
- `model.generate(...)` runs the prefill and the last decoding steps with a cache of the final length.
"""

from engine.architectures.catalogue import (
    HEADS,
    Checkpoint,
    Family,
    ModelClass,
    attribute_aliases,
    checkpoints,
    class_for,
    config_class,
    configuration,
    defaults,
    families,
    family,
    find_class,
    lookup,
    source,
    suggestions,
)

__all__ = [
    "HEADS",
    "Checkpoint",
    "Family",
    "ModelClass",
    "attribute_aliases",
    "checkpoints",
    "class_for",
    "config_class",
    "configuration",
    "defaults",
    "families",
    "family",
    "find_class",
    "lookup",
    "source",
    "suggestions",
]
