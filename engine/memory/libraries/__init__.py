"""Models of the libraries that training code builds on, one file each.

A file has `provide(interpreter, dotted)`: the value of a dotted module name of its library, or None. Teaching the
shadow run a library is writing one such file and naming it in `HOMES`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter

HOMES: dict[str, str] = {
    "torch": "torch",
    "engine": "published",
    "yaml": "configuration_files",
    "ruamel": "configuration_files",
    "omegaconf": "configuration_files",
    "toml": "configuration_files",
    "easydict": "configuration_files",
    "numpy": "numpy",
    "torchvision": "torchvision",
    "timm": "timm",
    "transformers": "transformers",
    "datasets": "datasets",
    "evaluate": "observers",
    "tqdm": "observers",
    "wandb": "observers",
    "tensorboardX": "observers",
    "tensorboard": "observers",
    "mlflow": "observers",
    "loguru": "observers",
    "rich": "observers",
    "termcolor": "observers",
    "matplotlib": "observers",
    "sklearn": "observers",
    "scipy": "observers",
    "pandas": "observers",
    "PIL": "observers",
    "cv2": "observers",
    "beartype": "decorators",
    "torchtyping": "decorators",
    "jaxtyping": "decorators",
    "packaging": "decorators",
    "frozendict": "decorators",
    "accelerate": "accelerate",
    "lightning": "lightning",
    "pytorch_lightning": "lightning",
    "lightning_fabric": "lightning",
    "peft": "peft",
    "bitsandbytes": "bitsandbytes",
    "liger_kernel": "liger",
    "torchao": "torchao",
    "einops": "einops",
    "einx": "einx",
    "mamba_ssm": "mamba_ssm",
    "click": "command_line",
    "typer": "command_line",
    "fire": "command_line",
    "tyro": "command_line",
    "absl": "command_line",
    "hydra": "hydra",
    "diffusers": "diffusers",
    "trl": "trl",
    "deepspeed": "deepspeed",
    "apex": "apex",
    "safetensors": "observers",
    "huggingface_hub": "observers",
    "sentencepiece": "observers",
    "requests": "observers",
}
"""Which file models a top-level package."""


def library_module(interpreter: Interpreter, dotted: str) -> Any:
    """The model of a library's module, or None where there is none."""
    parts = dotted.split(".")
    home = HOMES.get(parts[0])
    # No module is named so; such a part would lead from a library's function into the host.
    if home is None or any(part.startswith("__") for part in parts):
        return None
    try:
        module = import_module(f"engine.memory.libraries.{home}")
    except ModuleNotFoundError as problem:
        if problem.name == f"engine.memory.libraries.{home}":
            return None
        raise
    return module.provide(interpreter, dotted)
