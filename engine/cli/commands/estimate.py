"""Predicts the peak GPU memory of a training or inference script, without running it."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cli.devices import add_gpus, known_gpus
from engine.cli.usage import ROOT_MARKS, WrongUse

if TYPE_CHECKING:
    from engine.findings import EstimateReport
    from engine.project import Project
    from hardware_catalog.allocator import Event

AUTO = "auto"
"""What `--gpu` takes for the cheapest device for rent that the run fits."""

FAILING = ("does-not-fit", "borderline", "unknown", "never")
"""What `--fail-on` takes: each verdict fails with those before it."""
COMMAND_LINE = "command-line.sh"
"""The launch script that a command line is read as."""

HELP = "predict peak GPU memory of a script, notebook, launch script or trainer configuration"
EXAMPLES = (
    ("preflight estimate train.py --gpu a100-80gb", "peak memory, verdict and ranked savings"),
    ("preflight estimate train.py --gpu auto", "the cheapest device for rent that it fits"),
    ("preflight estimate train.py --set batch_size=64 --set precision=amp-bf16", "the same with other settings"),
    (
        "preflight estimate --gpu here -- torchrun train.py --batch-size 8",
        "a whole command line, on this machine's devices",
    ),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of `preflight estimate`."""
    parser.add_argument(
        "script",
        nargs="+",
        metavar="SCRIPT",
        help="Python file, notebook, launch script or configuration file; or, after --, a whole command line",
    )
    parser.add_argument("--root", metavar="DIR", help="where the paths that it names are looked up")
    add_gpus(parser, more=", `auto` for the cheapest for rent that it fits")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="overrides", help="override a setting"
    )
    parser.add_argument("--format", choices=("text", "json", "markdown"), default="text")
    parser.add_argument(
        "--fail-on",
        choices=FAILING,
        default="never",
        help="exit with 1 at this verdict on a named device, and at the surer ones before it (default: never)",
    )
    parser.add_argument(
        "--timeline",
        metavar="FILE",
        type=Path,
        help="also write the memory over time: .json, .svg, or .pickle for PyTorch's memory visualiser",
    )
    parser.add_argument("--svg", metavar="FILE", type=Path, help="also write the memory over time as a picture")
    parser.add_argument(
        "--snapshot", metavar="FILE", type=Path, help="also write it as a snapshot for PyTorch's memory visualiser"
    )
    parser.add_argument("--html", metavar="FILE", type=Path, help="also write everything as one page")


def run(arguments: argparse.Namespace) -> int:
    """Estimates and prints. Raises WrongUse."""
    overrides = parse_overrides(arguments.overrides)
    auto = AUTO in arguments.gpu
    gpus = known_gpus([name for name in arguments.gpu if name != AUTO])
    if arguments.fail_on != "never" and not gpus and not auto:
        raise WrongUse("--fail-on compares with a device: name one with --gpu")
    from engine.estimate import estimate
    from engine.project import Project

    root, relative, sources = named(arguments.script, arguments.root)
    project = Project.from_folder(root).with_files(sources)
    try:
        report = estimate(project, relative, gpus=(*gpus, AUTO) if auto else gpus, overrides=overrides)
    except ValueError as problem:
        raise WrongUse(str(problem)) from problem
    _write_files(arguments, project, relative, report, overrides)
    if arguments.format == "json":
        print(report.model_dump_json(indent=2))
    elif arguments.format == "markdown":
        from engine.presentation.memory import estimate_markdown

        print(estimate_markdown(report, relative), end="")
    else:
        from engine.cli.formats.estimate import print_estimate

        print_estimate(report, relative)
    failing = FAILING[: FAILING.index(arguments.fail_on) + 1] if arguments.fail_on != "never" else ()
    none_found = auto and not report.targets and arguments.fail_on in ("borderline", "unknown")
    return int(none_found or any(target.verdict in failing for target in report.targets))


def _write_files(
    arguments: argparse.Namespace,
    project: Project,
    script: str,
    report: EstimateReport,
    overrides: Mapping[str, str],
) -> None:
    """The files that were asked for beside the report; the run that they show is followed once. Raises WrongUse."""
    pictures = [
        (path, kind)
        for path, kind in (
            (arguments.timeline, arguments.timeline.suffix if arguments.timeline else ""),
            (arguments.svg, ".svg"),
            (arguments.snapshot, ".pickle"),
        )
        if path is not None
    ]
    if not pictures and arguments.html is None:
        return
    from engine.memory.timeline import rendered, samples

    events = recorded(project, script, [target.gpu for target in report.targets], overrides)
    if pictures and not events:
        raise WrongUse(f"there is no memory over time to write: {' '.join(report.notes[:1])}")
    try:
        for path, kind in pictures:
            path.write_bytes(rendered(events, kind, title=script))
        if arguments.html is not None:
            from engine.cli.formats.page import estimate_page

            page = estimate_page(report, script, project, samples(events))
            arguments.html.write_text(page, encoding="utf-8", errors="replace")
    except (ValueError, OSError) as problem:
        raise WrongUse(str(problem)) from problem


def named(words: Sequence[str], root: str | None) -> tuple[Path, str, dict[str, str]]:
    """The project root, the script in it, and the launch script that a command line stands for. Raises WrongUse."""
    command = len(words) > 1
    script = Path.cwd() / COMMAND_LINE if command else Path(words[0]).resolve()
    if not command and not script.is_file():
        raise WrongUse(f"{words[0]} is not a file")
    top = Path(root).resolve() if root else default_root(script)
    if not top.is_dir():
        raise WrongUse(f"{root} is not a folder")
    if command:
        return top, COMMAND_LINE, {COMMAND_LINE: shlex.join(words) + "\n"}
    if not script.is_relative_to(top):
        raise WrongUse(f"{words[0]} is not below {top}; name its project with --root")
    return top, script.relative_to(top).as_posix(), {}


def recorded(project: Project, script: str, gpus: Sequence[str], overrides: Mapping[str, str]) -> Sequence[Event]:
    """Every allocation and release on the first of the devices; none where the script can not be launched."""
    from engine.estimate import DEFAULT_GPU
    from engine.memory.launch import CannotLaunch
    from engine.memory.timeline import record
    from hardware_catalog import find_gpu

    architecture = find_gpu(gpus[0] if gpus else DEFAULT_GPU).kernels
    try:
        return record(project, script, architecture=architecture, overrides=overrides)
    except CannotLaunch:
        return ()
    except ValueError as problem:
        raise WrongUse(str(problem)) from problem


def parse_overrides(values: list[str]) -> dict[str, str]:
    """`key=value` pairs. Raises WrongUse."""
    overrides: dict[str, str] = {}
    for value in values:
        key, equals, text = value.partition("=")
        if not equals or not key.strip():
            raise WrongUse(f"--set takes key=value, not {value!r}")
        overrides[key.strip().replace("-", "_")] = text.strip()
    return overrides


def default_root(script: Path) -> Path:
    """The nearest project root above the script that is at or below the working folder, else the script's folder."""
    here = Path.cwd().resolve()
    if script.is_relative_to(here):
        return here
    for folder in script.parents:
        if any((folder / mark).exists() for mark in ROOT_MARKS):
            return folder
    return script.parent
