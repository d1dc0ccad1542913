"""A rule's page as a comment: its examples, which are most of it, are folded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_HEADING = re.compile(r"(#{1,5}) (.*)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_EXAMPLES = {"Flagged": "Examples that are flagged", "Not flagged": "Examples that are not flagged"}


@dataclass(frozen=True)
class _Section:
    heading: str
    text: str

    @property
    def kind(self) -> str:
        """The fold that it belongs to, empty for what stays open."""
        return next((kind for kind in reversed(_EXAMPLES) if self.heading.startswith(kind)), "")

    @property
    def shown(self) -> str:
        return f"#### {self.heading}\n\n{self.text}" if self.heading else self.text


def folded_page(page: str, longest: int) -> str:
    """Return the page without its title, the examples folded; examples are left out from the last on where it would be
    longer than so many characters."""
    sections = [section for section in _sections(page) if section.heading or section.text]
    parts = [section.shown for section in sections if not section.kind]
    text = "\n\n".join(parts)
    if len(text) > longest:
        return text[:longest].rpartition("\n\n")[0]
    for kind, title in _EXAMPLES.items():
        examples: list[str] = []
        for section in sections:
            there = len(text) + sum(len(each) + 2 for each in examples)
            if section.kind == kind and there + len(section.shown) + len(title) + 80 <= longest:
                examples.append(section.shown)
        if examples:
            inner = "\n\n".join(examples)
            text += f"\n\n<details><summary>{title}, {len(examples)}</summary>\n\n{inner}\n\n</details>"
    return text


def _sections(page: str) -> Iterator[_Section]:
    """The parts under each heading, the title left out. A comment in a block of code is no heading."""
    heading, lines, fence = "", list[str](), ""
    for line in page.splitlines():
        opening = _FENCE.match(line)
        if opening and not fence:
            fence = opening[1]
        elif opening and opening[1].startswith(fence) and line.strip() == opening[1]:
            fence = ""
        found = None if fence or opening else _HEADING.fullmatch(line)
        if found is None:
            lines.append(line)
            continue
        yield _Section(heading, "\n".join(lines).strip())
        heading, lines = ("" if len(found[1]) == 1 else found[2]), []
    yield _Section(heading, "\n".join(lines).strip())
