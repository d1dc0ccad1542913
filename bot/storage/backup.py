"""Copies of the SQLite database while it is in use. PostgreSQL brings its own programs for that."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import sqlalchemy as sa


class BackupFailed(Exception):
    """There is no copy; the message says what to do instead."""


def back_up(database_url: str, target: Path) -> int:
    """Copy the database into `target` as it is at one moment, and return the copy's size in bytes.

    Processes may go on to write meanwhile. The copy is checked, readable by its owner alone, and takes the place of
    an older one only once it is whole.

    Raises:
        BackupFailed: where the database is not a SQLite file, or the copy is not sound.
    """
    address = sa.make_url(database_url)
    if not address.drivername.startswith("sqlite"):
        raise BackupFailed("this copies SQLite alone; for PostgreSQL use `pg_dump --format=custom`")
    source = Path(address.database or "")
    if not source.is_file():
        raise BackupFailed(f"there is no database at {source}")
    partial = target.with_name(f"{target.name}.partial")
    try:
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        with (
            closing(sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True)) as original,
            closing(sqlite3.connect(partial)) as copy,
        ):
            original.backup(copy)
            # One file that stands alone: the copy would otherwise ask for a write-ahead log beside it.
            copy.execute("PRAGMA journal_mode=DELETE")
            (verdict,) = copy.execute("PRAGMA quick_check").fetchone()
        if verdict != "ok":
            raise BackupFailed(f"the copy is not sound: {verdict}")
        partial.replace(target)
    except (OSError, sqlite3.Error) as error:
        raise BackupFailed(f"{target} could not be written: {error}") from error
    finally:
        partial.unlink(missing_ok=True)
    return target.stat().st_size
