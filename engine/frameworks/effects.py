"""How a framework's knowledge is written down: what a call or a method does, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Effect:
    """What calling something does.

    `kind` selects the interpreter's handler; `detail` refines it (the loss's functional name, the collective's name,
    the role of what is constructed); `parameters` are the argument names in order, for positional arguments.
    """

    kind: str
    detail: str = ""
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Framework:
    """The knowledge of one library.

    `calls`: qualified name to effect. `prefixes`: the same for whole families (`torch.optim.`). `methods`: effects of
    methods by the receiver's role. `bases`: families of project classes that derive from a library class.
    `source`: where the facts were read.
    """

    name: str
    source: str
    calls: Mapping[str, Effect] = field(default_factory=dict)
    prefixes: Mapping[str, Effect] = field(default_factory=dict)
    methods: Mapping[tuple[str, str], Effect] = field(default_factory=dict)
    bases: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)


CALL_KINDS: Mapping[str, str] = {
    "construct": "makes an object whose role is `detail`; `methods` says what its methods do",
    "module": "makes an nn.Module, or with `detail` = `library` a whole model; lower-case names compute a tensor",
    "optimizer": "makes an optimizer; parameter `params`",
    "scheduler": "makes a learning-rate scheduler; parameter `optimizer`",
    "scaler": "makes a gradient scaler; parameter `enabled`",
    "loader": "makes a data loader; parameters as of torch's DataLoader",
    "sampler": "makes a sampler; `detail` is `distributed`, `random`, `sequential` or `batch`",
    "dataset": "makes a dataset; `detail` names its kind, `sharded` where each rank gets its own part",
    "wrap": "wraps a module; `detail` is `ddp`, `fsdp`, `data-parallel` or `compile`; parameter `module`",
    "passthrough": "gives back what it is given first",
    "tensor": "computes a differentiable tensor from its arguments",
    "create": "makes a tensor without a graph; `detail` is torch's name for it, such as `zeros`",
    "activation": "`detail` is torch's functional name; parameters `input`, `dim`",
    "loss": "`detail` is torch's functional name, such as `cross_entropy`; parameters `input`, `target`",
    "backward": "back-propagates; `detail` names the means, such as `tensor`; parameter `loss`",
    "clip": "clips gradients; `detail` is `norm` or `value`; parameters `parameters`, `max_norm` or `clip_value`",
    "seed": "seeds; `detail` lists some of `torch cuda numpy random`; parameter `seed`",
    "save": "writes a checkpoint; `detail` names the call; parameters `obj`, `f`",
    "load": "reads a checkpoint; parameters `f`, `map_location`",
    "load-module": "reads a whole model; parameters `f`, `map_location`",
    "collective": "a call that every rank has to make; `detail` is torch's name for it",
    "process-group": "starts the process group; `detail` names the call; parameter `backend`",
    "rank": "tells `rank`, `local-rank` or `world-size`, as `detail` says",
    "set-device": "chooses the current device by its first argument",
    "sync": "makes the host wait for the device; `detail` names how",
    "report": "prints or logs its arguments",
    "grad-mode": "`detail` is `no_grad`, `inference_mode`, `enable_grad` or `set_grad_enabled`; parameter `mode`",
    "autocast": "a mixed-precision context; parameters `dtype`, `enabled`",
    "plain": "nothing that matters to training",
}
"""Kinds of calls that a table from outside may use, and what `detail` and `parameters` mean there."""

METHOD_KINDS: Mapping[str, str] = {
    "prepare": "prepares modules, optimizers and loaders, and gives them back; `detail` names the framework",
    "backward": "back-propagates; `detail` names the means; parameter `loss`",
    "clip": "clips gradients; `detail` is `norm` or `value`; parameters `parameters`, `max_norm` or `clip_value`",
    "collective": "a call that every rank has to make; `detail` is torch's name for it",
    "context": "a context of the kind `detail`: `accumulate` or `no_sync`",
    "autocast": "a mixed-precision context",
    "unwrap": "gives the module behind its wrapper",
    "save": "writes a checkpoint; `detail` names the call; parameters `obj`, `f`",
    "report": "prints or logs its arguments; `detail` is `print` or `log`",
    "seed": "seeds; `detail` lists some of `torch cuda numpy random`; parameter `seed`",
    "process-group": "starts the process group, and calls the function that it is given",
    "engine-step": "steps the optimizer that the object holds, and clears its gradients",
    "trainer-run": "runs the whole loop; `detail` is `fit`, `train`, `validate`, `test` or `predict`",
    "plain": "nothing that matters to training",
}
"""Kinds of methods that a table from outside may use."""
