"""Settings of the server, read from the environment."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from bot.observability.redaction import LogFormat
from bot.setup.storing import read_settings

PREFIX = "PREFLIGHT_"
SETTINGS_FILE = ".env"
"""Where the set-up puts the App's settings unless it is told otherwise."""


class SettingsError(Exception):
    """The environment lacks something, or holds something that does not fit; the message names each variable."""


class StorageSettings(BaseModel):
    """What a command needs that has to do with the database alone: no App. Each field is read from
    `PREFLIGHT_<FIELD>`, or from the file that `PREFLIGHT_<FIELD>_FILE` names."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    database_url: str = "sqlite:///preflight.sqlite3"
    """Where deliveries and jobs are kept: SQLite, or PostgreSQL for more than one machine."""
    log_level: str = "INFO"
    """Least that is logged."""
    log_format: LogFormat = "json"
    """`json`, a line an event, or `text` for a terminal."""

    def secrets(self) -> tuple[str, ...]:
        """Return what no log may show."""
        return ()

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Read the settings; of this process with the settings file beneath them, where nothing is given.

        Raises:
            SettingsError: naming every variable that is missing or wrong.
        """
        if environment is None:
            environment = with_file(os.environ)
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
        if "public_url" in values:
            values["public_url"] = values["public_url"].rstrip("/")
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            # Never the values themselves: they may be secrets.
            lines = [f"{PREFIX}{str(part['loc'][0]).upper()}: {part['msg']}" for part in error.errors()]
            raise SettingsError("\n".join(lines)) from None


class Settings(StorageSettings):
    """What an operator decides."""

    app_id: Annotated[int, Field(gt=0)]
    """The App's number."""
    private_key: SecretStr
    """The App's key, in PEM."""
    webhook_secret: SecretStr
    """What deliveries are signed with."""
    github_api_url: str = "https://api.github.com"
    """Address of the REST interface; GitHub Enterprise Server has its own."""
    github_graphql_url: str = ""
    """Only needed where it cannot be told from the REST address."""
    executor_id: str = Field(min_length=1, max_length=200, default_factory=socket.gethostname)
    """Name of this worker, the machine's by default: it must differ between workers that run at the same time, and
    should stay the same over restarts, since a restarted worker resumes at once the jobs that carry its name."""
    check_name: str = "Preflight"
    """Name of the check run."""
    worker_concurrency: Annotated[int, Field(ge=1)] = 8
    """Pull requests reviewed at the same time by this process."""
    installation_concurrency: Annotated[int, Field(ge=1)] = 6
    """Pull requests of one installation reviewed at the same time, by all workers together. Below what all workers
    do at a time, no organisation keeps the others waiting. The same for all processes."""
    synchronize_delay_seconds: Annotated[float, Field(ge=0)] = 3.0
    """How long a push waits for the next one before it is reviewed."""
    write_interval_seconds: Annotated[float, Field(ge=0)] = 1.0
    """Least time between two writes of one installation; GitHub asks for one second."""
    request_seconds: Annotated[float, Field(gt=0)] = 30.0
    """How long one request to GitHub may take."""
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
    """Looks at the start for deliveries that were missed."""
    hub_url: str = ""
    """Hub of models that is asked for the `config.json` of models which the catalogue does not have, such as
    https://huggingface.co; empty: nobody is asked. The names asked for stand in the code under review."""
    remembered_days: Annotated[int, Field(ge=1)] = 365
    """How long what people dismissed and paused is kept."""
    client_id: str = ""
    """The App's client id."""
    client_secret: SecretStr = SecretStr("")
    """The App's own, for signing people in."""
    public_url: str = ""
    """Where people reach this server. With the two above it turns the report pages on."""
    report_days: Annotated[int, Field(ge=1)] = 90
    """How long reports are kept."""
    github_url: str = ""
    """Address of GitHub's pages; only needed where it cannot be told from the REST address."""

    @property
    def graphql_url(self) -> str:
        """Address of GraphQL: beside `/api/v3` on GitHub Enterprise Server, under the API's root elsewhere."""
        if self.github_graphql_url:
            return self.github_graphql_url
        root = self.github_api_url.rstrip("/")
        if root.endswith("/api/v3"):
            return root.removesuffix("/v3") + "/graphql"
        return root + "/graphql"

    @property
    def web_url(self) -> str:
        """Address of GitHub's pages."""
        if self.github_url:
            return self.github_url.rstrip("/")
        parts = urlsplit(self.github_api_url)
        host = parts.netloc.removeprefix("api.") if parts.path in ("", "/") else parts.netloc
        return f"{parts.scheme}://{host}"

    @property
    def has_reports(self) -> bool:
        """Whether people can be signed in, and so be shown reports."""
        return bool(self.client_id and self.client_secret.get_secret_value() and self.public_url)

    def secrets(self) -> tuple[str, ...]:
        """Return what no log may show."""
        return tuple(
            secret.get_secret_value() for secret in (self.webhook_secret, self.private_key, self.client_secret)
        )

    @classmethod
    def names_an_app(cls) -> bool:
        """Tell whether anything of an App's identity is set; where nothing is, there is none yet.

        Raises:
            SettingsError: where the settings file cannot be read.
        """
        known = with_file(os.environ)
        names = [PREFIX + field.upper() for field in ("app_id", "private_key", "webhook_secret")]
        return any(known.get(name) or known.get(name + "_FILE") for name in names)


def settings_file() -> Path:
    """Return where the App's settings are kept: `PREFLIGHT_SETTINGS_FILE`, or `.env` where the process runs."""
    return Path(os.environ.get(PREFIX + "SETTINGS_FILE") or SETTINGS_FILE)


def with_file(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment over the settings file.

    Raises:
        SettingsError: where there is such a file and it cannot be read.
    """
    path = settings_file()
    try:
        return {**read_settings(path), **environment}
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{PREFIX}SETTINGS_FILE: cannot read {path}: {error}") from None


def _read(path: Path, name: str) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise SettingsError(f"{name}: cannot read {path}: {error.strerror}") from None
