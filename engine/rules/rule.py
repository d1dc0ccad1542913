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
    origin: str = ""
    """The package that brings it, with its version; empty for Preflight's own."""

    @property
    def full_name(self) -> str:
        """How it is named where it fails."""
        return f"rule {self.code} {self.name}" + (f" of {self.origin}" if self.origin else "")

    def check(self, trace: Trace) -> Iterator[Draft]:
        """Drafts of this rule, one for each place and message."""
        seen: set[tuple[Place, str]] = set()
        for draft in self.question(trace):
            if (draft.place, draft.message) not in seen:
                seen.add((draft.place, draft.message))
                yield draft

    @cached_property
    def page(self) -> str:
        """The rule's Markdown page, which stands beside its module: documentation, examples and tests."""
        package, _, module = self.question.__module__.rpartition(".")
        try:
            return resources.files(package).joinpath(f"{module}.md").read_text("utf-8")
        except (OSError, ValueError, TypeError):
            if not self.origin:
                raise
        return f"# {self.name} ({self.code})\n\n{self.summary}. {self.origin} brings no page `{module}.md` for it.\n"


def rule(
    code: str, name: str, severity: Severity, summary: str
) -> Callable[[Callable[[Trace], Iterator[Draft]]], Rule]:
    """Make a rule of the function that asks its question."""

    def make(question: Callable[[Trace], Iterator[Draft]]) -> Rule:
        return Rule(code, name, severity, summary, question)

    return make
