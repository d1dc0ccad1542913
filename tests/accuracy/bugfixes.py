"""Recall on defects that people fixed in public: `python -m tests.accuracy.bugfixes --sites FILE --mirrors DIR`.

FILE has a JSON object a line (`Site`), DIR a git directory a repository, `owner+name` or `owner+name/repo`. Each fix is
played backwards, as a pull request from the fixed commit to its parent, which brings the defect in. It is found when
what the pull request introduces has a finding of the family within eight lines of the recorded place, or anywhere where
the defect needs another file. Played forwards, the same finding has to be among what is fixed.

Prints a row a family and each missed site with the reason that `missed_fixes.toml` gives. Exits with 1 where a missed
site has no reason there, or a reason is left of one that is found; repositories that are not in DIR are skipped.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from engine.changes import Changes, compare
from engine.diff import revision_diff
from engine.findings import Finding
from engine.project import Project
from engine.settings import Settings
from tests.accuracy.lint_cases import accepted_names

LEDGER = Path(__file__).with_name("missed_fixes.toml")

NEAR = 8
"""Lines between a finding and the recorded place of the defect."""

Why = Literal["invisible", "harmless", "elsewhere", "limitation"]


class Place(BaseModel):
    """What a site is recognised by; `fix_commit` may be shortened in the ledger, never below ten digits."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    repo: str
    fix_commit: str = Field(min_length=10)
    path: str
    buggy_line: int

    @property
    def key(self) -> tuple[str, str, str, int]:
        return self.repo, self.fix_commit[:10], self.path, self.buggy_line


class Site(Place):
    """A defect in a public repository, and the commit that fixed it."""

    parent: str
    family: str
    needs_cross_file: bool = False


class Missed(Place):
    """Why a site is not found.

    - `invisible`: the code that is there does not show it; it depends on what a user, a configuration or another
      library brings.
    - `harmless`: the fix changes nothing that the program computes, so there is nothing to say.
    - `elsewhere`: it is said, further than eight lines from the recorded place or under the name of what it leads to.
    - `limitation`: the code shows it, and Preflight does not follow it that far.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    why: Why
    reason: str = Field(min_length=10)


@dataclass(frozen=True)
class Outcome:
    """What became of one site: the findings that hit it, and whether the fix is seen as one."""

    site: Site
    skipped: bool = False
    problem: str = ""
    hits: Sequence[str] = ()
    fix_seen: bool = False

    @property
    def found(self) -> bool:
        return bool(self.hits)


def read_sites(path: Path) -> list[Site]:
    """The sites of a file, a JSON object a line. Raises ValueError."""
    return [Site.model_validate_json(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def read_ledger(path: Path = LEDGER) -> dict[tuple[str, str, str, int], Missed]:
    """The reasons by site. Raises ValueError, also where a site stands there twice."""
    rows = [Missed.model_validate(row) for row in tomllib.loads(path.read_text("utf-8")).get("missed", [])]
    reasons = {row.key: row for row in rows}
    if len(reasons) != len(rows):
        raise ValueError(f"{path.name} has a site twice")
    return reasons


def mirror(mirrors: Path, repo: str) -> Path | None:
    """The git directory of a repository, where there is one."""
    home = mirrors / repo.replace("/", "+")
    return next((folder for folder in (home / "repo", home) if (folder / "HEAD").is_file()), None)


def changes(repository: Path, base: str, head: str) -> Changes:
    """What a pull request from `base` to `head` changes in the findings, under default settings."""
    sides = Project.from_revision(repository, base), Project.from_revision(repository, head)
    return compare(*sides, revision_diff(repository, base, head), Settings())


def judge(mirrors: Path, site: Site) -> Outcome:
    """Play a fix backwards, and forwards where it is found."""
    repository = mirror(mirrors, site.repo)
    if repository is None:
        return Outcome(site, skipped=True)
    try:
        hits = [each for each in changes(repository, site.fix_commit, site.parent).introduced if _hits(site, each)]
        forwards = changes(repository, site.parent, site.fix_commit).fixed if hits else ()
    except Exception as problem:  # a site that breaks the analysis is a missed one, and the others still count
        return Outcome(site, problem=f"{type(problem).__name__}: {problem}")
    names = accepted_names(site.family)
    shown = [f"{each.name} ({each.severity}) {each.path}:{each.line}" for each in hits]
    return Outcome(site, hits=shown, fix_seen=any(each.name in names for each in forwards))


def _hits(site: Site, finding: Finding) -> bool:
    if finding.name not in accepted_names(site.family):
        return False
    return site.needs_cross_file or (finding.path == site.path and abs(finding.line - site.buggy_line) <= NEAR)


def report(outcomes: Iterable[Outcome], reasons: Mapping[tuple[str, str, str, int], Missed]) -> tuple[list[str], bool]:
    """The lines to print, and whether every missed site has its reason and no other has."""
    played = [outcome for outcome in outcomes if not outcome.skipped]
    sites, found = Counter(o.site.family for o in played), Counter(o.site.family for o in played if o.found)
    lines = [f"{family:40} {found[family]:3}/{number}" for family, number in sites.most_common()]
    missed = [outcome for outcome in played if not outcome.found]
    kinds: Counter[str] = Counter()
    for outcome in missed:
        known = reasons.get(outcome.site.key)
        kinds[known.why if known else "without a reason"] += 1
        why = f"{known.why}: {known.reason}" if known else outcome.problem or "no reason is written down"
        lines.append(f"missed {_shown(outcome.site)} {outcome.site.family}: {why}")
    stale = [outcome for outcome in played if outcome.found and outcome.site.key in reasons]
    lines += [f"found, and called missed: {_shown(outcome.site)}: {outcome.hits[0]}" for outcome in stale]
    visible = len(played) - kinds["invisible"] - kinds["harmless"]
    figures = {
        "sites": len(played),
        "found": len(played) - len(missed),
        "recall": round((len(played) - len(missed)) / max(1, len(played)), 3),
        "visible": visible,
        "recall_of_visible": round((len(played) - len(missed)) / max(1, visible), 3),
        "fix_seen": sum(outcome.fix_seen for outcome in played),
        **kinds,
    }
    return [*lines, json.dumps(figures)], not stale and not kinds["without a reason"]


def _shown(site: Site) -> str:
    return f"{site.repo} {site.fix_commit[:10]} {site.path}:{site.buggy_line}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the sites and print what became of them."""
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--sites", required=True, type=Path)
    ask.add_argument("--mirrors", required=True, type=Path)
    ask.add_argument("--only", default="", help="sites whose family, repository or path holds this")
    ask.add_argument("--jobs", type=int, default=1)
    options = ask.parse_args(arguments)
    sites = [site for site in read_sites(options.sites) if options.only in f"{site.family} {site.repo} {site.path}"]
    outcomes = []
    # A process a site: what one repository leaves in memory ends with it.
    with ProcessPoolExecutor(options.jobs, max_tasks_per_child=1) as pool:
        for outcome in pool.map(partial(judge, options.mirrors), sites):
            outcomes.append(outcome)
            became = "skipped" if outcome.skipped else ", ".join(outcome.hits) or outcome.problem or "missed"
            print(f"{len(outcomes)}/{len(sites)} {_shown(outcome.site)}: {became}", file=sys.stderr, flush=True)
    lines, complete = report(outcomes, read_ledger())
    print("\n".join(lines))
    return 0 if complete else 1


if __name__ == "__main__":
    raise SystemExit(main())
