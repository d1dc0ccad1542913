"""transformers' Trainer and TrainingArguments: the step as the library takes it."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from contextlib import nullcontext
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from engine.memory.adjustments import optimizer_class
from engine.memory.evidence import LIBRARY_STEP
from engine.memory.libraries import liger_kernels
from engine.memory.libraries.mixed_precision import wrap_forward
from engine.memory.libraries.tokenizers import collators
from engine.memory.libraries.torch_data import is_tensor, make_loader
from engine.memory.program.unknown import Unknown
from engine.memory.tensors import Adafactor, namespace

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter

DEFAULTS: Mapping[str, Any] = {
    "per_device_train_batch_size": 8,
    "per_device_eval_batch_size": 8,
    "gradient_accumulation_steps": 1,
    "bf16": False,
    "fp16": False,
    "gradient_checkpointing": False,
    "gradient_checkpointing_kwargs": None,
    "optim": "adamw_torch_fused",
    "learning_rate": 5e-5,
    "weight_decay": 0.0,
    "max_grad_norm": 1.0,
    "num_train_epochs": 3.0,
    "max_steps": -1,
    "warmup_steps": 0,
    "warmup_ratio": 0.0,
    "lr_scheduler_type": "linear",
    "output_dir": "trainer_output",
    "remove_unused_columns": True,
    "label_smoothing_factor": 0.0,
    "do_train": False,
    "do_eval": False,
    "seed": 42,
    "local_rank": -1,
    "logging_steps": 500,
    "save_steps": 500,
    "eval_steps": None,
    "eval_strategy": "no",
    "save_strategy": "steps",
    "report_to": "none",
    "deepspeed": None,
    "fsdp": "",
    "fsdp_config": None,
    "ddp_find_unused_parameters": None,
    "dataloader_num_workers": 0,
    "dataloader_drop_last": False,
    "dataloader_pin_memory": True,
    "group_by_length": False,
    "resume_from_checkpoint": None,
    "push_to_hub": False,
    "use_cpu": False,
    "torch_compile": False,
    "auto_find_batch_size": False,
    "eval_accumulation_steps": None,
    "predict_with_generate": False,
    "n_gpu": 1,
    "device": "cuda",
    "optim_args": None,
    "neftune_noise_alpha": None,
    "use_liger_kernel": False,
}
"""transformers' defaults (training_args.py, version 5)."""


class TrainingArguments:
    """`transformers.TrainingArguments`."""

    open_record = True
    __annotations__ = {name: type(value) if value is not None else str for name, value in DEFAULTS.items()}

    def __init__(self, output_dir: Any = "trainer_output", **values: Any) -> None:
        self.__dict__.update({**DEFAULTS, **values, "output_dir": output_dir})

    @property
    def train_batch_size(self) -> Any:
        """Per device."""
        return self.per_device_train_batch_size

    def to_dict(self) -> dict[str, Any]:
        """The values."""
        return dict(self.__dict__)

    def main_process_first(self, *args: Any, **kwargs: Any) -> Any:
        """A context that only orders processes."""
        return nullcontext()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return None


def convert(text: Any, kind: Any) -> Any:
    """A command-line text as the type of a field."""
    if not isinstance(text, str):
        return text
    options = typing.get_args(kind)
    if options:
        kind = next((option for option in options if option is not type(None)), str)
    if isinstance(kind, str):
        kind = {"int": int, "float": float, "bool": bool}.get(
            kind.split("[")[-1].rstrip("]").split("|")[0].strip(), str
        )
    if kind is bool:
        return text.lower() in ("true", "1", "yes", "t", "y")
    if kind in (int, float):
        try:
            return kind(float(text)) if kind is int and "e" in text else kind(text)
        except ValueError:
            return text
    return text


def given_options(arguments: list[str]) -> dict[str, Any]:
    """`--name value`, `--name=value` and bare flags of a command line."""
    found: dict[str, Any] = {}
    index = 0
    while index < len(arguments):
        word = str(arguments[index])
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            name = name.replace("-", "_")
            if equals:
                found[name] = value
            else:
                values = []
                while index + 1 < len(arguments) and not str(arguments[index + 1]).startswith("--"):
                    values.append(str(arguments[index + 1]))
                    index += 1
                found[name] = "true" if not values else values[0] if len(values) == 1 else values
        index += 1
    return found


def fill(interpreter: Interpreter, kind: Any, values: Mapping[str, Any] | None = None) -> Any:
    """A dataclass (or TrainingArguments) from given values, or from the launch's arguments."""
    source = dict(values) if values is not None else given_options(interpreter.arguments)
    if isinstance(kind, type) and issubclass(kind, TrainingArguments):
        names = {name: type(value) for name, value in DEFAULTS.items()}
        own = {
            name: getattr(kind, name)
            for base in kind.__mro__
            for name in getattr(base, "__annotations__", {})
            if hasattr(kind, name) and base is not TrainingArguments
        }
        taken = {k: convert(v, names.get(k, str)) if k in names else _number(v) for k, v in source.items()}
        return kind(**{**{k: v for k, v in own.items() if not isinstance(v, dataclasses.Field)}, **taken})
    taken = {}
    for item in dataclasses.fields(kind):
        if item.name in source:
            taken[item.name] = convert(source[item.name], item.type)
        elif item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING:
            taken[item.name] = None
    return kind(**taken)


def _number(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text.lower(), text)


class TransformersAdafactor(Adafactor):
    """transformers' Adafactor: for half weights also float32 copies of gradient and weight beside the update's two."""

    def update(self, group: dict[str, Any], params: list[Any]) -> None:
        super().update(group, params)
        float32 = namespace("torch.float32")
        for parameter in params:
            if parameter.dtype.itemsize == 2:
                held = [namespace("torch.empty_like")(parameter, dtype=float32) for _ in range(4)]
                del held


def make_optimizer(interpreter: Interpreter, model: Any, arguments: Any) -> Any:
    """What `optim` names, with the library's two groups (with and without weight decay)."""
    trained = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    plain = [p for name, p in trained if "bias" in name or "norm" in name.lower() or "ln_" in name]
    ids = {id(p) for p in plain}
    groups = [{"params": [p for _, p in trained if id(p) not in ids]}, {"params": plain}]
    groups = [group for group in groups if group["params"]]
    name = str(interpreter.state.get("overrides", {}).get("optimizer") or arguments.optim).lower()
    name = name.rsplit(".", 1)[-1]
    rate: dict[str, Any] = {"lr": 1e-4}
    if "8bit" in name or "4bit" in name or name.startswith("paged"):
        from engine.memory.libraries.bitsandbytes import optimizer_named

        return optimizer_named(interpreter, name)(groups, **rate)
    if name in ("adamw_torch_fused", "adamw_fused", "adamw_apex_fused"):
        return optimizer_class(interpreter, "AdamW", namespace("torch.optim.AdamW"))(groups, fused=True, **rate)
    table = {"adafactor": "Adafactor", "sgd": "SGD", "adagrad": "Adagrad", "rmsprop": "RMSprop", "adam": "Adam"}
    kind = TransformersAdafactor if name == "adafactor" else namespace(f"torch.optim.{table.get(name, 'AdamW')}")
    if name not in table and not name.startswith("adamw"):
        interpreter.note(f"the optimizer {name} is assumed to keep what AdamW keeps")
    return optimizer_class(interpreter, table.get(name, "AdamW"), kind)(groups, **rate)


def make_trainer(interpreter: Interpreter) -> Any:
    """The Trainer class of one run."""
    loader_class = make_loader(interpreter)

    class Trainer:
        """`transformers.Trainer`."""

        open_record = True

        def __init__(
            self,
            model: Any = None,
            args: Any = None,
            data_collator: Any = None,
            train_dataset: Any = None,
            eval_dataset: Any = None,
            processing_class: Any = None,
            model_init: Any = None,
            compute_loss_func: Any = None,
            compute_metrics: Any = None,
            callbacks: Any = None,
            optimizers: Any = (None, None),
            **options: Any,
        ) -> None:
            self.args = args if args is not None else TrainingArguments()
            self.model = model if model is not None else interpreter.call(model_init, [], {})
            self.train_dataset, self.eval_dataset = train_dataset, eval_dataset
            self.tokenizer = self.processing_class = processing_class or options.get("tokenizer")
            self.data_collator = data_collator or collators(interpreter)["default_data_collator"]
            self.compute_loss_func = compute_loss_func
            self.optimizer: Any = optimizers[0] if optimizers else None
            self.lr_scheduler: Any = optimizers[1] if optimizers else None
            self.state = SimpleNamespace(global_step=0, epoch=0.0, log_history=[])
            self.model_wrapped = self.model
            self.is_in_train = False
            config = getattr(self.model, "config", None)
            if config is not None and not isinstance(config, Unknown):
                config.use_cache = False

        def get_train_dataloader(self) -> Any:
            size = self.args.per_device_train_batch_size
            return loader_class(self.train_dataset, batch_size=size, collate_fn=self.data_collator)

        def create_optimizer(self, *args: Any) -> Any:
            if self.optimizer is None:
                self.optimizer = make_optimizer(interpreter, self.model, self.args)
            return self.optimizer

        def create_scheduler(self, *args: Any, **kwargs: Any) -> Any:
            return None

        def create_optimizer_and_scheduler(self, *args: Any, **kwargs: Any) -> None:
            self.create_optimizer()

        def compute_loss(self, model: Any, inputs: Any, return_outputs: Any = False, **options: Any) -> Any:
            labels = inputs.get("labels") if self.compute_loss_func is not None else None
            outputs = model(**inputs)
            if self.compute_loss_func is not None:
                loss = interpreter.call(self.compute_loss_func, [outputs, labels], {})
            else:
                loss = outputs["loss"] if hasattr(outputs, "keys") else outputs[0]
            return (loss, outputs) if return_outputs else loss

        def _prepare_inputs(self, inputs: Any) -> Any:
            return {key: value.to("cuda") if is_tensor(value) else value for key, value in inputs.items()}

        def training_step(self, model: Any, inputs: Any, *args: Any) -> Any:
            inputs = self._prepare_inputs(inputs)
            loss = self.compute_loss(model, inputs)
            del inputs
            if self.args.gradient_accumulation_steps > 1:
                loss = loss / self.args.gradient_accumulation_steps
            buckets = self.optimizer if hasattr(self.optimizer, "begin_backward") else None
            if buckets is not None:
                buckets.begin_backward()
            loss.backward()
            if buckets is not None:
                buckets.end_backward()
            return loss.detach()

        def train(self, *args: Any, **kwargs: Any) -> Any:
            arguments, model = self.args, self.model
            declare(interpreter, arguments)
            place(interpreter, model, arguments)
            model.train()
            self.is_in_train = True
            if arguments.use_liger_kernel:
                liger_kernels.apply(interpreter, model)
            if arguments.gradient_checkpointing:
                model.gradient_checkpointing_enable(
                    gradient_checkpointing_kwargs=arguments.gradient_checkpointing_kwargs or {"use_reentrant": False}
                )
            precision = precision_of(interpreter, arguments)
            if precision is not None and not arguments.deepspeed:
                wrap_forward(model, precision)
            self.create_optimizer_and_scheduler()
            if arguments.deepspeed:
                self.optimizer = partitioned(interpreter, model, self.optimizer, arguments)
            _say_what_is_a_librarys(interpreter, model, precision)
            wrapped = distribute(interpreter, model, self.optimizer, arguments)
            total = namespace("torch.tensor")(0.0, device="cuda")
            batches = iter(self.get_train_dataloader())
            while True:
                for _ in range(accumulation_of(interpreter, arguments)):
                    batch = next(batches, None)
                    if batch is None:
                        batches = iter(self.get_train_dataloader())
                        batch = next(batches)
                    total = total + self.training_step(wrapped, batch)
                    del batch
                if arguments.max_grad_norm and not arguments.deepspeed:
                    namespace("torch.nn.utils.clip_grad_norm_")(list(model.parameters()), arguments.max_grad_norm)
                self.optimizer.step()
                model.zero_grad()

        def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
            return {}

        def predict(self, *args: Any, **kwargs: Any) -> Any:
            return Unknown("Trainer.predict is not run")

        def _nothing(self, *args: Any, **kwargs: Any) -> None:
            return None

        save_model = save_state = log_metrics = save_metrics = log = add_callback = push_to_hub = remove_callback = (
            _nothing
        )
        create_model_card = _nothing

        def is_world_process_zero(self) -> bool:
            return True

    return Trainer


def _say_what_is_a_librarys(interpreter: Interpreter, model: Any, precision: Any) -> None:
    parameters = list(model.parameters())
    frozen = any(not p.requires_grad for p in parameters)
    half = precision is not None and any(p.dtype.itemsize == 2 for p in parameters)
    if frozen or half:
        interpreter.note(LIBRARY_STEP)


def precision_of(interpreter: Interpreter, arguments: Any) -> Any:
    """The autocast dtype, or None."""
    override = interpreter.state.get("overrides", {}).get("precision")
    if override is not None:
        return {"amp-bf16": namespace("torch.bfloat16"), "amp-fp16": namespace("torch.float16")}.get(str(override))
    if arguments.bf16:
        return namespace("torch.bfloat16")
    return namespace("torch.float16") if arguments.fp16 else None


def accumulation_of(interpreter: Interpreter, arguments: Any) -> int:
    """Micro-batches a step, no more of them than show every state: from the third on each repeats the second."""
    override = interpreter.state.get("overrides", {}).get("accumulation_steps")
    steps = max(1, int(override or arguments.gradient_accumulation_steps or 1))
    return shown_micro_batches(interpreter, steps)


def shown_micro_batches(interpreter: Interpreter, steps: int) -> int:
    """How many of a step's micro-batches are run; the real number is declared for the configuration."""
    interpreter.state.setdefault("declared", {})["accumulation_steps"] = steps
    return min(steps, 3)


def declare(interpreter: Interpreter, arguments: Any) -> None:
    """Name what the arguments say for the configuration."""
    declared = interpreter.state.setdefault("declared", {})
    declared.setdefault("batch_size", arguments.per_device_train_batch_size)


def place(interpreter: Interpreter, model: Any, arguments: Any) -> None:
    """Put the model on the device: whole, or as shards."""
    if not arguments.fsdp:
        if not arguments.deepspeed:
            model.to("cuda")
        return
    from engine.memory.libraries import fully_sharded

    fully_sharded.shard(
        interpreter,
        model,
        fully_sharded.trainer_settings(interpreter, arguments),
        precision_of(interpreter, arguments),
    )


def partitioned(interpreter: Interpreter, model: Any, optimizer: Any, arguments: Any) -> Any:
    """The optimizer as DeepSpeed partitions it."""
    from engine.memory.libraries import deepspeed

    values = deepspeed.read_configuration(interpreter, arguments.deepspeed)
    if values.get("optimizer"):
        optimizer = deepspeed.configured_optimizer(values, [p for p in model.parameters() if p.requires_grad])
    return deepspeed.partition(interpreter, model, optimizer, values, precision_of(interpreter, arguments))


def distribute(interpreter: Interpreter, model: Any, optimizer: Any, arguments: Any) -> Any:
    """The model as the launch distributes it: DDP for several processes."""
    if interpreter.device.world_size > 1 and not arguments.deepspeed and not arguments.fsdp:
        interpreter.state.setdefault("declared", {}).setdefault("sharding", "ddp")
        wrapper = namespace("torch.nn.parallel.DistributedDataParallel")
        if wrapper is not None:
            return wrapper(model)
    return model


def names(interpreter: Interpreter) -> dict[str, Any]:
    """The library's names that live here."""
    kind = make_trainer(interpreter)

    class Seq2SeqTrainer(kind):  # type: ignore[misc, valid-type]
        """`transformers.Seq2SeqTrainer`."""

    class Seq2SeqTrainingArguments(TrainingArguments):
        """`transformers.Seq2SeqTrainingArguments`."""

    return {
        "Trainer": kind,
        "TrainingArguments": type("TrainingArguments", (TrainingArguments,), {}),
        "Seq2SeqTrainer": Seq2SeqTrainer,
        "Seq2SeqTrainingArguments": Seq2SeqTrainingArguments,
    }
