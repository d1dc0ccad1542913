"""How a script is started: a Python file or notebook as it is, a shell script by the launcher's line in it.

The tables of trainers and the reader of YAML are imported where a launch needs them: most scripts need neither.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from engine.memory.shadow import Launch
from engine.memory.shell import Command, commands, is_makefile
from engine.project import UnreadableFile

if TYPE_CHECKING:
    from engine.project import Project


class CannotLaunch(ValueError):
    """The file names no program that could be followed; the message says why."""


def plan(project: Project, script: str) -> Launch:
    """The launch of `script`; raises CannotLaunch."""
    if not project.exists(script):
        raise CannotLaunch(f"{script}: no such file")
    if script.endswith((".py", ".ipynb")):
        return from_repository(project, script)
    if script.endswith(SHELL_SCRIPTS) or is_makefile(script) or project.read_text(script).startswith("#!"):
        return from_shell(project, script)
    if script.endswith(CONFIGURATIONS):
        return from_configuration(project, script)
    raise CannotLaunch(f"{script}: not a Python file, a notebook or a launch script")


CONFIGURATIONS = (".yaml", ".yml", ".json", ".toml")
SHELL_SCRIPTS = (".sh", ".bash", ".slurm", ".sbatch")
_COUNT_OPTIONS = {
    "--nproc_per_node",
    "--nproc-per-node",
    "--num_processes",
    "--num-processes",
    "--num_gpus",
    "--gpus_per_node",
}
_NODE_OPTIONS = {"--nnodes", "--num_machines", "--num_nodes"}
_LAUNCHERS = {
    "torchrun",
    "accelerate",
    "deepspeed",
    "python",
    "python3",
    "torch.distributed.launch",
    "torch.distributed.run",
}


def from_repository(project: Project, script: str) -> Launch:
    """The launch of a Python file: as the repository's own launch script starts it, else without arguments."""
    found: list[tuple[str, Launch]] = []
    for path in project.paths():
        if not path.endswith(SHELL_SCRIPTS) and not is_makefile(path):
            continue
        try:
            launch = from_shell(project, path, only=script)
        except (CannotLaunch, ValueError):
            continue
        found.append((path, launch))
    if not found:
        return Launch(script)
    path, launch = found[0]
    notes = [f"arguments are those of {path}"]
    if len(found) > 1:
        notes.append(f"other launch scripts start it too: {', '.join(other for other, _ in found[1:4])}")
    return replace(launch, notes=(*notes, *launch.notes))


def from_shell(project: Project, script: str, only: str | None = None) -> Launch:
    """The last command that starts a Python program of the project (or `only` that one), or a known trainer's."""
    found: Launch | None = None
    for command in commands(project, script):
        launch = _launched(project, command)
        if launch is not None and only in (None, launch.script):
            found = launch
    if found is None:
        raise CannotLaunch(f"{script}: starts no Python program of this repository, nor a trainer that is known")
    return replace(found, read=(script, *found.read))


def from_configuration(project: Project, path: str) -> Launch:
    """The launch that a configuration file of a known trainer asks for."""
    from engine.memory import trainers

    try:
        launch = trainers.from_file(project, path)
    except trainers.CannotPlay as problem:
        raise CannotLaunch(str(problem)) from problem
    if launch is None:
        raise CannotLaunch(f"{path}: not the configuration of a trainer that is known")
    return replace(launch, read=(path, *launch.read))


def _launched(project: Project, command: Command) -> Launch | None:
    """What a command starts, the processes and settings of its launcher read."""
    words = command.texts()
    start = next((index for index, word in enumerate(words) if word.rsplit("/", 1)[-1] in _LAUNCHERS), None)
    if start is None:
        return _of_trainer(project, command, 0, 1, ())
    first = start
    script, environment = command.path, dict(command.environment)
    words = words[start:]
    processes, nodes, index = 1, 1, 1
    notes: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    sharding: Mapping[str, Any] = {}
    launcher = words[0].rsplit("/", 1)[-1]
    while index < len(words):
        word = words[index]
        name, _, given = word.partition("=")
        if name in _COUNT_OPTIONS or name in _NODE_OPTIONS:
            if not given:
                index += 1
                given = words[index] if index < len(words) else "1"
            count = int(given) if given.isdigit() else 1
            if name in _COUNT_OPTIONS:
                processes = count
            else:
                nodes = count
            index += 1
            continue
        if name in ("--mixed_precision", "--mixed-precision"):
            if not given:
                index += 1
                given = words[index] if index < len(words) else ""
            environment["ACCELERATE_MIXED_PRECISION"] = given
            index += 1
            continue
        if name == "--config_file":
            if not given:
                index += 1
                given = words[index] if index < len(words) else ""
            configured = accelerate_config(project, script, given)
            processes = configured.processes if processes == 1 else processes
            environment = {**configured.environment, **environment}
            notes, sharding, read = configured.notes, configured.sharding, configured.read
            index += 1
            continue
        path = _script_path(project, script, word, command.folder, module=words[index - 1] in ("-m", "--module"))
        if path is not None:
            folders = tuple(p.rstrip("/") for p in environment.get("PYTHONPATH", "").split(":") if p not in ("", "."))
            devices = environment.get("CUDA_VISIBLE_DEVICES")
            if launcher == "deepspeed" and processes == 1 and devices:
                processes = len(devices.split(","))
            return Launch(
                path,
                words[index + 1 :],
                environment=environment,
                world_size=max(1, processes * nodes),
                search_paths=folders,
                notes=notes,
                read=read,
                state={
                    "launcher": launcher,
                    "launch words": words,
                    "torchrun": launcher,
                    "accelerate sharding": sharding,
                },
            )
        launch = _of_trainer(
            project, replace(command, environment=environment), first + index, processes * nodes, notes
        )
        if launch is not None:
            return launch
        index += 1
    return None


def _of_trainer(
    project: Project, command: Command, start: int, processes: int, notes: tuple[str, ...]
) -> Launch | None:
    """The launch where the words from `start` on begin a known trainer's command line."""
    from engine.memory import trainers

    if processes == 1:
        processes = len(command.environment.get("CUDA_VISIBLE_DEVICES", "0").split(","))
    count = command.environment.get("NPROC_PER_NODE", "")
    processes = int(count) if count.isdigit() else processes
    try:
        return trainers.from_command(project, command, command.words[start:], max(1, processes), notes)
    except trainers.CannotPlay as problem:
        raise CannotLaunch(str(problem)) from problem


@dataclass(frozen=True)
class AccelerateConfig:
    """What a configuration file of `accelerate launch` says of the processes."""

    processes: int = 1
    environment: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    sharding: Mapping[str, Any] = field(default_factory=dict)
    """Options of FSDP or DeepSpeed under the key `fsdp` or `deepspeed`."""
    read: tuple[str, ...] = ()
    """The file itself."""


def accelerate_config(project: Project, script: str, named: str) -> AccelerateConfig:
    """Reads the file that `--config_file` names, beside the launch script or from the root.

    `num_processes` counts the processes of all machines; the keys are those that `accelerate config` writes.
    """
    import yaml

    folder = script.rpartition("/")[0]
    candidates = (named.removeprefix("./"), f"{folder}/{named.removeprefix('./')}".lstrip("/"))
    path = next((candidate for candidate in candidates if candidate and project.exists(candidate)), None)
    if path is None:
        return AccelerateConfig(notes=(f"the accelerate configuration {named} is not in the repository",))
    try:
        values = yaml.safe_load(project.read_text(path))
    except (yaml.YAMLError, RecursionError, UnreadableFile) as problem:
        return AccelerateConfig(notes=(f"{path} could not be read: {' '.join(str(problem).split())[:200]}",))
    if not isinstance(values, dict):
        return AccelerateConfig(notes=(f"{path} holds no settings",))
    count = values.get("num_processes")
    precision = values.get("mixed_precision")
    kind = str(values.get("distributed_type", "NO")).upper()
    options = values.get(f"{kind.lower()}_config")
    played = kind in ("DEEPSPEED", "FSDP")
    return AccelerateConfig(
        processes=count if isinstance(count, int) and count > 0 else 1,
        environment={"ACCELERATE_MIXED_PRECISION": precision} if isinstance(precision, str) else {},
        notes=(f"{kind} of {path} is not modelled: the run is shown unsharded, so it needs less than this",)
        if kind == "MEGATRON_LM"
        else (),
        sharding={kind.lower(): options if isinstance(options, dict) else {}} if played else {},
        read=(path,),
    )


def _script_path(project: Project, script: str, word: str, gone_to: str, *, module: bool) -> str | None:
    if module:
        return project.find_module(word)
    if not word.endswith(".py"):
        return None
    name, folder = word.removeprefix("./"), script.rpartition("/")[0]
    for candidate in (
        posixpath.normpath(posixpath.join(gone_to, name)),
        name,
        f"{folder}/{name}".lstrip("/"),
        posixpath.normpath(posixpath.join(folder, gone_to, name)),
    ):
        if project.exists(candidate):
            return candidate
    return None
