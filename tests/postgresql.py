"""A PostgreSQL server of a test's own, from Debian's package, on a port of this machine alone."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

USER = "preflight"


def _binaries() -> Path | None:
    # Debian keeps the server's programs off the PATH, a folder for each version.
    packaged = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    if packaged:
        return packaged[-1].parent
    found = shutil.which("initdb")
    return Path(found).resolve().parent if found else None


@dataclass(frozen=True)
class PostgreSQL:
    """A running server with one empty database."""

    binaries: Path
    port: int

    def url(self, database: str = USER) -> str:
        """Return the address of a database as the bot's settings take it."""
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{database}"

    def run(self, program: str, *arguments: str) -> str:
        """Run one of PostgreSQL's own programs against this server and return what it printed."""
        command = [str(self.binaries / program), "--host=127.0.0.1", f"--port={self.port}", f"--username={USER}"]
        done = subprocess.run([*command, *arguments], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout


@contextmanager
def postgresql() -> Iterator[PostgreSQL]:
    """Run a server for the duration of the block; where there is none on the machine, the test is skipped."""
    binaries = _binaries()
    if binaries is None:
        pytest.skip("PostgreSQL's server is not installed; it comes with Debian's package postgresql")
    prefix = _as_somebody_else()
    # Not below pytest's folder, into which only the caller may look.
    folder = Path(tempfile.mkdtemp(prefix="preflight-postgresql-"))
    try:
        data = folder / "data"
        if prefix:
            shutil.chown(folder, "postgres", "postgres")
        # What a crash of the machine would lose does not matter here, and syncing takes most of the time.
        _run(prefix, binaries / "initdb", "--no-sync", "--auth=trust", f"--username={USER}", f"--pgdata={data}")
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = int(listener.getsockname()[1])
        options = f"-h 127.0.0.1 -p {port} -c unix_socket_directories= -c fsync=off -c max_connections=100"
        log = folder / "log"
        _run(prefix, binaries / "pg_ctl", "start", "-w", f"--pgdata={data}", f"--log={log}", f"--options={options}")
        try:
            server = PostgreSQL(binaries, port)
            server.run("createdb", USER)
            yield server
        finally:
            _run(prefix, binaries / "pg_ctl", "stop", "-w", "--mode=immediate", f"--pgdata={data}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _as_somebody_else() -> Sequence[str]:
    """Return how to run a program as the package's user: the server refuses to run as root."""
    if os.geteuid() != 0:
        return ()
    with contextlib.suppress(KeyError):
        pwd.getpwnam("postgres")
        return ("runuser", "-u", "postgres", "--")
    pytest.skip("PostgreSQL does not run as root, and there is no user postgres")


def _run(prefix: Sequence[str], program: Path, *arguments: str) -> None:
    # Without pipes: the server that pg_ctl leaves behind would keep them open.
    done = subprocess.run(
        [*prefix, str(program), *arguments], cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    assert done.returncode == 0, f"{program.name} ended with {done.returncode}"
