"""The units of systemd: understood by it, and confined."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bot.__main__ import main
from tests.deploy.files import DEPLOY, program, unit

UNITS = ("preflight-web.service", "preflight-worker@.service")
MOST_EXPOSED = 2.0
"""Of ten, by systemd's own reckoning: under two is what it calls OK."""


@pytest.mark.parametrize("name", UNITS)
def test_systemd_understands_it(name: str, tmp_path: Path) -> None:
    systemd = program("systemd-analyze", "systemd")
    text = (DEPLOY / "systemd" / name).read_text(encoding="utf-8")
    # Nothing is installed here, and an executable that is not there is all that it may complain about.
    file = tmp_path / name.replace("@", "@1")
    file.write_text(text.replace("/opt/preflight/bin/preflight-bot", "/bin/true"), encoding="utf-8")
    done = subprocess.run([systemd, "verify", "--man=no", file], capture_output=True, text=True)
    about = [line for line in done.stderr.splitlines() if file.name in line or "preflight" in line]
    assert not about, about


@pytest.mark.parametrize("name", UNITS)
def test_it_is_confined(name: str) -> None:
    systemd = program("systemd-analyze", "systemd")
    command = [systemd, "security", "--offline=true", f"--threshold={MOST_EXPOSED * 10:.0f}"]
    done = subprocess.run([*command, DEPLOY / "systemd" / name], capture_output=True, text=True)
    if "Unknown" in done.stderr or "unrecognized option" in done.stderr:
        pytest.skip("this systemd-analyze does not judge files that are not installed")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr


@pytest.mark.parametrize("name", UNITS)
def test_it_starts_a_command_that_there_is(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    program_, *arguments = unit(name)["Service"]["ExecStart"][0].split()
    assert program_ == "/opt/preflight/bin/preflight-bot"
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--help"])
    assert ended.value.code == 0
    capsys.readouterr()


def test_web_and_workers_share_the_database_and_workers_have_names_and_folders_of_their_own() -> None:
    web, worker = (unit(name)["Service"] for name in UNITS)
    database = [line for line in web["Environment"] if line.startswith("PREFLIGHT_DATABASE_URL=")]
    assert database and set(database) <= set(worker["Environment"])
    assert web["User"] == worker["User"] == ["preflight"]
    assert web["StateDirectory"] == worker["StateDirectory"]
    own = [line for line in worker["Environment"] if "%i" in line]
    assert {line.partition("=")[0] for line in own} == {"PREFLIGHT_EXECUTOR_ID", "PREFLIGHT_RESULTS_FOLDER"}


def test_systemd_waits_for_running_reviews() -> None:
    from bot.jobs.queue import DRAIN_SECONDS

    for name in UNITS:
        assert int(unit(name)["Service"]["TimeoutStopSec"][0]) > DRAIN_SECONDS
