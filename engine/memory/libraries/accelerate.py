"""`accelerate`."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from engine.memory.libraries import deepspeed, fully_sharded
from engine.memory.libraries.mixed_precision import wrap_forward
from engine.memory.libraries.placed import DeviceLoader
from engine.memory.program.namespaces import Namespace
from engine.memory.program.stdlib_models import Silent
from engine.memory.program.unknown import Unknown
from engine.memory.tensors import namespace
from engine.memory.tensors.nn.zero import ZeroOptimizer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.memory.program.machine import Interpreter


def sharding_of(interpreter: Interpreter, options: dict[str, Any]) -> dict[str, Any]:
    """What shards: a plugin given to the Accelerator, else the launch's configuration file."""
    plugin = options.get("fsdp_plugin")
    if plugin is not None and not isinstance(plugin, Unknown):
        return {"fsdp": vars(plugin)}
    plugin = options.get("deepspeed_plugin")
    if plugin is not None and not isinstance(plugin, Unknown):
        return {"deepspeed": _engine_options(interpreter, vars(plugin))}
    launched = dict(interpreter.state.get("accelerate sharding") or {})
    if "deepspeed" in launched:
        launched["deepspeed"] = _engine_options(interpreter, launched["deepspeed"])
    return launched


def _engine_options(interpreter: Interpreter, options: dict[str, Any]) -> dict[str, Any]:
    given = options.get("deepspeed_config_file") or options.get("hf_ds_config")
    if given:
        return deepspeed.read_configuration(interpreter, given)
    return deepspeed.from_accelerate(options)


def provide(interpreter: Interpreter, dotted: str) -> Any:
    """`accelerate` and its submodules."""
    declared: dict[str, Any] = interpreter.state.setdefault("declared", {})

    class Accelerator:
        """`accelerate.Accelerator`."""

        open_record = True

        def __init__(self, mixed_precision: Any = None, gradient_accumulation_steps: Any = 1, **options: Any) -> None:
            overrides = interpreter.state.get("overrides", {})
            if mixed_precision is None:
                mixed_precision = interpreter.environment.get("ACCELERATE_MIXED_PRECISION", "no")
            precision = {"amp-bf16": "bf16", "amp-fp16": "fp16", "fp32": "no"}.get(
                str(overrides.get("precision")), mixed_precision
            )
            self.mixed_precision = precision if isinstance(precision, str) else "no"
            self.sharding = sharding_of(interpreter, options)
            plugin = options.get("gradient_accumulation_plugin")
            steps = getattr(plugin, "num_steps", gradient_accumulation_steps)
            wanted = max(1, int(overrides.get("accumulation_steps") or steps or 1))
            declared["accumulation_steps"] = wanted
            self.gradient_accumulation_steps = min(wanted, 3)
            self.device = namespace("torch.device")("cuda")
            self.num_processes = interpreter.device.world_size
            self.process_index = self.local_process_index = 0
            self.is_main_process = self.is_local_main_process = self.is_last_process = True
            self.sync_gradients = True
            self.state = SimpleNamespace(num_processes=self.num_processes, deepspeed_plugin=None, fsdp_plugin=None)
            self.distributed_type = "NO"
            self.trackers: list[Any] = []
            self.zero: Any = None
            self.step = 0
            self.optimizer_step_was_skipped = False
            self.native_amp = self.mixed_precision in ("bf16", "fp16")

        @property
        def dtype(self) -> Any:
            return {"bf16": namespace("torch.bfloat16"), "fp16": namespace("torch.float16")}.get(self.mixed_precision)

        def prepare(self, *objects: Any, **options: Any) -> Any:
            module, optimizer = namespace("torch.nn.Module"), namespace("torch.optim.Optimizer")
            prepared: list[Any] = []
            if "deepspeed" in self.sharding:
                objects = tuple(self.with_engine(objects, module, optimizer))
            for item in objects:
                if isinstance(item, ZeroOptimizer):
                    prepared.append(GatedOptimizer(item, self))
                elif isinstance(item, module) and "deepspeed" in self.sharding:
                    prepared.append(item)
                elif isinstance(item, module):
                    prepared.append(self.prepare_model(item))
                elif isinstance(item, optimizer):
                    prepared.append(GatedOptimizer(item, self))
                elif hasattr(item, "__iter__") and hasattr(item, "__len__") and not isinstance(item, Unknown):
                    prepared.append(DeviceLoader(item))
                else:
                    prepared.append(item)
            return prepared[0] if len(prepared) == 1 else tuple(prepared)

        def with_engine(self, objects: Any, module: Any, optimizer: Any) -> list[Any]:
            """The objects with the optimizer partitioned by DeepSpeed, which takes model and optimizer together."""
            models = [item for item in objects if isinstance(item, module)]
            steppers = [item for item in objects if isinstance(item, optimizer)]
            if not models or not steppers:
                for model in models:
                    model.to("cuda")
                return list(objects)
            self.zero = deepspeed.partition(interpreter, models[0], steppers[0], self.sharding["deepspeed"], self.dtype)
            return [self.zero if item is steppers[0] else item for item in objects]

        def prepare_model(self, model: Any, *args: Any, **options: Any) -> Any:
            if "fsdp" in self.sharding:
                settings = fully_sharded.accelerate_settings(self.sharding["fsdp"])
                fully_sharded.shard(interpreter, model, settings, self.dtype)
                if self.dtype is not None:
                    wrap_forward(model, self.dtype)
                return model
            model.to("cuda")
            if self.dtype is not None:
                wrap_forward(model, self.dtype)
            if self.num_processes > 1 and any(p.requires_grad for p in model.parameters()):
                declared.setdefault("sharding", "ddp")
                wrapper = namespace("torch.nn.parallel.DistributedDataParallel")
                if wrapper is not None:
                    return wrapper(model)
            return model

        def prepare_data_loader(self, loader: Any, *args: Any, **options: Any) -> Any:
            return DeviceLoader(loader)

        def prepare_optimizer(self, optimizer: Any, *args: Any, **options: Any) -> Any:
            return GatedOptimizer(optimizer, self)

        def prepare_scheduler(self, scheduler: Any) -> Any:
            return scheduler

        @contextmanager
        def accumulate(self, *models: Any) -> Iterator[None]:
            self.step += 1
            self.sync_gradients = self.step % self.gradient_accumulation_steps == 0
            yield

        def backward(self, loss: Any, **options: Any) -> None:
            if self.gradient_accumulation_steps > 1:
                loss = loss / self.gradient_accumulation_steps
            if self.zero is not None:
                self.zero.begin_backward()
            loss.backward(**options)
            if self.zero is not None:
                self.zero.end_backward()

        def clip_grad_norm_(self, parameters: Any, limit: Any, *args: Any) -> Any:
            return namespace("torch.nn.utils.clip_grad_norm_")(parameters, limit)

        def clip_grad_value_(self, parameters: Any, limit: Any) -> Any:
            return None

        def autocast(self, *args: Any, **options: Any) -> Any:
            if self.dtype is None:
                return nullcontext()
            return namespace("torch.autocast")("cuda", dtype=self.dtype)

        def no_sync(self, model: Any) -> Any:
            return model.no_sync() if hasattr(model, "no_sync") else nullcontext()

        def unwrap_model(self, model: Any, *args: Any, **options: Any) -> Any:
            return getattr(model, "module", model)

        def gather(self, value: Any, *args: Any, **options: Any) -> Any:
            return value

        gather_for_metrics = reduce = pad_across_processes = gather

        def main_process_first(self) -> Any:
            return nullcontext()

        local_main_process_first = join_uneven_inputs = lambda self, *args, **options: nullcontext()

        def on_main_process(self, function: Any = None, *args: Any) -> Any:
            return function

        def _nothing(self, *args: Any, **options: Any) -> None:
            return None

        print = wait_for_everyone = save = save_state = load_state = log = end_training = init_trackers = _nothing
        free_memory = register_for_checkpointing = save_model = clear = get_tracker = _nothing
        register_save_state_pre_hook = register_load_state_pre_hook = _nothing

        def get_state_dict(self, *args: Any, **options: Any) -> dict[str, Any]:
            return {}

    class GatedOptimizer:
        """An optimizer that steps and clears only when gradients are in sync."""

        open_record = True

        def __init__(self, optimizer: Any, accelerator: Any) -> None:
            self.optimizer, self.accelerator = optimizer, accelerator

        def step(self, *args: Any) -> Any:
            return self.optimizer.step(*args) if self.accelerator.sync_gradients else None

        def zero_grad(self, *args: Any, **options: Any) -> None:
            if self.accelerator.sync_gradients:
                self.optimizer.zero_grad(*args, **options)

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__") or name == "optimizer":
                raise AttributeError(name)
            return getattr(self.optimizer, name)

    silent = Silent()
    members: dict[str, Any] = {
        "Accelerator": Accelerator,
        "PartialState": lambda *a, **k: SimpleNamespace(
            device=namespace("torch.device")("cuda"), process_index=0, local_process_index=0, is_main_process=True
        ),
        "init_empty_weights": lambda *a, **k: nullcontext(),
        "notebook_launcher": lambda function, args=(), *a, **k: interpreter.call(function, list(args), {}),
        "DistributedDataParallelKwargs": lambda **k: SimpleNamespace(**k),
        "FullyShardedDataParallelPlugin": lambda **k: SimpleNamespace(**{"auto_wrap_policy": "transformer", **k}),
        "DeepSpeedPlugin": lambda **k: SimpleNamespace(**k),
        "GradientAccumulationPlugin": lambda num_steps=1, **k: SimpleNamespace(num_steps=num_steps),
        "ProjectConfiguration": lambda **k: SimpleNamespace(**k),
        "set_seed": lambda *a, **k: None,
        "get_logger": lambda *a, **k: silent,
        "tqdm": None,
    }
    members.pop("tqdm")
    for name in ("utils", "logging", "state", "data_loader"):
        members[name] = Namespace(f"accelerate.{name}", dict(members))
    if dotted != "accelerate":
        return members.get(dotted.split(".")[1])
    return Namespace("accelerate", members)
