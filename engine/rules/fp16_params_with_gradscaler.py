"""A scaler over parameters that are float16 themselves."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import identities, modules_behind
from engine.rules.rule import Draft, rule
from engine.trace import External, Step, Trace, Value
from engine.trace.events import (
    Event,
    Forward,
    FrameworkTrainer,
    MethodCall,
    ModuleCreated,
    RequiresGradChange,
    ScalerStep,
    Transfer,
    Wrapped,
)


@rule("PF214", "fp16-params-with-gradscaler", "error", "A GradScaler steps float16 parameters")
def check(trace: Trace) -> Iterator[Draft]:
    yield from _trainer(trace)
    yield from _loaded(trace)
    steps = list(trace.of(ScalerStep))
    for event in trace.of(Transfer, MethodCall, Forward):
        if isinstance(event, Transfer):
            module = event.value if event.how == "half" else None
        elif isinstance(event, MethodCall):
            module = event.receiver if event.method == "half" else None
        elif isinstance(event, Forward):
            module = event.module if event.method == "half" else None
        else:
            continue
        if module is None or module.role != "module":
            continue
        known = identities(module)
        for step in steps:
            if not known.isdisjoint(modules_behind(step.optimizer)):
                yield Draft(
                    event.place,
                    "The parameters themselves become float16, and the scaler refuses to unscale float16 "
                    "gradients. Keep "
                    "them in float32 and use autocast.",
                    (Step(step.place, "stepped through the scaler here"),),
                )
                break


def _loaded(trace: Trace) -> Iterator[Draft]:
    """Weights that are loaded in float16, all of them trained, and a scaler that steps them."""
    steps = list(trace.of(ScalerStep))
    for created in trace.of(ModuleCreated) if steps else ():
        model = created.module
        if not _in_half(model) or any(True for _ in trace.of(RequiresGradChange, Wrapped)):
            continue
        known = identities(model)
        if any(_widens(event, known) for event in trace.of(Transfer, MethodCall, Forward)):
            continue
        step = next((step for step in steps if not known.isdisjoint(modules_behind(step.optimizer))), None)
        if step is not None:
            yield Draft(
                created.place,
                "The weights are loaded in float16, and the scaler refuses to unscale float16 gradients. Load them in "
                "float32; autocast casts by itself.",
                (Step(step.place, "stepped through the scaler here"),),
            )


def _widens(event: Event, known: frozenset[int]) -> bool:
    """Whether parameters are turned into another type after all: `.float()`, `.to(torch.float32)`."""
    if isinstance(event, MethodCall):
        return event.method in ("float", "to") and not known.isdisjoint(identities(event.receiver))
    if isinstance(event, Forward):
        return event.method == "float" and not known.isdisjoint(identities(event.module))
    if not isinstance(event, Transfer) or known.isdisjoint(identities(event.value)):
        return False
    return event.how == "float" or (event.how == "to" and not event.device)


def _in_half(model: Value) -> bool:
    dtype = model.origin.keyword("torch_dtype", "dtype")
    named = dtype.qualified if isinstance(dtype, External) else str(dtype.constant) if dtype is not None else ""
    return named.endswith(("float16", "half")) and not named.endswith("bfloat16")


def _trainer(trace: Trace) -> Iterator[Draft]:
    """A Hugging Face Trainer with `fp16=True`, which uses a scaler, and weights that are loaded in float16.

    https://huggingface.co/docs/transformers/perf_train_gpu_one#mixed-precision-training
    """
    for built in trace.of(FrameworkTrainer):
        arguments, model = built.keywords.get("args"), built.keywords.get("model")
        if built.library != "transformers" or built.what != "built" or arguments is None or model is None:
            continue
        asked = arguments.keyword("fp16")
        adapted = any(option.wrapping == "peft" for option in model.options()) or "peft_config" in built.keywords
        if asked is None or asked.constant is not True or not _in_half(model) or adapted:
            continue
        yield Draft(
            model.origin.place,
            "The weights are loaded in float16 and trained with `fp16=True`, whose scaler refuses to unscale float16 "
            "gradients. Load them in float32; mixed precision casts by itself.",
            (Step(arguments.place, "asks for a scaler"), Step(built.place, "trained here")),
        )
