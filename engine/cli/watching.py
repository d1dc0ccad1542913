"""`--watch`: runs again whenever a file of the project changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from engine.project.sources import FolderSource

WATCHED = (".py", ".ipynb", ".yml", ".yaml", ".toml")
"""Sources, and the files that settings are read from."""
_PAUSE = 0.5
_SHARE_OF_TIME = 0.1
"""Most of the time that looking for changes may take: large trees are looked at less often."""

Stamps = dict[str, tuple[int, int]]


def stamps(root: Path) -> Stamps:
    """Time of the last change, in nanoseconds, and bytes of every watched file below `root`."""
    found: Stamps = {}
    for path in FolderSource(root).paths():
        if path.endswith(WATCHED):
            try:
                about = (root / path).stat()
            except OSError:
                # It went away meanwhile; its absence is what is seen next.
                continue
            found[path] = (about.st_mtime_ns, about.st_size)
    return found


def changes(root: Path, pause: Callable[[float], object] = time.sleep) -> Iterator[list[str]]:
    """The paths that changed, appeared or went, each time that some did; the first time is at once, with none."""
    before = stamps(root)
    yield []
    wait = _PAUSE
    while True:
        pause(wait)
        start = time.monotonic()
        now = stamps(root)
        wait = max(_PAUSE, (time.monotonic() - start) / _SHARE_OF_TIME)
        if now != before:
            moved = sorted(path for path in now.keys() | before.keys() if now.get(path) != before.get(path))
            before = now
            yield moved
