"""Trainers that own the whole loop: transformers, TRL, ignite, composer; and Hugging Face models."""

from __future__ import annotations

from engine.frameworks.effects import Effect, Framework

#: Ends of class names of transformers and diffusers that are no networks: what prepares data, settings, and pipelines,
#: which compute without gradients.
NOT_MODELS = ("Tokenizer", "TokenizerFast", "Processor", "Config", "FeatureExtractor", "Scheduler", "Pipeline")
#: Beginnings of class names of transformers whose models are of another library than torch.
NOT_TORCH = ("TF", "Flax")

_TRL = ("SFTTrainer", "DPOTrainer", "PPOTrainer", "GRPOTrainer", "RewardTrainer", "KTOTrainer", "ORPOTrainer")

TRANSFORMERS = Framework(
    "transformers",
    "https://huggingface.co/docs/transformers/main_classes/trainer",
    calls={
        **{
            f"transformers.{name}": Effect(
                "construct",
                "trainer",
                ("model", "args", "data_collator", "train_dataset", "eval_dataset", "processing_class"),
            )
            for name in ("Trainer", "Seq2SeqTrainer")
        },
        **{f"trl.{name}": Effect("construct", "trainer", ("model",)) for name in _TRL},
        "transformers.TrainingArguments": Effect("construct", "training-arguments", ("output_dir",)),
        "transformers.Seq2SeqTrainingArguments": Effect("construct", "training-arguments", ("output_dir",)),
        "transformers.set_seed": Effect("seed", "torch cuda numpy random", ("seed",)),
        "transformers.trainer_utils.set_seed": Effect("seed", "torch cuda numpy random", ("seed",)),
        "transformers.AdamW": Effect("optimizer", "", ("params", "lr")),
        "transformers.Adafactor": Effect("optimizer", "", ("params", "lr")),
        "transformers.optimization.AdamW": Effect("optimizer", "", ("params", "lr")),
        "peft.get_peft_model": Effect("wrap", "peft", ("module",)),
        "peft.prepare_model_for_kbit_training": Effect("passthrough", "", ("module",)),
    },
    prefixes={
        "transformers.get_": Effect("scheduler", "", ("optimizer",)),
        "diffusers.optimization.get_": Effect("scheduler", "", ("optimizer",)),
    },
    bases={
        "transformers.Trainer": "hf-trainer",
        "transformers.Seq2SeqTrainer": "hf-trainer",
        "transformers.TrainerCallback": "callback",
        **{f"trl.{name}": "hf-trainer" for name in _TRL},
    },
    methods={},
)
IGNITE = Framework(
    "ignite",
    "https://docs.pytorch.org/ignite/engine.html: an Engine calls its process function once an iteration; "
    "supervised evaluators set eval mode and no_grad",
    calls={
        "ignite.engine.Engine": Effect("ignite-engine", "", ("process_function",)),
        "ignite.engine.create_supervised_trainer": Effect("construct", "trainer", ("model", "optimizer", "loss_fn")),
        "ignite.engine.create_supervised_evaluator": Effect("construct", "trainer", ("model",)),
        "composer.Trainer": Effect("construct", "trainer", ("model",)),
        "composer.utils.reproducibility.seed_all": Effect("seed", "torch cuda numpy random", ("seed",)),
        "ignite.utils.manual_seed": Effect("seed", "torch cuda numpy random", ("seed",)),
    },
)
