"""The JSON contracts: what `check`, `estimate` and `review` answer.

Lines and columns are 1-based and columns count characters. All memory figures are bytes, per device, at the
peak of a steady-state step.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Severity = Literal["error", "warning", "note"]
Verdict = Literal["fits", "borderline", "does-not-fit", "unknown"]
Conclusion = Literal["success", "neutral", "failure"]

SEVERITY_ORDER: dict[Severity, int] = {"note": 0, "warning": 1, "error": 2}


class Contract(BaseModel):
    """Base of every model that leaves the program: immutable, and strict about its fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Evidence(Contract):
    """One place of the chain that led to a finding."""

    path: str
    line: int
    message: str


class Edit(Contract):
    """Replace the characters from (line, column) up to, not including, (end_line, end_column) with `text`."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


class Fix(Contract):
    """A rewrite of the finding's own file. `safe`: later uses are understood and keep their meaning."""

    description: str
    safe: bool
    edits: tuple[Edit, ...]


class Finding(Contract):
    """One thing that will go wrong, with the chain of places that shows it."""

    rule: str
    name: str
    severity: Severity
    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    message: str
    evidence: tuple[Evidence, ...] = ()
    fix: Fix | None = None
    fingerprint: str = ""


class FailedFile(Contract):
    """A file that could not be analysed, and why. In the place of a path also a rule that stopped (`rule PF101
    retained-graph`) or a plug-in that could not be loaded (`plug-in acme 1.0 (preflight.rules: bare-save)`)."""

    path: str
    reason: str

    @property
    def is_file(self) -> bool:
        """Whether it is a file: what stops a rule or a plug-in concerns every file."""
        return not self.path.startswith(("rule ", "plug-in ")) or self.path.endswith((".py", ".ipynb"))


class FileCounts(Contract):
    """How many files were read and skipped, and which failed."""

    read: int = 0
    skipped: int = 0
    failed: tuple[FailedFile, ...] = ()


class CheckReport(Contract):
    """Answer of `preflight check`."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    findings: tuple[Finding, ...] = ()
    files: FileCounts = FileCounts()

    model_config = ConfigDict(
        frozen=True, extra="forbid", defer_build=True, populate_by_name=True, serialize_by_alias=True
    )


class ModelSummary(Contract):
    """The model under estimate; `evidence` says where its parameter count came from."""

    name: str = "unknown"
    parameters: int | None = None
    trainable_parameters: int | None = None
    evidence: Literal["source", "catalogue", "config", "unknown"] = "unknown"


class Setting(Contract):
    """One value of the configuration, with the place it was read from, or `assumed`."""

    value: str | int | float | bool | None
    path: str | None = None
    line: int | None = None
    assumed: bool = False


class ByteRange(Contract):
    """A 90 % range in bytes."""

    low: int
    expected: int
    high: int


class Breakdown(Contract):
    """Bytes by category at the peak; the sum is `occupied.expected`."""

    parameters: int = 0
    gradients: int = 0
    optimizer: int = 0
    activations: int = 0
    temporaries: int = 0
    kv_cache: int = 0
    allocator_slack: int = 0
    device_context: int = 0
    communication: int = 0


class Memory(Contract):
    """Allocated, reserved and occupied bytes (see design: torch counters and nvidia-smi)."""

    allocated: ByteRange
    reserved: ByteRange
    occupied: ByteRange
    breakdown: Breakdown


class Target(Contract):
    """Verdict for one GPU. `occupied` is what the run takes on it, null where that is not known.

    `usd_per_hour` is the cheapest published price of as many as the run uses, that of whole instances: `gpus_rented`
    GPUs in one or more of `instance`, as published on `price_date`. `usd_per_gpu_hour` is its share for each GPU that
    the run uses. All null where no price is known.
    """

    gpu: str
    usable_bytes: int
    verdict: Verdict
    occupied: ByteRange | None = None
    usd_per_hour: float | None = None
    instance: str | None = None
    gpus_rented: int | None = None
    usd_per_gpu_hour: float | None = None
    price_date: str | None = None


class Saving(Contract):
    """One change of configuration, with what another shadow run says it saves."""

    change: str
    saves_bytes: int
    occupied_bytes: int
    cost: str
    verdict: dict[str, Verdict] = {}
    recommended: bool = False


class SmallerDevice(Contract):
    """What the next smaller device would need: `change` is what makes the run fit it, None where nothing known does or
    nothing is needed; the verdict is that after the change."""

    gpu: str
    usable_bytes: int
    verdict: Verdict
    change: str | None = None
    cost: str | None = None


class EstimateReport(Contract):
    """Answer of `preflight estimate`. `memory` is null where the code could not be followed."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    task: Literal["train", "inference", "generate", "unknown"] = "unknown"
    model: ModelSummary = ModelSummary()
    configuration: dict[str, Setting] = {}
    memory: Memory | None = None
    targets: tuple[Target, ...] = ()
    savings: tuple[Saving, ...] = ()
    smaller: SmallerDevice | None = None
    confidence: Literal["high", "medium", "low", "unknown"] = "unknown"
    notes: tuple[str, ...] = ()

    model_config = ConfigDict(
        frozen=True, extra="forbid", defer_build=True, populate_by_name=True, serialize_by_alias=True
    )


class ReviewComment(Contract):
    """A review comment, anchored inside a hunk of the diff."""

    path: str
    line: int
    start_line: int | None = None
    side: Literal["RIGHT", "LEFT"] = "RIGHT"
    body: str
    fingerprint: str = ""


class Annotation(Contract):
    """A check-run annotation, as GitHub takes it; columns only where start and end line are the same."""

    path: str
    start_line: int
    end_line: int
    start_column: int | None = None
    end_column: int | None = None
    annotation_level: Literal["notice", "warning", "failure"]
    title: str
    message: str
    raw_details: str | None = None
    fingerprint: str = ""
    """Of the finding, as in a review comment; GitHub itself takes no such field."""


class MemoryChange(Contract):
    """The estimate before and after, for the entry script that the change affects most."""

    script: str | None = None
    base: EstimateReport | None = None
    head: EstimateReport | None = None


class ReviewReport(Contract):
    """Answer of `preflight review`: what the bot would say of a change."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    introduced: tuple[Finding, ...] = ()
    fixed: tuple[Finding, ...] = ()
    existing: int = 0
    memory: MemoryChange = MemoryChange()
    entry_points: tuple[MemoryChange, ...] = ()
    """Every program that was estimated, `memory` among them."""
    summary_markdown: str = ""
    review_comments: tuple[ReviewComment, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    conclusion: Conclusion = "success"
    failed: tuple[FailedFile, ...] = ()

    model_config = ConfigDict(
        frozen=True, extra="forbid", defer_build=True, populate_by_name=True, serialize_by_alias=True
    )
