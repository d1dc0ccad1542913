"""What goes into an analysis process."""

from __future__ import annotations

import base64
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from bot.github.models import ChangedFile
from engine.explored import Exploration
from engine.findings import EstimateReport, ReviewReport
from engine.settings import Settings


class Content(BaseModel):
    """A file's content: text, or bytes in base64 where it is not UTF-8."""

    text: str | None = None
    base64: str | None = None

    @classmethod
    def of(cls, content: str | bytes) -> Content:
        """Wrap a content for the way through JSON."""
        if isinstance(content, str):
            return cls(text=content)
        return cls(base64=base64.b64encode(content).decode("ascii"))

    def value(self) -> str | bytes:
        """Unwrap it."""
        if self.text is not None:
            return self.text
        return base64.b64decode(self.base64 or "")


class Request(BaseModel):
    """One analysis. Contents are stored once, however many paths and sides show them."""

    model_config = ConfigDict(frozen=True)

    memory_bytes: int
    cpu_seconds: int
    contents: dict[str, Content]
    base: dict[str, str]
    """Path to key in `contents`."""
    head: dict[str, str]
    changed: tuple[ChangedFile, ...]
    settings: Settings
    gpus: tuple[str, ...] = ()
    overrides: dict[str, str] = {}
    results_folder: str = ""
    """Where results of this repository are kept; empty: nowhere."""
    configurations: dict[str, dict[str, Any]] | None = None
    """Published configurations of models by name; None where none may be asked for."""
    task: Literal["review", "estimate", "explore"] = "review"
    details: bool = False
    """Whether a review comes with what its report page shows."""
    script: str = ""
    """What to explore."""
    chosen: tuple[str, ...] = ()
    """Keys of the changes to explore."""


class Details(BaseModel):
    """What a report page shows beside the review itself."""

    model_config = ConfigDict(frozen=True)

    exploration: Exploration | None = None
    """The head's run as it is, with its memory over time and the changes that can be tried."""
    suppressions: dict[str, int] = {}
    """Comments in the head that silence a rule, by the rule's name; `all` for those that name none."""


class Reviewed(BaseModel):
    """Answer to a review with details."""

    report: ReviewReport
    details: Details = Details()


class Estimate(BaseModel):
    """The peak memory of one script, None where the project has no training script."""

    script: str | None = None
    report: EstimateReport | None = None
