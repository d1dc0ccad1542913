"""Samplers and loaders: the epoch, the split among ranks, the order."""

from __future__ import annotations

import ast

from engine import fixes
from engine.findings import Fix
from engine.fixes.imports import spelled
from engine.fixes.locating import expression_at, statement_at
from engine.project import Module
from engine.rules.facts.text import in_file
from engine.rules.remedies.syntax import call_at, class_at, dotted, names_bound, same_function, speakable
from engine.rules.rule import FixMaker
from engine.trace import Loop, Place
from engine.trace.events import Event, Iterate, LoaderBuilt, Prepare, SamplerBuilt


def epoch_told(built: SamplerBuilt, read: Iterate, epochs: Loop) -> FixMaker | None:
    """`sampler.set_epoch(epoch)` first in the loop over epochs."""
    if any(guard not in read.guards for guard in built.guards):
        # The sampler is made under a condition: without it there is none to tell.
        return None

    def build(module: Module) -> Fix | None:
        name = _sampler_name(module, built.place, epochs.place) or _through_loader(module, read, epochs)
        epoch = _epoch_number(module, epochs.place)
        if not name or not epoch:
            return None
        told = "Tell the sampler the epoch, so that each is shuffled in its own way."
        code = f"{name}.set_epoch({epoch})"
        return fixes.insert_first_in_body(module, epochs.place.line, code, safe=True, description=told)

    return in_file(epochs.place, build)


def _sampler_name(module: Module, made: Place, used: Place) -> str:
    """The name that a call's result is bound to, where that name means the same at another place."""
    if made.path != module.path:
        return ""
    located, call = statement_at(module, made.line), call_at(module, made)
    node = located.node if located is not None else None
    if not isinstance(node, ast.Assign) or node.value is not call or len(node.targets) != 1:
        return ""
    name = dotted(node.targets[0])
    if name.startswith("self."):
        owner = class_at(module, made.line)
        return name if owner is not None and owner is class_at(module, used.line) else ""
    return name if same_function(module, made, used) and made.line < used.line else ""


def _through_loader(module: Module, read: Iterate, epochs: Loop) -> str:
    """`loader.sampler`, where the loop that reads it stands in the loop over epochs."""
    located = statement_at(module, read.subject.place.line)
    outer = statement_at(module, epochs.place.line)
    if located is None or outer is None or not same_function(module, read.subject.place, epochs.place):
        return ""
    node = located.node
    if not isinstance(node, ast.For) or read.iterates is None or not read.iterates.made_by.endswith("DataLoader"):
        return ""
    source = node.iter
    if isinstance(source, ast.Call) and dotted(source.func) == "enumerate" and len(source.args) == 1:
        source = source.args[0]
    name = dotted(source)
    return f"{name}.sampler" if speakable(name) and name not in names_bound(outer.node) else ""


def _epoch_number(module: Module, place: Place) -> str:
    """What counts the epochs: the loop's variable, or what a `while` compares with their number."""
    located = statement_at(module, place.line)
    node = located.node if located is not None else None
    if isinstance(node, ast.For):
        called = dotted(node.iter.func).rpartition(".")[2] if isinstance(node.iter, ast.Call) else ""
        if isinstance(node.target, ast.Name):
            counted = called in ("range", "trange")
            return node.target.id if counted and not node.target.id.startswith("_") else ""
        if isinstance(node.target, ast.Tuple) and called == "enumerate" and isinstance(node.target.elts[0], ast.Name):
            return node.target.elts[0].id
    if isinstance(node, ast.While) and isinstance(node.test, ast.Compare) and isinstance(node.test.ops[0], ast.Lt):
        return dotted(node.test.left) if len(node.test.ops) == 1 else ""
    return ""


def shuffled(event: LoaderBuilt, swapped: LoaderBuilt | None = None) -> FixMaker:
    """`shuffle=True` for the training loader; where the flags are swapped, `False` for the other one."""

    def build(module: Module) -> Fix | None:
        one = _shuffle(module, event.place, "True", "Shuffle the training data.")
        if swapped is None or one is None:
            return one
        if swapped.place.path != module.path:
            return None
        other = _shuffle(module, swapped.place, "False", "Read the held-out data in order.")
        return fixes.combine(module, one, other, description="Shuffle the training data, and not the held-out data.")

    return in_file(event.place, build)


def _shuffle(module: Module, place: Place, code: str, told: str) -> Fix | None:
    call = call_at(module, place)
    if call is None or len(call.args) > 2 or any(isinstance(argument, ast.Starred) for argument in call.args):
        return None
    return fixes.add_keyword(module, place, "shuffle", code, safe=True, description=told)


def set_up(built: LoaderBuilt, handed: Event) -> FixMaker | None:
    """Fabric's `setup_dataloaders` around the loader, which adds the sampler and moves the batches."""
    if not isinstance(handed, Prepare) or handed.library != "fabric":
        return None

    def build(module: Module) -> Fix | None:
        call, loader = call_at(module, handed.place), expression_at(module, built.place, ast.Call)
        if call is None or loader is None or not isinstance(call.func, ast.Attribute):
            return None
        name = dotted(call.func.value)
        if not speakable(name) or not same_function(module, built.place, handed.place):
            return None
        if handed.place.line >= built.place.line:
            return None
        code = f"{name}.setup_dataloaders({module.source(loader)})"
        told = "Let Fabric split the data among the processes."
        return fixes.replace_expression(module, built.place, code, safe=True, description=told)

    return in_file(built.place, build)


def split_among_ranks(built: LoaderBuilt, read: Iterate) -> FixMaker | None:
    """A `DistributedSampler` in place of `shuffle=True`, told the epoch where the loop over epochs is in sight."""
    epochs = read.loops[-1] if read.loops else None

    def build(module: Module) -> Fix | None:
        call = call_at(module, built.place)
        naming = spelled(module, "torch.utils.data.distributed.DistributedSampler")
        shuffle = next((k for k in call.keywords if k.arg == "shuffle"), None) if call is not None else None
        if call is None or shuffle is None or naming is None or naming.added is not None:
            return None
        data = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "dataset"), None)
        name = dotted(data) if data is not None else ""
        if not isinstance(shuffle.value, ast.Constant) or shuffle.value.value is not True or not speakable(name):
            return None
        told = "Split the data among the ranks."
        span = module.span(shuffle)
        sampled = fixes.replace_span(module, span, f"sampler={naming.code}({name})", safe=True, description=told)
        if epochs is None:
            return sampled
        loader, epoch = _through_loader(module, read, epochs), _epoch_number(module, epochs.place)
        if not loader or not epoch:
            return None
        line = epochs.place.line
        informed = fixes.insert_first_in_body(module, line, f"{loader}.set_epoch({epoch})", safe=True)
        return fixes.combine(module, sampled, informed, description=told)

    return in_file(built.place, build)
