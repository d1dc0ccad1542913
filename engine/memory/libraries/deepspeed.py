"""`deepspeed`: engines with ZeRO stages, from its JSON configuration or the options of accelerate and the Trainer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import nullcontext
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from engine.memory.libraries.fully_sharded import world_of
from engine.memory.libraries.placed import DeviceLoader
from engine.memory.program.files import is_file, read_text
from engine.memory.program.namespaces import Namespace
from engine.memory.program.stdlib_models import Silent
from engine.memory.tensors import namespace
from engine.memory.tensors.nn.zero import ZeroOptimizer, ZeroPlan

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter

DEFAULT_BUCKET = 500_000_000
DEFAULT_DISTANCE = 1_000_000_000
"""Elements; deepspeed/runtime/zero/config.py."""


def read_configuration(interpreter: Interpreter, given: Any) -> dict[str, Any]:
    """A configuration given as a dictionary or as the path of a JSON file."""
    if isinstance(given, str) and is_file(interpreter, given):
        given = json.loads(read_text(interpreter, given))
    if isinstance(given, str):
        interpreter.note(f"the DeepSpeed configuration {given} is not in the repository: stage 2 is assumed")
        return {"zero_optimization": {"stage": 2}}
    return dict(given) if isinstance(given, Mapping) else {}


def from_accelerate(options: Mapping[str, Any]) -> dict[str, Any]:
    """The DeepSpeed configuration that accelerate makes of its own options."""
    return {
        "zero_optimization": {
            "stage": int(options.get("zero_stage", 2)),
            "offload_optimizer": {"device": options.get("offload_optimizer_device", "none")},
            "offload_param": {"device": options.get("offload_param_device", "none")},
        },
        "gradient_accumulation_steps": options.get("gradient_accumulation_steps", 1),
    }


def _away(section: Any) -> bool:
    device = section.get("device", "none") if isinstance(section, Mapping) else "none"
    return str(device).lower() in ("cpu", "nvme")


def _number(value: Any, otherwise: int) -> int:
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else otherwise


def _on(section: Any, otherwise: bool) -> bool:
    value = section.get("enabled", False) if isinstance(section, Mapping) else False
    return otherwise if value == "auto" else bool(value)


def make_plan(interpreter: Interpreter, configuration: Mapping[str, Any], dtype: Any, hidden: int | None) -> ZeroPlan:
    """The plan of a configuration. `dtype` is what "auto" takes; `hidden` sizes the buckets that are "auto"."""
    zero = configuration.get("zero_optimization") or {}
    stage = _number(zero.get("stage"), 0)
    half = {"bf16": namespace("torch.bfloat16"), "fp16": namespace("torch.float16")}
    chosen = next((kind for name, kind in half.items() if _on(configuration.get(name), dtype is kind)), None)
    if "bf16" not in configuration and "fp16" not in configuration:
        chosen = dtype
    bucket = zero.get("reduce_bucket_size", DEFAULT_BUCKET)
    if bucket == "auto":
        bucket = hidden * hidden if hidden else DEFAULT_BUCKET
    return ZeroPlan(
        stage=stage,
        world=world_of(interpreter, f"ZeRO stage {stage}") if stage else 1,
        dtype=chosen,
        offload_optimizer=_away(zero.get("offload_optimizer")) or bool(zero.get("cpu_offload")),
        offload_parameters=_away(zero.get("offload_param")),
        reduce_bucket=_number(bucket, DEFAULT_BUCKET),
        overlap=bool(zero.get("overlap_comm", False)),
        reuse_distance=_number(zero.get("stage3_max_reuse_distance"), DEFAULT_DISTANCE),
    )


def partition(
    interpreter: Interpreter, model: Any, optimizer: Any, configuration: Mapping[str, Any], dtype: Any
) -> Any:
    """The partitioned optimizer of a model, both placed on their devices."""
    declared = interpreter.state.setdefault("declared", {})
    config = getattr(model, "config", None)
    hidden = getattr(config, "hidden_size", None)
    plan = make_plan(interpreter, configuration, dtype, hidden if isinstance(hidden, int) else None)
    declared["sharding"] = f"zero-{plan.stage}" if plan.stage else "ddp"
    if plan.offload_optimizer or plan.offload_parameters:
        parts = ["optimizer"] * plan.offload_optimizer + ["parameters"] * plan.offload_parameters
        declared["offload"] = " and ".join(parts)
    interpreter.note("what DeepSpeed holds beside its partitions is assumed from its defaults")
    return ZeroOptimizer(model, optimizer, plan)


OPTIMIZERS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "adam": ("Adam", {"fused": True}),
    "adamw": ("AdamW", {"fused": True}),
    "sgd": ("SGD", {}),
    "adagrad": ("Adagrad", {}),
}
"""The `type` of a configured optimizer: DeepSpeed's own Adam is one fused kernel."""


def configured_optimizer(configuration: Mapping[str, Any], parameters: Any) -> Any:
    """The optimizer of a configuration's `optimizer` section; AdamW where it names none that is known."""
    section = configuration.get("optimizer") or {}
    name, options = OPTIMIZERS.get(str(section.get("type", "AdamW")).lower(), OPTIMIZERS["adamw"])
    return namespace(f"torch.optim.{name}")(parameters, lr=1e-4, **options)


def make_engine(interpreter: Interpreter) -> Any:
    """The engine class of one run."""

    class DeepSpeedEngine(namespace("torch.nn.Module")):  # type: ignore[misc]
        """What `deepspeed.initialize` returns."""

        def __init__(self, model: Any, optimizer: Any, accumulation: int) -> None:
            super().__init__()
            self.module = model
            self.__dict__["optimizer"] = optimizer
            self.__dict__["accumulation"] = accumulation
            self.__dict__["micro_steps"] = 0

        def forward(self, *args: Any, **options: Any) -> Any:
            return self.module(*args, **options)

        def backward(self, loss: Any, *args: Any, **options: Any) -> Any:
            self.optimizer.begin_backward()
            loss.backward()
            self.optimizer.end_backward()
            return loss

        def is_gradient_accumulation_boundary(self) -> bool:
            return bool((self.micro_steps + 1) % self.accumulation == 0)

        def step(self, *args: Any, **options: Any) -> None:
            if self.is_gradient_accumulation_boundary():
                self.optimizer.step()
            self.__dict__["micro_steps"] += 1

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except AttributeError:
                if name.startswith("__") or name == "module":
                    raise
                return getattr(self.module, name)

        @property
        def device(self) -> Any:
            return namespace("torch.device")("cuda")

        @property
        def local_rank(self) -> int:
            return 0

        @property
        def global_rank(self) -> int:
            return 0

        def no_sync(self) -> Any:
            return nullcontext()

        def save_checkpoint(self, *args: Any, **options: Any) -> None:
            return None

        def load_checkpoint(self, *args: Any, **options: Any) -> tuple[None, dict[str, Any]]:
            return None, {}

        save_16bit_model = save_checkpoint

    return DeepSpeedEngine


def provide(interpreter: Interpreter, dotted: str) -> Any:
    """`deepspeed`."""
    engine = make_engine(interpreter)

    def initialize(
        args: Any = None,
        model: Any = None,
        optimizer: Any = None,
        model_parameters: Any = None,
        training_data: Any = None,
        lr_scheduler: Any = None,
        config: Any = None,
        config_params: Any = None,
        **options: Any,
    ) -> Any:
        given = config if config is not None else config_params
        given = given if given is not None else getattr(args, "deepspeed_config", None)
        values = read_configuration(interpreter, given)
        if optimizer is None:
            parameters = list(model_parameters) if model_parameters is not None else list(model.parameters())
            optimizer = configured_optimizer(values, parameters)
        partitioned = partition(interpreter, model, optimizer, values, None)
        accumulation = min(3, _number(values.get("gradient_accumulation_steps"), 1))
        loader = None
        if training_data is not None:
            from engine.memory.libraries.torch_data import make_loader

            size = _number(values.get("train_micro_batch_size_per_gpu"), 1)
            loader = DeviceLoader(make_loader(interpreter)(training_data, batch_size=size, **_collate(options)))
        return engine(model, partitioned, max(1, accumulation)), partitioned, loader, lr_scheduler

    silent = Silent()
    return Namespace(
        dotted,
        {
            "initialize": initialize,
            "init_distributed": lambda *a, **k: None,
            "add_config_arguments": lambda parser: _add_arguments(parser),
            "zero": SimpleNamespace(
                Init=lambda *a, **k: nullcontext(), GatheredParameters=lambda *a, **k: nullcontext()
            ),
            "comm": silent,
            "DeepSpeedEngine": engine,
        },
    )


def _collate(options: Mapping[str, Any]) -> dict[str, Any]:
    function = options.get("collate_fn")
    return {} if function is None else {"collate_fn": function}


def _add_arguments(parser: Any) -> Any:
    parser.add_argument("--deepspeed", action="store_true")
    parser.add_argument("--deepspeed_config", type=str, default=None)
    return parser
