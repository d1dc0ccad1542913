"""Outputs of a whole evaluation stay on the device."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.training import lightning_step
from engine.rules.rule import Draft, rule
from engine.trace import Container, Step, Trace, Value
from engine.trace.events import Forward, FrameworkTrainer, Store

_STEPS = frozenset({"validation_step", "test_step", "predict_step"})
_GENERATIVE = (
    "ForCausalLM",
    "ForSeq2SeqLM",
    "LMHeadModel",
    "ForConditionalGeneration",
    "ForMaskedLM",
    "ModelWithLMHead",
)


@rule("PF104", "outputs-kept-on-device", "warning", "Evaluation outputs pile up on the device")
def check(trace: Trace) -> Iterator[Draft]:
    outputs = {id(forward.output) for forward in trace.of(Forward)}
    for store in trace.of(Store):
        container = store.container
        if store.how != "append" or not isinstance(container, Container) or not container.held_as:
            continue
        if store.function.rpartition(".")[2] not in _STEPS or not lightning_step(store) or container.cleared:
            continue
        kept = [part for part in (store.value, *store.value.elements()) if _on_device(part, outputs)]
        if kept:
            yield Draft(
                store.place,
                f"`{container.held_as}` keeps the outputs of every batch on the device, and nothing clears it. "
                "Keep what the "
                "metric needs, on the CPU, and clear it when the epoch ends.",
                (Step(kept[0].place, "computed on the device"),),
            )
    yield from _trainer_logits(trace)


def _on_device(value: Value, outputs: set[int]) -> bool:
    for part in (value, *value.parents[:1]):
        if part.role in ("number", "array") or part.op in ("cpu", "item", "tolist", "argmax", "mean", "sum"):
            return False
    whole = any(id(part) in outputs for part in value.ancestors(limit=40))
    return whole or (
        value.op in ("call", "forward-result") and value.callee is not None and value.callee.op != "unknown"
    )


def _trainer_logits(trace: Trace) -> Iterator[Draft]:
    for event in trace.of(FrameworkTrainer):
        given = event.keywords
        if event.library != "transformers" or event.what != "built" or "compute_metrics" not in given:
            continue
        arguments = given.get("args")
        if "preprocess_logits_for_metrics" in given or "eval_dataset" not in given or arguments is None:
            continue
        if not arguments.made_by.endswith("TrainingArguments") or "eval_accumulation_steps" in arguments.keywords:
            continue
        model = given.get("model")
        names = [part.made_by for part in model.ancestors(limit=20)] if model is not None else []
        if not any(word in name for name in names for word in _GENERATIVE):
            continue
        yield Draft(
            event.place,
            "With `compute_metrics` the Trainer keeps the logits of the whole evaluation set on the device: for "
            "a language "
            "model that is vocabulary size for each token. Pass `preprocess_logits_for_metrics`, or set "
            "`eval_accumulation_steps`.",
            (Step(arguments.place, "no `eval_accumulation_steps` here"),),
        )
