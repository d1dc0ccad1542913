"""The words of an estimate or a comparison, taken as people write them, and what is wrong with them said plainly."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import PurePosixPath

from bot.commands import answers
from bot.commands.parsing import bare
from engine.memory.overrides import KEYS, WrongOverride, checked
from engine.settings import Settings
from hardware_catalog import GpuRequest, UnknownGPU, other_sizes, parse_gpu

SCRIPT_SUFFIXES = (".py", ".ipynb", ".sh", ".bash", ".slurm", ".yaml", ".yml", ".json", ".toml")
LONGEST_NAME_WORDS = 5
"""`rtx pro 6000 blackwell server`."""
_FILLERS = frozenset({"and", "or", "on", "with", "for", "vs", "versus", "gpu", "gpus", "&", "+"})
_GPU_KEYS = frozenset({"gpu", "gpus", "device", "devices"})


class Misunderstood(Exception):
    """The words mean nothing that can be done; the text is the answer."""


@dataclass(frozen=True)
class Named:
    """A GPU as it was written, and the device that it means."""

    word: str
    request: GpuRequest


@dataclass(frozen=True)
class Asked:
    """The words of an estimate, understood."""

    named: tuple[Named, ...] = ()
    script: str | None = None
    overrides: dict[str, str] = field(default_factory=dict)

    @property
    def gpus(self) -> tuple[GpuRequest, ...]:
        """The devices, each once."""
        return tuple(dict.fromkeys(each.request for each in self.named))

    @property
    def counts(self) -> tuple[int, ...]:
        """The different numbers of devices, in their order."""
        return tuple(dict.fromkeys(request.count for request in self.gpus))

    @classmethod
    def of(cls, words: Iterable[str]) -> Asked:
        """Read GPUs, settings (`key=value`, `--key value`) and the path of a script in any order.

        Raises:
            Misunderstood: for words that are none of these, or that contradict each other.
        """
        pairs, rest = _pairs(re.sub(r"\s*=\s*", "=", " ".join(words)).split())
        gpu_words = [part for key, value in pairs if key in _GPU_KEYS for part in re.split("[,;]", value) if part]
        overrides = _overrides([(key, value) for key, value in pairs if key not in _GPU_KEYS])
        scripts = tuple(dict.fromkeys(word.removeprefix("./") for word in rest if _is_path(word)))
        if len(scripts) > 1:
            raise Misunderstood(answers.several_scripts(scripts))
        gpu_words += [part for word in rest if not _is_path(word) for part in re.split("[,;]", word) if part]
        asked = cls(_gpus(gpu_words), scripts[0] if scripts else None, overrides)
        given = overrides.get("world_size")
        for request in asked.gpus:
            if given is not None and request.count > 1 and request.count != int(given):
                raise Misunderstood(answers.contradicting_counts(request.count, given))
        return asked

    def chosen(self, settings: Settings, files: Iterable[str]) -> Settings:
        """Return the settings for the script that was named, one of the head's files; without one as they are.

        Raises:
            Misunderstood: where the script is not there.
        """
        if self.script is None:
            return settings
        paths = list(files)
        if self.script not in paths:
            raise Misunderstood(answers.no_script(self.script, _close_paths(self.script, paths)))
        return settings.model_copy(update={"entry_points": (settings.entry_point(self.script),)})

    def readings(self) -> Mapping[str, tuple[str, Sequence[str]]]:
        """Return, for each name that devices of several sizes have, which of them it was taken for, and the others."""
        found = {}
        for each in self.named:
            others = tuple(gpu.id for gpu in other_sizes(each.word))
            if others:
                found[each.word] = (each.request.gpu.id, others)
        return found


def gpus_named(words: Iterable[str]) -> tuple[GpuRequest, ...]:
    """Return the GPUs that the words name, of which one name may be several: `rtx 4090`, `a100, 8xh100`, `8 h100`.

    Raises:
        Misunderstood: for the first word that begins none.
    """
    return tuple(each.request for each in _gpus([part for word in words for part in word.split(",") if part]))


def _gpus(words: Sequence[str]) -> tuple[Named, ...]:
    left = [_machine(word) for word in map(bare, words) if word and word.lower() not in _FILLERS]
    found: list[Named] = []
    while left:
        named, used = _first_gpu(left)
        found.append(named)
        left = left[used:]
    return tuple(found)


def _first_gpu(words: Sequence[str]) -> tuple[Named, int]:
    """Return the GPU with which the words begin, the longest name that is one, and of how many words it is."""
    if len(words) > 1 and words[0].isascii() and words[0].isdigit():
        # `8 h100`; and `8 x h100`.
        after = 2 if words[1] in ("x", "×") and len(words) > 2 else 1
        try:
            named, used = _first_gpu([f"{words[0]}x{words[after]}", *words[after + 1 :]])
        except Misunderstood:
            pass
        else:
            return named, used + after
    for used in range(min(LONGEST_NAME_WORDS, len(words)), 1, -1):
        try:
            return Named(" ".join(words[:used]), parse_gpu(" ".join(words[:used]))), used
        except UnknownGPU:
            continue
    try:
        return Named(words[0], parse_gpu(words[0])), 1
    except UnknownGPU as error:
        key = get_close_matches(words[0].lower(), KEYS, n=1, cutoff=0.8)
        raise Misunderstood(answers.no_word(error) if not key else answers.value_needed(words[0], key[0])) from error


def _pairs(words: Sequence[str]) -> tuple[list[tuple[str, str]], list[str]]:
    """Split settings from the other words. The name of a setting with nothing behind it takes the next word."""
    pairs: list[tuple[str, str]] = []
    rest: list[str] = []
    left = list(words)
    while left:
        word = bare(left.pop(0))
        name, equals, value = word.partition("=")
        key = name.lstrip("-").strip().lower().replace("-", "_")
        if (not equals and key in KEYS) or (key in _GPU_KEYS and name.startswith("-")):
            if not equals and (not left or "=" in left[0]):
                raise Misunderstood(answers.value_needed(word, key if key in KEYS else "gpu"))
            pairs.append((key, bare(value if equals else left.pop(0))))
        elif equals:
            if not key:
                raise Misunderstood(answers.no_key(word, KEYS))
            if not value and key in KEYS:
                raise Misunderstood(answers.value_needed(word, key))
            pairs.append((key, bare(value)))
        elif word:
            rest.append(word)
    return pairs, rest


def _overrides(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in pairs:
        if found.setdefault(key, value) != value:
            raise Misunderstood(answers.given_twice(key, found[key], value))
    try:
        return checked(found)
    except WrongOverride as error:
        raise Misunderstood(answers.wrong_setting(error)) from error


def _is_path(word: str) -> bool:
    return word.lower().endswith(SCRIPT_SUFFIXES) or ("/" in word and not _is_gpu(_machine(word)))


def _machine(word: str) -> str:
    """Return the name of a machine without the cloud before it, as in `aws/p4d.24xlarge`; other words as they are."""
    cloud, slash, name = word.partition("/")
    return name if slash and cloud.isalpha() and _is_gpu(name) else word


def _is_gpu(name: str) -> bool:
    try:
        parse_gpu(name)
    except UnknownGPU:
        return False
    return True


def _close_paths(script: str, paths: Sequence[str]) -> Sequence[str]:
    """Return the files that may be meant: those of the same name, else of a similar path."""
    possible = [path for path in paths if path.lower().endswith(SCRIPT_SUFFIXES)]
    name = PurePosixPath(script).name.lower()
    same = [path for path in possible if PurePosixPath(path).name.lower() == name]
    return same[:3] or get_close_matches(script, possible, n=3)
