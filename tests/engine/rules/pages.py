"""Reading a rule's page as a test suite.

Every fenced `py` block is a file; a line before it that holds only a file name in backquotes names it, and blocks named
so under one heading make one project. `# error: [rule]`, `# warning: [rule]` and `# note: [rule]` at the end of a line
are the findings expected there; a block without them expects none of this rule. A `diff` block shows what a safe fix
changes in one of the flagged examples.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import unified_diff

_EXPECTED = re.compile(r"#\s*(error|warning|note):\s*\[([a-z0-9-]+)\]\s*$")
_FILE_NAME = re.compile(r"^`([\w./-]+\.(?:py|ipynb))`:?$")


@dataclass
class Example:
    """One project of a page, with what is expected of it."""

    heading: str
    line: int
    files: dict[str, str] = field(default_factory=dict)

    @property
    def expected(self) -> set[tuple[str, int, str, str]]:
        """(path, line, severity, rule) of each expectation."""
        return {
            (path, number, found[1], found[2])
            for path, text in self.files.items()
            for number, line in enumerate(text.splitlines(), 1)
            if (found := _EXPECTED.search(line))
        }


def examples(page: str) -> Iterator[Example]:
    """The examples of a page, in order."""
    heading, named, current = "", None, None
    lines = page.splitlines()
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if line.startswith("#"):
            heading = line.lstrip("# ")
            if current:
                yield current
            current = None
        elif found := _FILE_NAME.match(line.strip()):
            named = found[1]
        elif line.strip() == "```py":
            start = number
            while lines[number].strip() != "```":
                number += 1
            text = "\n".join(lines[start:number]) + "\n"
            number += 1
            if named is None:
                if current:
                    yield current
                    current = None
                yield Example(heading, start, {"train.py": text})
            else:
                if current is None or named in current.files:
                    if current:
                        yield current
                    current = Example(heading, start)
                current.files[named] = text
            named = None
    if current:
        yield current


def diffs(page: str) -> list[str]:
    """The `diff` blocks of a page."""
    return re.findall(r"^```diff\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def shown_change(before: str, after: str) -> str:
    """What a page shows of a change: the lines that differ and one around them, without the marks of expectations."""
    old, new = ([_EXPECTED.sub("", line).rstrip() for line in text.splitlines()] for text in (before, after))
    lines = list(unified_diff(old, new, n=1, lineterm=""))[2:]
    return "".join("...\n" if line.startswith("@@") else f"{line}\n" for line in lines).removeprefix("...\n")
