"""Abstract values.

Everything the interpreter computes is a `Value`. What is known about it is told by `role`:

=============  ==============================================================================================
role           meaning
=============  ==============================================================================================
tensor         a torch tensor (or a structure of tensors that a model returned)
number         a Python number read from a tensor (`.item()`, `float(t)`)
array          a NumPy array
module         an `nn.Module`: torch.nn, of the project, of a library, or an unknown object used as one
optimizer      constructed, or an unknown object used as one (`zero_grad` and `step`)
scheduler      learning-rate scheduler, constructed or by use
scaler         GradScaler, constructed or by use (`scale`, `step`, `update`)
loader         DataLoader, or an unknown object whose iteration feeds a training or evaluation loop
sampler, dataset, metric, accelerator, fabric, engine (DeepSpeed), trainer, generator, device, writer
parameter      `nn.Parameter`, or an element of `parameters()`
parameters     the result of `module.parameters()` and relatives; `of` names the modules
instance       an instance of a class of the project that is none of the above
None           unknown; an object like any other, which says where it came from
=============  ==============================================================================================

Roles are complete only after the run: a rule may rely on them. They come from how a value is made or used, never from
its name. `name` is for messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from engine.trace.places import Loop, Place, Step
from engine.trace.views import VIEWS

if TYPE_CHECKING:
    import ast


class _NoValues(dict[str, "Value"]):
    """An empty mapping that can be shared: it never gets an entry."""

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __setitem__(self, key: str, value: Value) -> None:
        raise TypeError("a shared mapping takes no entries")


#: Most values never get a keyword, a use or an attribute: they share what is empty.
NO_VALUES: Mapping[str, Value] = _NoValues()


@dataclass(eq=False, slots=True)
class Value:
    """A value with identity. `place` is where it was made; `parents` what it was made from."""

    place: Place
    name: str = ""
    role: str | None = None
    #: How it came to be: `parameter-of-function`, `attribute`, `call`, `construct`, `element`, `operator`, `literal`,
    #: or for a tensor the operation: the method's name or the last part of the torch function's name.
    op: str = ""
    #: Fully qualified name of the callable or class that made it (`torch.optim.adam.Adam` is `torch.optim.Adam`).
    made_by: str = ""
    parents: tuple[Value, ...] = ()
    #: Arguments it was constructed with, by parameter name where known, else by position ("0", "1" ...).
    keywords: Mapping[str, Value] = NO_VALUES
    #: The object called to make it (for results of calls) or that it is an attribute, element or method result of.
    callee: Value | None = None
    #: Loops (with the iteration's number) that were active when it was made.
    loops: tuple[Loop, ...] = ()
    iterations: tuple[int, ...] = ()
    #: Grad mode when it was made; None where the program decides at run time.
    grad: bool | None = True
    #: Set by detach(), .data, no_grad, numpy, item ...: why it carries no graph from its parents.
    detached: str = ""
    requires_grad: bool | None = None
    #: `probabilities`, `log-probabilities`, `sigmoid`, `log-sigmoid`, `relu`, `tanh`, `class-indices`, `normalized`,
    #: `one-hot`; empty where unknown. Survives views, not arithmetic. Of a module: the class method that built it.
    kind: str = ""
    #: The softmax's dim and the like.
    dim: int | None = None
    device: str = ""
    shape: tuple[int | None, ...] | None = None
    #: Method names called on it, `()` for being called, `for` for being iterated, `arg:torch...` for uses as argument.
    uses: frozenset[str] = frozenset()
    #: Becomes True when a backward or autograd.grad starts from something made from this.
    feeds_backward: bool = False
    feeds_autograd_grad: bool = False
    #: The same as feeds_backward, looking through detach, numpy and the like.
    feeds_cut_loss: bool = False
    #: Modules (or optimizers, for `param_groups`) whose parameters this holds.
    of: tuple[Value, ...] = ()
    #: For modules: the project's class; for wrappers (DDP, FSDP, compile, prepare): what is wrapped.
    cls: ClassValue | None = None
    wrapped: Value | None = None
    #: `ddp`, `fsdp`, `data-parallel`, `deepspeed`, `accelerate`, `fabric`, `compile`, `copy` (deepcopy) ...
    wrapping: str = ""
    steps: tuple[Step, ...] = ()
    #: Attributes seen on it (submodules, fields), and the module or object that it is an attribute or element of.
    attributes: Mapping[str, Value] = NO_VALUES
    member_of: Value | None = None
    #: The result of an unknown call that a backward starts from although no argument carries a graph.
    makes_graph: bool = False
    #: What a number or condition is about: `rank`, `local-rank`, `world-size`, `modulo`, `debug`, `grad-enabled`.
    about: frozenset[str] = frozenset()
    #: For `modulo`: the source text of the divisor.
    divisor: str = ""
    #: The framework object (Accelerator, Fabric) that prepared it.
    prepared: Value | None = None
    #: Loops in whose body it (container, accumulator, attribute) is emptied or replaced.
    reset_in: frozenset[int] = frozenset()
    #: Registered with register_buffer.
    buffer: bool = False
    #: For `a = a + v`: the value that was added to.
    accumulates: Value | None = None
    #: Default of a function's parameter.
    default: Value | None = None
    _graph: bool | str | None = field(default="unset", repr=False)

    # ---- what is learned of it -----------------------------------------------------------------------------------

    def use(self, name: str) -> None:
        """Remember that it was used in this way (see `uses`)."""
        if name not in self.uses:
            self.uses |= {name}

    def put(self, name: str, value: Value) -> None:
        """Set an attribute."""
        if type(self.attributes) is dict:
            self.attributes[name] = value
        else:
            self.attributes = {**self.attributes, name: value}

    # ---- questions rules ask -------------------------------------------------------------------------------------

    @property
    def is_module(self) -> bool:
        return self.role == "module"

    @property
    def origin(self) -> Value:
        """The object behind wrappers such as DDP, compile and prepare."""
        seen, value = 0, self
        while value.wrapped is not None and value.wrapping != "copy" and seen < 16:
            value, seen = value.wrapped, seen + 1
        return value

    def options(self) -> tuple[Value, ...]:
        """The values it may be: itself, or a Choice's alternatives."""
        return (self,)

    @property
    def constant(self) -> Any:
        """The Python constant it is, or None where it is none (see `is_constant`)."""
        return None

    @property
    def is_constant(self) -> bool:
        return False

    def keyword(self, *names: str) -> Value | None:
        """The constructor's argument under the first of these names (or positions) that was passed."""
        for name in names:
            if name in self.keywords:
                return self.keywords[name]
        return None

    @property
    def rank(self) -> bool:
        """Whether it is (or is made from) this process's rank or the world size."""
        return any(
            not value.about.isdisjoint(("rank", "local-rank", "world-size")) for value in self.ancestors(limit=200)
        )

    @property
    def submodules(self) -> tuple[Value, ...]:
        """The modules registered directly in a module (attributes, Sequential arguments, ModuleList elements)."""
        found: list[Value] = []
        for child in self.attributes.values():
            for option in child.options():
                if option.role == "module" and option is not self:
                    found.append(option)
                elif isinstance(option, Container) and option.registered:
                    found.extend(item for item in option.elements() if item.role == "module")
        return tuple(dict.fromkeys(found))

    @property
    def carries_graph(self) -> bool | None:
        """Whether it holds an autograd graph; None where the program's unknown parts decide. Final after the run."""
        if self._graph == "unset":
            _asked.append(self)
            try:
                if len(_asked) % DEEP == 0:
                    _settle_ancestors(self)
                self._graph = None
                self._graph = self._find_graph()
            finally:
                _asked.pop()
        return self._graph  # type: ignore[return-value]

    def _find_graph(self) -> bool | None:
        if self.role == "parameter" and self.op != "operator":
            # A leaf: what is computed from it has a graph (see any_graph), keeping it keeps nothing else alive.
            return False
        if self.requires_grad and self.detached in ("", "created"):
            # `torch.zeros(..., requires_grad=True)` starts a graph of its own.
            return True
        if self.detached or self.grad is False or self.role in ("number", "array", "device"):
            return False
        if self.makes_graph:
            return None if self.grad is None else True
        if self.op in ("data-element", "literal", "loop-index"):
            return False
        if self.op in ("parameter-of-function", "attribute", "unknown"):
            return None
        if self.op == "forward-result" and self.callee is not None:
            inside = any_graph(self.parents[:1])
            return inside if inside is not None else (None if self.grad is None else True)
        if self.op in ("call", "method-call") and self.callee is not None:
            source = self.callee.origin
            inside = any_graph(p for p in self.parents if p is not self.callee)
            if self.callee.role == "module" and self.op == "call":
                # A model's output has a graph if its parameters do; freezing shows as requires_grad on the module.
                if source.requires_grad is False or self.callee.requires_grad is False or not may_learn(self.callee):
                    return inside
                return None if self.grad is None else True
            return True if inside else None
        return any_graph(self.parents)

    def contains(self, *classes: str) -> bool | None:
        """Whether a module holds one of these torch.nn classes (`BatchNorm2d`, `Dropout` ...) at any depth.

        None where parts of it are unknown."""
        return _contains(self, frozenset(classes), set())

    @property
    def has_parameters(self) -> bool | None:
        """Whether a module has parameters of its own or below; None where parts are unknown."""
        return may_learn(self)

    def ancestors(self, through_detach: bool = True, limit: int = 4000) -> Iterator[Value]:
        """Everything it was made from, nearest first, itself included."""
        seen: set[int] = set()
        queue: list[Value] = [self]
        for value in queue:
            if id(value) in seen:
                continue
            if len(seen) >= limit:
                return
            seen.add(id(value))
            yield value
            if through_detach or not value.detached:
                queue.extend(value.parents)

    def comes_from(self, wanted: set[int], limit: int = 60) -> bool:
        """Whether one of these values, by id, is among the nearest values that it was made from."""
        if id(self) in wanted:
            return True
        queue = list(self.parents)
        seen: set[int] = {id(self)}
        for value in queue:
            key = id(value)
            if key in seen:
                continue
            if len(seen) >= limit:
                return False
            if key in wanted:
                return True
            seen.add(key)
            queue.extend(value.parents)
        return False

    def graph_ancestors(self) -> Iterator[Value]:
        """The ancestors through which a graph reaches this value."""
        for value in self.ancestors(through_detach=False):
            if value.carries_graph or (value.role == "parameter" and value.requires_grad is not False):
                yield value

    @property
    def activation(self) -> Value | None:
        """The activation (softmax, sigmoid ...) that this value is the result of, looking through views only."""
        value: Value = self
        for _ in range(64):
            if value.kind:
                return value if value.op not in VIEWS or not value.parents else (value.parents[0].activation or value)
            if value.op in VIEWS and value.parents:
                value = value.parents[0]
                continue
            return None
        return None

    def elements(self) -> tuple[Value, ...]:
        """A container's known elements."""
        return ()

    def __str__(self) -> str:
        return self.name or self.op or "value"


DEEP = 400
"""Questions within questions after which a chain of values is answered from its far end: a program that is unrolled has
thousands of values in a row, and Python's stack ends before."""
_asked: list[Value] = []
"""The values that are being asked whether they carry a graph, each because of the one before."""


def _settle_ancestors(value: Value) -> None:
    """Ask everything that a value was made from, parents before children, so that no question goes deep."""
    seen = {id(value)}
    path = [iter(value.parents)]
    owners = [value]
    while path:
        parent = next(path[-1], None)
        if parent is None:
            path.pop()
            owner = owners.pop()
            if owner is not value:
                _ = owner.carries_graph
        elif id(parent) not in seen and parent._graph == "unset":
            seen.add(id(parent))
            path.append(iter(parent.parents))
            owners.append(parent)


def any_graph(values: Any) -> bool | None:
    """True if any carries a graph, False if none does, None if that is not known."""
    unknown = False
    for value in values:
        carries = value.carries_graph
        if carries or (value.role == "parameter" and value.requires_grad is not False):
            return True
        unknown = unknown or carries is None
    return None if unknown else False


#: torch.nn classes that only arrange or compute: filled from the torch tables by the interpreter.
LAYERS_OF_LIBRARIES: dict[str, frozenset[str]] = {}
"""How the names of functions begin that make a model, and layers of torch.nn that each such model holds."""
PARAMETERLESS_CLASSES: set[str] = set()


def _parts(module: Value) -> Iterator[Value]:
    """Submodules and parameters of a module, through containers."""
    for child in module.attributes.values():
        for option in child.options():
            if isinstance(option, Container):
                yield from (item for item in option.elements() if item.role in ("module", "parameter", None))
            elif option.role in ("module", "parameter") or (
                option.role is None and option.op in ("parameter-of-function", "call") and "()" in option.uses
            ):
                yield option


def _contains(module: Value, classes: frozenset[str], seen: set[int]) -> bool | None:
    module = module.origin if module.wrapping != "copy" else (module.wrapped or module)
    if id(module) in seen or len(seen) > 500:
        return False
    seen.add(id(module))
    if isinstance(module, Choice):
        results = [_contains(option, classes, seen) for option in module.options()]
        return True if any(results) else (None if None in results else False)
    last = module.made_by.rsplit(".", 1)[-1]
    if module.made_by.startswith("torch.nn.") and last in classes and not _never_drops(module, last):
        return True
    if module.cls is None and not module.made_by.startswith("torch.nn."):
        return True if classes & _layers_of_library(module) else None
    unknown = _abstract(module)
    for part in _parts(module):
        if part.role == "parameter":
            continue
        found = _contains(part, classes, seen)
        if found:
            return True
        unknown = unknown or found is None
    return None if unknown else False


def _layers_of_library(module: Value) -> frozenset[str]:
    """Layers that a library's model is known to hold, whatever its head was replaced with."""
    if "norm_layer" in module.keywords:
        return frozenset()
    return next((held for start, held in LAYERS_OF_LIBRARIES.items() if module.made_by.startswith(start)), frozenset())


def _never_drops(module: Value, last: str) -> bool:
    """Whether a layer of torch that would drop is told not to: `Dropout(0.0)`, `TransformerEncoderLayer(dropout=0)`.

    An encoder or decoder of layers drops as the layer that it is given."""
    layer = module.keyword("encoder_layer", "decoder_layer", "0") if last.endswith(("Encoder", "Decoder")) else None
    told = layer.origin if layer is not None else module
    rate = told.keyword("p", "0") if "Dropout" in last else told.keyword("dropout")
    return rate is not None and rate.is_constant and rate.constant == 0


def _abstract(module: Value) -> bool:
    """Whether a module's class has no `forward`: what is called under its name is one of its subclasses."""
    cls = module.cls
    if cls is None or cls.family != "module" or cls.bases_unknown or "annotated" not in module.uses:
        return False
    return set(cls.bases) <= {"torch.nn.Module"} and cls.method("forward") is None


def may_learn(module: Value, depth: int = 0) -> bool | None:
    """False only where a module is known to have no parameters. A falsy None counts as unknown: see has_parameters."""
    if isinstance(module, Choice):
        return True
    module = module.origin
    last = module.made_by.rsplit(".", 1)[-1]
    if module.made_by.startswith("torch.nn.") and module.cls is None:
        if last in PARAMETERLESS_CLASSES:
            return False
        if last not in ("Sequential", "ModuleList", "ModuleDict"):
            return True
    elif module.cls is None:
        return True
    if depth > 12 or _abstract(module):
        return True
    return any(part.role != "module" or may_learn(part, depth + 1) for part in _parts(module)) or bool(
        module.cls is not None
        and module.cls.bases
        and module.cls.bases[0].startswith(("transformers.", "torchvision."))
    )


@dataclass(eq=False, slots=True)
class Constant(Value):
    """A Python constant."""

    value: Any = None

    @property
    def constant(self) -> Any:
        return self.value

    @property
    def is_constant(self) -> bool:
        return True

    def _find_graph(self) -> bool | None:
        return False


@dataclass(eq=False, slots=True)
class Choice(Value):
    """One of several values, by the path taken."""

    choices: tuple[Value, ...] = ()

    @property
    def carries_graph(self) -> bool | None:
        if self._graph == "asked":
            return None
        self._graph = "asked"
        found = any_graph(self.choices)
        self._graph = "unset"
        return found

    def options(self) -> tuple[Value, ...]:
        return self.choices

    def _find_graph(self) -> bool | None:
        return any_graph(self.choices)


@dataclass(eq=False, slots=True)
class Container(Value):
    """A list, tuple, dict, set or deque. `items` are the elements seen (dict values under their constant keys too)."""

    shape_name: str = "list"
    items: list[Value] = field(default_factory=list)
    entries: dict[Any, Value] = field(default_factory=dict)
    #: Whether there may be elements beyond the known ones, or fewer.
    open: bool = False
    #: Bounded by construction (`deque(maxlen=...)`), and by how many elements where that is known.
    bounded: bool = False
    most: int | None = None
    #: Attribute or global that holds it, e.g. `self.losses`; such a container outlives the function.
    held_as: str = ""
    #: How many conditions it was made under.
    made_under: int = 0
    cleared: bool = False
    #: Given to ModuleList, Sequential and the like: its modules are registered there.
    registered: bool = False

    def elements(self) -> tuple[Value, ...]:
        return tuple(self.items) + tuple(v for v in self.entries.values() if v not in self.items)

    def _find_graph(self) -> bool | None:
        return any_graph(self.elements())


@dataclass(eq=False, slots=True)
class ClassValue(Value):
    """A class of the project. `bases` are qualified names of the bases outside the project, of the whole chain."""

    node: ast.ClassDef | None = None
    path: str = ""
    project_bases: tuple[ClassValue, ...] = ()
    bases: tuple[str, ...] = ()
    methods: dict[str, Value] = field(default_factory=dict)
    members: dict[str, Value] = field(default_factory=dict)
    #: Has a base that could not be resolved.
    bases_unknown: bool = False
    #: `module`, `dataset`, `iterable-dataset`, `lightning-module`, `lightning-data`, `hf-trainer`, `sampler`,
    #: `autograd-function`, `dataclass`, `optimizer`, `scheduler`, `callback`, or empty.
    family: str = ""
    #: Whether the class asks for its rank, the world size or its loader worker.
    mentions_rank: bool = False

    def lineage(self) -> Iterator[ClassValue]:
        yield self
        for base in self.project_bases:
            yield from base.lineage()

    def method(self, name: str) -> Value | None:
        for cls in self.lineage():
            if name in cls.methods:
                return cls.methods[name]
        return None


@dataclass(eq=False, slots=True)
class FunctionValue(Value):
    """A function of the project; `bound` is the receiver of a bound method."""

    node: Any = None
    path: str = ""
    qualified: str = ""
    bound: Value | None = None
    owner: ClassValue | None = None
    closure: Any = None
    decorators: tuple[Value, ...] = ()
    kind_of_method: str = ""

    def under(self, context: Value) -> FunctionValue:
        """The function as `context(function)` gives it: its body runs inside of the context."""
        return replace(self, decorators=(context, *self.decorators))


@dataclass(eq=False, slots=True)
class External(Value):
    """Something of a library, by its qualified name (`torch.nn.functional.cross_entropy`)."""

    qualified: str = ""
    bound: Value | None = None


@dataclass(eq=False, slots=True)
class Namespace(Value):
    """A module (file) of the project."""

    path: str = ""
