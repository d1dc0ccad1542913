"""Where an event happens: place in the source, loop nest, guards, contexts and the root it was reached from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from engine.trace.values import Value


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A span of source. Lines and columns are 1-based and count characters; the end column is exclusive."""

    path: str
    line: int
    column: int = 1
    end_line: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"

    @property
    def start(self) -> Place:
        """Where it starts, without its body: the place to point at for a loop or a function."""
        return Place(self.path, self.line, self.column)


@dataclass(frozen=True, slots=True)
class Step:
    """One link of an evidence chain: what happened, and where."""

    place: Place
    message: str


LoopKind = Literal["loader", "range", "while", "iterable", "literal", "comprehension"]


@dataclass(eq=False, slots=True)
class Loop:
    """One loop of the source, entered from one calling context. Two events in the same Loop object share iterations.

    `kind`: `range` counts, `while` tests a condition, `literal` runs over a display of constants (unrolled),
    `loader` runs over something that is a data loader, `iterable` over anything else.
    `trains` is filled at the end: a backward of this loop's own body (or of what it calls) runs in it.
    `innermost_training`: it trains, and no loop inside it does: its iterations are the optimization (micro) steps.
    """

    place: Place
    kind: LoopKind
    iterates: Value | None = None
    count: int | None = None
    trains: bool = False
    innermost_training: bool = False
    target_names: tuple[str, ...] = ()
    condition: str = ""
    #: Whether the loop is (also) left early by break or return.
    breaks: bool = False


GuardKind = Literal["condition", "rank", "modulo", "debug", "except", "loop-else", "case"]


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition under which an event happens.

    `maybe-rank` marks a comparison with 0 of something unknown, which may single out a rank.

    `text` is the condition's source, normalised so that `holds` says with which outcome; `if x is None: A else: B`
    gives A and B the same text and opposite `holds`. `kinds` may name several: `rank` (only some ranks pass),
    `modulo` (`i % n == 0`: passes once in n iterations; `divisor` is the source of n), `remainder` (a name that is
    true in all iterations but one of n), `debug`.
    `early` marks the guard that the code after `if c: return` has.
    """

    place: Place
    text: str
    holds: bool
    kinds: frozenset[str] = frozenset()
    divisor: str = ""
    early: bool = False

    def excludes(self, other: Guard) -> bool:
        """Whether both can not hold in one pass (same condition, opposite outcome)."""
        return self.text == other.text and self.holds != other.holds


@dataclass(frozen=True, slots=True)
class Context:
    """A `with` block (or decorator) that is active.

    `kind`: `no_grad`, `inference_mode`, `enable_grad`, `set_grad_enabled`, `autocast`, `accumulate`, `no_sync`,
    `join`, `saved_tensors`, `nullcontext`, `other`. `enabled` is None where the program decides at run time.
    """

    kind: str
    place: Place
    enabled: bool | None = True
    value: Value | None = None
    dtype: str = ""
    text: str = ""


RootKind = Literal["script", "function", "method"]


@dataclass(eq=False, slots=True)
class Root:
    """A place where analysis starts: a file's top level, or a function or method that nothing else reaches."""

    kind: RootKind
    path: str
    name: str
    place: Place
    #: The shared `self` of the class's methods; roots of one class share this object, and thereby its attributes.
    owner: Value | None = None
    calls: list[str] = field(default_factory=list)
