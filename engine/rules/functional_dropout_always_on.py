"""Functional dropout that evaluation mode does not switch off."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.remedies.frameworks import following_mode
from engine.rules.rule import Draft, rule
from engine.trace import Place, Step, Trace, Value
from engine.trace.events import FunctionalDropout


@rule("PF304", "functional-dropout-always-on", "error", "Functional dropout ignores eval()")
def check(trace: Trace) -> Iterator[Draft]:
    for dropout in trace.of(FunctionalDropout):
        if dropout.in_module is None or _off(dropout) or any("training" in guard.text for guard in dropout.guards):
            continue
        if dropout.probability is not None and "training" in dropout.probability.about:
            # `rate if self.training else 0.0`
            continue
        if dropout.kind == "scaled_dot_product_attention":
            if len(_probabilities(dropout)) != 1:
                continue
            what = "`dropout_p` applies in every mode"
            advice = "pass `dropout_p=... if self.training else 0.0`"
        else:
            if dropout.training is not None and dropout.training.constant is not True:
                continue
            if dropout.training is not None and dropout.function.rpartition(".")[2] != "forward" and not dropout.stack:
                # Asked for by name in a method of its own: sampling with dropout.
                continue
            what = "its `training` defaults to True" if dropout.training is None else "`training` is True here"
            advice = "pass `training=self.training` or use a dropout module"
        place = _asked_for(dropout, dropout.in_module)
        evidence = [Step(dropout.in_module.place, "the module whose mode it does not follow")]
        if place != dropout.place:
            evidence.append(Step(dropout.place, "applied here"))
        yield Draft(
            place,
            f"This dropout stays on after `eval()`: {what}; {advice}.",
            tuple(evidence),
            fix=following_mode(dropout) if place == dropout.place else None,
        )


def _asked_for(dropout: FunctionalDropout, module: Value) -> Place:
    """The module's own call, where the dropout stands in a function of another file."""
    cls = module.cls
    if cls is None or dropout.place.path == cls.path:
        return dropout.place
    return next((place for place in reversed(dropout.stack) if place.path == cls.path), dropout.place)


def _off(dropout: FunctionalDropout) -> bool:
    return any(option.is_constant and not option.constant for option in _probabilities(dropout))


def _probabilities(dropout: FunctionalDropout) -> list[Value]:
    """What the probability may be. A setting that a file or an option changes is one, whatever stands for it at
    first in another file."""
    options = dropout.probability.options() if dropout.probability is not None else ()
    if not any(option.op == "setting" for option in options):
        return list(options)
    return [option for option in options if option.op == "setting" or option.place.path == dropout.place.path]
