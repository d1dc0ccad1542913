"""One report as it is stored, and the figures of many as an overview needs them."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from bot.review.exchange import Details
from bot.review.measured import Evidence
from engine.findings import EstimateReport, ReviewReport, Target, Verdict


class Document(BaseModel):
    """What a review found, without any source text: that is read from GitHub when somebody looks, so that nothing of a
    repository stays here once the App is removed from it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    title: str = ""
    base_ref: str = ""
    check_title: str = ""
    problems: tuple[str, ...] = ()
    """What is wrong with the repository's configuration."""
    report: ReviewReport
    details: Details = Details()
    measured: Evidence | None = None
    """What a check of the repository measured of a run of this commit."""


@dataclass(frozen=True)
class ReportKey:
    """Which report: repository by id, pull request, head."""

    repository_id: int
    number: int
    head_sha: str

    @property
    def path(self) -> str:
        """Where its page is."""
        return f"/reports/{self.repository_id}/{self.number}/{self.head_sha}"


@dataclass(frozen=True)
class Figures:
    """A report in numbers. Bytes are those of the head's run on `gpu`, the device of the worst verdict."""

    errors: int = 0
    warnings: int = 0
    notes: int = 0
    fixed: int = 0
    occupied: int | None = None
    usable: int | None = None
    gpu: str | None = None
    verdict: Verdict | None = None

    @classmethod
    def of(cls, report: ReviewReport) -> Figures:
        """Count a report."""
        severities = [finding.severity for finding in report.introduced]
        counts = cls(
            errors=severities.count("error"),
            warnings=severities.count("warning"),
            notes=severities.count("note"),
            fixed=len(report.fixed),
        )
        head = report.memory.head
        if head is None or head.memory is None:
            return counts
        tightest = tightest_target(head)
        return cls(
            counts.errors,
            counts.warnings,
            counts.notes,
            counts.fixed,
            head.memory.occupied.expected,
            tightest.usable_bytes if tightest else None,
            tightest.gpu if tightest else None,
            tightest.verdict if tightest else None,
        )

    @property
    def open(self) -> int:
        """Findings that somebody should look at."""
        return self.errors + self.warnings


def tightest_target(report: EstimateReport) -> Target | None:
    """Return the smallest of the devices that the run has to fit."""
    return min(report.targets, key=lambda target: target.usable_bytes, default=None)


@dataclass(frozen=True)
class Row:
    """A stored report without its document."""

    key: ReportKey
    installation_id: int
    owner: str
    name: str
    title: str
    kept_at: float
    """Epoch seconds."""
    figures: Figures
    suppressions: dict[str, int]
