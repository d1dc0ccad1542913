"""What is wrong with a configuration although every key and value of it is taken: names that mean nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING

from engine.check import UNUSED_SUPPRESSION
from engine.rules import registry

if TYPE_CHECKING:
    from engine.project import Project
    from engine.settings import LoadedSettings


def doubts(loaded: LoadedSettings, project: Project | None) -> Iterator[str]:
    """One sentence each: names of no rule, scripts and patterns that are nowhere in `project` (None: not known)."""
    settings = loaded.settings

    def place(field: str) -> str:
        return f"{loaded.origins.get(field, loaded.path or 'settings')}: `{field.replace('_', '-')}`"

    named: list[tuple[str, Iterable[str]]] = [
        ("select", settings.select),
        ("ignore", settings.ignore),
        ("severity", settings.severity),
        *(("per_path_ignores", rules) for rules in settings.per_path_ignores.values()),
    ]
    rules = [(rule.code, rule.name) for rule in registry()] + [UNUSED_SUPPRESSION]
    for field, entries in named:
        for entry in entries:
            if not any(settings.names_rule((entry,), code, name) for code, name in rules):
                yield f"{place(field)} names {entry!r}, which is no rule{_closest(entry, rules)}"
    if project is None:
        return
    for script in settings.memory_scripts:
        if not project.exists(script):
            yield f"{place('memory_scripts')} names {script}, which does not exist"


def _closest(entry: str, rules: list[tuple[str, str]]) -> str:
    close = get_close_matches(entry.lower(), [name for _, name in rules], n=1)
    return f"; did you mean {close[0]}?" if close else "; `preflight rules` lists them"
