"""What a change can affect: the files it touches, and those that import them, directly or through others."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from engine.project import Project, UnreadableFile

AFFECTED_LIMIT = 40
"""Most files analysed for one change besides the changed ones themselves: nearest importers first."""

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<dots>\.*)[ \t]*(?P<module>[\w.]*)[ \t]+import[ \t]+(?P<names>\([^)]*\)|[^\n#;]+)"
    r"|import[ \t]+(?P<modules>[^\n#;]+))",
    re.MULTILINE,
)
_NAME = re.compile(r"[A-Za-z_]\w*")


class ImportGraph:
    """Who imports whom in a project, read from the text of import statements: nothing is parsed."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._imports: dict[str, frozenset[str]] = {}

    def imports(self, path: str) -> frozenset[str]:
        """Files of the project that a file imports."""
        if path not in self._imports:
            self._imports[path] = frozenset(self._read(path)) - {path}
        return self._imports[path]

    def _read(self, path: str) -> set[str]:
        try:
            text = self._project.read_text(path)
        except UnreadableFile:
            return set()
        if path.endswith(".ipynb"):
            # Source lines are JSON strings.
            text = re.sub(r'^\s*"|\\n",?$|",?$', "", text, flags=re.MULTILINE)
        found: set[str | None] = set()
        for match in _IMPORT.finditer(text):
            if match["modules"] is not None:
                for part in match["modules"].split(","):
                    dotted = part.split(" as ")[0].strip()
                    found |= self._with_parents(dotted, path)
                continue
            level, module = len(match["dots"]), match["module"]
            found.add(self._project.find_module(module, path, level))
            for name in _NAME.findall(re.sub(r"\bas\s+\w+", "", match["names"])):
                dotted = f"{module}.{name}" if module else name
                found.add(self._project.find_module(dotted, path, level))
        return {each for each in found if each is not None}

    def _with_parents(self, dotted: str, path: str) -> set[str | None]:
        parts = dotted.split(".")
        return {self._project.find_module(".".join(parts[:end]), path) for end in range(1, len(parts) + 1)}

    def importers(self, targets: Iterable[str], candidates: Sequence[str], limit: int) -> list[str]:
        """Files among `candidates` that import a target, directly or through others; nearest first, at most `limit`."""
        reverse = self._reverse(candidates)
        seen = set(targets)
        level = sorted(seen)
        found: list[str] = []
        while level and len(found) < limit:
            level = sorted({importer for path in level for importer in reverse[path]} - seen)
            seen.update(level)
            found += level
        return found[:limit]

    def _reverse(self, candidates: Sequence[str]) -> dict[str, set[str]]:
        reverse: dict[str, set[str]] = defaultdict(set)
        for path in candidates:
            for target in self.imports(path):
                reverse[target].add(path)
        return reverse


def affected_files(project: Project, touched: Iterable[str], candidates: Sequence[str]) -> list[str]:
    """The touched source files of a project and their importers among `candidates`, nearest first."""
    present = [path for path in touched if project.exists(path)]
    if not present:
        return []
    importers = ImportGraph(project).importers(present, _near(present, candidates), AFFECTED_LIMIT)
    return [*present, *importers]


_SEARCHED_LIMIT = 4_000
"""Most files whose imports are read; beyond it, only the touched files' own top-level folders are searched."""


def _near(touched: Sequence[str], candidates: Sequence[str]) -> Sequence[str]:
    if len(candidates) <= _SEARCHED_LIMIT:
        return candidates
    tops = {PurePosixPath(path).parts[0] for path in touched}
    return [path for path in candidates if PurePosixPath(path).parts[0] in tops][:_SEARCHED_LIMIT]
