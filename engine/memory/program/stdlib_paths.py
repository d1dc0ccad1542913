"""`os`, `os.path` and `pathlib` over the project's files."""

from __future__ import annotations

import pathlib
import posixpath
from typing import TYPE_CHECKING, Any

from engine.memory.program.files import WrittenNowhere, is_file, is_folder, open_file, project_path, read_text
from engine.memory.program.namespaces import Namespace
from engine.memory.program.unknown import Unknown

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter


def _nothing(*args: Any, **kwargs: Any) -> None:
    return None


def make_os_path(interpreter: Interpreter) -> dict[str, Any]:
    """`os.path`."""

    def lenient(function: Any) -> Any:
        def apply(*args: Any) -> Any:
            unknown = next((arg for arg in args if isinstance(arg, Unknown)), None)
            return unknown if unknown is not None else function(*[str(arg) for arg in args])

        return apply

    members: dict[str, Any] = {
        name: lenient(getattr(posixpath, name))
        for name in ("join", "basename", "dirname", "split", "splitext", "normpath", "isabs", "relpath")
        if name != "relpath"
    }
    members.update(
        abspath=lenient(posixpath.normpath),
        realpath=lenient(posixpath.normpath),
        expanduser=lambda path: path,
        expandvars=lambda path: path,
        relpath=lambda path, *start: path,
        exists=lambda path: is_file(interpreter, path) or is_folder(interpreter, path),
        isfile=lambda path: is_file(interpreter, path),
        isdir=lambda path: is_folder(interpreter, path),
        getsize=lambda path: 0,
        getmtime=lambda path: 0.0,
        sep="/",
        commonprefix=lambda items: posixpath.commonprefix(list(items)),
    )
    return members


def make_os(interpreter: Interpreter) -> dict[str, Any]:
    """`os`."""
    environment = Environment(interpreter)

    def getenv(name: str, default: Any = None) -> Any:
        return environment.get(name, default)

    def listdir(path: Any = ".") -> list[str]:
        prefix = "" if str(path) in (".", "") else project_path(interpreter, path).rstrip("/") + "/"
        names = {name[len(prefix) :].split("/")[0] for name in interpreter.project.paths() if name.startswith(prefix)}
        if not names:
            raise FileNotFoundError(2, "No such folder in the repository", str(path))
        return sorted(names)

    def walk(path: Any = ".") -> Any:
        return iter(())

    return {
        "environ": environment,
        "getenv": getenv,
        "path": Namespace("os.path", make_os_path(interpreter)),
        "makedirs": _nothing,
        "mkdir": _nothing,
        "remove": _nothing,
        "rename": _nothing,
        "chdir": _nothing,
        "putenv": _nothing,
        "listdir": listdir,
        "walk": walk,
        "getcwd": lambda: "",
        "getpid": lambda: 1,
        "cpu_count": lambda: 8,
        "sep": "/",
        "linesep": "\n",
        "name": "posix",
        "system": lambda *args: 0,
        "PathLike": pathlib.PurePosixPath,
        "fspath": str,
        "sched_getaffinity": lambda pid: set(range(8)),
    }


class Environment(dict[str, str]):
    """`os.environ`: what a launcher sets, and nothing of this machine.

    A program that asks whether it has a rank (`get`, `in`) and was started plainly has none; one that reads it
    regardless is meant for a launcher, and gets that of a single process.
    """

    open_record = True

    def __init__(self, interpreter: Interpreter) -> None:
        super().__init__(interpreter.environment)
        self._demanded = interpreter.demanded

    def __missing__(self, name: str) -> str:
        return self._demanded[name]


def make_pathlib(interpreter: Interpreter) -> dict[str, Any]:
    """`pathlib`."""

    class Path(pathlib.PurePosixPath):
        """A path over the project's files."""

        def exists(self) -> bool:
            return is_file(interpreter, self) or is_folder(interpreter, self)

        def is_file(self) -> bool:
            return is_file(interpreter, self)

        def is_dir(self) -> bool:
            return is_folder(interpreter, self)

        def read_text(self, *args: Any, **kwargs: Any) -> str:
            return read_text(interpreter, self)

        def read_bytes(self) -> bytes:
            return read_text(interpreter, self).encode()

        def open(self, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
            return open_file(interpreter, self, mode)

        def write_text(self, *args: Any, **kwargs: Any) -> int:
            return 0

        def mkdir(self, *args: Any, **kwargs: Any) -> None:
            return None

        unlink = touch = rmdir = mkdir

        def resolve(self, *args: Any) -> Path:
            return self

        absolute = expanduser = resolve

        def iterdir(self) -> Any:
            return iter(sorted({type(self)(str(self), name) for name in make_os(interpreter)["listdir"](self)}))

        def _matching(self, pattern: str, deep: bool) -> Any:
            prefix = "" if str(self) == "." else f"{project_path(interpreter, self).rstrip('/')}/"
            for name in interpreter.project.paths():
                rest = name.removeprefix(prefix)
                if (
                    name.startswith(prefix)
                    and pathlib.PurePosixPath(rest).match(pattern)
                    and (deep or rest.count("/") == pattern.count("/"))
                ):
                    yield type(self)(name)

        def glob(self, pattern: str) -> Any:
            return self._matching(pattern.removeprefix("**/"), "**" in pattern)

        def rglob(self, pattern: str) -> Any:
            return self._matching(pattern, True)

        @classmethod
        def cwd(cls) -> Path:
            return cls("")

        home = cwd

    return {"Path": Path, "PurePath": pathlib.PurePosixPath, "PosixPath": Path, "PurePosixPath": pathlib.PurePosixPath}


__all__ = ["Environment", "WrittenNowhere", "make_os", "make_os_path", "make_pathlib"]
