"""Checks what is open, together with the files on disk around it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine.affected import ImportStatement
from engine.check import SOURCE_SUFFIXES, analyse
from engine.editor.documents import Document, Opened, Part
from engine.findings import Finding
from engine.project import Project, UnreadableFile
from engine.project.sources import FolderSource
from engine.settings import load_settings

_RESULTS = 64
"""Results that are kept between checks: what did not change is not analysed again."""


@dataclass(frozen=True)
class Unread:
    """A part that was not analysed; `line` is 1-based."""

    line: int
    reason: str


@dataclass(frozen=True)
class Checked:
    """What was found in one part, with the text that it was found in."""

    part: Part
    document: Document
    root: Path
    findings: Sequence[Finding] = ()
    unread: Unread | None = None


@dataclass
class Checker:
    """Checks open documents again and again. Not for several threads at once."""

    _sources: dict[Path, FolderSource] = field(default_factory=dict)
    _store: _RecentResults = field(default_factory=lambda: _RecentResults(_RESULTS))
    _imports: dict[str, tuple[ImportStatement, ...]] = field(default_factory=dict)

    def look_again(self) -> None:
        """Files on disk may have come or gone."""
        self._sources.clear()

    def check(self, opened: Sequence[Opened]) -> tuple[list[Checked], list[str]]:
        """Every open part with its findings, and what there is to say beside them."""
        results: list[Checked] = []
        remarks: list[str] = []
        for each in opened:
            found, said = self._checked(each)
            results += found
            remarks += said
        return results, remarks

    def _checked(self, opened: Opened) -> tuple[list[Checked], list[str]]:
        source = self._sources.setdefault(opened.root, FolderSource(opened.root))
        project = Project(source).with_files(opened.texts)
        loaded = load_settings(project)
        remarks = [str(problem) for problem in loaded.problems]
        paths = [
            path for path in opened.documents if path.endswith(SOURCE_SUFFIXES) and not loaded.settings.excludes(path)
        ]
        report = analyse(
            project, paths, settings=loaded.settings, store=self._store, in_groups=True, known=self._imports
        ).report
        remarks += [f"{failed.path}: {failed.reason}" for failed in report.files.failed if not failed.is_file]
        results = [
            result
            for path, document in opened.documents.items()
            for result in _parts(project, path, document, opened.root, report.findings, path in paths)
        ]
        return results, remarks


def _parts(
    project: Project, path: str, document: Document, root: Path, findings: Sequence[Finding], checked: bool
) -> list[Checked]:
    own: dict[str, list[Finding]] = {part.uri: [] for part in document.parts}
    for finding in findings:
        part = document.part_of(finding.path) if finding.path.partition("#cell=")[0] == path else None
        if part is not None:
            own[part.uri].append(finding)
    unread = _unread(project, path) if checked else {}
    return [
        Checked(part, document, root, own[part.uri], unread.get(number))
        for number, part in enumerate(document.parts, start=1)
    ]


def _unread(project: Project, path: str) -> Mapping[int, Unread]:
    """The part that cannot be read, by its number."""
    try:
        project.module(path)
    except UnreadableFile as problem:
        return {1: Unread(problem.line or 1, problem.reason)}
    return {}


class _RecentResults:
    """Results of the last analyses, the newest last."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._texts: OrderedDict[str, str] = OrderedDict()

    def get(self, key: str) -> str | None:
        if key in self._texts:
            self._texts.move_to_end(key)
        return self._texts.get(key)

    def put(self, key: str, text: str) -> None:
        self._texts[key] = text
        self._texts.move_to_end(key)
        while len(self._texts) > self._limit:
            self._texts.popitem(last=False)
