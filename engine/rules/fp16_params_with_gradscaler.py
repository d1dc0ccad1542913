"""A scaler over parameters that are float16 themselves."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import identities, modules_behind
from engine.rules.rule import Draft, rule
from engine.trace import External, Step, Trace
from engine.trace.events import Forward, FrameworkTrainer, MethodCall, ScalerStep, Transfer


@rule("PF214", "fp16-params-with-gradscaler", "error", "A GradScaler steps float16 parameters")
def check(trace: Trace) -> Iterator[Draft]:
    yield from _trainer(trace)
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


def _trainer(trace: Trace) -> Iterator[Draft]:
    """A Hugging Face Trainer with `fp16=True`, which uses a scaler, and weights that are loaded in float16.

    https://huggingface.co/docs/transformers/perf_train_gpu_one#mixed-precision-training
    """
    for built in trace.of(FrameworkTrainer):
        arguments, model = built.keywords.get("args"), built.keywords.get("model")
        if built.library != "transformers" or built.what != "built" or arguments is None or model is None:
            continue
        asked = arguments.keyword("fp16")
        dtype = model.origin.keyword("torch_dtype", "dtype")
        named = dtype.qualified if isinstance(dtype, External) else str(dtype.constant) if dtype is not None else ""
        adapted = any(option.wrapping == "peft" for option in model.options()) or "peft_config" in built.keywords
        if asked is None or asked.constant is not True or not named.endswith(("float16", "half")) or adapted:
            continue
        if named.endswith("bfloat16"):
            continue
        yield Draft(
            model.origin.place,
            "The weights are loaded in float16 and trained with `fp16=True`, whose scaler refuses to unscale float16 "
            "gradients. Load them in float32; mixed precision casts by itself.",
            (Step(arguments.place, "asks for a scaler"), Step(built.place, "trained here")),
        )
