"""backward() past the framework that owns precision, accumulation or reduction."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import identities
from engine.rules.facts.text import replace, source_of
from engine.rules.facts.training import lightning_step
from engine.rules.remedies.frameworks import manual_optimization
from engine.rules.remedies.stepping import owned_backward
from engine.rules.rule import Draft, FixMaker, rule
from engine.trace import Step, Trace, Value
from engine.trace.events import Backward, Forward, OptimizerStep, Prepare, Return


@rule("PF210", "framework-backward", "error", "backward() goes past the framework that owns it")
def check(trace: Trace) -> Iterator[Draft]:
    forwards = {id(forward.output): forward for forward in trace.of(Forward)}
    yield from _past_engine(trace)
    for backward in trace.of(Backward):
        automatic = _automatic(backward)
        if backward.via == "lightning" and automatic is True:
            yield Draft(
                backward.place,
                "`manual_backward` is called while Lightning's automatic optimization is on, which runs "
                "backward and step "
                "again; set `self.automatic_optimization = False` in `__init__`.",
                (Step(backward.root.place, "called by Lightning's loop"),),
                fix=manual_optimization(backward),
            )
        if backward.via not in ("tensor", "scaler"):
            continue
        if automatic is True and backward.via == "tensor" and _returned(trace, backward):
            yield Draft(
                backward.place,
                "Lightning's automatic optimization back-propagates the loss that this step returns, and this backward "
                "has done so before: the graph is already freed then, or the gradients count twice. Leave it to "
                "Lightning.",
                (Step(backward.root.place, "called by Lightning's loop"),),
            )
            continue
        if lightning_step(backward) and automatic is False:
            yield Draft(
                backward.place,
                "In manual optimization a plain backward bypasses Lightning's precision and strategy plugins; call "
                "`self.manual_backward(loss)`.",
                fix=_call(trace, backward, "self.manual_backward"),
            )
            continue
        engine = _engine(backward, forwards)
        if engine is not None:
            yield Draft(
                backward.place,
                "The model belongs to a DeepSpeed engine, and this backward goes past it: loss scaling, accumulation "
                "and gradient partitioning are left out. Call the engine's `backward` and `step`.",
                (Step(engine.place, "the engine"),),
            )
            continue
        owner = _owner(trace, backward, forwards)
        if owner is None:
            continue
        yield Draft(
            backward.place,
            f"The model was handed to {owner.library.capitalize()}, and this backward goes past it: loss scaling, "
            "accumulation and gradient reduction are left out.",
            (Step(owner.place, "handed over here"),),
            fix=owned_backward(owner, backward),
        )


def _past_engine(trace: Trace) -> Iterator[Draft]:
    """The optimizer inside of a DeepSpeed engine is stepped by hand."""
    engines = {id(b.through): b.through for b in trace.of(Backward) if b.via == "deepspeed" and b.through is not None}
    for step in trace.of(OptimizerStep):
        if step.via != "direct":
            continue
        for engine in engines.values():
            given = engine.keywords.get("optimizer")
            own = step.optimizer.origin.member_of is engine or not identities(given).isdisjoint(
                identities(step.optimizer)
            )
            if own:
                yield Draft(
                    step.place,
                    "This optimizer belongs to a DeepSpeed engine: stepped by itself it ignores accumulation, loss "
                    "scaling and partitioned gradients. Call the engine's `step()`.",
                    (Step(engine.place, "the engine"),),
                )
                break


def _automatic(backward: Backward) -> bool | None:
    """Lightning's automatic optimization in the module that the backward stands in; None outside of Lightning."""
    owner = backward.root.owner
    if owner is None or owner.cls is None or not lightning_step(backward):
        return None
    if backward.root.name.rpartition(".")[2] != "training_step":
        return None
    value: Value | None = owner.attributes.get("automatic_optimization")
    for cls in owner.cls.lineage():
        value = value or cls.members.get("automatic_optimization")
    if value is None:
        return True if not owner.cls.project_bases else None
    return value.constant if isinstance(value.constant, bool) else None


def _returned(trace: Trace, backward: Backward) -> bool:
    """Whether the step hands the loss that it back-propagated itself to Lightning."""
    return any(
        part is backward.loss
        for returned in trace.family(backward, Return)
        if returned.function == backward.root.name and returned.value is not None
        for part in (*returned.value.ancestors(limit=40), *getattr(returned.value, "entries", {}).values())
    )


def _engine(backward: Backward, forwards: dict[int, Forward]) -> Value | None:
    if not any(forward.module.wrapping == "deepspeed" for forward in forwards.values()):
        return None
    models = [forwards[id(v)].module for v in backward.loss.graph_ancestors() if id(v) in forwards]
    return next((model for model in models if model.wrapping == "deepspeed"), None)


def _owner(trace: Trace, backward: Backward, forwards: dict[int, Forward]) -> Prepare | None:
    """The hand-over whose model or optimizer this backward serves."""
    # What the same code hands over only later is another training: notebooks show one after the other.
    handed_over = [p for p in trace.family(backward, Prepare) if p.root != backward.root or p.index < backward.index]
    if not handed_over:
        return None
    models = [forwards[id(v)].module for v in backward.loss.ancestors() if id(v) in forwards]
    optimizers = [
        step.optimizer
        for step in trace.family(backward, OptimizerStep)
        if step.root != backward.root or not backward.loops or step.common_loops(backward)
    ]
    for prepare in handed_over:
        results = identities(*prepare.results, *prepare.objects)
        if any(not identities(model).isdisjoint(results) for model in models):
            return prepare
        if any(not identities(optimizer).isdisjoint(results) for optimizer in optimizers):
            return prepare
    return None


def _call(trace: Trace, backward: Backward, function: str) -> FixMaker | None:
    if backward.loss_place is None or backward.retain_graph or backward.gradient is not None:
        return None
    return replace(backward.place, f"{function}({source_of(trace.project, backward.loss_place)})", f"Call `{function}`")
