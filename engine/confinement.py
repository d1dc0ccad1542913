"""A wall around shadow runs that holds even where the interpreter lets a program too far.

A shadow run executes a program on the host's own objects and keeps it from the host by what it lets the program read
(`engine.memory.program.attributes`). This is the second line: while a thread is `confined()`, Python's audit hook (PEP
578) refuses it files outside of Preflight and the standard library, processes, sockets, foreign functions and the
execution of text. What the engine itself must read meanwhile, the project's files, is read in functions marked
`released`.
"""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Refused(PermissionError):
    """A confined thread asked for something of this machine."""


_REFUSED_FAMILIES = frozenset(
    {
        "ctypes", "fcntl", "ftplib", "http", "imaplib", "mmap", "msvcrt", "nntplib", "os", "poplib", "pty", "resource",
        "shutil", "signal", "smtplib", "socket", "sqlite3", "ssl", "subprocess", "syslog", "telnetlib", "tempfile",
        "urllib", "webbrowser", "winreg",
    }
)  # fmt: skip
"""First parts of the audit events that reach out of the process."""
_REFUSED_EVENTS = frozenset(
    {
        "code.__new__", "cpython.remote_debugger_script", "cpython.run_command", "cpython.run_file", "gc.get_objects",
        "gc.get_referents", "gc.get_referrers", "function.__new__", "marshal.loads", "pickle.find_class",
        "sys.remote_exec", "sys._current_frames", "sys.settrace", "sys.setprofile",
    }
)  # fmt: skip
_IMPORT_SYSTEM = frozenset(
    {"<frozen importlib._bootstrap>", "<frozen importlib._bootstrap_external>", "<frozen zipimport>"}
)
"""Code that loads what the engine imports late, and keeps its bytecode."""
_FOLDER_EVENTS = frozenset({"os.listdir", "os.scandir"})
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_MAKERS = frozenset({"collections", "dataclasses"})
"""Standard modules that make functions from templates of their own. Names in them are checked before."""


def _readable_folders() -> tuple[str, ...]:
    known = sysconfig.get_paths()
    folders = {known[name] for name in ("stdlib", "platstdlib", "purelib", "platlib") if name in known}
    folders.add(str(Path(__file__).resolve().parent))
    folders.add(str(Path(__file__).resolve().parents[1] / "hardware_catalog"))
    return tuple(sorted({os.path.realpath(folder) + os.sep for folder in folders} | {f + os.sep for f in folders}))


class _Thread(threading.local):
    confined = False


_thread = _Thread()
_readable: tuple[str, ...] = ()


def _is_readable(path: Any) -> bool:
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    return isinstance(path, str) and (os.path.normpath(path) + os.sep).startswith(_readable)


def _caller() -> str:
    """The module whose code raised the event; the hook is called as if by that code."""
    return str(sys._getframe(2).f_globals.get("__name__", ""))


def _importing() -> bool:
    return sys._getframe(2).f_code.co_filename in _IMPORT_SYSTEM


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if not _thread.confined:
        return
    if event == "open":
        path, _, flags = arguments
        allowed = _is_readable(path) and not (isinstance(flags, int) and flags & _WRITES)
        if not allowed and not _importing():
            raise Refused(f"a shadow run opens no file: {path!s}")
    elif event == "exec":
        code = arguments[0]
        if not _is_readable(code.co_filename) and _caller() not in _MAKERS and not _importing():
            raise Refused("a shadow run executes no text")
    elif event in _FOLDER_EVENTS:
        if not _is_readable(arguments[0]) and not _importing():
            raise Refused(f"a shadow run lists no folder: {arguments[0]!s}")
    elif (event in _REFUSED_EVENTS or event.partition(".")[0] in _REFUSED_FAMILIES) and not _importing():
        raise Refused(f"a shadow run does not reach this machine: {event}")


@functools.cache
def _install() -> None:
    """Hooks last as long as the process, so there is one, and it sleeps outside of `confined`."""
    global _readable
    _readable = _readable_folders()
    sys.addaudithook(_watch)


@contextmanager
def confined() -> Iterator[None]:
    """This thread reaches nothing of the machine; what tries raises Refused."""
    _install()
    before, _thread.confined = _thread.confined, True
    try:
        yield
    finally:
        _thread.confined = before


def released(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """For functions of the engine that read the project: they work in a confined thread too."""

    @functools.wraps(function)
    def work(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        before, _thread.confined = _thread.confined, False
        try:
            return function(*args, **kwargs)
        finally:
            _thread.confined = before

    return work


__all__ = ["Refused", "confined", "released"]
