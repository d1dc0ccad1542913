"""Predicts the peak GPU memory of a training or inference script, without running it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cli.devices import add_gpus, known_gpus
from engine.cli.overriding import add_overrides, parse_overrides
from engine.cli.scripts import add_script, named, warn_of_no_program
from engine.cli.usage import WrongUse

if TYPE_CHECKING:
    from engine.findings import EstimateReport
    from engine.project import Project
    from hardware_catalog.allocator import Event

AUTO = "auto"
"""What `--gpu` takes for the cheapest device for rent that the run fits."""

FAILING = ("does-not-fit", "borderline", "unknown", "never")
"""What `--fail-on` takes: each verdict fails with those before it."""
FAILING_TO_FITS = ("does-not-fit", "unknown", "borderline", "fits")
"""Verdicts, the worst first."""
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
    add_script(parser)
    add_gpus(parser, more=", `auto` for the cheapest for rent that it fits")
    add_overrides(parser)
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
    if len(arguments.script) > 1:
        warn_of_no_program(arguments.script)
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
    return int(_fails(report, arguments.fail_on, gpus, auto=auto))


def _fails(report: EstimateReport, fail_on: str, named: Sequence[str], *, auto: bool) -> bool:
    """Whether a named device has a verdict to fail at, or the best of those that `auto` stands for."""
    from hardware_catalog import find_gpu

    if fail_on == "never":
        return False
    failing = FAILING[: FAILING.index(fail_on) + 1]
    ids = {find_gpu(name).id for name in named}
    verdicts = [target.verdict for target in report.targets if target.gpu in ids]
    found = [target.verdict for target in report.targets if target.gpu not in ids]
    if auto and not found and not any(verdict == "fits" for verdict in verdicts):
        # The program could not be followed: which device is enough is not known.
        found = ["unknown"]
    best = max(found, key=FAILING_TO_FITS.index, default="fits")
    return any(verdict in failing for verdict in (*verdicts, best))


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
    except OSError as problem:
        raise WrongUse(f"{problem.filename} can not be written: {problem.strerror}") from problem
    except ValueError as problem:
        raise WrongUse(str(problem)) from problem


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
