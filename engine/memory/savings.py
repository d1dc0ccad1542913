"""What changes of configuration would save: each one another shadow run, ranked by what it saves for what it costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from engine.findings import Memory, Saving
from engine.memory.shadow import Launch, Outcome

if TYPE_CHECKING:
    from engine.project import Project
    from hardware_catalog import Gpu


def rank_savings(
    project: Project,
    launch: Launch,
    run: Outcome,
    memory: Memory,
    devices: Sequence[Gpu],
    first: Gpu,
    overrides: Mapping[str, str],
    *,
    seconds: float,
) -> Sequence[Saving]:
    """Savings of each option that applies."""
    return ()
