"""Launch scripts: the commands a shell script runs, its variables put in, each word with the line it stands on."""

from __future__ import annotations

import ast
import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from engine.project import Project


class Word(NamedTuple):
    """One word of a command; `line` is 1-based in the script."""

    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """A simple command: its words without redirections, and the environment that it is given."""

    path: str
    words: tuple[Word, ...]
    environment: Mapping[str, str]
    folder: str = ""
    """Where an earlier `cd` of the script has gone to, from the root; empty where there was none."""

    def texts(self) -> tuple[str, ...]:
        """The words without their places."""
        return tuple(word.text for word in self.words)


_ASSIGNMENT = re.compile(r"^(?:export\s+|local\s+|readonly\s+|declare\s+-x\s+)?([A-Za-z_]\w*)(\+?)=(.*)$", re.DOTALL)
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)(?:(:?[-=])([^}]*))?\}|([A-Za-z_]\w*)|(\d)|\{(\d)(?:(:?[-=])([^}]*))?\})")
_LOOP = re.compile(r"^for\s+([A-Za-z_]\w*)\s+in\s+([^;\n]*?)\s*(?:;\s*(?:do\b)?(.*)|(?:\n.*)?)$", re.DOTALL)
_MAKE_VARIABLE = re.compile(r"^(?:export\s+)?([A-Za-z_]\w*)\s*[?:]{0,2}=\s*(.*)$")
_MAKE_REFERENCE = re.compile(r"\$[({]([A-Za-z_]\w*)[)}]")
_ARRAY = re.compile(r"\"?\$\{([A-Za-z_]\w*)\[[@*]\]\}\"?")
_FOLDER = re.compile(r"\$\(\s*dirname\s+[^()]*\)")
_ALL_ARGUMENTS = re.compile(r"\"?\$(\{[@*](:\d+)*\}|[@*])\"?")
_ARITHMETIC = re.compile(r"\$\(\(([^()]*)\)\)")
_ENDS = frozenset(["|", "||", "&&", "&", ";", "then", "do", "{"])
_REDIRECTIONS = re.compile(r"^[12&]?>>?(&[12])?$|^<$")
_COMMENT = re.compile(r"(^|\s)#.*$")


def commands(project: Project, script: str) -> Iterator[Command]:
    """Every command of the script in order; functions and branches are read as if they were run."""
    variables: dict[str, str] = {"0": script.rpartition("/")[0] or "."}
    exported: dict[str, str] = {}
    folder = ""
    source = project.read_text(script)
    for text, first in _logical_lines(_recipes(source) if is_makefile(script) else source):
        match = _ASSIGNMENT.match(text)
        if match and _is_assignment(match[3]):
            value = _value(match[3], variables)
            variables[match[1]] = f"{variables.get(match[1], '')} {value}".strip() if match[2] else value
            if text.startswith(("export", "declare")):
                exported[match[1]] = variables[match[1]]
            continue
        loop = _LOOP.match(text)
        if loop:
            # The body is read once, with the first of the values: a sweep's runs differ in that one setting.
            values = _words(expand(loop[2], variables), first)
            if values:
                variables[loop[1]] = values[0].text
            text = (loop[3] or "").strip()
            if not text:
                continue
        words = _words(expand(text, variables), first)
        for part in _simple_commands(words):
            command = _with_environment(script, part, exported)
            if command is None:
                continue
            if command.words[0].text in ("cd", "pushd") and len(command.words) > 1:
                folder = _joined(folder, command.words[1].text)
            yield replace(command, folder=folder)


def _joined(folder: str, to: str) -> str:
    """The folder after `cd to`; outside of the repository nothing is known of it."""
    if to.startswith(("/", "~")) or to == "-":
        return ""
    return posixpath.normpath(posixpath.join(folder, to)).removeprefix("./") if to != "." else folder


def is_makefile(path: str) -> bool:
    """Whether the file is read by `make`."""
    return path.rsplit("/", 1)[-1] in ("Makefile", "makefile", "GNUmakefile") or path.endswith(".mk")


def _recipes(text: str) -> str:
    """The variables and recipe lines of a makefile as a shell would read them, line by line; rules are left out."""
    lines = []
    for line in text.replace("\r\n", "\n").split("\n"):
        variable = _MAKE_VARIABLE.match(line)
        if line.startswith("\t"):
            recipe = re.sub(r"^[@+]*(?:-(?![-\w]))?[@+]*", "", line.strip())
            lines.append(_MAKE_REFERENCE.sub(r"${\1}", recipe).replace("$$", "$"))
        elif variable:
            value = _MAKE_REFERENCE.sub(r"${\1}", variable[2].split(" #")[0].strip())
            lines.append(f"{variable[1]}={shlex.quote(value) if '$' not in value else chr(34) + value + chr(34)}")
        else:
            lines.append("")
    return "\n".join(lines)


def _logical_lines(text: str) -> Iterator[tuple[str, int]]:
    """Lines joined where they are continued or an array stays open, newlines kept, with the number of the first."""
    held: list[str] = []
    first = 1
    for number, line in enumerate(text.replace("\r\n", "\n").splitlines(), 1):
        if not held:
            first = number
        stripped = line.strip() if not held else line.rstrip()
        if not held and (not stripped or stripped.startswith("#")):
            continue
        open_array = re.match(r"^(?:\w+\s+)?[A-Za-z_]\w*\+?=\(", held[0] if held else stripped) is not None
        if open_array:
            stripped = _without_comment(stripped)
        held.append(stripped.removesuffix("\\"))
        if stripped.endswith("\\") or (open_array and not stripped.endswith(")")):
            continue
        yield " \n".join(held), first
        held = []
    if held:
        yield " \n".join(held), first


def _without_comment(line: str) -> str:
    found = _COMMENT.search(line)
    if found is None or line[: found.start()].count('"') % 2 or line[: found.start()].count("'") % 2:
        return line
    return line[: found.start()].rstrip()


def _is_assignment(value: str) -> bool:
    """Whether nothing but the value follows: `KEY=value command` runs a command."""
    if value.startswith("("):
        return True
    try:
        return len(shlex.split(_without_comment(value).split(";")[0])) <= 1
    except ValueError:
        return True


def _value(text: str, variables: Mapping[str, str]) -> str:
    text = expand(_without_comment(text.strip()), variables)
    if text.startswith("("):
        return text.strip("()").replace("\n", " ").strip()
    try:
        parts = shlex.split(text)
    except ValueError:
        return text
    return parts[0].rstrip(";") if parts else ""


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Variables, arrays, integer arithmetic and the script's own folder put in; what is not known becomes empty."""
    text = _FOLDER.sub(variables.get("0", "."), text)
    text = _ALL_ARGUMENTS.sub("", text)
    text = _ARRAY.sub(lambda match: variables.get(match[1], ""), text)

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[4]
        if name is None:
            return match[8] or ""
        known = variables.get(name)
        if match[2] and not known:
            return expand(match[3] or "", variables)
        return known or ""

    text = _ARITHMETIC.sub(lambda match: _arithmetic(match[1], variables), text)
    return _VARIABLE.sub(value, text)


def _arithmetic(text: str, variables: Mapping[str, str]) -> str:
    named = re.sub(r"\$?\{?\b([A-Za-z_]\w*)\b\}?", lambda match: variables.get(match[1]) or "0", text)
    try:
        tree = ast.parse(named.replace("/", "//").strip(), mode="eval")
        return str(_integer(tree.body))
    except (SyntaxError, ValueError, ZeroDivisionError):
        return ""


def _integer(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_integer(node.operand)
    if isinstance(node, ast.BinOp):
        left, right = _integer(node.left), _integer(node.right)
        match node.op:
            case ast.Add():
                return left + right
            case ast.Sub():
                return left - right
            case ast.Mult():
                return left * right
            case ast.FloorDiv():
                return left // right
            case ast.Mod():
                return left % right
    raise ValueError("not an integer expression")


def _words(text: str, first: int) -> list[Word]:
    text = "\n".join(_without_comment(line) for line in text.split("\n"))
    lexer = shlex.shlex(text, posix=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    found: list[Word] = []
    try:
        while (token := lexer.get_token()) is not None:
            found.append(Word(token, first + lexer.lineno - 1 - token.count("\n")))
    except ValueError:
        return []
    return found


def _simple_commands(words: list[Word]) -> Iterator[list[Word]]:
    """Split at pipes and separators; redirections are dropped with their targets."""
    part: list[Word] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word.text in _ENDS:
            yield part
            part = []
        elif _REDIRECTIONS.match(word.text):
            skip = not word.text.endswith(("&1", "&2"))
        elif word.text.startswith((">", "2>", "&>", "1>")):
            continue
        elif word.text.endswith(";") and not word.text.endswith("\\;"):
            yield [*part, word._replace(text=word.text[:-1])]
            part = []
        else:
            part.append(word)
    yield part


def _with_environment(script: str, words: list[Word], exported: Mapping[str, str]) -> Command | None:
    environment = dict(exported)
    while words and (words[0].text == "env" or re.match(r"^[A-Za-z_]\w*=", words[0].text)):
        name, equals, value = words.pop(0).text.partition("=")
        if equals:
            environment[name] = value
    return Command(script, tuple(words), environment) if words else None
