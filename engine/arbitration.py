"""Several findings on one place become one consistent set of recommendations.

Rules do not know each other. Where the advice of two of them would contradict itself, or one is only the consequence
of the other, the table here says which one speaks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.findings import SEVERITY_ORDER, Finding

_NEAR_LINES = 3
"""Findings this close stand on one statement, or on its neighbour: a backward and the step behind it."""


@dataclass(frozen=True)
class Precedence:
    """`winner` silences `losers` in its reach: `line` (the same lines), `near` (a few lines) or `file`."""

    winner: str
    losers: frozenset[str]
    reach: str
    why: str


def _over(winner: str, losers: str, reach: str, why: str) -> Precedence:
    return Precedence(winner, frozenset(losers.split()), reach, why)


PRECEDENCES: Sequence[Precedence] = (
    _over("retained-graph", "sync-in-loop outputs-kept-on-device validation-outputs-kept-on-gpu", "line",
          "detaching on the device is the advice; `.item()` there would be a sync in the loop"),
    _over("hidden-state-not-detached", "retained-graph retain-graph-in-loop retain-graph-unneeded", "near",
          "with the state detached, nothing is retained and retain_graph is not needed"),
    _over("missing-zero-grad", "accumulation-unscaled accumulation-not-configured accumulation-tail-misscaled", "near",
          "gradients that are never cleared are no accumulation whose loss could be scaled"),
    _over("missing-optimizer-step", "missing-zero-grad gradscaler-missing-update scheduler-order", "near",
          "without a step, clearing gradients changes nothing"),
    _over("missing-backward", "missing-zero-grad missing-optimizer-step", "near",
          "without a backward there are no gradients to clear"),
    _over("no-grad-not-called", "eval-without-no-grad target-without-no-grad ema-without-no-grad", "file",
          "the decorator is there and only has to be called"),
    _over("ddp-unsharded-loader",
          "train-loader-not-shuffled sampler-without-set-epoch dataloader-misconfigured", "line",
          "a DistributedSampler excludes shuffle=True, and brings its own epoch"),
    _over("accelerate-not-prepared", "ddp-unsharded-loader sampler-without-set-epoch repeated-transfer", "near",
          "a prepared loader is sharded and moves its batches"),
    _over("gradscaler-optimizer-step-direct", "gradscaler-missing-update clip-before-unscale", "near",
          "the scaler has to take the step first"),
    _over("gradscaler-step-without-scale", "gradscaler-missing-update clip-before-unscale", "near",
          "nothing was scaled"),
    _over("softmax-before-cross-entropy", "softmax-wrong-dim nll-on-non-log-probs nll-loss-on-raw-logits", "line",
          "the softmax goes, so its dimension does not matter"),
    _over("bce-activation-mismatch", "bce-sigmoid-unstable log-sigmoid-unstable unstable-log-of-activation", "line",
          "the activation goes, and its logarithm with it"),
    _over("stuck-in-eval", "validation-without-eval missing-train-mode", "near",
          "the mode is set once, and has to be set back"),
    _over("to-device-result-discarded", "blocking-transfer repeated-transfer", "line",
          "the transfer has no effect, so its speed does not matter"),
    _over("optimizer-in-loop", "missing-zero-grad optimizer-stale-params scheduler-order", "near",
          "a new optimizer in each iteration is the cause"),
    _over("ema-without-no-grad", "in-place-leaf-update", "line",
          "what makes the average right lets PyTorch take the update as well"),
    _over("retain-graph-in-loop", "retain-graph-unneeded", "line", "the same defect, told with its consequence"),
)  # fmt: skip


def arbitrate(findings: Sequence[Finding]) -> list[Finding]:
    """The findings that remain, in their order: none twice, none that another one's advice contradicts."""
    kept = _once_per_place(findings)
    losing = {id(loser) for winner in kept for loser in kept if winner is not loser and _wins(winner, loser)}
    return [finding for finding in kept if id(finding) not in losing]


def _once_per_place(findings: Sequence[Finding]) -> list[Finding]:
    """Of several findings of one rule on one line, the gravest, told with the most evidence."""
    best: dict[tuple[str, str, int], Finding] = {}
    for finding in findings:
        key = (finding.rule, finding.path, finding.line)
        if key not in best or _weight(finding) > _weight(best[key]):
            best[key] = finding
    chosen = {id(finding) for finding in best.values()}
    return [finding for finding in findings if id(finding) in chosen]


def _weight(finding: Finding) -> tuple[int, int]:
    return SEVERITY_ORDER[finding.severity], len(finding.evidence)


def _wins(winner: Finding, loser: Finding) -> bool:
    return any(
        precedence.winner == winner.name and loser.name in precedence.losers and _reaches(precedence, winner, loser)
        for precedence in PRECEDENCES
    )


def _reaches(precedence: Precedence, winner: Finding, loser: Finding) -> bool:
    if winner.path != loser.path:
        return False
    if precedence.reach == "file":
        return True
    margin = _NEAR_LINES if precedence.reach == "near" else 0
    return any(
        first.line - margin <= line <= first.end_line + margin
        for first, second in ((winner, loser), (loser, winner))
        for line in _ends(second)
    )


def _ends(finding: Finding) -> Iterable[int]:
    return finding.line, finding.end_line
