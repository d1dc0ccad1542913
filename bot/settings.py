"""Settings of the server, read from the environment."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

PREFIX = "PREFLIGHT_"


class SettingsError(Exception):
    """The environment lacks something, or holds something that does not fit; the message names each variable."""


class Settings(BaseModel):
    """What an operator decides. Each field is read from `PREFLIGHT_<FIELD>`; secrets also from `..._FILE`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    app_id: Annotated[int, Field(gt=0)]
    private_key: SecretStr
    webhook_secret: SecretStr
    database_url: str = "sqlite:///preflight.sqlite3"
    github_api_url: str = "https://api.github.com"
    github_graphql_url: str = ""
    """Only needed where it cannot be told from the REST address."""
    executor_id: str = Field(min_length=1, max_length=200, default_factory=socket.gethostname)
    """Name of this worker, the machine's by default: it must differ between workers that run at the same time, and
    should stay the same over restarts, since a restarted worker resumes at once the jobs that carry its name."""
    check_name: str = "Preflight"
    worker_concurrency: Annotated[int, Field(ge=1)] = 4
    """Pull requests reviewed at the same time by this process."""
    synchronize_delay_seconds: Annotated[float, Field(ge=0)] = 3.0
    """How long a push waits for the next one before it is reviewed."""
    write_interval_seconds: Annotated[float, Field(ge=0)] = 1.0
    """Least time between two writes of one installation; GitHub asks for one second."""
    analysis_seconds: Annotated[float, Field(gt=0)] = 120.0
    """Processor time that one analysis process may take; on the clock four times as much."""
    analysis_memory_bytes: Annotated[int, Field(gt=0)] = 2 * 2**30
    """Address-space limit of one analysis process."""
    results_folder: str = ""
    """Where analyses keep their results, a folder for each repository; empty: nowhere."""
    results_bytes: Annotated[int, Field(gt=0)] = 2**30
    """Most that is kept there; the repositories that were reviewed longest ago go first."""
    retention_days: Annotated[int, Field(ge=1)] = 7
    """How long finished jobs, and with them the delivery ids that recognise a repeated delivery, are kept."""
    silent_worker_seconds: Annotated[float, Field(ge=60)] = 90.0
    """A worker that has not been heard of for this long is taken for lost, and its jobs are taken over."""
    reconcile_on_start: bool = True
    log_level: str = "INFO"

    @property
    def graphql_url(self) -> str:
        """Address of GraphQL: beside `/api/v3` on GitHub Enterprise Server, under the API's root elsewhere."""
        if self.github_graphql_url:
            return self.github_graphql_url
        root = self.github_api_url.rstrip("/")
        if root.endswith("/api/v3"):
            return root.removesuffix("/v3") + "/graphql"
        return root + "/graphql"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """Read the settings.

        Raises:
            SettingsError: naming every variable that is missing or wrong.
        """
        values: dict[str, str] = {}
        for field in cls.model_fields:
            name = PREFIX + field.upper()
            if environment.get(name):
                values[field] = environment[name]
            elif environment.get(name + "_FILE"):
                values[field] = _read(Path(environment[name + "_FILE"]), name + "_FILE")
        if "private_key" in values:
            # One-line .env files carry the key with its newlines written as \n.
            values["private_key"] = values["private_key"].replace("\\n", "\n")
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            # Never the values themselves: they may be secrets.
            lines = [f"{PREFIX}{str(part['loc'][0]).upper()}: {part['msg']}" for part in error.errors()]
            raise SettingsError("\n".join(lines)) from None


def _read(path: Path, name: str) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise SettingsError(f"{name}: cannot read {path}: {error.strerror}") from None
