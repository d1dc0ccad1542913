"""Libraries that watch a run (progress bars, trackers, plots): they take everything and change nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.memory.program.namespaces import Namespace
from engine.memory.program.stdlib_models import Silent
from engine.memory.program.unknown import Unknown

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter


class ProgressBar:
    """`tqdm`: iterates what it was given."""

    def __init__(self, iterable: Any = None, *args: Any, **kwargs: Any) -> None:
        self.iterable = iterable if iterable is not None else range(int(kwargs.get("total") or 0))

    def __iter__(self) -> Any:
        return iter(self.iterable)

    def __len__(self) -> int:
        return len(self.iterable)

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *exc: object) -> None:
        return None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: None


def _trange(*args: Any, **kwargs: Any) -> ProgressBar:
    return ProgressBar(range(*args))


def _track(iterable: Any, *args: Any, **kwargs: Any) -> Any:
    return iterable


class HubMixin:
    """`huggingface_hub.PyTorchModelHubMixin`: a base class beside `nn.Module` that takes part in making an instance."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__()

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return super().__new__(cls)

    def save_pretrained(self, *args: Any, **kwargs: Any) -> None:
        """Nothing is written."""

    push_to_hub = save_pretrained

    @classmethod
    def from_pretrained(cls, name: Any = None, *args: Any, **kwargs: Any) -> Unknown:
        """The configuration lies with the weights."""
        return Unknown(f"the checkpoint {name} is not in the repository")


def provide(interpreter: Interpreter, dotted: str) -> Any:
    """A module of one of these libraries; its unlisted names are silent objects."""
    top = dotted.split(".")[0]
    if top == "tqdm":
        members: dict[str, Any] = {"tqdm": ProgressBar, "trange": _trange, "auto": None, "notebook": None, "rich": None}
        for name in ("auto", "notebook", "rich"):
            members[name] = Namespace(f"tqdm.{name}", {"tqdm": ProgressBar, "trange": _trange})
        if dotted != "tqdm":
            return members.get(dotted.split(".")[1])
        return Namespace("tqdm", members)
    if top in ("wandb", "tensorboardX", "tensorboard", "mlflow", "loguru", "termcolor", "matplotlib", "rich"):
        special: dict[str, Any] = {"track": _track, "colored": lambda text, *a, **k: text}
        if top == "wandb":
            special["config"] = Unknown("wandb.config")
        return Namespace(dotted, special, missing=lambda name: None if name.startswith("__") else Silent())
    if top == "huggingface_hub":
        return Namespace(dotted, {"PyTorchModelHubMixin": HubMixin, "ModelHubMixin": HubMixin})
    return Namespace(dotted)
