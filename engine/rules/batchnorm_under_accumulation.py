"""Batch norm sees micro-batches, whatever gradients add up to."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.layers import built_into
from engine.rules.facts.training import clears, modulo_guard, step_scopes
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace
from engine.trace.events import ModuleCreated, ZeroGrad

_NAMES = ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d")
_NORMALISED = ("resnet", "resnext", "wide_resnet", "densenet", "mobilenet_v", "efficientnet_", "regnet_", "shufflenet_")
"""torchvision's constructors of networks with batch norm throughout."""


@rule("PF804", "batchnorm-under-accumulation", "note", "Batch norm statistics come from micro-batches")
def check(trace: Trace) -> Iterator[Draft]:
    for scope in step_scopes(trace):
        guard = modulo_guard(scope.step, scope.loop)
        zeros = [z for z in scope.of(ZeroGrad) if isinstance(z, ZeroGrad) and clears(z, scope.step.optimizer)]
        if guard is None or not zeros or not all(guard in zero.guards for zero in zeros):
            continue
        for created in trace.of(ModuleCreated):
            name = created.module.made_by.rpartition(".")[2]
            zoo = created.module.made_by.startswith("torchvision.models.") and name.startswith(_NORMALISED)
            near = created.place.path == scope.step.place.path
            zoo = zoo and "norm_layer" not in created.module.keywords
            if (name in _NAMES or zoo) and (near or built_into(created.module, scope.step.optimizer)):
                yield Draft(
                    created.place,
                    "Gradients are accumulated over micro-batches, but this layer normalises each micro-batch "
                    "by itself: "
                    "accumulation does not reproduce the large batch. Group or layer norm does not depend on it.",
                    (Step(scope.step.place, "stepped once in several micro-batches"),),
                )
                return
