"""The image: what it is built from is pinned, it does not run as root, and it writes to one folder only."""

from __future__ import annotations

import re
import subprocess
import tomllib

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.deploy.files import DEPLOY, ROOT, program

PINNED = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;\\]+)")


def instructions() -> list[tuple[str, str]]:
    """Return the Dockerfile's instructions with their arguments, lines joined."""
    text = re.sub(r"\\\n", " ", (DEPLOY / "Dockerfile").read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in lines]


def pins(name: str) -> dict[str, str]:
    """Return the versions that a requirements file pins, each line with at least one hash."""
    versions: dict[str, str] = {}
    entries = re.split(r"\n(?=[A-Za-z0-9])", (DEPLOY / name).read_text(encoding="utf-8"))
    for entry in entries[1:]:
        match = PINNED.match(entry)
        assert match is not None, entry
        assert "--hash=sha256:" in entry, f"{match['name']} has no hash"
        versions[canonicalize_name(match["name"])] = match["version"]
    return versions


def test_hadolint_has_nothing_to_say() -> None:
    hadolint = program("hadolint", "the deploy extra")
    done = subprocess.run([hadolint, DEPLOY / "Dockerfile"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_base_is_one_image_named_by_its_digest() -> None:
    arguments = [argument for name, argument in instructions() if name == "ARG"]
    assert len(arguments) == 1
    assert re.fullmatch(r"PYTHON_IMAGE=python:3\.1[3-9]\.\d+-slim-\w+@sha256:[0-9a-f]{64}", arguments[0])
    assert [argument.split()[0] for name, argument in instructions() if name == "FROM"] == ["${PYTHON_IMAGE}"] * 2


def test_it_runs_as_a_numbered_user_and_says_how_it_is() -> None:
    last = dict(instructions())
    user = last["USER"]
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", user), "a number, so that runAsNonRoot can be checked"
    assert last["VOLUME"] == "/var/lib/preflight"
    assert "/healthz" in last["HEALTHCHECK"]
    assert last["ENTRYPOINT"] == '["preflight-bot"]'


def test_every_dependency_of_the_project_is_pinned_to_a_version_that_it_allows() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for file, wanted in (
        ("requirements.txt", project["project"]["dependencies"]),
        ("build-requirements.txt", project["build-system"]["requires"]),
    ):
        pinned = pins(file)
        for requirement in map(Requirement, wanted):
            version = pinned.get(canonicalize_name(requirement.name))
            assert version is not None, f"{requirement.name} is not in {file}: run `make pins`"
            assert requirement.specifier.contains(version), f"{requirement} is not {version}: run `make pins`"


def test_the_pins_name_no_place_to_get_them_from() -> None:
    for file in ("requirements.txt", "build-requirements.txt"):
        text = (DEPLOY / file).read_text(encoding="utf-8")
        assert "://" not in text
        assert "--index-url" not in text


def test_the_build_sees_only_what_it_copies() -> None:
    copied = {
        source.rstrip("/")
        for name, argument in instructions()
        if name == "COPY" and not argument.startswith("--from")
        for source in argument.split()[:-1]
    }
    lines = (DEPLOY / "Dockerfile.dockerignore").read_text(encoding="utf-8").split()
    assert lines[0] == "*"
    assert {line[1:] for line in lines if line.startswith("!")} == copied
    assert all((ROOT / source).exists() for source in copied)
