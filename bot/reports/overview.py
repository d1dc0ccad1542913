"""An installation at a glance, from the figures of its stored reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.reports.chart import VERDICTS, Day, History, gpu_name, history
from bot.reports.document import Row

DAYS = 30
DAY_SECONDS = 86_400.0
MOST_RULES = 12


@dataclass(frozen=True)
class Capacity:
    """A repository's last estimate against the device that it has to fit; percentages of the drawing."""

    occupied: int
    usable: int
    gpu: str
    verdict: str
    css: str
    share: float
    limit: float


@dataclass(frozen=True)
class RepositoryShown:
    """One line of the table."""

    owner: str
    name: str
    pulls: int
    errors: int
    warnings: int
    last: Row
    capacity: Capacity | None


@dataclass(frozen=True)
class Overview:
    """What the page shows."""

    owner: str
    repositories: Sequence[RepositoryShown]
    days: Sequence[Day]
    history: History
    suppressions: Sequence[tuple[str, int, float]]
    """Rule, comments that silence it, and percent of the most silenced."""
    reviews: int


def overview(rows: Sequence[Row], closed: Mapping[tuple[int, int], float], now: float) -> Overview:
    """Sum up reports, newest first, of which there is at least one. Findings count while their pull request is open."""
    latest: dict[tuple[int, int], Row] = {}
    for row in rows:
        latest.setdefault((row.key.repository_id, row.key.number), row)
    open_now = {pull: row for pull, row in latest.items() if pull not in closed}
    by_repository: dict[int, list[Row]] = {}
    for row in rows:
        by_repository.setdefault(row.key.repository_id, []).append(row)
    shown = [_repository(each, [row for row in open_now.values() if row.key.repository_id == identity])
             for identity, each in by_repository.items()]  # fmt: skip
    shown.sort(key=lambda each: (-each.errors, -each.warnings, each.name))
    silenced: Counter[str] = Counter()
    for each in by_repository.values():
        silenced.update(each[0].suppressions)
    most = max(silenced.values(), default=1)
    days = _days(rows, closed, now)
    return Overview(
        owner=rows[0].owner,
        repositories=shown,
        days=days,
        history=history(days),
        suppressions=[(rule, count, 100 * count / most) for rule, count in silenced.most_common(MOST_RULES)],
        reviews=len(rows),
    )


def _repository(rows: Sequence[Row], opened: Sequence[Row]) -> RepositoryShown:
    last = rows[0]
    estimated = next((row for row in rows if row.figures.occupied is not None), None)
    return RepositoryShown(
        owner=last.owner,
        name=last.name,
        pulls=len(opened),
        errors=sum(row.figures.errors for row in opened),
        warnings=sum(row.figures.warnings for row in opened),
        last=last,
        capacity=_capacity(estimated) if estimated else None,
    )


def _capacity(row: Row) -> Capacity | None:
    figures = row.figures
    if figures.occupied is None or figures.usable is None or figures.gpu is None:
        return None
    css, verdict = VERDICTS[figures.verdict or "unknown"]
    widest = max(figures.occupied, figures.usable) * 1.04
    return Capacity(
        figures.occupied,
        figures.usable,
        gpu_name(figures.gpu),
        verdict,
        css,
        round(100 * figures.occupied / widest, 2),
        round(100 * figures.usable / widest, 2),
    )


def _days(rows: Sequence[Row], closed: Mapping[tuple[int, int], float], now: float) -> list[Day]:
    """Open findings at the end of each of the last days, today's until now."""
    found = []
    oldest_first = list(reversed(rows))
    for ago in range(DAYS - 1, -1, -1):
        end = now - ago * DAY_SECONDS
        state: dict[tuple[int, int], Row] = {}
        for row in oldest_first:
            if row.kept_at <= end:
                state[(row.key.repository_id, row.key.number)] = row
        opened = [row for pull, row in state.items() if closed.get(pull, end + 1) > end]
        found.append(
            Day(
                datetime.fromtimestamp(end, UTC).strftime("%-d %b"),
                sum(row.figures.errors for row in opened),
                sum(row.figures.warnings for row in opened),
            )
        )
    return found
