"""Writes the pages of `docs/` that are made from the code: `python -m tests.docs.reference`.

`docs/rules.md` comes from the rules and their pages, `docs/configuration.md` from the models of the settings, the table
of `docs/numbers.md` from what the gates ask for. A test holds the pages in the tree equal to what this makes.
"""

from __future__ import annotations

import ast
import inspect
import re
import types
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from bot import settings as bot_settings
from engine.rules import Rule, own_rules
from engine.settings import EntryPoint, Settings
from tests.accuracy import lint, memory
from tests.engine.rules.pages import diffs

DOCS = Path(__file__).parents[2] / "docs"

CHAPTERS = {
    "PF1": "Memory that is held",
    "PF2": "Gradients, steps and accumulation",
    "PF3": "Evaluation and modes",
    "PF4": "Losses and activations",
    "PF5": "More than one process",
    "PF6": "Data and randomness",
    "PF7": "Checkpoints",
    "PF8": "Time and precision",
}
"""What the first digit of a code stands for."""


def pages() -> dict[str, str]:
    """The generated pages by file name."""
    return {"rules.md": rules_page(), "configuration.md": configuration_page(), "numbers.md": numbers_page()}


def rules_page() -> str:
    """Every rule with what it finds and why it matters, from its own page."""
    rules = own_rules()
    parts = [
        "# Rules",
        "Made from the rules' own pages by `make docs`; `preflight explain NAME` prints one with its examples.",
        f"{len(rules)} rules. **error**: a wrong result, or a run that dies; **warning**: bounded waste; **note**: a"
        " matter of tuning. A fix is safe where the value's later uses are known and keep their meaning: `--fix` and"
        " the bot's suggestions offer no others.",
    ]
    for prefix, group in groupby(rules, key=lambda rule: rule.code[:3]):
        parts.append(f"## {CHAPTERS[prefix]} ({prefix}xx)")
        parts += [_rule(rule) for rule in group]
    return "\n\n".join(parts) + "\n"


def _rule(rule: Rule) -> str:
    page = f"../engine/rules/{rule.name.replace('-', '_')}.md"
    kind = f"{rule.severity}, with a safe fix" if diffs(rule.page) else rule.severity
    finds, why = (section(rule.page, name) for name in ("What it finds", "Why it matters"))
    return f"### [{rule.code} {rule.name}]({page})\n\n{rule.summary}. ({kind})\n\n{finds}\n\n{why}"


def section(page: str, heading: str) -> str:
    """The prose of one section of a rule's page, without its code."""
    match = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert match is not None, heading
    return re.sub(r"^```.*?^```\n", "", match[1], flags=re.MULTILINE | re.DOTALL).strip()


def numbers_page() -> str:
    """The page in the tree, with what CI holds between its marks."""
    rows = [
        ("defective programs in which the defect is found", f"at least {lint.RECALL_FLOOR:.0%}"),
        ("correct programs with an error or a warning", f"at most {lint.FLAGGED_CEILING:.0%}"),
        ("defective programs with a further error or warning", f"at most {lint.EXTRA_CEILING:.0%}"),
        ("defects with a known fix for which a safe one is offered", f"at least {lint.FIXES_FLOOR:.0%}"),
        ("safe fixes that clear their finding and bring no other", "all"),
    ]
    rows += [
        (f"memory, {source} runs: mean error of the peak", f"at most {ceilings['mean_error']:.1%}")
        for source, ceilings in memory.CEILINGS.items()
    ]
    begin, end = "<!-- made by `make docs` -->\n", "<!-- end -->"
    before, _, rest = (DOCS / "numbers.md").read_text("utf-8").partition(begin)
    return f"{before}{begin}\n{_table(iter(rows), ('what', 'CI asks for'))}\n\n{end}{rest.partition(end)[2]}"


def configuration_page() -> str:
    """Keys of a repository's file, and variables of the server."""
    keys = ("key", "takes", "default", "what it says")
    parts = [
        "# Configuration",
        "Made from the models of the settings by `make docs`.",
        "## Of a repository",
        "`.github/preflight.yml`, or `[tool.preflight]` in `pyproject.toml`; the bot reads the base branch's. Keys may"
        " be written with `_` or `-`, and every key is optional. What is not understood is named with its line, and its"
        " default holds: `preflight config check` tells before a push does. `extends` and organisations: see"
        " [the README](../README.md#as-a-github-app).",
        _table(_rows(Settings), keys),
        "An entry of `entry_points` is a path, or a mapping:",
        _table(_rows(EntryPoint), keys),
        "## Of the server",
        "Environment variables of `preflight-bot`, or lines of its `.env`. A secret may stand in a file, whose path the"
        " variable with `_FILE` at its end gives.",
        _table(_variables(), ("variable", *keys[1:])),
    ]
    return "\n\n".join(parts) + "\n"


def _rows(model: type[BaseModel]) -> Iterator[tuple[str, str, str, str]]:
    for name, field in model.model_fields.items():
        yield f"`{name}`", kind(field.annotation), default(field), field.description or ""


def _variables() -> Iterator[tuple[str, str, str, str]]:
    told = {**docstrings(bot_settings.StorageSettings), **docstrings(bot_settings.Settings)}
    for name, field in bot_settings.Settings.model_fields.items():
        variable = bot_settings.PREFIX + name.upper()
        yield f"`{variable}`", kind(field.annotation), default(field), told.get(name, "")


def docstrings(model: type[BaseModel]) -> Mapping[str, str]:
    """The texts that stand below the fields of a model in its source."""
    (cls,) = ast.parse(inspect.getsource(model)).body
    assert isinstance(cls, ast.ClassDef)
    found: dict[str, str] = {}
    for field, text in zip(cls.body, cls.body[1:], strict=False):
        match (field, text):
            case (ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(told)))):
                found[name] = " ".join(told.split())
    return found


def kind(annotation: Any) -> str:
    """A type in words."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return kind(arguments[0])
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin in (Union, types.UnionType):
        return kind(next(each for each in arguments if each is not type(None)))
    if origin is tuple:
        return "a list" if arguments[0] is not EntryPoint else "a list of programs"
    if origin is dict:
        return "a mapping"
    return _KINDS[annotation]


_KINDS: Mapping[Any, str] = {
    bool: "`true` or `false`",
    int: "a number",
    float: "a number",
    str: "text",
    SecretStr: "a secret",
    Path: "a path",
}


def default(field: FieldInfo) -> str:
    """A default as a file writes it; what must be given is said to be so."""
    if field.is_required():
        return "needed"
    value = field.default
    if field.default_factory is not None or value is None or isinstance(value, SecretStr) or value == "":
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        return f"`[{', '.join(map(str, value))}]`"
    return f"`{value}`" if not isinstance(value, dict) else f"`{{{', '.join(value)}}}`"


def _table(rows: Iterator[tuple[str, ...]], headings: tuple[str, ...]) -> str:
    lines = [headings, tuple("---" for _ in headings), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def main() -> None:
    """Writes the pages."""
    for name, text in pages().items():
        (DOCS / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
