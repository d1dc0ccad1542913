"""Files as a program sees them: those of the project can be read, nothing can be written, everything else is absent."""

from __future__ import annotations

import io
import posixpath
from typing import TYPE_CHECKING, Any

from engine.memory.program.unknown import Unknown

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter


def project_path(interpreter: Interpreter, path: Any) -> str:
    """The path of a project file as the project names it: relative to its root, or to the script's folder."""
    text = posixpath.normpath(str(path))
    text = text.removeprefix("/project/").removeprefix("./")
    if text == "/project":
        return "."
    if not interpreter.project.exists(text):
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(interpreter.entry), text))
        if interpreter.project.exists(beside):
            return beside
    return text


def is_file(interpreter: Interpreter, path: Any) -> bool:
    """Whether the project holds this file."""
    if isinstance(path, Unknown):
        return False
    return interpreter.project.exists(project_path(interpreter, path))


def is_folder(interpreter: Interpreter, path: Any) -> bool:
    """Whether the project holds files below this path."""
    if isinstance(path, Unknown):
        return False
    prefix = project_path(interpreter, path).rstrip("/") + "/"
    return prefix == "./" or any(name.startswith(prefix) for name in interpreter.project.paths())


class WrittenNowhere(io.StringIO):
    """A file opened for writing: takes everything, keeps nothing."""

    name = "written-nowhere"

    def write(self, text: Any) -> int:
        return len(text) if hasattr(text, "__len__") else 0


def open_file(interpreter: Interpreter, path: Any, mode: Any = "r") -> Any:
    """`open(path, mode)`."""
    if isinstance(path, Unknown) or isinstance(mode, Unknown):
        return Unknown("a file whose name is not known")
    if any(flag in str(mode) for flag in "wax+"):
        return WrittenNowhere()
    text = read_text(interpreter, path)
    return io.BytesIO(text.encode()) if "b" in str(mode) else io.StringIO(text)


def read_text(interpreter: Interpreter, path: Any) -> str:
    """Text of a project file; FileNotFoundError for anything else."""
    name = project_path(interpreter, path)
    if not interpreter.project.exists(name):
        raise FileNotFoundError(2, "No such file in the repository", str(path))
    interpreter.state.setdefault("files read", []).append(name)
    return interpreter.project.read_text(name)
