"""Fully sharded data parallelism: shards that are gathered one unit at a time, gradients reduced into shards.

Between its uses a parameter is a flat shard of its elements. A unit (the parameters that are gathered together) is
whole from its forward until it is resharded, and again in its backward, with the next unit beside it. Gradients arrive
whole, are copied into one flat buffer for the reduce-scatter and leave a shard of the master type behind
(torch/distributed/fsdp/_runtime_utils.py and torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from engine.memory.tensors import machine
from engine.memory.tensors.dtypes import DType
from engine.memory.tensors.nn.module import Module
from engine.memory.tensors.storage import Size, Storage
from engine.memory.tensors.tensor import Tensor, new


@dataclass(frozen=True)
class ShardingPlan:
    """How a model is sharded. `world` counts the devices that hold one copy together.

    With `reuse_distance` a unit stays whole between forward and backward where no more elements are used meanwhile.
    """

    world: int
    reshard_after_forward: bool = True
    backward_prefetch: bool = True
    offload: bool = False
    compute_dtype: DType | None = None
    reduce_dtype: DType | None = None
    reuse_distance: int = 0


class _Piece:
    """One parameter of a unit: its shard, and the storage that its whole form takes while it is gathered."""

    __slots__ = ("dtype", "gathered_dtype", "kept", "parameter", "shape", "shard", "strides", "whole")

    def __init__(self, parameter: Tensor, plan: ShardingPlan) -> None:
        self.parameter = parameter
        self.shape, self.strides, self.dtype = parameter.shape, parameter.strides, parameter.dtype
        wanted = plan.compute_dtype
        self.gathered_dtype = wanted if wanted is not None and parameter.dtype.kind == 2 else parameter.dtype
        parameter.__dict__.setdefault("logical_numel", parameter.numel())
        parameter.__dict__["_sharded"] = True
        count = -(-parameter.numel() // plan.world)
        with machine.current.category("parameters"):
            self.shard = new((count,), parameter.dtype, "cpu" if plan.offload else "cuda")
        self.whole = Storage(0, "cuda")
        self.kept: Tensor | None = None
        self.show_shard()

    @property
    def count(self) -> int:
        number = 1
        for size in self.shape:
            number *= size
        return number

    def show_shard(self) -> None:
        p = self.parameter
        p.shape, p.strides, p.dtype, p.storage = self.shard.shape, None, self.dtype, self.shard.storage
        self.whole.resize(0)

    def show_whole(self) -> None:
        p = self.parameter
        with machine.current.category("communication"):
            self.whole.resize(self.count * self.gathered_dtype.itemsize)
        p.shape, p.strides, p.dtype, p.storage = Size(self.shape), self.strides, self.gathered_dtype, self.whole


class Unit:
    """Parameters that are gathered and freed together."""

    def __init__(self, modules: Sequence[Module], parameters: Sequence[Tensor], plan: ShardingPlan) -> None:
        self.plan = plan
        self.modules = list(modules)
        self.pieces = [_Piece(p, plan) for p in parameters]
        self.gathered = False
        self.is_root = False
        self.arrived: set[int] = set()
        self.trained = [piece for piece in self.pieces if piece.parameter.requires_grad]
        for piece in self.trained:
            piece.parameter.register_post_accumulate_grad_hook(self._arrive)

    def gather(self) -> None:
        if self.gathered:
            return
        self.gathered = True
        plan, state = self.plan, machine.current
        if plan.offload or plan.compute_dtype is not None:
            # The rank's own shard, on the device and in the type that is gathered, beside the whole.
            parts = [new(p.shard.shape, p.gathered_dtype, "cuda") for p in self.pieces]
            for piece in self.pieces:
                piece.show_whole()
            del parts
        else:
            for piece in self.pieces:
                piece.show_whole()
        if state.in_backward:
            for piece in self.trained:
                piece.kept, piece.parameter.grad = piece.parameter.grad, None

    def reshard(self) -> None:
        if not self.gathered:
            return
        self.reduce()
        for piece in self.pieces:
            piece.show_shard()
        self.gathered = False

    def begin_backward(self) -> None:
        """Shards of earlier micro-batches are set aside while whole gradients arrive."""
        if self.gathered:
            for piece in self.trained:
                gradient = piece.parameter.grad
                if gradient is not None and gradient.shape == piece.shard.shape:
                    piece.kept, piece.parameter.grad = gradient, None

    def _arrive(self, parameter: Tensor) -> None:
        self.arrived.add(id(parameter))
        if len(self.arrived) == len(self.trained):
            self.reshard()

    def reduce(self) -> None:
        """The gradients that have arrived, reduced into shards."""
        if not self.arrived:
            return
        plan = self.plan
        pieces = [piece for piece in self.trained if id(piece.parameter) in self.arrived]
        self.arrived.clear()
        wanted = plan.reduce_dtype or pieces[0].gathered_dtype
        with machine.current.category("communication"):
            flat = new((sum(piece.count for piece in pieces),), wanted, "cuda")
        for piece in pieces:
            piece.parameter.grad = None
            with machine.current.category("gradients"):
                fresh = new(piece.shard.shape, piece.dtype, "cpu" if plan.offload else "cuda")
            piece.parameter.grad = piece.kept if piece.kept is not None else fresh
            piece.kept = None
            del fresh
        del flat
        for piece in self.trained:
            if piece.kept is not None:
                piece.parameter.grad, piece.kept = piece.kept, None


class Sharding:
    """The units of one model, in the order that its forward meets them."""

    def __init__(self, plan: ShardingPlan, *, finds_root: bool = False) -> None:
        self.plan = plan
        self.finds_root = finds_root
        self.depth = 0
        self.units: list[Unit] = []
        self.order: list[Unit] = []
        self.leaving: Unit | None = None
        self.waiting: set[Unit] = set()
        self.places: dict[Unit, int] = {}
        machine.current.backward_ends.append(self.end_backward)
        machine.current.note("when shards are gathered and freed is assumed from the library's defaults")

    def add(
        self,
        modules: Sequence[Module],
        parameters: Sequence[Tensor],
        *,
        root: bool = False,
        plan: ShardingPlan | None = None,
    ) -> None:
        """Shard these parameters as one unit; `modules` are what its uses begin and end with."""
        if not parameters and not self.finds_root:
            return
        unit = Unit(modules, parameters, plan or self.plan)
        unit.is_root = root
        self.units.append(unit)
        for module in unit.modules:
            module.register_forward_pre_hook(lambda m, args, unit=unit: self.before_forward(unit))
            module.register_forward_hook(lambda m, args, out, unit=unit: self.after_forward(unit, out))

    def before_forward(self, unit: Unit) -> None:
        unit.gather()
        if machine.current.in_backward:
            return
        if self.finds_root and self.depth == 0:
            unit.is_root = True
        self.depth += 1
        if unit not in self.order:
            self.order.append(unit)
        self._let_go(unit)

    def _let_go(self, but: Unit | None) -> None:
        # The collective of the next unit is issued while the last one still computes: two are whole at once.
        leaving, self.leaving = self.leaving, None
        if leaving is not None and leaving is not but:
            leaving.reshard()

    def after_forward(self, unit: Unit, out: Any) -> None:
        if machine.current.grad_enabled:
            self._watch(unit, out)
        if machine.current.in_backward:
            return
        self.depth -= 1
        if unit.is_root:
            self._let_go(None)
            if not machine.current.grad_enabled:
                unit.reshard()
        elif machine.current.grad_enabled and (not unit.plan.reshard_after_forward or self._used_soon(unit)):
            self.waiting.add(unit)
        else:
            self.leaving = unit

    def _used_soon(self, unit: Unit) -> bool:
        return 2 * self.places.get(unit, self.plan.reuse_distance) < self.plan.reuse_distance

    def measure(self, model: Module) -> None:
        """How many elements each unit has behind it, in the order of definition."""
        behind = 0
        by_module = {id(module): unit for unit in self.units for module in unit.modules}
        for module in reversed(list(model.modules())):
            unit = by_module.get(id(module))
            if unit is not None:
                self.places[unit] = behind
                behind += sum(piece.count for piece in unit.pieces)

    def _watch(self, unit: Unit, out: Any) -> None:
        reference = weakref.ref(unit)

        def begin(gradient: Tensor) -> None:
            found = reference()
            if found is not None:
                self.before_backward(found)

        for tensor in tensors_of(out):
            if tensor.requires_grad and tensor.grad_fn is not None:
                tensor.register_hook(begin)

    def before_backward(self, unit: Unit) -> None:
        if unit.gathered:
            unit.begin_backward()
        unit.gather()
        following = self._before(unit)
        for other in self.units:
            needed = other is unit or other is following or other.is_root or other in self.waiting
            if other.gathered and not needed:
                other.reshard()
        self.waiting.discard(unit)
        if following is not None and self.plan.backward_prefetch:
            following.gather()

    def _before(self, unit: Unit) -> Unit | None:
        if unit not in self.order:
            return None
        place = self.order.index(unit)
        # The root has been whole since the forward.
        earlier = [other for other in self.order[:place] if not other.is_root]
        if unit.is_root:
            rest = [other for other in self.order if not other.is_root]
            return rest[-1] if rest else None
        return earlier[-1] if earlier else None

    def end_backward(self) -> None:
        self.waiting.clear()
        for unit in self.units:
            unit.reshard()


def tensors_of(value: Any) -> Iterable[Tensor]:
    """The tensors in a module's output."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_of(item)
    elif hasattr(value, "keys"):
        for key in list(value.keys()):
            yield from tensors_of(value[key])


Chooses = Callable[[str, Module], bool]


def shard_model(model: Module, plan: ShardingPlan, chooses: Chooses) -> Sharding:
    """Shard `model`: each outermost-to-innermost module that is chosen is a unit of what no inner one has taken."""
    sharding = Sharding(plan)
    chosen = [(name, module) for name, module in model.named_modules() if name and chooses(name, module)]
    taken: set[int] = set()
    for _, module in sorted(chosen, key=lambda item: -item[0].count(".")):
        own = [p for p in dict.fromkeys(module.parameters()) if id(p) not in taken]
        taken.update(id(p) for p in own)
        sharding.add([module], own)
    rest = [p for p in dict.fromkeys(model.parameters()) if id(p) not in taken]
    sharding.add([model], rest, root=True)
    sharding.measure(model)
    for buffers in (module._buffers for module in model.modules()):
        for name, buffer in buffers.items():
            if buffer is not None and buffer.storage.device == "cpu":
                buffers[name] = buffer.to("cuda")
                buffers[name].storage.relabel("buffers")
    return sharding


def repeated_blocks(model: Module) -> set[int]:
    """Ids of the modules that a list of the model repeats: what is wrapped where no class was named."""
    found: set[int] = set()
    inside: set[int] = set()
    for module in model.modules():
        if id(module) in inside or type(module).__name__ not in ("ModuleList", "Sequential"):
            continue
        blocks = [child for child in module.children() if any(True for _ in child.children())]
        kinds = [type(block) for block in blocks]
        for block in blocks:
            if kinds.count(type(block)) > 1:
                found.add(id(block))
                inside.update(id(part) for part in block.modules())
    return found
