"""Registering the App."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp.test_utils import TestClient, TestServer

from bot.github.models import ManifestConversion
from bot.settings import Settings
from bot.setup.manifest import EVENTS, PERMISSIONS, Manifest, api_url, registration_url
from bot.setup.server import SetupServer, write_settings
from bot.standin import StandIn

ROOT = Path(__file__).parents[2]


def test_the_manifest_by_hand_is_the_one_by_machine() -> None:
    by_hand = yaml.safe_load((ROOT / "app-manifest.yml").read_text(encoding="utf-8"))
    by_machine = Manifest.of("https://preflight.example.org", "http://127.0.0.1:8765/registered").model_dump()

    assert by_hand["default_permissions"] == PERMISSIONS
    assert tuple(by_hand["default_events"]) == EVENTS
    assert {key: by_machine[key] for key in ("name", "description", "public")} == {
        key: by_hand[key] for key in ("name", "description", "public")
    }


def test_nothing_but_reading_is_asked_of_the_code() -> None:
    assert PERMISSIONS["contents"] == "read"


def test_addresses() -> None:
    assert registration_url("https://github.com", None, "s") == "https://github.com/settings/apps/new?state=s"
    assert (
        registration_url("https://git.example.org/", "acme", "s")
        == "https://git.example.org/organizations/acme/settings/apps/new?state=s"
    )
    assert api_url("https://github.com") == "https://api.github.com"
    assert api_url("https://git.example.org") == "https://git.example.org/api/v3"


def client(github: StandIn, output: Path) -> TestClient[Any, Any]:
    manifest = Manifest.of("https://preflight.example.org", "http://127.0.0.1:8765/registered")
    server = SetupServer(manifest, action="https://github.com/x", state="right", api=github.url, output=output)
    return TestClient(TestServer(server.application()))


async def test_the_code_becomes_settings_that_only_the_owner_reads(tmp_path: Path) -> None:
    output = tmp_path / ".env"
    async with StandIn() as github, client(github, output) as browser:
        form = await (await browser.get("/")).text()
        assert "preflight.example.org/webhook" in form
        answer = await browser.get("/registered", params={"state": "right", "code": "standin-manifest-code"})
        page = await answer.text()

    assert answer.status == 200, page
    assert stat.S_IMODE(output.stat().st_mode) == 0o600
    assert "PRIVATE KEY" not in page
    lines = dict(line.split("=", 1) for line in output.read_text(encoding="utf-8").splitlines())
    settings = Settings.from_environment({name: value.strip('"') for name, value in lines.items()})
    assert settings.app_id == github.app.id
    assert "-----BEGIN" in settings.private_key.get_secret_value().splitlines()[0]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"state": "wrong", "code": "standin-manifest-code"}, 403),
        ({"code": "standin-manifest-code"}, 403),
        ({"state": "right"}, 400),
        ({"state": "right", "code": "../../user"}, 400),
        ({"state": "right", "code": "unknown"}, 502),
    ],
)
async def test_what_did_not_begin_here_is_refused(tmp_path: Path, query: dict[str, str], status: int) -> None:
    output = tmp_path / ".env"
    async with StandIn() as github, client(github, output) as browser:
        assert (await browser.get("/registered", params=query)).status == status
    assert not output.exists()


def test_settings_that_are_there_are_not_overwritten(tmp_path: Path) -> None:
    output = tmp_path / ".env"
    output.write_text("PREFLIGHT_APP_ID=1\n", encoding="utf-8")
    with pytest.raises(FileExistsError):
        write_settings(
            output, ManifestConversion(id=2, slug="p", html_url="https://x", pem="k"), "https://api.github.com"
        )
    assert output.read_text(encoding="utf-8") == "PREFLIGHT_APP_ID=1\n"
