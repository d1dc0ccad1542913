"""`lightning`, `pytorch_lightning`: LightningModule, LightningDataModule, Trainer."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from engine.memory.libraries.configuration_files import AttributeDict
from engine.memory.libraries.lightning_command import make_command
from engine.memory.libraries.placed import move
from engine.memory.program.namespaces import Namespace
from engine.memory.program.stdlib_models import Silent
from engine.memory.program.unknown import Unknown
from engine.memory.tensors import namespace

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter

_SKIPPED = ("self", "__class__", "cls")


def _hyper_parameters(interpreter: Interpreter, names: Any, ignore: Any) -> dict[str, Any]:
    """Arguments of the `__init__` that called `save_hyperparameters`."""
    code, frame = interpreter.stack[-1]
    values = {**{name: cell.value for name, cell in frame.cells.items() if cell.filled}, **frame.locals}
    wanted = [*code.positional, *code.keyword_only]
    found = {name: values[name] for name in wanted if name in values and name not in _SKIPPED}
    if code.keywords and isinstance(values.get(code.keywords), dict):
        found.update(values[code.keywords])
    if len(names) == 1 and not isinstance(names[0], str):
        source = names[0]
        return dict(source) if isinstance(source, dict) else dict(vars(source))
    if names:
        found = {name: value for name, value in found.items() if name in names}
    skipped = [ignore] if isinstance(ignore, str) else list(ignore or ())
    return {name: value for name, value in found.items() if name not in skipped}


def _hooks(interpreter: Interpreter) -> dict[str, Any]:
    """Methods that modules and data modules share."""

    def save_hyperparameters(self: Any, *names: Any, ignore: Any = None, **options: Any) -> None:
        values = AttributeDict(_hyper_parameters(interpreter, names, ignore))
        existing = self.__dict__.get("hparams")
        if existing is not None:
            values = AttributeDict({**existing, **values})
        self.__dict__["hparams"] = self.__dict__["hparams_initial"] = values

    return {
        "save_hyperparameters": save_hyperparameters,
        "prepare_data": _nothing,
        "setup": _nothing,
        "teardown": _nothing,
    }


def _nothing(self: Any, *args: Any, **options: Any) -> None:
    return None


def make_module(interpreter: Interpreter) -> Any:
    """The LightningModule class of one run."""
    base = namespace("torch.nn.Module")

    def optimizers(self: Any, *args: Any, **options: Any) -> Any:
        found = self.trainer.optimizers
        return found[0] if len(found) == 1 else found

    def manual_backward(self: Any, loss: Any, *args: Any, **options: Any) -> None:
        loss.backward(*args, **options)

    def clip_gradients(self: Any, optimizer: Any, *args: Any, **options: Any) -> None:
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        namespace("torch.nn.utils.clip_grad_norm_")(parameters, 1.0)

    members: dict[str, Any] = {
        **_hooks(interpreter),
        "optimizers": optimizers,
        "manual_backward": manual_backward,
        "clip_gradients": clip_gradients,
        "toggle_optimizer": _nothing,
        "untoggle_optimizer": _nothing,
        "lr_schedulers": lambda self: Silent(),
        "automatic_optimization": True,
        "current_epoch": 0,
        "global_step": 0,
        "global_rank": 0,
        "local_rank": 0,
        "logger": Silent(),
        "device": property(lambda self: next(iter(self.parameters())).device),
        "dtype": property(lambda self: next(iter(self.parameters())).dtype),
        "load_from_checkpoint": classmethod(
            lambda cls, *a, **k: cls(
                **{n: v for n, v in k.items() if n not in ("map_location", "strict", "checkpoint_path")}
            )
        ),
        "freeze": lambda self: [p.requires_grad_(False) for p in self.parameters()] and self.eval(),
        "all_gather": lambda self, value, *a, **k: value,
        "print": _nothing,
    }
    for name in (
        "log",
        "log_dict",
        "on_train_start",
        "on_train_epoch_start",
        "on_train_epoch_end",
        "on_fit_start",
        "on_train_batch_start",
    ):
        members[name] = _nothing
    for name in (
        "on_train_batch_end",
        "on_before_zero_grad",
        "on_before_optimizer_step",
        "on_after_backward",
        "configure_callbacks",
    ):
        members[name] = _nothing
    return type("LightningModule", (base,), members)


def flatten_optimizers(configured: Any) -> list[Any]:
    """The optimizers in whatever configure_optimizers returned."""
    if configured is None:
        return []
    if isinstance(configured, dict):
        return [configured["optimizer"]]
    if isinstance(configured, (list, tuple)):
        if len(configured) == 2 and isinstance(configured[0], (list, tuple)):
            return list(configured[0])
        return [item["optimizer"] if isinstance(item, dict) else item for item in configured]
    return [configured]


def make_trainer(interpreter: Interpreter) -> Any:
    """The Trainer class of one run."""

    class Trainer:
        """`lightning.Trainer`."""

        open_record = True

        def __init__(
            self,
            *,
            precision: Any = None,
            accumulate_grad_batches: Any = 1,
            gradient_clip_val: Any = None,
            strategy: Any = "auto",
            devices: Any = "auto",
            accelerator: Any = "auto",
            **options: Any,
        ) -> None:
            overrides = interpreter.state.get("overrides", {})
            wanted = {"amp-bf16": "bf16-mixed", "amp-fp16": "16-mixed", "fp32": "32-true", "pure-bf16": "bf16-true"}
            precision = wanted.get(str(overrides.get("precision")), precision)
            self.precision = {"16": "16-mixed", "bf16": "bf16-mixed", "32": "32-true", "None": "32-true"}.get(
                str(precision), str(precision)
            )
            wanted_steps = max(1, int(overrides.get("accumulation_steps") or accumulate_grad_batches or 1))
            interpreter.state.setdefault("declared", {})["accumulation_steps"] = wanted_steps
            self.accumulate_grad_batches = min(wanted_steps, 3)
            self.gradient_clip_val = gradient_clip_val
            self.strategy, self.devices, self.accelerator = strategy, devices, accelerator
            self.optimizers: list[Any] = []
            self.datamodule: Any = None
            self.current_epoch = self.global_step = self.global_rank = 0
            self.world_size = self.num_devices = interpreter.device.world_size
            self.is_global_zero = True
            self.logger = Silent()
            self.callbacks = options.get("callbacks") or []
            self.callback_metrics: dict[str, Any] = {}
            self.max_epochs, self.max_steps = options.get("max_epochs") or 1000, options.get("max_steps") or -1
            self.estimated_stepping_batches = 1000
            self.num_training_batches = 1000
            self.training = True
            self.sanity_checking = False

        def _context(self) -> Any:
            dtype = {"bf16-mixed": "torch.bfloat16", "16-mixed": "torch.float16"}.get(self.precision)
            return namespace("torch.autocast")("cuda", dtype=namespace(dtype)) if dtype else nullcontext()

        def fit(
            self,
            model: Any,
            train_dataloaders: Any = None,
            val_dataloaders: Any = None,
            datamodule: Any = None,
            **options: Any,
        ) -> None:
            if isinstance(model, Unknown):
                return
            if train_dataloaders is not None and hasattr(train_dataloaders, "train_dataloader"):
                datamodule, train_dataloaders = train_dataloaders, None
            model.__dict__["trainer"] = self
            self.model = self.lightning_module = model
            self.datamodule = datamodule
            half = {"bf16-true": "torch.bfloat16", "16-true": "torch.float16"}.get(self.precision)
            if datamodule is not None:
                datamodule.__dict__["trainer"] = self
                datamodule.prepare_data()
                datamodule.setup("fit")
            model.prepare_data()
            model.setup("fit")
            if hasattr(model, "configure_model"):
                model.configure_model()
            if half is not None:
                model.to(namespace(half))
            model.to("cuda")
            model.train()
            loader = train_dataloaders
            if loader is None:
                loader = datamodule.train_dataloader() if datamodule is not None else model.train_dataloader()
            if isinstance(loader, (list, tuple)):
                loader = loader[0]
            self.optimizers = flatten_optimizers(model.configure_optimizers())
            self._loop(model, loader, half)

        def _loop(self, model: Any, loader: Any, half: Any) -> None:
            model.on_fit_start()
            model.on_train_start()
            model.on_train_epoch_start()
            batches = iter(loader)
            index = 0
            while True:
                # The batch is held by the loop only, and by the closure while it runs.
                if model.automatic_optimization:
                    done = self._automatic(model, batches, index, half)
                else:
                    done = self._manual(model, batches, index, half)
                if done:
                    batches = iter(loader)
                index += 1

        def _next(self, batches: Any, half: Any) -> Any:
            batch = next(batches, None)
            if batch is None:
                return None
            batch = move(batch)
            return _cast(batch, namespace(half)) if half is not None else batch

        def _automatic(self, model: Any, batches: Any, index: int, half: Any) -> bool:
            state: dict[str, Any] = {}
            last = (index + 1) % self.accumulate_grad_batches == 0

            def closure() -> Any:
                batch = self._next(batches, half)
                if batch is None:
                    state["done"] = True
                    return None
                with self._context():
                    arguments = [batch, index]
                    names = getattr(getattr(model.training_step, "__func__", None), "preflight_code", None)
                    if names is not None and len(names.positional) == 2 and names.variadic is None:
                        arguments = [batch]
                    loss = interpreter.call(model.training_step, arguments, {})
                del batch
                if isinstance(loss, dict):
                    loss = loss["loss"]
                if self.accumulate_grad_batches > 1:
                    loss = loss / self.accumulate_grad_batches
                if index % self.accumulate_grad_batches == 0:
                    for optimizer in self.optimizers:
                        optimizer.zero_grad()
                loss.backward()
                model.on_after_backward()
                if last and self.gradient_clip_val:
                    namespace("torch.nn.utils.clip_grad_norm_")(list(model.parameters()), self.gradient_clip_val)
                return loss

            if not last:
                closure()
            else:
                for optimizer in self.optimizers:
                    optimizer.step(closure)
                self.global_step += 1
            model.on_train_batch_end(None, None, index)
            return bool(state.get("done"))

        def _manual(self, model: Any, batches: Any, index: int, half: Any) -> bool:
            batch = self._next(batches, half)
            if batch is None:
                return True
            with self._context():
                arguments = [batch, index]
                del batch
                interpreter.call(model.training_step, arguments, {})
            model.on_train_batch_end(None, None, index)
            return False

        def _nothing(self, *args: Any, **options: Any) -> None:
            return None

        validate = test = save_checkpoint = predict = _nothing

    return Trainer


def _cast(value: Any, dtype: Any) -> Any:
    """Floating tensors of a batch in the dtype of a true-half run."""
    if isinstance(value, dict):
        return {key: _cast(item, dtype) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([_cast(item, dtype) for item in value])
    return value.to(dtype) if hasattr(value, "is_floating_point") and value.is_floating_point() else value


def provide(interpreter: Interpreter, dotted: str) -> Any:
    """`lightning` and its submodules."""
    members: dict[str, Any] = interpreter.state.setdefault("lightning names", {})
    if not members:
        silent = type("Callback", (Silent,), {"__init__": _nothing})
        members.update(
            LightningModule=make_module(interpreter),
            Trainer=make_trainer(interpreter),
            LightningDataModule=type("LightningDataModule", (), {**_hooks(interpreter), "open_record": True}),
            Callback=silent,
            seed_everything=lambda *args, **kwargs: None,
            rank_zero_only=lambda function: function,
            rank_zero_info=lambda *args, **kwargs: None,
        )
        command = make_command(interpreter, members["Trainer"])
        members["cli"] = Namespace("lightning.pytorch.cli", {"LightningCLI": command})
        for name in ("callbacks", "loggers", "strategies", "plugins", "profilers"):
            members[name] = Namespace(
                f"lightning.{name}",
                {"Callback": silent},
                missing=lambda child: None if child.startswith("__") else type(child, (silent,), {}),
            )
        members["pytorch"] = Namespace("lightning.pytorch", members)
        members["utilities"] = Namespace(
            "lightning.pytorch.utilities", {**members, "rank_zero": Namespace("rank_zero", dict(members))}
        )
        members["core"] = members["pytorch"]
        members["trainer"] = members["pytorch"]
    value: Any = Namespace(dotted.split(".")[0], members)
    for part in dotted.split(".")[1:]:
        value = getattr(value, part, None)
    return value


__all__ = ["SimpleNamespace", "provide"]
