"""Estimates that are kept: what following one script gave, with all that was looked at for it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence

from pydantic import BaseModel, ConfigDict, ValidationError

from engine.findings import EstimateReport
from engine.kept.observed import Observations, ObservedProject
from engine.kept.store import Store, engine_identity
from engine.project import Project

_SCHEMA = "estimate 1"


class KeptEstimate(BaseModel):
    """A script's report."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    observed: Observations
    report: EstimateReport


def recalled_or(
    make: Callable[[Project], EstimateReport],
    project: Project,
    script: str,
    asked: Sequence[str],
    store: Store,
    seconds: float,
) -> EstimateReport:
    """What is kept for a script, if all that it was made from is the same in this project; else what `make` gives.

    `asked` is all that the estimate depends on beside the files. One that took more than half of `seconds` of processor
    time may have been cut short and is made anew each time.
    """
    parts = [_SCHEMA, engine_identity(), *asked, "", script, project.content_key(script)]
    key = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()
    text = store.get(key)
    if text is not None:
        try:
            kept = KeptEstimate.model_validate_json(text)
        except (ValidationError, ValueError, RecursionError):
            kept = None
        if kept is not None and kept.observed.hold_in(project):
            return kept.report
    view = ObservedProject(project)
    start = time.process_time()
    report = make(view)
    if view.is_complete and time.process_time() - start < seconds / 2:
        store.put(key, KeptEstimate(observed=view.observations(), report=report).model_dump_json())
    return report
