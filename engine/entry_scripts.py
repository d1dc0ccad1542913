"""Which scripts and configuration files of a change are worth a memory estimate."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from engine.affected import ImportGraph
from engine.project import Project, UnreadableFile
from engine.settings import Settings

MAX_NAMED_SCRIPTS = 6
"""The same, of entry points that the settings name."""
MAX_SCRIPTS = 3
"""Estimates of one review: each is made for base and head."""

_TRAINS = re.compile(
    r"\.backward\s*\(|\bTrainer\s*\(|\btrainer\s*\.\s*(?:train|fit)\s*\(|\.fit\s*\(|SFTTrainer|Seq2SeqTrainer"
    r"|\.training_step\s*\("
)
_RUNS = re.compile(
    r"__name__\s*==\s*[\"']__main__[\"']|^(?:main|train|run)\s*\(|^(?:for|with)\s|^trainer\.", re.MULTILINE
)
_LAUNCHES = re.compile(
    r"\btorchrun\b|accelerate\s+launch|\bdeepspeed\b|torch\.distributed|\bpython3?\s+\S*\.py|\btune\s+run"
    r"|\blitgpt\s+(?:finetune|pretrain)|\baxolotl\s+train|\bllamafactory-cli\s+train|\bswift\s+(?:sft|pt)\b|\btrl\s+sft\b"
)
_CONFIGURES = re.compile(
    r"^\s*[\"']?(?:per_device_train_batch_size|micro_batch_size|train_micro_batch_size_per_gpu|base_model"
    r"|model_name_or_path|sequence_len|max_seq_length|gradient_accumulation_steps|finetuning_type|lora_r|_component_)[\"']?\s*[:=]",
    re.MULTILINE,
)

_CONFIGURATION_SUFFIXES = (".yaml", ".yml", ".toml", ".json")


def entry_scripts(head: Project, touched: Sequence[str], reached: Sequence[str], settings: Settings) -> list[str]:
    """Entry points that a change can affect, the surest first, at most MAX_SCRIPTS.

    `touched` are the changed files of any kind, `reached` the source files that import them (or are them). Where the
    settings name entry points, those count alone: the only one always, of several those that the change can affect.
    """
    if settings.entry_points:
        return _named(head, frozenset([*touched, *reached]), settings.named_scripts)
    graph = ImportGraph(head)
    ranked: list[tuple[int, int, str]] = []
    for position, path in enumerate(dict.fromkeys([*touched, *reached])):
        text = _text(head, path) if not settings.excludes(path) else None
        rank = None if text is None else _rank(head, graph, path, text)
        if rank is not None:
            ranked.append((rank, position, path))
    best = sorted(ranked)[:MAX_SCRIPTS]
    # A file that only defines the step is worth a try where nothing that runs it was found.
    return [path for rank, _, path in best if rank < _DEFINES or best[0][0] == _DEFINES]


def _named(head: Project, affected: frozenset[str], scripts: Sequence[str]) -> list[str]:
    """What a launch script or a trainer's file leads to is not followed here: it counts as affected."""
    there = [path for path in dict.fromkeys(scripts) if head.exists(path)]
    if len(there) == 1:
        return there
    return [path for path in there if path in affected or not path.endswith((".py", ".ipynb"))][:MAX_NAMED_SCRIPTS]


_DEFINES = 3


def _rank(head: Project, graph: ImportGraph, path: str, text: str) -> int | None:
    if path.endswith((".py", ".ipynb")):
        runs = path.endswith(".ipynb") or _RUNS.search(text) is not None
        if _TRAINS.search(text):
            return 0 if runs else _DEFINES
        return 1 if runs and _reaches_training(head, graph, path) else None
    if path.endswith((".sh", ".bash", ".slurm", ".sbatch")):
        return 1 if _LAUNCHES.search(text) else None
    if path.endswith(_CONFIGURATION_SUFFIXES):
        return 2 if _CONFIGURES.search(text) else None
    return None


_IMPORT_DEPTH = 3


def _reaches_training(head: Project, graph: ImportGraph, path: str) -> bool:
    """Whether a file imports, within a few steps, one that trains."""
    seen = {path}
    level = {path}
    for _ in range(_IMPORT_DEPTH):
        level = {target for each in level for target in graph.imports(each)} - seen
        seen |= level
        if any(_TRAINS.search(_text(head, target) or "") for target in level):
            return True
    return False


def _text(project: Project, path: str) -> str | None:
    try:
        return project.read_text(path)
    except UnreadableFile:
        return None


def touched_paths(paths: Iterable[str | None]) -> list[str]:
    """The paths that are there, each once, in order."""
    return list(dict.fromkeys(path for path in paths if path is not None))
