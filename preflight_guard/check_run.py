"""The body of a check run that carries a measurement to whoever reads the checks of a commit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hardware_catalog import GIB
from hardware_catalog.measurement import CHECK_NAME, Measurement, fenced


def head_of(environment: Mapping[str, str]) -> str:
    """The commit that a workflow of GitHub Actions runs for; empty elsewhere.

    For a pull request GITHUB_SHA is the merge that is tried, which no one looks at: the event names the head.
    """
    try:
        event = json.loads(Path(environment["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
        head = event["pull_request"]["head"]["sha"]
    except (KeyError, TypeError, OSError, ValueError):
        head = environment.get("GITHUB_SHA", "")
    return str(head).lower()


def check_run(measurement: Measurement) -> dict[str, Any]:
    """What `POST /repos/OWNER/REPO/check-runs` takes."""
    allocated, reserved = measurement.allocated_bytes / GIB, measurement.reserved_bytes / GIB
    return {
        "name": CHECK_NAME,
        "head_sha": measurement.head_sha,
        "status": "completed",
        "conclusion": "neutral",
        "output": {
            "title": f"{reserved:.2f} GiB reserved, {allocated:.2f} GiB allocated",
            "summary": f"Peaks of `{measurement.entry}` as torch counted them.",
            "text": fenced(measurement),
        },
    }
