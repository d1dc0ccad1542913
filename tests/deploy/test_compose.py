"""The compose file: two ways to run, each container confined, no secret in the file."""

from __future__ import annotations

import os
import re
import subprocess
from typing import Any

import pytest
import yaml

from bot.__main__ import main
from bot.settings import Settings
from tests.deploy.files import DEPLOY, compose, program


def services(profile: str) -> dict[str, dict[str, Any]]:
    return {name: service for name, service in compose()["services"].items() if profile in service["profiles"]}


def ours() -> dict[str, dict[str, Any]]:
    return {name: service for name, service in compose()["services"].items() if "build" in service}


def test_it_is_a_compose_file() -> None:
    compose_spec = pytest.importorskip("compose_spec", reason="compose_spec comes with the deploy extra")
    document = compose_spec.PyCompose.from_yaml(yaml.safe_dump(compose()))
    document.validate()
    assert sorted(document.service_names()) == sorted(compose()["services"])


def test_one_container_or_web_and_workers_over_postgresql() -> None:
    assert set(services("single")) == {"bot"}
    assert set(services("scaled")) == {"web", "worker", "migrate", "database", "caddy"}
    assert services("scaled")["web"]["command"] == ["serve", "--no-worker"]
    assert "container_name" not in services("scaled")["worker"], "it is started several times"


def test_every_command_is_one_that_preflight_bot_knows(capsys: pytest.CaptureFixture[str]) -> None:
    for name, service in ours().items():
        with pytest.raises(SystemExit) as ended:
            main([*service.get("command", ["serve"]), "--help"])
        assert ended.value.code == 0, name
    assert "usage" in capsys.readouterr().out


def test_every_setting_is_one_that_preflight_bot_knows() -> None:
    known = {f"PREFLIGHT_{field.upper()}" for field in Settings.model_fields}
    for service in ours().values():
        named = {name for name in service.get("environment", {}) if name.startswith("PREFLIGHT_")}
        assert named <= known


@pytest.mark.parametrize("name", sorted(ours()))
def test_our_containers_are_confined(name: str) -> None:
    service = ours()[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert any(mount.startswith("/tmp") for mount in service["tmpfs"])
    assert "privileged" not in service


def test_all_workers_have_names_of_their_own_and_the_single_bot_a_fixed_one() -> None:
    assert services("single")["bot"]["environment"]["PREFLIGHT_EXECUTOR_ID"] == "bot"
    assert "PREFLIGHT_EXECUTOR_ID" not in services("scaled")["worker"]["environment"]


def test_reviews_get_time_to_end() -> None:
    from bot.jobs.queue import DRAIN_SECONDS

    for service in ours().values():
        assert int(service["stop_grace_period"].removesuffix("s")) > DRAIN_SECONDS


def test_no_secret_stands_in_the_file_and_nothing_but_caddy_is_open_to_the_world() -> None:
    for name, service in compose()["services"].items():
        for key, value in service.get("environment", {}).items():
            if "PASSWORD" in key or "SECRET" in key or "KEY" in key:
                assert re.fullmatch(r"\$\{\w+:-\}", value), f"{name}: {key}"
        public = [port for port in service.get("ports", ()) if not port.startswith("127.0.0.1:")]
        assert bool(public) == (name == "caddy")
    assert services("scaled")["database"]["networks"] == ["inside"]
    assert compose()["networks"]["inside"]["internal"] is True


def test_images_of_others_are_pinned_to_a_release() -> None:
    for service in compose()["services"].values():
        if "build" not in service:
            assert re.fullmatch(r"[a-z]+:\d+\.\d+(\.\d+)?-\w+(@sha256:[0-9a-f]{64})?", service["image"])


def test_caddy_understands_its_file() -> None:
    caddy = program("caddy", "the deploy extra")
    done = subprocess.run(
        [caddy, "adapt", "--adapter", "caddyfile", "--config", DEPLOY / "Caddyfile", "--validate"],
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", "PREFLIGHT_UPSTREAM": "web:8000"},
    )
    assert done.returncode == 0, done.stderr
    assert '"dial":"web:8000"' in done.stdout
    assert "/metrics" in done.stdout
