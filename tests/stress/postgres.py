"""A private PostgreSQL server in a temporary folder, reached through a socket there."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from bot.storage.database import create_engine

INSTALLED = Path("/usr/lib/postgresql")
"""Where Debian and its relatives put the server, a folder for each version; it is not on the PATH there."""
DATABASE = "postgres"
"""`initdb` makes it."""
UNPRIVILEGED = ("postgres", "nobody")


def binaries() -> Path | None:
    """The folder of the newest `initdb` of this machine, or None."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    versions = sorted(
        (folder for folder in INSTALLED.glob("*/bin") if (folder / "initdb").is_file()),
        key=lambda folder: float(folder.parent.name),
    )
    return versions[-1] if versions else None


@contextmanager
def private_server(folder: Path) -> Iterator[str]:
    """Run a server of the binaries in `folder` for the duration of the block; yields its SQLAlchemy address."""
    server = _Server(folder)
    try:
        yield server.start()
    finally:
        server.stop()


def another_database(address: str, name: str) -> str:
    """Create a further, empty database on the server of `address`, and return its address."""
    engine = create_engine(address).execution_options(isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f'CREATE DATABASE "{name}"'))
    engine.dispose()
    return sa.make_url(address).set(database=name).render_as_string(hide_password=False)


class _Server:
    def __init__(self, binaries: Path) -> None:
        self._binaries = binaries
        self._folder = Path(tempfile.mkdtemp(prefix="preflight-postgres-"))
        self._data = self._folder / "data"
        self._user = _account()
        if self._user is not None:
            # The server refuses to run as root.
            shutil.chown(self._folder, self._user)

    def start(self) -> str:
        self._run("initdb", "--pgdata", str(self._data), "--username=preflight", "--auth=trust", "--encoding=UTF8")
        options = f"-k {self._folder} -c listen_addresses='' -c max_connections=200"
        self._run("pg_ctl", "start", "-w", "-D", str(self._data), "-l", str(self._folder / "log"), "-o", options)
        return f"postgresql://preflight@/{DATABASE}?host={self._folder}"

    def stop(self) -> None:
        if (self._data / "postmaster.pid").exists():
            self._run("pg_ctl", "stop", "-w", "-m", "immediate", "-D", str(self._data))
        shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        # To files, not pipes: the server inherits them and would keep a reader waiting.
        with (self._folder / f"{program}.log").open("a+") as log:
            done = subprocess.run(
                [self._binaries / program, *arguments],
                user=self._user,
                group=self._user and _group(self._user),
                extra_groups=[] if self._user else None,
                cwd=self._folder,
                env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8"},
                stdout=log,
                stderr=subprocess.STDOUT,
                check=False,
            )
            log.seek(0)
            if done.returncode:
                raise RuntimeError(f"{program} failed: {log.read()[-2000:]}")


def _account() -> str | None:
    """Whose account the server gets: our own, unless that is root's."""
    if os.geteuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in UNPRIVILEGED if name in known)


def _group(user: str) -> int:
    return pwd.getpwnam(user).pw_gid
