"""What is known about the layers of a module."""

from __future__ import annotations

from engine.trace import Value

_BATCH_NORMS = (
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "SyncBatchNorm",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
)
_DROPOUTS = ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout", "RReLU")

_WITH_DROPOUT = (
    "Transformer",
    "TransformerEncoder",
    "TransformerDecoder",
    "TransformerEncoderLayer",
    "TransformerDecoderLayer",
)
"""Layers that drop a tenth of their activations unless told otherwise.

https://docs.pytorch.org/docs/stable/generated/torch.nn.TransformerEncoderLayer.html"""


def has_batch_norm(module: Value) -> bool | None:
    """Whether a module holds a batch norm at any depth; None if parts of it are unknown."""
    return module.contains(*_BATCH_NORMS)


def has_mode_layers(module: Value) -> bool | None:
    """Whether the module has layers that differ between training and evaluation; None if not all are known."""
    return module.contains(*_BATCH_NORMS, *_DROPOUTS, *_WITH_DROPOUT)


def built_into(layer: Value, optimizer: Value) -> bool:
    """Whether a layer was built into a module whose parameters the optimizer steps, whole or by its children."""
    queue = [module.origin for option in optimizer.options() for module in option.origin.of]
    seen: set[int] = set()
    for value in queue:
        if value is layer:
            return True
        if id(value) in seen or len(seen) > _PARTS:
            continue
        seen.add(id(value))
        queue += [*value.options(), *value.elements(), *value.attributes.values()]
        queue += [whole for whole in (value.member_of,) if whole is not None and value.op == "attribute"]
    return False


_PARTS = 400
"""Parts of a model that are looked through."""
