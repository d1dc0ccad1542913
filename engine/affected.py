"""What a change can affect: the files it touches, and those that import them, directly or through others."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from engine.project import Project
from engine.project.sources import most_bytes

AFFECTED_LIMIT = 40
"""Most files analysed for one change besides the changed ones themselves: nearest importers first."""

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<dots>\.*)[ \t]*(?P<module>[\w.]*)[ \t]+import[ \t]+(?P<names>\([^)]*\)|[^\n#;]+)"
    r"|import[ \t]+(?P<modules>[^\n#;]+))",
    re.MULTILINE,
)
_NAME = re.compile(r"[A-Za-z_]\w*")


class ImportStatement(NamedTuple):
    """`from <dots><module> import <names>`, or `import <module>` without names."""

    level: int
    module: str
    names: tuple[str, ...] = ()

    def words(self) -> Iterable[str]:
        """Every name that may be a file's or a folder's; "" for a package itself (`from . import x`)."""
        return (*self.module.split("."), *self.names)


def import_statements(path: str, data: bytes) -> tuple[ImportStatement, ...]:
    """The import statements of a file, read from its text: nothing is parsed."""
    if len(data) > most_bytes(path):
        return ()
    text = data.decode("utf-8", "replace")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if path.endswith(".ipynb"):
        # Source lines are JSON strings, or parts of one.
        text = re.sub(r'\\n|"', "\n", text)
    found: list[ImportStatement] = []
    for match in _IMPORT.finditer(text):
        if match["modules"] is not None:
            found += [ImportStatement(0, part.split(" as ")[0].strip()) for part in match["modules"].split(",")]
            continue
        names = _NAME.findall(re.sub(r"\bas\s+\w+", "", match["names"]))
        found.append(ImportStatement(len(match["dots"]), match["module"], tuple(names)))
    return tuple(found)


class ImportGraph:
    """Who imports whom in a project. `known` holds the statements of contents that were read before, by content key."""

    def __init__(self, project: Project, known: dict[str, tuple[ImportStatement, ...]] | None = None) -> None:
        self._project = project
        self._known = known if known is not None else {}
        self._imports: dict[str, frozenset[str]] = {}

    def statements(self, paths: Iterable[str]) -> dict[str, tuple[ImportStatement, ...]]:
        """The import statements of files; those of unknown content are read in one go."""
        keys = {path: self._key(path) for path in paths if self._project.exists(path)}
        unread = [path for path, key in keys.items() if key not in self._known]
        for path, data in self._project.read_raw(unread):
            self._known[keys[path]] = import_statements(path, data)
        return {path: self._known.get(key, ()) for path, key in keys.items()}

    def _key(self, path: str) -> str:
        key = self._project.content_key(path)
        return f"{key}.ipynb" if path.endswith(".ipynb") else key

    def imports(self, path: str) -> frozenset[str]:
        """Files of the project that a file imports."""
        if path not in self._imports:
            statements = self.statements([path]).get(path, ())
            self._imports[path] = frozenset(each for s in statements for each in self._targets(s, path)) - {path}
        return self._imports[path]

    def _targets(self, statement: ImportStatement, path: str) -> set[str]:
        find = self._project.find_module
        level, module = statement.level, statement.module
        if level == 0 and not statement.names:
            parts = module.split(".")
            found = {find(".".join(parts[:end]), path) for end in range(1, len(parts) + 1)}
        else:
            found = {find(module, path, level)}
            found |= {find(f"{module}.{name}" if module else name, path, level) for name in statement.names}
        return {each for each in found if each is not None}

    def related(self, paths: Sequence[str]) -> list[list[str]]:
        """These files in groups: with each the ones of them that it imports, directly or through any others, and those
        of its own folder, which may be handed each other's objects by a third file.

        Files of different folders that only share what is not among `paths` have nothing to say of each other.
        """
        first: dict[str, str] = {}
        leader = {path: first.setdefault(path.rpartition("/")[0], path) for path in paths}

        def led_by(path: str) -> str:
            while leader[path] != path:
                leader[path] = path = leader[leader[path]]
            return path

        for path in paths:
            pending, seen = [path], {path}
            while pending:
                for target in self.imports(pending.pop()) - seen:
                    seen.add(target)
                    if target in leader:
                        # What that one imports is found from it.
                        leader[led_by(target)] = led_by(path)
                    else:
                        pending.append(target)
        groups: dict[str, list[str]] = {}
        for path in paths:
            groups.setdefault(led_by(path), []).append(path)
        return list(groups.values())

    def importers(self, targets: Iterable[str], candidates: Sequence[str], limit: int) -> list[str]:
        """Files among `candidates` that import a target, directly or through others; nearest first, at most `limit`.

        Only statements that have a target's name in them are looked up in the project.
        """
        by_word: dict[str, set[str]] = defaultdict(set)
        for path, statements in self.statements(candidates).items():
            for statement in statements:
                for word in statement.words():
                    by_word[word].add(path)
        seen = set(targets)
        level = sorted(seen)
        found: list[str] = []
        while level and len(found) < limit:
            near = {path for target in level for word in _names(target) for path in by_word.get(word, ())} - seen
            level = sorted(path for path in near if not self.imports(path).isdisjoint(level))
            seen.update(level)
            found += level
        return found[:limit]


def _names(path: str) -> tuple[str, ...]:
    """The words by which an import statement may name a file."""
    pure = PurePosixPath(path)
    return ("", pure.parent.name) if pure.stem == "__init__" else (pure.stem,)


def affected_files(
    project: Project,
    touched: Iterable[str | None],
    candidates: Sequence[str],
    excluded: Callable[[str], bool] = lambda path: False,
    known: dict[str, tuple[ImportStatement, ...]] | None = None,
) -> list[str]:
    """The touched source files of a project and their importers among `candidates`, nearest first.

    `excluded` is only asked of files that come into question; `known`: see ImportGraph.
    """
    present = [path for path in touched if path is not None and project.exists(path) and not excluded(path)]
    if not present:
        return []
    near = [path for path in _near(present, candidates) if not excluded(path)]
    return [*present, *ImportGraph(project, known).importers(present, near, AFFECTED_LIMIT)]


_SEARCHED_LIMIT = 2_500
"""Most files whose imports are read; beyond it, only the touched files' own top-level folders are searched."""


def _near(touched: Sequence[str], candidates: Sequence[str]) -> Sequence[str]:
    if len(candidates) <= _SEARCHED_LIMIT:
        return candidates
    tops = {path.partition("/")[0] for path in touched}
    return [path for path in candidates if path.partition("/")[0] in tops][:_SEARCHED_LIMIT]
