"""Acme's trainer: it replicates the model over the ranks and back-propagates; all else stays with the caller."""

from __future__ import annotations

from engine.extending import Effect, Framework

PREFLIGHT_API = 1

_LOOP = "acme-loop"
FRAMEWORK = Framework(
    "acme-trainer",
    "acme_trainer/loop.py of Acme's trainer 3.2",
    calls={
        "acme_trainer.Loop": Effect("construct", _LOOP, ("model",)),
        "acme_trainer.replicated": Effect("wrap", "ddp", ("module",)),
        "acme_trainer.DataLoader": Effect("loader", "", ("dataset", "batch_size", "shuffle", "sampler")),
        "acme_trainer.Adam": Effect("optimizer", "", ("params", "lr")),
        "acme_trainer.cross_entropy": Effect("loss", "cross_entropy", ("input", "target")),
        "acme_trainer.seed_all": Effect("seed", "torch cuda numpy random", ("seed",)),
    },
    methods={
        (_LOOP, "backward"): Effect("backward", "acme", ("loss",)),
        (_LOOP, "log"): Effect("report", "log"),
    },
    aliases={"acme_trainer.loop.": "acme_trainer."},
)
