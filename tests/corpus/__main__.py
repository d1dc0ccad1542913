"""`python -m tests.corpus [--package NAME] [--unlabelled]`: scan the corpus and hold the findings against the ledger.

Downloads the pinned versions with pip into a cache folder (`PREFLIGHT_CORPUS`, default `.preflight/corpus`), scans
them, and prints counts and rates by framework. Errors and warnings without an entry are listed, and entries whose
finding is gone; with any of the former the exit status is 1.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections import Counter, defaultdict
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from engine.check import analyse
from engine.findings import Finding
from engine.project import Project
from tests.corpus.ledger import Entry, Key, read

HERE = Path(__file__).parent
CACHE = Path(os.environ.get("PREFLIGHT_CORPUS", ".preflight/corpus"))

SHARE_OF_GOOD = 0.90
"""Errors and warnings that are confirmed or intentional, of all: the least that is aimed at."""

ERRORS_PER_FILE = 0.05
"""Errors per file that was read for training code: the most that is aimed at."""


class Package(BaseModel):
    """One pinned release."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    version: str
    framework: str


def packages() -> list[Package]:
    """The releases of the corpus."""
    rows = tomllib.loads((HERE / "packages.toml").read_text(encoding="utf-8"))["package"]
    return [Package.model_validate(row) for row in rows]


def unpacked(package: Package) -> Path:
    """The folder with the package's files, downloaded once."""
    home = CACHE / f"{package.name}-{package.version}"
    if home.exists():
        return home
    downloads = CACHE / "downloads" / home.name
    pinned = f"{package.name}=={package.version}"
    command = [sys.executable, "-m", "pip", "-q", "download", "--no-deps", "-d", str(downloads), pinned]
    subprocess.run(command, check=True)
    archive = next(downloads.iterdir())
    partial = home.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    if archive.suffix == ".whl":
        zipfile.ZipFile(archive).extractall(partial)
    else:
        shutil.unpack_archive(archive, partial)
    return partial.rename(home)


def shown(package: Package, finding: Finding, function: str, options: argparse.Namespace) -> None:
    """Print a finding that has no entry, with a row to fill in where asked for."""
    print(
        f"{package.name} {finding.path}:{finding.line} {finding.severity} {finding.name}: {finding.message}", flush=True
    )
    if options.unlabelled:
        row = {
            "package": package.name,
            "fingerprint": finding.fingerprint,
            "rule": finding.name,
            "path": finding.path,
            "function": function,
            "label": "unresolved",
            "reason": "",
        }
        print("[[finding]]\n" + "\n".join(f'{name} = "{value}"' for name, value in row.items()) + "\n")


def main() -> int:
    """Scan and compare; 1 where an error or a warning has no entry."""
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--package")
    ask.add_argument("--unlabelled", action="store_true", help="print a ledger row for each finding without one")
    options = ask.parse_args()
    ledger = read()
    table: dict[str, Counter[str]] = defaultdict(Counter)
    missing = 0
    gone: list[Entry] = []
    for package in packages():
        if options.package and package.name != options.package:
            continue
        analysis = analyse(Project.from_folder(unpacked(package)))
        count = table[package.framework]
        count["files that train"] += analysis.report.files.read
        expected = {key: entry for key, entry in ledger.items() if key.package == package.name}
        for finding in analysis.report.findings:
            if finding.severity == "note":
                count["note"] += 1
                continue
            count[finding.severity] += 1
            entry = expected.pop(Key(package=package.name, fingerprint=finding.fingerprint), None)
            count[entry.label if entry else "without an entry"] += 1
            if entry is None:
                missing += 1
                shown(package, finding, analysis.contexts[finding.fingerprint].scope, options)
        gone += expected.values()
    for entry in gone:
        print(f"gone: {entry.package} {entry.rule} {entry.path} in {entry.function} ({entry.label})")
    table["all"] = sum(table.values(), Counter())
    for framework, count in sorted(table.items(), key=lambda row: (row[0] == "all", row[0])):
        said = count["error"] + count["warning"]
        good = count["confirmed"] + count["intentional"]
        print(
            f"{framework:13} files that train {count['files that train']:5}  errors {count['error']:3}  warnings "
            f"{count['warning']:3}  notes {count['note']:3}  confirmed {count['confirmed']:3}  intentional "
            f"{count['intentional']:3}  limitation {count['limitation']:3}  unresolved {count['unresolved']:3}  "
            f"good {good / max(1, said):4.0%}  errors per file {count['error'] / max(1, count['files that train']):.4f}"
        )
    print(f"aimed at: good {SHARE_OF_GOOD:.0%} or more, errors per file {ERRORS_PER_FILE} or fewer")
    return 1 if missing else 0


if __name__ == "__main__":
    raise SystemExit(main())
