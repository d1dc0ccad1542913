"""`LightningCLI`: a program whose whole configuration is YAML and dotted options (lightning/pytorch/cli.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.memory.libraries.configuration_files import load_yaml
from engine.memory.program.files import is_file, read_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.memory.program.machine import Interpreter

SUBCOMMANDS = ("fit", "validate", "test", "predict")


def settings(interpreter: Interpreter, words: Sequence[str], defaults: Any = None) -> dict[str, Any]:
    """The configuration: files in the order they are named, options over them."""
    found: dict[str, Any] = {}
    for name in defaults or ():
        if is_file(interpreter, name):
            _merge(found, load_yaml(read_text(interpreter, name)))
    remaining = [word for word in words if word not in SUBCOMMANDS]
    while remaining:
        key, given, value = remaining.pop(0).partition("=")
        if not given and remaining and not remaining[0].startswith("--"):
            value = remaining.pop(0)
        if key in ("--config", "-c"):
            loaded = load_yaml(read_text(interpreter, value))
            _merge(found, loaded.get("fit", loaded) if isinstance(loaded, dict) else loaded)
        elif key.startswith("--"):
            inner: Any = load_yaml(value)
            for part in reversed(key[2:].split(".")):
                inner = {part: inner}
            _merge(found, inner)
    return found


def _merge(into: dict[str, Any], new: Any) -> None:
    for key, value in (new or {}).items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


def make_command(interpreter: Interpreter, trainer_class: Any) -> Any:
    """The class of one run."""

    def built(kind: Any, chosen: Any) -> Any:
        chosen = dict(chosen or {})
        if isinstance(chosen.get("class_path"), str):
            module, _, name = chosen["class_path"].rpartition(".")
            kind = getattr(interpreter.import_module(module, interpreter.entry, False, whole=True), name)
            chosen = dict(chosen.get("init_args") or {})
        return interpreter.call(kind, [], chosen)

    class LightningCLI:
        """`lightning.pytorch.cli.LightningCLI`: builds and runs as it is made."""

        open_record = True

        def __init__(
            self, model_class: Any = None, datamodule_class: Any = None, *args: Any, run: Any = True, **options: Any
        ) -> None:
            files = (options.get("parser_kwargs") or {}).get("default_config_files")
            chosen = settings(interpreter, [*(options.get("args") or interpreter.arguments)], files)
            self.config = chosen
            self.model = built(model_class, chosen.get("model"))
            data = chosen.get("data")
            self.datamodule = built(datamodule_class, data) if datamodule_class is not None or data else None
            wanted = {**(options.get("trainer_defaults") or {}), **(chosen.get("trainer") or {})}
            self.trainer = trainer_class(**{k: v for k, v in wanted.items() if k not in ("callbacks", "logger")})
            if run:
                self.trainer.fit(self.model, datamodule=self.datamodule)

    return LightningCLI
