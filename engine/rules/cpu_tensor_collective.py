"""A tensor of the host in a collective that only moves tensors of the GPU."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.rule import Draft, rule
from engine.trace import Place, Step, Trace, Value
from engine.trace.events import Collective, FunctionCall, MethodCall, ProcessGroupInit, TensorCreated


@rule("PF509", "cpu-tensor-collective", "error", "NCCL is given a tensor on the CPU")
def check(trace: Trace) -> Iterator[Draft]:
    backends = [_backend(trace, init) for init in trace.of(ProcessGroupInit) if init.how == "init_process_group"]
    if not backends or any(backend is None for backend in backends):
        return
    made = {id(created.output): created for created in trace.of(TensorCreated) if not created.device_given}
    for collective in trace.of(Collective):
        given = collective.values[0] if collective.values else None
        created = made.get(id(given))
        if collective.library != "torch" or given is None or created is None or given.device not in ("", "cpu"):
            continue
        if _default_device(trace) or _own_group(trace, collective):
            continue
        yield Draft(
            collective.place,
            "This tensor is on the CPU, and NCCL moves tensors of a GPU only: the call raises. Create it on the "
            "process's device.",
            (Step(created.place, "created on the CPU"), *(Step(place, "NCCL") for place in backends[:1] if place)),
        )


def _backend(trace: Trace, init: ProcessGroupInit) -> Place | None:
    """Where NCCL is asked for: in the call, or as the default of a command-line option; None for anything else."""
    if init.backend:
        return init.place if init.backend == "nccl" else None
    if init.backend_value is None:
        return None
    option = init.backend_value.name.rpartition(".")[2]
    for call in trace.of(MethodCall):
        flags = [str(value.constant) for value in call.arguments if value.is_constant]
        default = call.keywords.get("default")
        if call.method != "add_argument" or default is None or default.constant != "nccl":
            continue
        if any(flag.lstrip("-").replace("-", "_") == option for flag in flags):
            return call.place
    return None


def _default_device(trace: Trace) -> bool:
    """Whether tensors are created elsewhere by default."""
    return any(call.name in _DEFAULT_DEVICE for call in trace.of(FunctionCall))


_DEFAULT_DEVICE = frozenset({"torch.set_default_device", "torch.set_default_tensor_type"})


def _own_group(trace: Trace, collective: Collective) -> bool:
    """Whether a group of its own is passed, which may have another backend."""
    group: Value | None = collective.keywords.get("group")
    return group is not None and not (group.is_constant and group.constant is None)
