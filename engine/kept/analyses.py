"""Analyses that are kept: what a group of files gave, with all that was looked at for it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, ValidationError

from engine.findings import CheckReport, Finding
from engine.fingerprints import Context
from engine.kept.observed import Observations
from engine.kept.store import Store, engine_identity
from engine.project import Project

_SCHEMA = "analysis 1"


class KeptAnalysis(BaseModel):
    """A group's report, the contexts of its findings by fingerprint, what arbitration dropped, and the files traced."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    observed: Observations
    report: CheckReport
    contexts: dict[str, Context]
    silenced: tuple[tuple[Finding, Context], ...]
    roots: tuple[str, ...]


def analysis_key(project: Project, group: Sequence[str], asked: Sequence[str]) -> str:
    """A name for the analysis of these files under these settings. It covers their contents; what they depend on is
    in the entry's observations."""
    contents = [f"{path}\0{project.content_key(path)}" for path in group]
    digest = hashlib.sha256("\n".join([_SCHEMA, engine_identity(), *asked, "", *contents]).encode("utf-8", "replace"))
    return digest.hexdigest()


def recalled(store: Store, key: str, project: Project) -> KeptAnalysis | None:
    """What was kept under a key, if it is well formed and all that it looked at is the same in this project."""
    text = store.get(key)
    if text is None:
        return None
    try:
        kept = KeptAnalysis.model_validate_json(text)
    except (ValidationError, ValueError, RecursionError):
        return None
    return kept if kept.observed.hold_in(project) else None


def keep(store: Store, key: str, kept: KeptAnalysis) -> None:
    """Keep an analysis, except where it ran out of memory: another process may have more."""
    if not any("MemoryError" in failure.reason for failure in kept.report.files.failed):
        store.put(key, kept.model_dump_json())
