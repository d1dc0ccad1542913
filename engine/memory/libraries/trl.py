"""`trl`: SFTTrainer, DPOTrainer and GRPOTrainer over transformers' Trainer (trl/trainer/*_trainer.py)."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from engine.memory.libraries.trainer import TrainingArguments, make_trainer
from engine.memory.program.namespaces import Namespace
from engine.memory.tensors import namespace

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter

FIRST = {"bf16": True, "gradient_checkpointing": True, "per_device_train_batch_size": 8, "max_length": 1024}
"""Defaults that TRL's configurations have otherwise than transformers' arguments."""
STEPS = 64
"""Batches that stand for the data set."""


class SFTConfig(TrainingArguments):
    """`trl.SFTConfig`, and what DPOConfig shares with it."""

    def __init__(self, output_dir: Any = "trainer_output", **values: Any) -> None:
        if values.get("fp16") or values.get("no_cuda"):
            values.setdefault("bf16", False)
        length = values.pop("max_seq_length", None)
        if length is not None:
            values.setdefault("max_length", length)
        super().__init__(output_dir, **{**FIRST, **values})


class DPOConfig(SFTConfig):
    """`trl.DPOConfig`."""


class GRPOConfig(SFTConfig):
    """`trl.GRPOConfig`: prompts and what is generated after them."""

    def __init__(self, output_dir: Any = "trainer_output", **values: Any) -> None:
        lengths = {"max_prompt_length": 512, "max_completion_length": 256, "beta": 0.0}
        super().__init__(output_dir, **{**lengths, **values})
        self.max_length = int(self.max_prompt_length or 512) + int(self.max_completion_length or 256)


def make_classes(interpreter: Interpreter) -> dict[str, Any]:
    """The trainers of one run."""
    from engine.memory.libraries import library_module

    base = make_trainer(interpreter)
    randint = namespace("torch.randint")

    def loaded(model: Any, args: Any) -> Any:
        if not isinstance(model, str):
            return model
        auto = library_module(interpreter, "transformers").AutoModelForCausalLM
        return auto.from_pretrained(model, **{"torch_dtype": "float32", **(args.model_init_kwargs or {})})

    class SFTTrainer(base):  # type: ignore[misc, valid-type]
        """`trl.SFTTrainer`: batches as long as max_length."""

        def __init__(self, model: Any = None, args: Any = None, *, peft_config: Any = None, **options: Any) -> None:
            args = args if args is not None else self._arguments()
            model = loaded(model, args)
            self._place_reference(model, options.pop("ref_model", None), peft_config)
            if peft_config is not None:
                model = library_module(interpreter, "peft").get_peft_model(model, peft_config)
            super().__init__(model=model, args=args, **options)
            if not args.packing:
                interpreter.note(f"samples are taken to fill max_length: {self.args.max_length} tokens")

        def _arguments(self) -> Any:
            return SFTConfig()

        def _place_reference(self, model: Any, reference: Any, peft_config: Any) -> None:
            """Supervised training has no reference model."""

        def _rows(self) -> int:
            return int(self.args.per_device_train_batch_size)

        def get_train_dataloader(self) -> Any:
            shape = (self._rows(), int(self.args.max_length or 1024))
            return ({"input_ids": (ids := randint(0, 1000, shape)), "labels": ids.clone()} for _ in range(STEPS))

    class DPOTrainer(SFTTrainer):
        """`trl.DPOTrainer`: chosen and rejected side by side, and the reference's pass without gradients."""

        def _arguments(self) -> Any:
            return DPOConfig()

        def _place_reference(self, model: Any, reference: Any, peft_config: Any) -> None:
            # With adapters the reference is the model without them.
            adapted = peft_config is not None or hasattr(model, "peft_config")
            self.ref_model = reference if reference is not None else None if adapted else deepcopy(model)
            if self.ref_model is not None:
                self.ref_model.to("cuda")
                self.ref_model.eval()

        def _rows(self) -> int:
            return 2 * int(self.args.per_device_train_batch_size)

        def compute_loss(self, model: Any, inputs: Any, return_outputs: Any = False, **options: Any) -> Any:
            labels = inputs.pop("labels")[:, 1:]
            with namespace("torch.no_grad")():
                reference = self._chances(self.ref_model or model, inputs, labels)
            chances = self._chances(model, inputs, labels) - reference
            chosen, rejected = chances.chunk(2, dim=0)
            loss = -namespace("torch.nn.functional").logsigmoid(0.1 * (chosen - rejected)).mean()
            return (loss, {}) if return_outputs else loss

        def _chances(self, model: Any, inputs: Any, labels: Any) -> Any:
            logits = model(**inputs).logits[:, :-1]
            picked = namespace("torch.gather")(logits, dim=-1, index=labels.unsqueeze(-1)).squeeze(-1)
            rows = namespace("torch.stack")([row.logsumexp(dim=-1) for row in logits])
            return (picked - rows).sum(-1)

    class GRPOTrainer(DPOTrainer):
        """`trl.GRPOTrainer`: the step over what was generated; with `beta` a reference model has its say."""

        def __init__(
            self, model: Any = None, reward_funcs: Any = None, args: Any = None, *rest: Any, **options: Any
        ) -> None:
            args = args if args is not None else GRPOConfig()
            self._told = bool(args.beta)
            super().__init__(model, args, **options)
            interpreter.note("generation before each step of GRPO is not modelled: its cache is gone by then")

        def _place_reference(self, model: Any, reference: Any, peft_config: Any) -> None:
            self.ref_model = None
            if self._told:
                super()._place_reference(model, reference, peft_config)

        def _rows(self) -> int:
            return int(self.args.per_device_train_batch_size)

        def compute_loss(self, model: Any, inputs: Any, return_outputs: Any = False, **options: Any) -> Any:
            kept = int(self.args.max_completion_length)
            labels = inputs.pop("labels")[:, -kept:]
            inputs = {**inputs, "logits_to_keep": kept + 1}
            if self._told:
                with namespace("torch.no_grad")():
                    self._chances(self.ref_model or model, inputs, labels)
            loss = -self._chances(model, inputs, labels).mean()
            return (loss, {}) if return_outputs else loss

    trainers = {"SFTTrainer": SFTTrainer, "DPOTrainer": DPOTrainer, "GRPOTrainer": GRPOTrainer}
    return {**trainers, "SFTConfig": SFTConfig, "DPOConfig": DPOConfig, "GRPOConfig": GRPOConfig}


def provide(interpreter: Interpreter, dotted: str) -> Any:
    """`trl`."""
    members = interpreter.state.setdefault("trl names", {})
    if not members:
        members.update(make_classes(interpreter))
    return Namespace(dotted, members)
