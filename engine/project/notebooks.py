"""Notebooks as modules: code cells joined, magics and shell lines blanked, cell and line kept."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from engine.project.reading import UnreadableFile

_PYTHON_CELL_MAGICS = frozenset(
    {"time", "timeit", "capture", "prun", "memray_flamegraph", "python", "python3", "wandb"}
)
_SHELL_ASSIGNMENT = re.compile(r"^(\s*[\w, ]+=\s*)[!%].*$")
_HELP = re.compile(r"^\s*(\?{1,2}[\w.]+|[\w.]+\?{1,2})\s*$")
_AUTOMAGIC = re.compile(
    r"^\s*(?:pip3?|conda|mamba|uv|cd|ls|mkdir|cp|mv|rm)[ \t]+(?![=+<>&|^:(\[]|(?:is|in|not|and|or|if)\b)\S"
)
"""Magics that need no percent sign where no variable has their name: `pip install torch`."""
_LINE_MAGIC_WITH_CODE = re.compile(r"^(\s*)%(?:time|timeit|prun|memit)\s+(?:-\S+\s+)*(.*)$")


@dataclass(frozen=True)
class Cell:
    """One code cell: its number among the code cells (from 1), its position among all cells (from 0), its lines in the
    joined module, and the line of the notebook's own file that each of them stands on (what a diff counts).

    `rewritten` names the module's lines that read differently in the cell, each with the number of characters that were
    taken from in front of its code: 6 for `%time step()`.
    """

    number: int
    position: int
    first_line: int
    line_count: int
    file_lines: Sequence[int] = ()
    rewritten: Mapping[int, int] = field(default_factory=dict)


def read_notebook(path: str, text: str) -> tuple[str, Sequence[Cell]]:
    """The joined Python source of a notebook's code cells, and where each cell went.

    Raises UnreadableFile if the JSON is broken, is no notebook, or its kernel is not Python.
    """
    try:
        document = json.loads(text)
    except json.JSONDecodeError as problem:
        raise UnreadableFile(path, f"is not valid JSON: {problem.msg}", problem.lineno, malformed=True) from problem
    except RecursionError as problem:
        raise UnreadableFile(path, "is nested too deeply to parse") from problem
    cells = _cells(document)
    if cells is None:
        raise UnreadableFile(path, "is not a Jupyter notebook: it has no list of cells", 1, malformed=True)
    language = _language(document)
    if language not in ("python", "python3", "ipython", ""):
        raise UnreadableFile(path, f"is a notebook in {language}, which is not analysed")
    lines: list[str] = []
    placed: list[Cell] = []
    places = source_lines(text)
    for position, cell in enumerate(cells):
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        source = _source(cell)
        own = source.replace("\r\n", "\n").split("\n")
        code = _blank_magics(own)
        file_lines = places[position] if position < len(places) else ()
        taken = {
            len(lines) + number: len(before) - len(after) if before.endswith(after.lstrip()) else 0
            for number, (before, after) in enumerate(zip(own, code, strict=True), start=1)
            if before != after
        }
        placed.append(Cell(len(placed) + 1, position, len(lines) + 1, len(code), tuple(file_lines), taken))
        lines += code
    return "\n".join(lines) + "\n", tuple(placed)


_JSON_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]|\n', re.DOTALL)


def source_lines(text: str) -> list[list[int]]:
    """For each cell of a notebook's JSON text, the line on which each line of its source stands.

    Only for valid JSON; notebooks of format 3, whose cells lie in worksheets, give an empty list.
    """
    found: list[list[int]] = []
    stack: list[str] = []
    keys: list[str] = [""]
    line = 1
    is_key = False
    for match in _JSON_TOKEN.finditer(text):
        token = match[0]
        if token == "\n":
            line += 1
        elif token in "{[":
            stack.append(token)
            keys.append("")
            is_key = token == "{"
            if token == "{" and keys[1:3] == ["cells", ""] and len(stack) == 3:
                found.append([])
        elif token in "}]":
            stack.pop()
            keys.pop()
        elif token == ",":
            is_key = stack[-1:] == ["{"]
        elif token == ":":
            is_key = False
        elif is_key:
            keys[-1] = token[1:-1]
        elif keys[1:2] == ["cells"] and found and keys[3:4] == ["source"] and len(stack) in (3, 4):
            count = json.loads(token).count("\n")
            ended = not found[-1] or found[-1][-1] != 0
            if not ended:
                found[-1].pop()
            found[-1] += [line] * count + ([line] if token[-3:] != '\\n"' else [0])
    return [[number for number in lines if number] for lines in found]


def _cells(document: object) -> list[object] | None:
    if not isinstance(document, dict):
        return None
    cells = document.get("cells")
    if cells is None and isinstance(document.get("worksheets"), list):
        # nbformat 3 kept its cells in worksheets.
        cells = [c for sheet in document["worksheets"] if isinstance(sheet, dict) for c in sheet.get("cells", [])]
    return cells if isinstance(cells, list) else None


def _language(document: dict[str, object]) -> str:
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        return ""
    for key in ("language_info", "kernelspec"):
        info = metadata.get(key)
        if isinstance(info, dict):
            name = info.get("language", info.get("name") if key == "language_info" else None)
            if isinstance(name, str):
                return name.lower()
    return ""


def _source(cell: dict[str, object]) -> str:
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        return "".join(part for part in source if isinstance(part, str))
    return source if isinstance(source, str) else ""


def _blank_magics(lines: Sequence[str]) -> list[str]:
    """The cell with everything that only IPython understands blanked; one line in, one line out."""
    first = next((line for line in lines if line.strip()), "")
    if first.startswith("%%"):
        magic = re.match(r"%%(\w*)", first)
        if magic is None or magic[1] not in _PYTHON_CELL_MAGICS:
            return ["" for _ in lines]
    result: list[str] = []
    continued = joined = False
    quote: str | None = None
    depth = 0
    for line in lines:
        stripped = line.lstrip()
        if continued:
            continued = line.rstrip().endswith("\\")
            result.append("")
            continue
        if quote is None and depth == 0 and not joined:
            spelled = _one_line(line, stripped)
            if spelled is not None:
                continued = line.rstrip().endswith("\\")
                result.append(spelled)
                continue
        result.append(line)
        joined = quote is None and line.endswith("\\")
        quote, depth = _open_after(line, quote, depth)
    return result


def _one_line(line: str, stripped: str) -> str | None:
    """What a line with IPython syntax becomes, None if it is plain Python."""
    indent = line[: len(line) - len(stripped)]
    timed = _LINE_MAGIC_WITH_CODE.match(line)
    if timed and timed[2].strip():
        return timed[1] + timed[2]
    if stripped.startswith(("%", "!")) or _HELP.match(line) or _AUTOMAGIC.match(line):
        # `pass`, not nothing: the line may be all that a block holds.
        return f"{indent}pass" if indent else ""
    assigned = _SHELL_ASSIGNMENT.match(line)
    if assigned and "==" not in assigned[1]:
        return f"{assigned[1]}None"
    return None


_TOKENS = re.compile(r"\"\"\"|'''|\\.|[\"'#()\[\]{}]")


def _open_after(line: str, quote: str | None, depth: int) -> tuple[str | None, int]:
    """Whether a triple-quoted string or a bracket is still open after a line: a `%` there is no magic."""
    for match in _TOKENS.finditer(line):
        token = match[0]
        if quote is not None:
            if token == quote:
                quote = None
        elif token == "#":
            break
        elif token in ('"""', "'''", '"', "'"):
            quote = token
        elif token in "([{":
            depth += 1
        elif token in ")]}":
            depth = max(0, depth - 1)
    return (quote if quote is not None and len(quote) == 3 else None), depth
