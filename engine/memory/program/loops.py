"""When a loop around model calls has shown its steady state and need not run on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter

MIN_ITERATIONS = 3
MAX_BACKWARD_ONLY = 64
MAX_FORWARD_ONLY = 24


class LoopWatch:
    """Watches one loop. Loops inside a module's `forward` and loops without model calls are never cut.

    Training loops end by the count of optimizer steps (see Interpreter); here inference loops end, once an iteration
    calls the same modules as the one before, leaves as many bytes alive and peaks as high, and loops that only
    accumulate gradients. A loop that calls another module each time goes through the layers of a model.
    """

    __slots__ = (
        "backwards",
        "called",
        "calls",
        "calls_of",
        "endless",
        "interpreter",
        "iterations",
        "live",
        "peak",
        "place",
        "quiet",
    )

    def __init__(self, interpreter: Interpreter, place: str, *, endless: bool) -> None:
        self.interpreter = interpreter
        self.place = place
        self.endless = endless
        self.calls_of = interpreter.activity.calls_of.copy()
        self.called: set[int] = set()
        self.iterations = 0
        self.calls = interpreter.activity.model_calls
        self.backwards = interpreter.activity.backwards
        self.live = self.peak = -1
        self.quiet = 0

    def settled(self) -> bool:
        """To be asked after each iteration: whether further ones would show nothing new."""
        activity = self.interpreter.activity
        if activity.model_calls == self.calls or activity.depth:
            return False
        self.iterations += 1
        self.calls = activity.model_calls
        before, self.called = (
            self.called,
            {key for key, count in activity.calls_of.items() if count != self.calls_of.get(key)},
        )
        self.calls_of = activity.calls_of.copy()
        live, peak = self.interpreter.live_and_peak()
        if activity.backwards != self.backwards:
            self.backwards = activity.backwards
            return activity.steps == 0 and self.iterations >= MAX_BACKWARD_ONLY
        if self.called != before:
            self.live, self.peak = live, peak
            return False
        grows = live > self.live and not self.endless
        if self.interpreter.grad_enabled() and self.iterations >= MAX_FORWARD_ONLY and not grows:
            self.interpreter.note(f"{self.place}: the loop builds graphs and never goes backward; it was left early")
            return True
        self.quiet = self.quiet + 1 if (live, peak) == (self.live, self.peak) else 0
        self.live, self.peak = live, peak
        if self.iterations >= MIN_ITERATIONS and self.quiet:
            self.interpreter.note(f"{self.place}: the loop is in a steady state after {self.iterations} iterations")
            return True
        return False
