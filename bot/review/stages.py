"""What one stage of a review hands to the next: plain data that the queue stores as JSON."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from bot.messages import Skipped
from bot.review.measured import Evidence
from engine.findings import ReviewReport


class _Stage(BaseModel):
    model_config = ConfigDict(frozen=True)


class Loaded(_Stage):
    """The pull request as it stands, and the check run that was begun for its head."""

    stop: str | None = None
    """Why there is nothing to do."""
    owner: str = ""
    name: str = ""
    page: str = ""
    """Of the repository on GitHub."""
    number: int = 0
    head_sha: str = ""
    base_sha: str = ""
    base_ref: str = ""
    run_id: int = 0
    title: str = ""
    labels: tuple[str, ...] = ()
    draft: bool = False
    by_bot: bool = False
    measured: Evidence | None = None
    """What a check of the repository's own measured on this head."""
    paused: bool = False


class Analysed(_Stage):
    """The engine's report, or why there is none."""

    report: ReviewReport | None = None
    skipped: Skipped | None = None
    nothing: bool = False
    """Nothing changed that the analysis reads."""
    broken: str | None = None
    text: str | None = None
    """What was not looked at, and what is wrong with the configuration."""
    limited: tuple[str, ...] = ()
    """What was not looked at, in a few words each."""
    remarks: tuple[str, ...] = ()
    """What the title says of mistakes in the configuration."""
    sections: str = ""
    """What the summary says besides the engine's words: what people dismissed, and what was not looked at."""
    most_comments: int = 0
    silent: tuple[str, ...] = ()
    """Fingerprints of findings that people dismissed: no comments on them."""
    ignorable: bool = False
    """Whether the check run offers to ignore its findings."""
    page: str | None = None
    """Address of the report's page."""


class Published(_Stage):
    """What was said in comments."""

    superseded: bool = False
    posted: tuple[str, ...] = ()
    """Fingerprints of the comments."""
    folded: tuple[str, ...] = ()
    quiet: bool = False
    """There is no summary, and nothing that would be worth one."""


class Done(_Stage):
    """The end of a stage that has no result."""

    outcome: Literal["done"] = "done"
