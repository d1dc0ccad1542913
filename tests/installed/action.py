"""Runs the shell steps of a composite action as a runner does, for the expressions that this action uses."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")


@dataclass
class Job:
    """What a run of the action left behind."""

    succeeded: bool = True
    log: str = ""
    summary: str = ""
    used: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """Other actions that were called, with their inputs."""
    steps: list[str] = field(default_factory=list)


class Runner:
    """A checkout, and what the runner says of itself."""

    def __init__(self, tree: Path, workspace: Path, temporary: Path, environment: Mapping[str, str]) -> None:
        self.definition: dict[str, Any] = yaml.safe_load((tree / "action.yml").read_text(encoding="utf-8"))
        self.workspace, self.temporary = workspace, temporary
        self.summary = temporary / "summary.md"
        self.environment = {
            **environment,
            "RUNNER_TEMP": str(temporary),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_WORKSPACE": str(workspace),
            "GITHUB_SERVER_URL": f"file://localhost{temporary}",
        }
        self.contexts = {
            "github.action_path": str(tree),
            "github.action_repository": "acme/preflight",
            "runner.temp": str(temporary),
        }

    def run(self, **given: str) -> Job:
        """Every step in order; after one that failed only those that ask not to be left out."""
        inputs = {name: str(about.get("default", "")) for name, about in self.definition["inputs"].items()}
        inputs |= {name.replace("_", "-"): value for name, value in given.items()}
        values = {**self.contexts, **{f"inputs.{name}": value for name, value in inputs.items()}}
        self.summary.write_text("", encoding="utf-8")
        job = Job()
        for step in self.definition["runs"]["steps"]:
            if self._wanted(step.get("if", "success()"), values, job.succeeded):
                self._step(step, values, job)
        job.summary = self.summary.read_text(encoding="utf-8")
        return job

    def _step(self, step: Mapping[str, Any], values: Mapping[str, str], job: Job) -> None:
        if "uses" in step:
            job.used[step["uses"]] = {k: self._filled(v, values) for k, v in step.get("with", {}).items()}
            return
        assert step["shell"] == "bash"
        assert not _EXPRESSION.search(step["run"]), "an input as text of a script is a way to run commands"
        environment = {name: self._filled(value, values) for name, value in step.get("env", {}).items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.workspace,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
        )
        job.steps.append(step["name"])
        job.log += done.stdout + done.stderr
        job.succeeded = job.succeeded and done.returncode == 0

    @staticmethod
    def _filled(text: str, values: Mapping[str, str]) -> str:
        return _EXPRESSION.sub(lambda match: values[match[1]], text)

    @staticmethod
    def _wanted(condition: str, values: Mapping[str, str], succeeded: bool) -> bool:
        whole = _EXPRESSION.fullmatch(condition)
        return all(
            Runner._holds(part.strip(), values, succeeded) for part in (whole[1] if whole else condition).split("&&")
        )

    @staticmethod
    def _holds(part: str, values: Mapping[str, str], succeeded: bool) -> bool:
        if part == "success()":
            return succeeded
        if part in ("always()", "!cancelled()"):
            return True
        name, operator, quoted = part.split(" ", 2)
        assert operator in ("==", "!=")
        return (values[name] == quoted.strip("'")) is (operator == "==")
