"""A loader decodes files in the training process, or is given what DataLoader refuses."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace, Value
from engine.trace.events import FunctionCall, Iterate, LoaderBuilt, Transfer

_DECODES = (
    "torchvision.datasets.ImageFolder",
    "torchvision.datasets.DatasetFolder",
    "torchvision.datasets.CocoDetection",
    "torchvision.datasets.VOC",
    "torchvision.datasets.Cityscapes",
    "torchvision.datasets.Kinetics",
    "torchvision.datasets.ImageNet",
)


_OPENS = frozenset(
    {"PIL.Image.open", "cv2.imread", "torchvision.io.read_image", "torchaudio.load", "librosa.load", "soundfile.read"}
    | {"imageio.imread", "skimage.io.imread", "decord.VideoReader", "torchvision.io.read_video"}
)


@rule(
    "PF602", "dataloader-misconfigured", "note", "A loader decodes without workers, or its arguments exclude each other"
)
def check(trace: Trace) -> Iterator[Draft]:
    yield from _refused(trace)
    for built in trace.of(LoaderBuilt):
        data = built.loader.keyword("dataset", "0")
        if (
            not built.complete
            or data is None
            or not any(p.made_by.startswith(_DECODES) or _opens(trace, p) for p in data.ancestors(limit=20))
        ):
            continue
        workers = built.loader.keyword("num_workers", "5")
        if workers is not None and workers.constant != 0:
            continue
        trained = any(
            i.iterates is not None and built.loader in i.iterates.ancestors(limit=20) and i.subject.trains
            for i in trace.of(Iterate)
        )
        device = next((t for t in trace.of(Transfer) if t.device.startswith("cuda") or t.how == "cuda"), None)
        if not trained or device is None:
            continue
        yield Draft(
            built.place,
            "Images are decoded in the training process (`num_workers=0`), so the GPU waits for each batch; a "
            "few workers "
            "and `pin_memory=True` let decoding overlap with compute.",
            (Step(data.origin.place, "reads and decodes files"), Step(device.place, "trains on a GPU")),
        )


def _refused(trace: Trace) -> Iterator[Draft]:
    """Arguments that DataLoader refuses together: `torch.utils.data.DataLoader.__init__` raises a ValueError."""
    for built in trace.of(LoaderBuilt):
        if not built.complete or built.loader.cls is not None:
            continue
        given = built.loader.keyword
        workers = given("num_workers")
        sampler, batches = _some(given("sampler")), _some(given("batch_sampler"))
        shuffled = _true(given("shuffle"))
        if sampler is not None and shuffled is not None:
            told = "`shuffle=True` and a sampler, which decides the order itself"
            seen = Step(sampler.place, "the sampler")
        elif batches is not None and (shuffled or sampler or _true(given("drop_last"))):
            told = "a `batch_sampler` and what that decides itself (`shuffle`, `sampler`, `drop_last`)"
            seen = Step(batches.place, "the batch sampler")
        elif (workers is None or workers.constant == 0) and _true(given("persistent_workers")) is not None:
            told = "`persistent_workers=True` and no workers (`num_workers=0`)"
            seen = Step(workers.place if workers is not None else built.place, "no workers")
        else:
            continue
        yield Draft(built.place, f"This loader gets {told}: DataLoader raises a ValueError.", (seen,), severity="error")


def _some(value: Value | None) -> Value | None:
    """An argument that is an object on every path, and not None."""
    if value is None:
        return None
    return value if all(option.op == "construct" for option in value.options()) else None


def _true(value: Value | None) -> Value | None:
    return value if value is not None and value.is_constant and value.constant is True else None


def _opens(trace: Trace, data: Value) -> bool:
    """Whether a data set of the project reads a file of pictures or sound for each sample."""
    cls = data.origin.cls
    if cls is None or cls.family != "dataset":
        return False
    own = {base.name for base in cls.lineage()}
    return any(call.name in _OPENS and call.function.rpartition(".")[0] in own for call in trace.of(FunctionCall))
