"""`python -m tests.corpus [--package NAME] [--unlabelled]`: scan the corpus and hold the findings against the ledger.

Downloads the pinned versions with pip into a cache folder (`PREFLIGHT_CORPUS`, default `.preflight/corpus`), scans
them, and prints counts and rates by framework. Errors and warnings without an entry are listed; with any of them
the exit status is 1.
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

from engine.check import check
from engine.findings import Finding
from engine.project import Project
from tests.corpus.ledger import Key, read

HERE = Path(__file__).parent
CACHE = Path(os.environ.get("PREFLIGHT_CORPUS", ".preflight/corpus"))


def unpacked(name: str, version: str) -> Path:
    """The folder with the package's files, downloaded once."""
    home = CACHE / f"{name}-{version}"
    if home.exists():
        return home
    downloads = CACHE / "downloads" / f"{name}-{version}"
    command = [sys.executable, "-m", "pip", "-q", "download", "--no-deps", "-d", str(downloads), f"{name}=={version}"]
    subprocess.run(command, check=True)
    archive = next(downloads.iterdir())
    partial = home.with_suffix(".partial")
    if archive.suffix == ".whl":
        zipfile.ZipFile(archive).extractall(partial)
    else:
        shutil.unpack_archive(archive, partial)
    return partial.rename(home)


def key_of(package: str, finding: Finding, project: Project) -> Key:
    """The finding's key in the ledger."""
    lines = project.read_text(finding.path.split("#")[0]).splitlines()
    code = lines[finding.line - 1].strip() if finding.line <= len(lines) else ""
    return Key(package=package, rule=finding.name, path=finding.path, code=code)


def main() -> int:
    """Scan and compare; 1 where an error or a warning has no entry."""
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--package")
    ask.add_argument("--unlabelled", action="store_true", help="print a ledger row for each finding without one")
    options = ask.parse_args()
    ledger = read()
    table: dict[str, Counter[str]] = defaultdict(Counter)
    missing = 0
    for row in tomllib.loads((HERE / "packages.toml").read_text(encoding="utf-8"))["package"]:
        if options.package and row["name"] != options.package:
            continue
        project = Project.from_folder(unpacked(row["name"], row["version"]))
        report = check(project)
        count = table[row["framework"]]
        count["files that train"] += report.files.read
        for finding in report.findings:
            if finding.severity == "note":
                count["notes"] += 1
                continue
            count[finding.severity] += 1
            key = key_of(row["name"], finding, project)
            entry = ledger.get(key)
            count[entry.label if entry else "without an entry"] += 1
            if entry is None:
                missing += 1
                print(
                    f"{row['name']} {finding.path}:{finding.line} {finding.severity} {finding.name}: {finding.message}"
                )
                if options.unlabelled:
                    fields = "\n".join(f"{name} = {value!r}" for name, value in key.model_dump().items())
                    print(f'[[finding]]\n{fields}\nlabel = "unresolved"\nreason = ""\n')
    for framework, count in sorted(table.items()):
        said = count["error"] + count["warning"]
        good = count["confirmed"] + count["intentional"]
        print(
            f"{framework:14} {dict(count)} confirmed or intentional {good / max(1, said):.0%}, "
            f"errors per file {count['error'] / max(1, count['files that train']):.4f}"
        )
    return 1 if missing else 0


if __name__ == "__main__":
    raise SystemExit(main())
