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
    leaves as many bytes alive and peaks as high as the one before, and loops that only accumulate gradients.
    """

    __slots__ = ("backwards", "calls", "interpreter", "iterations", "live", "peak", "place", "quiet")

    def __init__(self, interpreter: Interpreter, place: str) -> None:
        self.interpreter = interpreter
        self.place = place
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
        live, peak = self.interpreter.live_and_peak()
        if activity.backwards != self.backwards:
            self.backwards = activity.backwards
            return activity.steps == 0 and self.iterations >= MAX_BACKWARD_ONLY
        if self.interpreter.grad_enabled() and self.iterations >= MAX_FORWARD_ONLY:
            self.interpreter.note(f"{self.place}: the loop builds graphs and never goes backward; it was left early")
            return True
        self.quiet = self.quiet + 1 if (live, peak) == (self.live, self.peak) else 0
        self.live, self.peak = live, peak
        if self.iterations >= MIN_ITERATIONS and self.quiet:
            self.interpreter.note(f"{self.place}: the loop is in a steady state after {self.iterations} iterations")
            return True
        return False
