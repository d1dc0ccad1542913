"""What a rule is: a name, a severity, a page, and a question to the trace."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import TYPE_CHECKING

from engine.findings import Fix, Severity
from engine.trace import Place, Step, Trace

if TYPE_CHECKING:
    from engine.project import Project

FixMaker = Callable[["Project"], Fix | None]


@dataclass(frozen=True)
class Draft:
    """A finding before arbitration.

    `severity` overrides the rule's; `fix` is asked only for drafts that survive arbitration, because it reads source.
    """

    place: Place
    message: str
    evidence: tuple[Step, ...] = ()
    severity: Severity | None = None
    fix: FixMaker | None = None


@dataclass(frozen=True)
class Rule:
    """One kind of defect. `severity` by consequence: error = wrong result or a run that dies, warning = bounded waste,
    note = tuning."""

    code: str
    name: str
    severity: Severity
    summary: str
    question: Callable[[Trace], Iterator[Draft]]

    def check(self, trace: Trace) -> Iterator[Draft]:
        """Drafts of this rule, one for each place and message."""
        seen: set[tuple[Place, str]] = set()
        for draft in self.question(trace):
            if (draft.place, draft.message) not in seen:
                seen.add((draft.place, draft.message))
                yield draft

    @cached_property
    def page(self) -> str:
        """The rule's Markdown page: documentation, examples and tests."""
        return resources.files("engine.rules").joinpath(f"{self.name.replace('-', '_')}.md").read_text("utf-8")


def rule(
    code: str, name: str, severity: Severity, summary: str
) -> Callable[[Callable[[Trace], Iterator[Draft]]], Rule]:
    """Make a rule of the function that asks its question."""

    def make(question: Callable[[Trace], Iterator[Draft]]) -> Rule:
        return Rule(code, name, severity, summary, question)

    return make
