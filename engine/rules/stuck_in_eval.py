"""A model is put into evaluation mode and goes on training in it."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.evaluation import forwards_by_place
from engine.rules.facts.identity import identities, modules_behind, same
from engine.rules.remedies.modes import training_mode
from engine.rules.rule import Draft, rule
from engine.trace import Place, Step, Trace, Value
from engine.trace.events import Forward, FrameworkTrainer, ModeChange, OptimizerCreated, Prepare


@rule("PF303", "stuck-in-eval", "error", "Training goes on in evaluation mode after an evaluation")
def check(trace: Trace) -> Iterator[Draft]:
    yield from _as_loaded(trace)
    for forwards in forwards_by_place(trace):
        training = [forward for forward in forwards if forward.output.feeds_backward]
        first = next((forward for forward in training if forward.mode in ("train", "")), None)
        if first is None:
            yield from _after_branch(trace, training)
            continue
        later = next(
            (f for f in training if f.index > first.index and f.mode in ("eval", "mixed") and f.root is first.root),
            None,
        )
        if later is None:
            continue
        change = _eval_before(trace, later, first)
        if change is None:
            continue
        place = _in_training_file(change, later)
        evidence = [Step(later.place, "the next training pass runs in that mode")]
        if place == change.place:
            evidence += [Step(call, "called from here") for call in change.stack[-1:]]
        else:
            evidence.append(Step(change.place, "put into evaluation mode here"))
        if first.mode_set_at is not None:
            evidence.append(Step(first.mode_set_at, "training mode is set only here"))
        yield Draft(
            place,
            "The model stays in evaluation mode after this: the training passes that follow run without dropout and "
            "with frozen batch-norm statistics. No `train()` was found between.",
            tuple(evidence),
            fix=training_mode(trace, change, later),
        )


def _as_loaded(trace: Trace) -> Iterator[Draft]:
    """`from_pretrained` returns a model in evaluation mode, and nothing puts it into training mode.

    https://huggingface.co/docs/transformers/main_classes/model#transformers.PreTrainedModel.from_pretrained
    """
    if any(True for _ in trace.of(FrameworkTrainer)):
        return
    changes = list(trace.of(ModeChange))
    alone = not changes and not any(True for _ in trace.of(Prepare))
    for forward in trace.of(Forward):
        module = forward.module.origin
        if not forward.output.feeds_backward or not module.made_by.startswith(_HUGGING_FACE) or forward.mode:
            continue
        if "from_pretrained" not in _made_how(module) or forward.grad is not True:
            continue
        if module.member_of is not None or module.wrapping or any(o.wrapping for o in forward.module.options()):
            continue
        handed = {use for use in module.uses if use.startswith("arg:") and not use.startswith("arg:builtins.")}
        if alone and not handed and module.requires_grad is not False and module.made_by.startswith("transformers."):
            optimizer = None
        else:
            # Beside a network that is put into training mode: the optimizer says that this one learns, too.
            optimizer = _optimizer_of(trace, forward)
            perhaps = any(same(c.module, module) or c.module.origin.op in _SOME_MODULE for c in changes)
            beside = any(change.mode == "train" and change.root is forward.root for change in changes)
            pipelined = all(use.startswith("arg:diffusers.") for use in handed)
            if optimizer is None or perhaps or not beside or not pipelined:
                continue
        evidence = [Step(optimizer.place, "its parameters are optimized here")] if optimizer is not None else []
        yield Draft(
            forward.place,
            "`from_pretrained` returns the model in evaluation mode, and no `train()` was found: it is trained without "
            "dropout, and gradient checkpointing stays off.",
            (Step(module.place, "loaded here"), *evidence),
            severity="warning",
        )
        return


_HUGGING_FACE = ("transformers.", "diffusers.")
_SOME_MODULE = frozenset(
    {"element", "data-element", "parameter-of-function", "attribute", "unknown", "getitem", "getattr"}
)
"""Operations of which it is not known which module they give."""


def _optimizer_of(trace: Trace, forward: Forward) -> OptimizerCreated | None:
    """The optimizer that holds the parameters of the module that is called."""
    held = identities(forward.module)
    return next((o for o in trace.of(OptimizerCreated) if not held.isdisjoint(modules_behind(o.optimizer))), None)


def _made_how(module: Value) -> str:
    """The constructor's name, where a class method built it."""
    return module.kind


def _in_training_file(change: ModeChange, later: Forward) -> Place:
    """Where the mode changes, as seen from the file that trains: there the call of a helper that leaves it changed."""
    for place in (change.place, *reversed(change.stack)):
        if place.path == later.place.path:
            return place
    return change.place


def _eval_before(trace: Trace, later: Forward, first: Forward) -> ModeChange | None:
    """The last time that the model is put into evaluation mode between two passes: earlier ones are undone."""
    found = None
    for change in trace.between(first, later, ModeChange):
        if change.mode == "eval" and same(change.module, later.module) and change.root is later.root:
            found = change
    return found


def _after_branch(trace: Trace, training: list[Forward]) -> Iterator[Draft]:
    """An evaluation inside of the training loop, now and then: the mode differs between passes."""
    for forward in training:
        if forward.mode != "mixed":
            continue
        changes = [
            c for c in trace.family(forward, ModeChange) if same(c.module, forward.module) and c.root is forward.root
        ]
        inside = [c for c in changes if c.mode == "eval" and c.common_loops(forward) and c.index < forward.index]
        set_before = [c for c in changes if c.mode == "train" and inside and c.index < inside[0].index]
        if not inside or not set_before or any(c.mode != "eval" and c.index > inside[0].index for c in changes):
            continue
        yield Draft(
            inside[0].place,
            "The model stays in evaluation mode after this: the training passes that follow run without dropout and "
            "with frozen batch-norm statistics. No `train()` was found between.",
            (
                Step(forward.place, "the next training pass runs in that mode"),
                Step(set_before[0].place, "training mode is set only here"),
            ),
            fix=training_mode(trace, inside[0], forward),
        )
        return
