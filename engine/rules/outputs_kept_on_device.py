"""Outputs of a whole evaluation stay on the device."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.training import lightning_step
from engine.rules.rule import Draft, rule
from engine.trace import Container, FunctionValue, Place, Step, Trace, Value
from engine.trace.events import DeviceSync, Forward, FrameworkTrainer, FunctionCall, MethodCall, Return, Store, Transfer

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
    to_host = {t.place for t in trace.of(Transfer) if t.how == "cpu" or t.device == "cpu"}
    outputs = {id(forward.output) for forward in trace.of(Forward)}
    for store in trace.of(Store):
        container = store.container
        if store.how != "append" or not isinstance(container, Container):
            continue
        if not container.held_as:
            yield from _collected(trace, store, outputs)
            continue
        if store.root.name.rpartition(".")[2] not in _STEPS or not lightning_step(store):
            continue
        emptied = container.cleared or _replaced(trace, store)
        kept = [part for part in store.value.elements() or (store.value,) if _on_device(part, outputs)]
        # `.cpu()` on what an unknown call returned leaves one object: the place tells.
        if kept and not any(_within(place, store.place) for place in to_host):
            yield Draft(
                store.stack[0] if store.stack else store.place,
                f"`{container.held_as}` keeps the outputs of every batch on the device"
                + (" until it is cleared. " if emptied else ", and nothing clears it. ")
                + "Keep what the metric needs, on the CPU, and clear it when the epoch ends.",
                (Step(kept[0].place, "computed on the device"),),
                severity="note" if emptied else None,
            )
    yield from _trainer_logits(trace)


def _replaced(trace: Trace, store: Store) -> bool:
    """Whether another hook puts an empty container in the place of the one that is filled."""
    container = store.container
    held = container.held_as.partition("[")[0] if isinstance(container, Container) else ""
    return any(
        other.how == "attribute" and other.target == held and not other.root.name.endswith(".__init__")
        for other in trace.family(store, Store)
    )


def _collected(trace: Trace, store: Store, outputs: set[int]) -> Iterator[Draft]:
    """Outputs of an evaluation loop in a list, brought to the CPU only when all of them are there."""
    loop = store.loop
    if loop is None or loop.trains or store.grad is not False or loop.kind not in ("loader", "iterable"):
        return
    if not any(id(part) in outputs for part in store.value.ancestors(limit=30)) or not _on_device(store.value, outputs):
        return
    later = next(
        (
            sync
            for sync in trace.after(store, DeviceSync)
            if sync.how in ("cpu", "numpy")
            and sync.value is not None
            and sync.value.op in ("cat", "stack")
            and any(part is store.container for part in sync.value.ancestors(limit=20))
        ),
        None,
    )
    if later is not None:
        yield Draft(
            store.place,
            "The outputs of the whole evaluation are collected on the device and copied to the CPU at the end. Copy "
            "each batch as it comes.",
            (Step(later.place, "copied to the CPU only here"),),
            severity="note",
        )


_POINTWISE = frozenset({"softmax", "sigmoid", "log_softmax", "relu", "tanh", "detach", "float", "exp", "squeeze"})


def _within(inner: Place, outer: Place) -> bool:
    return inner.path == outer.path and outer.line <= inner.line <= max(outer.end_line, outer.line)


def _on_device(value: Value, outputs: set[int]) -> bool:
    for part in (value, *value.parents[:1]):
        if part.role in ("number", "array") or part.op in ("cpu", "item", "tolist", "argmax", "mean", "sum"):
            return False
    for _ in range(4):
        if value.op not in _POINTWISE or not value.parents:
            break
        value = value.parents[0]
    whole = any(id(part) in outputs for part in value.ancestors(limit=40))
    return whole or (
        value.op in ("call", "forward-result") and value.callee is not None and value.callee.op != "unknown"
    )


def _small_outputs(name: str) -> bool:
    return name.endswith(("ForSequenceClassification", "ForImageClassification", "ForMultipleChoice"))


def _for_each_token(trace: Trace, metrics: Value) -> bool:
    """Whether the metrics leave out positions with the label that the loss ignores: there is one for each token."""
    if not isinstance(metrics, FunctionValue):
        return False
    seen = (
        part
        for event in trace.of(Return, MethodCall, FunctionCall)
        if event.function == metrics.qualified
        for value in event.named_values()
        for part in value.ancestors(limit=80)
    )
    masks = (part.keywords.get("mask") for part in seen)
    return any(
        mask.op == "compare" and any(side.constant == _IGNORED_LABEL for side in mask.parents)
        for mask in masks
        if mask is not None
    )


_IGNORED_LABEL = -100


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
        generated = arguments.keywords.get("predict_with_generate")
        if generated is not None and generated.constant is not False:
            # What is kept are the tokens that were generated.
            continue
        model = given.get("model")
        names = [part.made_by for part in model.ancestors(limit=20)] if model is not None else []
        generative = any(word in name for name in names for word in _GENERATIVE)
        if not generative and (any(map(_small_outputs, names)) or not _for_each_token(trace, given["compute_metrics"])):
            continue
        yield Draft(
            event.place,
            "With `compute_metrics` the Trainer keeps the logits of the whole evaluation set on the device: for "
            "a language "
            "model that is vocabulary size for each token. Pass `preprocess_logits_for_metrics`, or set "
            "`eval_accumulation_steps`.",
            (Step(arguments.place, "no `eval_accumulation_steps` here"),),
            severity=None if generative else "note",
        )
