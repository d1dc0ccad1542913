"""DeepSpeed: the engine scales by accumulation, reduces, clips, steps and zeroes."""

from __future__ import annotations

from engine.frameworks.effects import Effect, Framework

DEEPSPEED = Framework(
    "deepspeed",
    "https://deepspeed.readthedocs.io/en/latest/training.html, initialize.html",
    calls={
        "deepspeed.initialize": Effect(
            "deepspeed-initialize", "", ("args", "model", "optimizer", "model_parameters", "training_data")
        ),
        "deepspeed.init_distributed": Effect("process-group", "deepspeed"),
        "deepspeed.init_inference": Effect("module", "library"),
        "deepspeed.comm.all_reduce": Effect("collective", "all_reduce"),
        "deepspeed.comm.barrier": Effect("collective", "barrier"),
    },
    prefixes={"deepspeed.ops.": Effect("optimizer", "", ("params", "lr"))},
    methods={
        ("engine", "backward"): Effect("backward", "deepspeed", ("loss",)),
        ("engine", "step"): Effect("engine-step"),
        ("engine", "save_checkpoint"): Effect("collective", "save_checkpoint"),
        ("engine", "no_sync"): Effect("context", "no_sync"),
        ("engine", "set_gradient_accumulation_boundary"): Effect("plain"),
    },
)
