"""Hugging Face Accelerate: prepare wraps and shards, backward scales the loss, accumulate gates."""

from __future__ import annotations

from engine.frameworks.effects import Effect, Framework

_ROLE = "accelerator"
ACCELERATE = Framework(
    "accelerate",
    "https://huggingface.co/docs/accelerate/package_reference/accelerator, concept_guides/gradient_synchronization",
    calls={
        "accelerate.Accelerator": Effect(
            "construct",
            _ROLE,
            ("device_placement", "split_batches", "mixed_precision", "gradient_accumulation_steps", "cpu"),
        ),
        "accelerate.utils.set_seed": Effect("seed", "torch cuda numpy random", ("seed", "device_specific")),
        "accelerate.utils.gather": Effect("collective", "gather"),
        "accelerate.utils.gather_object": Effect("collective", "gather_object"),
        "accelerate.utils.reduce": Effect("collective", "reduce"),
    },
    methods={
        (_ROLE, "prepare"): Effect("prepare", "accelerate"),
        (_ROLE, "prepare_model"): Effect("prepare", "accelerate"),
        (_ROLE, "prepare_optimizer"): Effect("prepare", "accelerate"),
        (_ROLE, "prepare_data_loader"): Effect("prepare", "accelerate"),
        (_ROLE, "prepare_scheduler"): Effect("prepare", "accelerate"),
        (_ROLE, "backward"): Effect("backward", "accelerator", ("loss",)),
        (_ROLE, "clip_grad_norm_"): Effect("clip", "accelerate", ("parameters", "max_norm")),
        (_ROLE, "clip_grad_value_"): Effect("clip", "value", ("parameters", "clip_value")),
        (_ROLE, "gather"): Effect("collective", "gather"),
        (_ROLE, "gather_for_metrics"): Effect("collective", "gather_for_metrics"),
        (_ROLE, "reduce"): Effect("collective", "reduce"),
        (_ROLE, "wait_for_everyone"): Effect("collective", "wait_for_everyone"),
        (_ROLE, "accumulate"): Effect("context", "accumulate"),
        (_ROLE, "no_sync"): Effect("context", "no_sync"),
        (_ROLE, "autocast"): Effect("autocast", "accelerate"),
        (_ROLE, "unwrap_model"): Effect("unwrap"),
        (_ROLE, "save"): Effect("save", "accelerator.save", ("obj", "f")),
        (_ROLE, "save_state"): Effect("collective", "save_state"),
        (_ROLE, "save_model"): Effect("save", "accelerator.save_model", ("obj", "f")),
        (_ROLE, "print"): Effect("report", "print"),
        (_ROLE, "log"): Effect("report", "log"),
    },
)
