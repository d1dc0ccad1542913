"""The files that set Preflight up: configuration, pre-commit hook, workflow."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.cli.setting_up.looking import Seen
from engine.cli.setting_up.source import Source
from engine.settings import YAML_PATHS
from engine.settings.model import DEFAULT_EXCLUDE

PRE_COMMIT_PATH = ".pre-commit-config.yaml"
WORKFLOW_PATH = ".github/workflows/preflight.yml"


@dataclass(frozen=True)
class Planned:
    """A file to be written. `adds_to_existing`: the text holds what was there; `problem`: why it is not written."""

    path: str
    text: str
    adds_to_existing: bool = False
    problem: str | None = None


def planned(seen: Seen, folder: Path, parts: Sequence[str], source: Source) -> Iterator[Planned]:
    """The files of the parts that were asked for; hooks and workflow install Preflight from `source`."""
    if "config" in parts:
        present = next((path for path in YAML_PATHS if path in seen.existing), YAML_PATHS[0])
        yield Planned(present, configuration(seen))
    if "pre-commit" in parts:
        yield _pre_commit(folder, source)
    if "workflow" in parts:
        yield Planned(WORKFLOW_PATH, workflow(source))


def configuration(seen: Seen) -> str:
    """`.github/preflight.yml` with what was found; what was not stands in comments."""
    lines = [
        "# Settings of Preflight; every key is optional. `preflight config check` tells what is not understood.",
        "",
    ]
    if seen.gpus:
        lines.append(f"gpus: {_listed(seen.gpus)}  # devices that the runs have to fit")
    else:
        lines.append("# gpus: [a100-80gb]  # devices that the runs have to fit")
    if seen.scripts:
        lines.append(f"entry_points: {_listed(seen.scripts)}  # programs whose peak memory is estimated")
    if seen.excludes:
        lines.append(f"exclude: {_listed([*DEFAULT_EXCLUDE, *seen.excludes])}  # never analysed")
    lines.append("fail_on: error  # `preflight check` fails at this severity and above: error, warning, note or never")
    return "\n".join(lines) + "\n"


def _listed(values: Sequence[str]) -> str:
    """A YAML list in one line; strings of JSON are strings of YAML."""
    return json.dumps(list(values), ensure_ascii=False)


HOOK = """\
  - repo: {source.repository}
    rev: {source.revision}
    hooks:
      - id: preflight
"""


def _pre_commit(folder: Path, source: Source) -> Planned:
    """A new `.pre-commit-config.yaml`, or the one that is there with the hook at the end of its list."""
    hook = HOOK.format(source=source)
    path = folder / PRE_COMMIT_PATH
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Planned(PRE_COMMIT_PATH, f"repos:\n{hook}")
    except (OSError, UnicodeDecodeError) as problem:
        return Planned(PRE_COMMIT_PATH, "", problem=f"can not be read: {problem}")
    if "preflight" in text:
        return Planned(PRE_COMMIT_PATH, text, problem="has a preflight hook already, left alone")
    added = _with_hook(text, hook)
    if added is None:
        return Planned(PRE_COMMIT_PATH, text, problem=f"is left alone; add this to its `repos`:\n{hook}")
    return Planned(PRE_COMMIT_PATH, added, adds_to_existing=True)


def _with_hook(text: str, hook: str) -> str | None:
    """The text with the hook as the last of `repos`, everything else as it was; None where that is not plain to do."""
    import yaml

    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        if not isinstance(node, yaml.MappingNode):
            return None
        repos = next(value for key, value in node.value if key.value == "repos")
        if not isinstance(repos, yaml.SequenceNode) or repos.flow_style or not repos.value:
            return None
        indent = " " * (repos.start_mark.column)
        last = repos.value[-1].end_mark
        lines = text.split("\n")
        # The end mark of a block stands at the start of what follows it: blank lines and comments stay below.
        at = last.line if last.column == 0 else last.line + 1
        while at > 0 and (not lines[at - 1].strip() or lines[at - 1].lstrip().startswith("#")):
            at -= 1
        block = [f"{indent}{line[2:]}" if line else line for line in hook.rstrip("\n").split("\n")]
        added = "\n".join([*lines[:at], *block, *lines[at:]])
        before, after = yaml.safe_load(text), yaml.safe_load(added)
    except (yaml.YAMLError, AttributeError, StopIteration, ValueError, RecursionError):
        return None
    whole = {**before, "repos": [*before["repos"], *yaml.safe_load(hook)]}
    return added if after == whole else None


def workflow(source: Source) -> str:
    """A workflow that installs Preflight from `source` and checks what a pull request introduces."""
    return f"""\
name: Preflight
on:
  pull_request:
permissions:
  contents: read
jobs:
  preflight:
    runs-on: ubuntu-latest
    timeout-minutes: 15
    steps:
      - uses: actions/checkout@v4
        with:
          fetch-depth: 0  # what a change introduces is told by comparing it with its base
          persist-credentials: false
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: pip install --quiet "{source.requirement}"
      - run: preflight check --format github --since "origin/$GITHUB_BASE_REF" --summary "$GITHUB_STEP_SUMMARY"
"""
