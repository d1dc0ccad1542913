"""Lightning and Fabric: the Trainer owns modes, zeroing, stepping and sharding; manual optimization does not."""

from __future__ import annotations

from engine.frameworks.effects import Effect, Framework

_FABRIC = "fabric"
_MODULE = "lightning-module"
LIGHTNING = Framework(
    "lightning",
    "https://lightning.ai/docs/pytorch/stable/ (optimization, trainer) and https://lightning.ai/docs/fabric/stable/",
    calls={
        "lightning.Trainer": Effect("construct", "trainer"),
        "lightning.Trainer.from_argparse_args": Effect("construct", "trainer"),
        "lightning.Fabric": Effect(
            "construct", _FABRIC, ("accelerator", "strategy", "devices", "num_nodes", "precision")
        ),
        "lightning.seed_everything": Effect("seed", "torch cuda numpy random", ("seed", "workers")),
    },
    methods={
        (_FABRIC, "backward"): Effect("backward", "fabric", ("loss",)),
        (_FABRIC, "setup"): Effect("prepare", "fabric"),
        (_FABRIC, "setup_module"): Effect("prepare", "fabric"),
        (_FABRIC, "setup_optimizers"): Effect("prepare", "fabric"),
        (_FABRIC, "setup_dataloaders"): Effect("prepare", "fabric"),
        (_FABRIC, "clip_gradients"): Effect("clip", "fabric", ("module", "optimizer", "clip_val", "max_norm")),
        (_FABRIC, "all_reduce"): Effect("collective", "all_reduce"),
        (_FABRIC, "all_gather"): Effect("collective", "all_gather"),
        (_FABRIC, "broadcast"): Effect("collective", "broadcast"),
        (_FABRIC, "barrier"): Effect("collective", "barrier"),
        (_FABRIC, "no_backward_sync"): Effect("context", "no_sync"),
        (_FABRIC, "autocast"): Effect("autocast", "fabric"),
        (_FABRIC, "seed_everything"): Effect("seed", "torch cuda numpy random", ("seed", "workers")),
        (_FABRIC, "launch"): Effect("process-group", "fabric"),
        (_FABRIC, "save"): Effect("collective", "fabric.save"),
        (_FABRIC, "print"): Effect("report", "print"),
        (_FABRIC, "log"): Effect("report", "log"),
        (_FABRIC, "log_dict"): Effect("report", "log"),
        (_MODULE, "manual_backward"): Effect("backward", "lightning", ("loss",)),
        (_MODULE, "optimizers"): Effect("optimizers", "lightning"),
        (_MODULE, "lr_schedulers"): Effect("schedulers", "lightning"),
        (_MODULE, "log"): Effect("report", "lightning-log", ("name", "value")),
        (_MODULE, "log_dict"): Effect("report", "lightning-log"),
        (_MODULE, "clip_gradients"): Effect("clip", "lightning", ("optimizer", "gradient_clip_val")),
        (_MODULE, "all_gather"): Effect("collective", "all_gather"),
        (_MODULE, "toggle_optimizer"): Effect("plain"),
        (_MODULE, "untoggle_optimizer"): Effect("plain"),
        (_MODULE, "save_hyperparameters"): Effect("plain"),
        ("trainer", "fit"): Effect("trainer-run", "fit"),
        ("trainer", "validate"): Effect("trainer-run", "validate"),
        ("trainer", "test"): Effect("trainer-run", "test"),
        ("trainer", "predict"): Effect("trainer-run", "predict"),
        ("trainer", "train"): Effect("trainer-run", "train"),
        ("trainer", "evaluate"): Effect("trainer-run", "validate"),
    },
    bases={
        "lightning.LightningModule": "lightning-module",
        "lightning.LightningDataModule": "lightning-data",
        "lightning.Callback": "callback",
        "lightning.callbacks.Callback": "callback",
    },
    aliases={
        "pytorch_lightning.utilities.seed.": "lightning.",
        "pytorch_lightning.": "lightning.",
        "lightning.pytorch.": "lightning.",
        "lightning.fabric.Fabric": "lightning.Fabric",
        "lightning_fabric.": "lightning.",
    },
)
