"""Rules and frameworks that other installed packages bring, through the entry points `preflight.rules` and
`preflight.frameworks`. `engine.extending` is what they build on.

A package counts when the operator installed it: its metadata stands in the interpreter's folders of installed packages,
or in a folder of PYTHONPATH that has nothing to do with the working folder. What lies in a tree under review is never
looked at, whatever it says of itself, and never takes the place of an installed module of the same name.

A plug-in that cannot be loaded is named, with what to do about it, and everything else goes on.
"""

from __future__ import annotations

import os
import re
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import import_module
from importlib.metadata import Distribution, EntryPoint, distributions
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, get_args

from engine.findings import FailedFile, Severity

if TYPE_CHECKING:
    from engine.frameworks.effects import Framework
    from engine.rules.rule import Rule

RULES_GROUP = "preflight.rules"
FRAMEWORKS_GROUP = "preflight.frameworks"

_CODE = re.compile(r"[A-Z]{2,12}[0-9]{1,5}")
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_OWN_CODES = "PF"


class CannotLoad(Exception):
    """Why a plug-in is not used, and what its author or the operator can do."""


@dataclass(frozen=True)
class Plugins:
    """What was found: rules, frameworks, what could not be loaded, and a text that changes with any of it."""

    rules: tuple[Rule, ...] = ()
    frameworks: tuple[Framework, ...] = ()
    problems: tuple[FailedFile, ...] = ()
    identity: str = ""

    @cached_property
    def names(self) -> frozenset[str]:
        """Top-level modules that the frameworks tell of: a file that mentions one has training code."""
        tables = ((*each.calls, *each.prefixes, *each.bases, *each.aliases) for each in self.frameworks)
        return frozenset(name.partition(".")[0] for table in tables for name in table) - {""}


@cache
def plugins() -> Plugins:
    """The plug-ins of this process, loaded when first asked for."""
    return installed(trusted_folders(sys.path, Path.cwd()))


def trusted_folders(search_path: Sequence[str], working_folder: Path) -> list[str]:
    """The folders of a module search path that hold what the operator installed.

    These are the interpreter's own folders of packages and what their `.pth` files add, which stands behind them. Of
    the rest (PYTHONPATH, the script's folder, the working folder of `python -m`), absolute ones that neither lie in the
    working folder nor hold it.
    """
    own = {os.path.realpath(folder) for folder in _package_folders()}
    here = working_folder.resolve()
    found: list[str] = []
    behind_own = False
    for entry in search_path:
        behind_own = behind_own or (bool(entry) and os.path.realpath(entry) in own)
        if behind_own or _is_elsewhere(entry, here):
            found.append(entry)
    return found


def _package_folders() -> Iterator[str]:
    yield from (sysconfig.get_path(name) for name in ("purelib", "platlib"))
    yield from site.getsitepackages()
    if site.ENABLE_USER_SITE:
        yield site.getusersitepackages()


def _is_elsewhere(entry: str, here: Path) -> bool:
    if not Path(entry).is_absolute():
        return False
    folder = Path(entry).resolve()
    return not folder.is_relative_to(here) and not here.is_relative_to(folder)


def installed(folders: Sequence[str]) -> Plugins:
    """The plug-ins whose metadata stands in these folders. Loads their modules."""
    found = Plugins()
    marks: list[str] = []
    for origin, entry in _entry_points(folders):
        marks.append(f"{origin} {entry.group} {entry.name} {entry.value}")
        try:
            with _only(folders):
                found = _with(found, _loaded(entry), entry.group, origin)
        except CannotLoad as problem:
            reason = str(problem)
        except (Exception, SystemExit) as problem:
            reason = f"cannot be imported: {type(problem).__name__}: {problem}"
        else:
            continue
        place = f"plug-in {origin} ({entry.group}: {entry.name})"
        found = replace(found, problems=(*found.problems, FailedFile(path=place, reason=reason)))
    return replace(found, identity="\n".join([*marks, *_stamps(marks)]))


def _entry_points(folders: Sequence[str]) -> Iterator[tuple[str, EntryPoint]]:
    """Package with its version, and an entry point of ours; of two packages of one name the first on the path."""
    seen: set[str] = set()
    entries: list[tuple[str, EntryPoint]] = []
    for distribution in distributions(path=list(folders)):
        text = distribution.read_text("entry_points.txt")
        if not text or "preflight." not in text:
            continue
        name = _name_of(distribution)
        if name not in seen:
            seen.add(name)
            ours = (each for each in distribution.entry_points if each.group in (RULES_GROUP, FRAMEWORKS_GROUP))
            entries += [(f"{name} {distribution.version}", each) for each in ours]
    return iter(sorted(entries, key=lambda each: (each[0], each[1].group, each[1].name)))


def _name_of(distribution: Distribution) -> str:
    return re.sub(r"[-_.]+", "-", str(distribution.metadata["Name"])).lower()


@contextmanager
def _only(folders: Sequence[str]) -> Iterator[None]:
    """Imports look only into these folders and the standard library: not into the tree under review. What is printed
    goes to standard error."""
    standard = {Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")}
    zipped = f"python{sys.version_info.major}{sys.version_info.minor}.zip"
    before = list(sys.path)
    # Where the answer goes to standard output, nothing else may.
    printed = redirect_stdout(sys.stderr)
    sys.path[:] = [
        entry
        for entry in before
        if entry in folders or (entry and (entry.endswith(zipped) or _is_below(Path(entry).resolve(), standard)))
    ]
    try:
        with printed:
            yield
    finally:
        sys.path[:] = before


def _is_below(folder: Path, tops: Iterable[Path]) -> bool:
    return any(folder.is_relative_to(top) for top in tops)


def _loaded(entry: EntryPoint) -> ModuleType:
    """The module of an entry point, if it is written for this Preflight."""
    from engine.extending import API_VERSION, SUPPORTED_VERSIONS

    if ":" in entry.value:
        raise CannotLoad(f"names `{entry.value}`; it has to name a module, without a colon")
    module = import_module(entry.value.strip())
    version = getattr(module, "PREFLIGHT_API", None)
    if version is None:
        raise CannotLoad(f"does not say what it is written for: put PREFLIGHT_API = {API_VERSION} into {entry.value}")
    if version not in SUPPORTED_VERSIONS:
        known = ", ".join(map(str, sorted(SUPPORTED_VERSIONS)))
        raise CannotLoad(f"is written for version {version!r} of the interface, and this Preflight offers {known}")
    return module


def _with(found: Plugins, module: ModuleType, group: str, origin: str) -> Plugins:
    if group == RULES_GROUP:
        return replace(found, rules=(*found.rules, _rule(module, found.rules, origin)))
    return replace(found, frameworks=(*found.frameworks, _framework(module, found.frameworks)))


def _rule(module: ModuleType, others: Iterable[Rule], origin: str) -> Rule:
    from engine.rules import own_rules
    from engine.rules.rule import Rule

    made = getattr(module, "check", None)
    if not isinstance(made, Rule):
        raise CannotLoad(f"{module.__name__} has no rule: bind `check` to one with @rule(...)")
    if not _CODE.fullmatch(str(made.code)) or made.code.startswith(_OWN_CODES):
        raise CannotLoad(
            f"the code {made.code!r} is not taken: capital letters of your own, then digits, not {_OWN_CODES}"
        )
    if not _NAME.fullmatch(str(made.name)):
        raise CannotLoad(f"the name {made.name!r} is not taken: lower-case words joined by hyphens")
    if made.severity not in get_args(Severity):
        raise CannotLoad(f"the severity {made.severity!r} is not one of {', '.join(get_args(Severity))}")
    taken = next((each for each in (*own_rules(), *others) if made.code == each.code or made.name == each.name), None)
    if taken is not None:
        raise CannotLoad(f"{made.code} {made.name} is taken by {taken.code} {taken.name}: choose another")
    return replace(made, origin=origin)


def _framework(module: ModuleType, others: Iterable[Framework]) -> Framework:
    from engine.frameworks.effects import CALL_KINDS, METHOD_KINDS, Effect, Framework
    from engine.frameworks.registry import FRAMEWORKS

    made = getattr(module, "FRAMEWORK", None)
    if not isinstance(made, Framework):
        raise CannotLoad(f"{module.__name__} has no framework: bind `FRAMEWORK` to one")
    described = [(name, effect, CALL_KINDS) for name, effect in (*made.calls.items(), *made.prefixes.items())]
    described += [(".".join(key), effect, METHOD_KINDS) for key, effect in made.methods.items()]
    for name, effect, kinds in described:
        if not isinstance(effect, Effect) or effect.kind not in kinds:
            kind = getattr(effect, "kind", effect)
            raise CannotLoad(f"{name!r} has the kind {kind!r}, which is none of {', '.join(sorted(kinds))}")
    for known in (*FRAMEWORKS, *others):
        for field in ("calls", "methods", "bases", "prefixes", "aliases"):
            both = sorted(map(str, set(getattr(made, field)) & set(getattr(known, field))))
            if both:
                raise CannotLoad(f"describes {both[0]}, which {known.name} describes already: leave it out")
    return made


def _stamps(marks: Sequence[str]) -> Iterator[str]:
    """Sizes and times of the files that loading brought in: one that is being worked on changes without its version."""
    tops = {mark.rsplit(" ", 1)[-1].partition(":")[0].partition(".")[0] for mark in marks}
    for name in sorted(name for name in sys.modules if name.partition(".")[0] in tops):
        file = getattr(sys.modules[name], "__file__", None)
        if file and Path(file).is_file():
            about = Path(file).stat()
            yield f"{name} {about.st_size} {about.st_mtime_ns}"
