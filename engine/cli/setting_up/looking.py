"""What a repository tells of itself: programs that train, devices that launch scripts ask for, folders not its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.entry_scripts import entry_scripts
from engine.project import Project, UnreadableFile
from engine.settings.model import DEFAULT_EXCLUDE, Settings
from hardware_catalog import UnknownGPU, find_gpu

MAX_READ = 200
"""Launch scripts and workflows read for devices."""
_ASKS = re.compile(
    r"gres=gpu:(?P<gres>[A-Za-z][\w.-]*)|--gpus(?:-per-node)?[= ](?P<slurm>[A-Za-z][\w.-]*):\d"
    r"|accelerators?:\s*\{?\s*[\"']?(?P<sky>[A-Za-z][\w-]*)(?::\d+)?"
    r"|instance[_-]?type:?[= ]+[\"']?(?P<type>[a-z][\w.-]+)"
)
"""SLURM's generic resources, SkyPilot's and Kubernetes' accelerators, cloud instance types."""
_SCRIPTS = (".sh", ".bash", ".slurm", ".sbatch", ".yaml", ".yml")
_NOT_OURS = ("third_party", "third-party", "thirdparty", "vendor", "external", "externals", "submodules", "extern")


@dataclass(frozen=True)
class Seen:
    """What was found: entry scripts, the most promising first; devices; folders of other people's code."""

    scripts: Sequence[str]
    gpus: Sequence[str]
    excludes: Sequence[str]
    notebooks: int
    existing: Sequence[str]

    def told(self) -> Iterator[str]:
        """Sentences for the person who asked."""
        yield f"programs that train: {', '.join(self.scripts) or 'none found'}"
        yield f"devices asked for: {', '.join(self.gpus) or 'none found (set gpus in the configuration)'}"


def look_at(project: Project, gpus: Sequence[str] = ()) -> Seen:
    """Reads what is needed and no more. `gpus` that are named count instead of those found."""
    paths = project.paths()
    settings = Settings()
    own = [path for path in paths if not settings.excludes(path)]
    sources = [path for path in own if path.endswith((".py", ".ipynb"))]
    tops = sorted({folder for path in paths for folder in _foreign(path)})
    return Seen(
        scripts=entry_scripts(project, [*sources, *(p for p in own if p.endswith(_SCRIPTS))], [], settings),
        gpus=tuple(gpus) or _asked_for(project, own),
        excludes=tuple(f"{folder}/" for folder in tops if f"{folder}/" not in DEFAULT_EXCLUDE),
        notebooks=sum(path.endswith(".ipynb") for path in sources),
        existing=tuple(paths),
    )


def _foreign(path: str) -> Iterator[str]:
    parts = path.split("/")[:-1]
    for position, part in enumerate(parts):
        if part.lower() in _NOT_OURS:
            yield "/".join(parts[: position + 1])
            return


def _asked_for(project: Project, paths: Sequence[str]) -> tuple[str, ...]:
    """Devices of the catalogue that launch scripts ask for by name, in the order of their files."""
    found: dict[str, None] = {}
    for path in [path for path in paths if path.endswith(_SCRIPTS)][:MAX_READ]:
        try:
            text = project.read_text(path)
        except UnreadableFile:
            continue
        for match in _ASKS.finditer(text):
            name = next(group for group in match.groups() if group)
            try:
                found.setdefault(find_gpu(name).id)
            except UnknownGPU:
                continue
    return tuple(found)
