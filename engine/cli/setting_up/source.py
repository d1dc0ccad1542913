"""Where the Preflight that runs came from, so that a repository's hooks and workflows install the same.

pip notes beside an installed package what it was installed from (`direct_url.json`, PEP 610). The address that
`pyproject.toml` gives as the source (`[project.urls]`) stands in where that says nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit
from urllib.request import url2pathname

from engine.cli.usage import WrongUse
from engine.project.sources import RevisionNotFound, run_git

PACKAGE = "preflight-review"
PLACEHOLDER = "OWNER"
"""Who owns the repository, where nobody has said it yet."""
_RELEASE = re.compile(r"v?\d+(\.\d+)+\S*")
_PLAIN = re.compile(r"[\w.:/~+%-]+")
"""What YAML and a shell take as it stands."""
_SSH = re.compile(r"(?:ssh://)?git@(?P<host>[^/:]+)[:/](?P<path>.+)")


@dataclass(frozen=True)
class Source:
    """A git repository and a revision in it: a tag of a release, or a commit."""

    repository: str
    revision: str

    @property
    def requirement(self) -> str:
        """What pip installs the same from."""
        return f"{PACKAGE} @ git+{self.repository}@{self.revision}"

    @property
    def is_known(self) -> bool:
        """Whether the address names an owner."""
        return f"/{PLACEHOLDER}/" not in self.repository


def installed_source() -> Source:
    """The repository and revision that this Preflight was installed from; where only the package is known, its release.

    Raises WrongUse.
    """
    package = distribution(PACKAGE)
    for listed in package.metadata.get_all("Project-URL") or ():
        label, _, address = str(listed).partition(",")
        if label.strip() == "Source":
            release = Source(address.strip().rstrip("/"), f"v{package.version}")
            return of_installation(package.read_text("direct_url.json"), release)
    raise WrongUse(
        "this installation is older than its source code and does not say where it came from: install it again"
    )


def of_installation(direct_url: str | None, release: Source) -> Source:
    """What `direct_url.json` says, `release` where there is none or it says nothing that others could install from."""
    try:
        noted = json.loads(direct_url or "{}")
    except ValueError:
        return release
    if not isinstance(noted, Mapping) or not isinstance(url := noted.get("url"), str):
        return release
    found = None
    if isinstance(git := noted.get("vcs_info"), Mapping) and git.get("vcs") == "git":
        asked, commit = str(git.get("requested_revision") or ""), str(git.get("commit_id") or "")
        found = Source(web_address(url), asked if _RELEASE.fullmatch(asked) or not commit else commit)
    elif "dir_info" in noted:
        found = _of_checkout(Path(url2pathname(urlsplit(url).path)))
    return found if found is not None and _PLAIN.fullmatch(found.repository + found.revision) else release


def _of_checkout(folder: Path) -> Source | None:
    """Where a folder was cloned from, and its commit; None where it was not."""
    try:
        origin = run_git(folder, "config", "--get", "remote.origin.url").decode("utf-8", "replace").strip()
        commit = run_git(folder, "rev-parse", "HEAD").decode("ascii").strip()
    except (RevisionNotFound, OSError):
        return None
    return Source(web_address(origin), commit) if origin else None


def web_address(url: str) -> str:
    """The address that anybody can clone from: https in place of ssh, and without a name or password in it."""
    ssh = _SSH.fullmatch(url)
    if ssh is not None:
        url = f"https://{ssh['host']}/{ssh['path']}"
    parts = urlsplit(url)
    return urlunsplit(
        (parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/").removesuffix(".git"), "", "")
    )
