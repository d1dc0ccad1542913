"""Settings from the environment, and secrets that stay out of logs."""

from __future__ import annotations

import logging
import socket
import sys
from pathlib import Path

import pytest

from bot.__main__ import main
from bot.observability.redaction import Redaction, redact
from bot.settings import Settings, SettingsError

KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\n-----END RSA PRIVATE KEY-----"
NEEDED = {"PREFLIGHT_APP_ID": "7", "PREFLIGHT_PRIVATE_KEY": KEY, "PREFLIGHT_WEBHOOK_SECRET": "hush-hush-hush"}


def test_secrets_may_come_from_files(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_text(KEY + "\n", encoding="utf-8")
    environment = {
        "PREFLIGHT_APP_ID": "7",
        "PREFLIGHT_PRIVATE_KEY_FILE": str(tmp_path / "key.pem"),
        "PREFLIGHT_WEBHOOK_SECRET": "hush",
    }
    assert Settings.from_environment(environment).private_key.get_secret_value() == KEY


def test_a_key_on_one_line_gets_its_line_ends_back() -> None:
    environment = {**NEEDED, "PREFLIGHT_PRIVATE_KEY": KEY.replace("\n", "\\n")}
    assert Settings.from_environment(environment).private_key.get_secret_value() == KEY


def test_everything_that_is_wrong_is_named_at_once_without_its_value() -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.from_environment({"PREFLIGHT_APP_ID": "hush-hush", "PREFLIGHT_PRIVATE_KEY_FILE": ""})
    text = str(caught.value)
    assert "PREFLIGHT_APP_ID" in text
    assert "PREFLIGHT_PRIVATE_KEY" in text
    assert "PREFLIGHT_WEBHOOK_SECRET" in text
    assert "hush-hush" not in text


@pytest.mark.parametrize(
    ("api", "graphql"),
    [
        ("https://api.github.com", "https://api.github.com/graphql"),
        ("https://git.example.org/api/v3", "https://git.example.org/api/graphql"),
        ("https://git.example.org/api/v3/", "https://git.example.org/api/graphql"),
        ("https://api.acme.ghe.com", "https://api.acme.ghe.com/graphql"),
    ],
)
def test_graphql_follows_from_the_rest_address(api: str, graphql: str) -> None:
    assert Settings.from_environment({**NEEDED, "PREFLIGHT_GITHUB_API_URL": api}).graphql_url == graphql


def test_settings_do_not_show_their_secrets() -> None:
    text = repr(Settings.from_environment(NEEDED))
    assert "hush-hush-hush" not in text
    assert "MIIEabc" not in text


@pytest.mark.parametrize(
    "secret",
    [
        "ghs_" + "a1B2" * 9,
        "ghs_1001_" + ".".join(["eyJ" + "x-Y_" * 40] * 3),
        "github_pat_" + "11ABCDEFG0" * 5,
        KEY,
        "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiIxMDAxIn0.c2lnbmF0dXJlLW9m",
        "sha256=" + "0f" * 32,
    ],
)
def test_what_looks_like_a_secret_is_blanked(secret: str) -> None:
    assert secret not in redact(f"before {secret} after")
    assert redact(f"before {secret} after").startswith("before ")
    assert redact(f"before {secret} after").endswith(" after")


def test_secrets_in_tracebacks_are_blanked_too() -> None:
    try:
        raise ValueError("hush-hush-hush")
    except ValueError:
        record = logging.LogRecord("bot", logging.ERROR, __file__, 1, "failed %s", ("x",), sys.exc_info())
    assert "hush-hush-hush" not in Redaction(["hush-hush-hush"]).format(record)


def test_the_command_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in NEEDED:
        monkeypatch.delenv(name, raising=False)
    assert main(["worker"]) == 2
    assert "PREFLIGHT_APP_ID" in capsys.readouterr().err
    # With nothing set, `serve` opens the set-up; with something, it says what lacks.
    monkeypatch.setenv("PREFLIGHT_WEBHOOK_SECRET", "x")
    assert main(["serve"]) == 2
    assert "PREFLIGHT_APP_ID" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["serve", "setup"])
def test_an_address_that_is_taken_is_named_and_no_link_printed(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in NEEDED:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main([command, "--host", "127.0.0.1", "--port", str(port)]) == 2
    printed = capsys.readouterr()
    assert f"cannot listen on 127.0.0.1:{port}: address already in use" in printed.err
    assert "/setup?token" not in printed.out + printed.err
