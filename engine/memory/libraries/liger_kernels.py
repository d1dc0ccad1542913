"""Liger's fused kernels, which keep less, above all a language model's loss without its logits.

The head and the cross entropy run together over pieces of the tokens: only one piece's logits exist at a time, and the
gradients of hidden states and head are already made in the forward (liger_kernel/ops/fused_linear_cross_entropy.py).
RMS norms keep their input and one reciprocal a row; the gated feed-forward keeps its two inputs and nothing between.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from engine.memory.program.unknown import Unknown
from engine.memory.tensors import namespace

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter

MODEL_TYPES = frozenset(
    {
        "llama",
        "mistral",
        "mixtral",
        "gemma",
        "gemma2",
        "gemma3_text",
        "qwen2",
        "qwen3",
        "phi3",
        "olmo2",
        "smollm3",
    }
)
"""Language models of the catalogue that the library has kernels for (liger_kernel/transformers/monkey_patch.py)."""


def piece_of(tokens: int, width: int, vocabulary: int) -> int:
    """Tokens in one piece: so many that its logits are no larger than the hidden states, a power of two."""
    pieces = -(-vocabulary // width)
    return 1 << max(0, (-(-tokens // pieces) - 1).bit_length())


def make_functions(interpreter: Interpreter) -> SimpleNamespace:
    """The fused operations of one run."""
    function, empty = namespace("torch.autograd.Function"), namespace("torch.empty")
    like, float32 = namespace("torch.empty_like"), namespace("torch.float32")
    matmul = namespace("torch.matmul")

    class FusedLoss(function):  # type: ignore[misc, valid-type]
        """Head and cross entropy of (tokens, width) hidden states."""

        @staticmethod
        def forward(context: Any, hidden: Any, weight: Any) -> Any:
            tokens, width = hidden.shape
            gradient = like(hidden)
            of_weight = like(weight) if weight.requires_grad else None
            losses = empty(tokens, dtype=float32, device=hidden.device)
            logits = matmul(hidden[: min(tokens, piece_of(tokens, width, weight.shape[0]))], weight.t())
            if of_weight is not None:
                # Each piece's product is made before it is added.
                of_piece = like(weight)
                del of_piece
            del logits
            context.save_for_backward(gradient, of_weight)
            return losses.sum()

        @staticmethod
        def backward(context: Any, outer: Any) -> Any:
            return context.saved_tensors

    class FusedNorm(function):  # type: ignore[misc, valid-type]
        """RMS norm."""

        @staticmethod
        def forward(context: Any, x: Any, weight: Any) -> Any:
            reciprocal = empty(*x.shape[:-1], dtype=float32, device=x.device)
            context.save_for_backward(x, weight, reciprocal)
            return like(x)

        @staticmethod
        def backward(context: Any, outer: Any) -> Any:
            x, weight, _ = context.saved_tensors
            return like(x), like(weight) if weight.requires_grad else None

    class FusedGate(function):  # type: ignore[misc, valid-type]
        """act(gate) * up; the gradients are written over what was kept."""

        @staticmethod
        def forward(context: Any, gate: Any, up: Any) -> Any:
            context.save_for_backward(gate, up)
            return like(gate)

        @staticmethod
        def backward(context: Any, outer: Any) -> Any:
            gate, up = context.saved_tensors
            return gate.alias(), up.alias()

    return SimpleNamespace(loss=FusedLoss, norm=FusedNorm, gate=FusedGate)


def apply(interpreter: Interpreter, model: Any) -> None:
    """Put the fused kernels into a model of the catalogue; say so where the library has none for it."""
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    kind = str(getattr(getattr(base, "config", None), "model_type", ""))
    if isinstance(base, Unknown) or kind not in MODEL_TYPES:
        interpreter.note(f"Liger has no kernels for {kind or 'this model'}: it runs as it is")
        return
    fused = interpreter.state.get("liger functions") or make_functions(interpreter)
    interpreter.state["liger functions"] = fused
    for module in base.modules():
        name = type(module).__name__
        if name.endswith("RMSNorm"):
            module.forward = _norm(module, fused)
        elif all(hasattr(module, part) for part in ("gate_proj", "up_proj", "down_proj")):
            module.forward = _gated(module, fused)
    if hasattr(base, "lm_head") and hasattr(base, "decode"):
        base.forward = _loss(base, fused)


def _norm(module: Any, fused: Any) -> Any:
    return lambda x: fused.norm.apply(x, module.weight)


def _gated(module: Any, fused: Any) -> Any:
    return lambda x: module.down_proj(fused.gate.apply(module.gate_proj(x), module.up_proj(x)))


def fused_loss(fused: Any, hidden: Any, weight: Any) -> Any:
    """The loss of hidden states (..., width) under a head's weight, under autocast in its type."""
    autocast = namespace("torch.is_autocast_enabled")
    flat = hidden.reshape(-1, hidden.shape[-1])
    if autocast is not None and autocast() and flat.dtype != weight.dtype:
        flat = flat.to(weight.dtype)
    return fused.loss.apply(flat, weight)


def _loss(base: Any, fused: Any) -> Any:
    plain = base.forward
    float32 = namespace("torch.float32")

    def forward(input_ids: Any = None, attention_mask: Any = None, labels: Any = None, **options: Any) -> Any:
        if labels is None or not base.training:
            return plain(input_ids=input_ids, attention_mask=attention_mask, labels=labels, **options)
        count = options.pop("num_items_in_batch", None)
        outputs = base.decode(input_ids, attention_mask, options)
        shifted = namespace("torch.nn.functional.pad")(labels, (0, 1), value=-100)[..., 1:].contiguous()
        del shifted
        loss = fused_loss(fused, outputs["last_hidden_state"], base.lm_head.weight)
        if count is not None:
            loss = loss / count
        outputs["loss"], outputs["logits"] = loss.to(float32), None
        outputs["last_hidden_state"] = None
        return outputs

    return forward
