"""A pull request that changes the configuration: reviewed under the base's, and told what would change."""

from __future__ import annotations

from dataclasses import dataclass

from engine.findings import Annotation
from engine.presentation.markdown import code_span, prose, table
from engine.settings import ORGANISATION, LoadedSettings, Settings, show_value

MOST_PROBLEMS = 20


@dataclass(frozen=True)
class Proposal:
    """What is to say of a changed configuration: a section of the check run, and a mark at each mistake."""

    text: str
    annotations: tuple[Annotation, ...] = ()
    mistakes: int = 0


def propose(before: LoadedSettings, after: LoadedSettings, base_ref: str) -> Proposal | None:
    """Compare the settings in force with those that the pull request brings; None where nothing is different."""
    rows = []
    for name in Settings.model_fields:
        was, now = getattr(before.settings, name), getattr(after.settings, name)
        if was != now:
            place = str(after.origins.get(name, "default"))
            rows.append([code_span(each, table=True) for each in (name, show_value(was), show_value(now), place)])
    known = {str(problem) for problem in before.problems}
    wrong = [problem for problem in after.problems if str(problem) not in known][:MOST_PROBLEMS]
    if not rows and not wrong:
        return None
    parts = [
        f"### This pull request changes the configuration\n\nIt was reviewed under that of {code_span(base_ref)}. "
        "Once it is merged, this is different:"
    ]
    if rows:
        parts.append(table(("setting", "now", "then", "from"), rows))
    if wrong:
        parts.append("Not taken:\n\n" + "\n".join(f"- {prose(str(problem))}" for problem in wrong))
    marks = tuple(
        Annotation(
            path=problem.path,
            start_line=problem.line or 1,
            end_line=problem.line or 1,
            annotation_level="warning",
            title="Preflight's configuration",
            message=problem.message,
        )
        for problem in wrong
        if not problem.path.startswith(ORGANISATION)
    )
    return Proposal("\n\n".join(parts), marks, len(wrong))
