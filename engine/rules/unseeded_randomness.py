"""A training script draws random numbers from a generator that nothing seeds."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.remedies.seeding import seeded_alike
from engine.rules.rule import Draft, rule
from engine.trace import Choice, External, Place, Step, Trace
from engine.trace.events import (
    Backward,
    Event,
    FrameworkTrainer,
    FunctionCall,
    LoaderBuilt,
    ModuleCreated,
    ProcessGroupInit,
    RandomCall,
    Seed,
    Store,
    Wrapped,
)

_WITH_WEIGHTS = ("Linear", "Conv1d", "Conv2d", "Conv3d", "Embedding", "LSTM", "GRU", "RNN", "ConvTranspose2d")


@rule("PF601", "unseeded-randomness", "note", "A training script draws from a generator that is never seeded")
def check(trace: Trace) -> Iterator[Draft]:
    yield from _tuned_algorithms(trace)
    yield from _alike_on_all_ranks(trace)
    yield from _same_noise_on_all_ranks(trace)
    seeds = list(trace.of(Seed))
    if any(True for _ in trace.of(FrameworkTrainer)):
        yield from _fitted(trace, seeds)
        return
    trained = {id(backward.root): backward for backward in trace.of(Backward)}
    yield from _drawn_seeds(seeds, trained)
    reported: set[tuple[int, str]] = set()
    for call in trace.of(RandomCall, LoaderBuilt, ModuleCreated):
        source = _source(call)
        backward = trained.get(id(call.root)) or _trained_on(call, trained)
        key = (id(call.root), source or "")
        if backward is None or source is None or key in reported:
            continue
        if call.root.kind != "script" and not _seeds_itself(call, seeds) and not _seeded_at_top(call, seeds):
            continue
        reported.add(key)
        if any(source in seed.what for seed in seeds):
            continue
        other = [Step(seed.place, f"this seeds only {', '.join(sorted(seed.what))}") for seed in seeds[:1]]
        yield Draft(
            call.place,
            f"The first draw from {_named(source)}'s generator, which nothing seeds: two runs of this script differ.",
            (*other, Step(backward.place, "training depends on it")),
            fix=seeded_alike(source, call.place, [seed for seed in seeds if seed.root is call.root]),
        )


def _fitted(trace: Trace, seeds: list[Seed]) -> Iterator[Draft]:
    """A script that leaves training to Lightning's Trainer, which seeds nothing by itself.

    https://lightning.ai/docs/pytorch/stable/common/trainer.html#reproducibility
    """
    fits = [run for run in trace.of(FrameworkTrainer) if run.what == "fit" and run.library == "lightning"]
    own = [fit for fit in fits if fit.root.kind == "script" and _started_here(trace, fit)]
    # Another script's seeds are its own; those of a file that trains nothing may be of one that is imported.
    scripts = {id(fit.root) for fit in fits}
    for fit in {fit.root.path: fit for fit in reversed(own)}.values():
        if any(seed.root.path == fit.root.path or id(seed.root) not in scripts for seed in seeds):
            continue
        if any("seed" in call.name.lower() and call.root is fit.root for call in trace.of(FunctionCall)):
            continue
        yield Draft(
            trace.functions.get((fit.place.path, fit.function), fit.place),
            "`Trainer.fit` draws weights, order and dropout from generators that nothing seeds: two runs of this "
            "script differ. Begin with `seed_everything(...)`.",
            (Step(fit.place, "trained here"),),
        )


def _started_here(trace: Trace, fit: FrameworkTrainer) -> bool:
    """Whether the network is built by the same script: a driver of other code may be handed what is seeded."""
    return any(created.root is fit.root and not created.inside_forward for created in trace.of(ModuleCreated))


def _seeds_itself(call: Event, seeds: list[Seed]) -> bool:
    """A function that seeds one generator before it draws from another, as a main function does."""
    return any(
        seed.root is call.root and seed.function == call.root.name and seed.index < call.index and not seed.guards
        for seed in seeds
    )


def _trained_on(call: Event, trained: dict[int, Backward]) -> Backward | None:
    """The training of the file in which a data set is put together by chance."""
    owner = call.root.owner
    if not isinstance(call, RandomCall) or owner is None or owner.cls is None or "dataset" not in owner.cls.family:
        return None
    if not call.function.endswith(".__init__"):
        return None
    return next((backward for backward in trained.values() if backward.root.path == call.root.path), None)


def _seeded_at_top(call: Event, seeds: list[Seed]) -> bool:
    """A file that seeds one generator at its top level, for all that its functions draw."""
    return any(seed.root.kind == "script" and seed.root.path == call.root.path and not seed.guards for seed in seeds)


def _drawn_seeds(seeds: list[Seed], trained: dict[int, Backward]) -> Iterator[Draft]:
    """A seed that is itself drawn at random in each run, whatever was asked for."""
    for seed in seeds:
        value = seed.value
        if value is None or isinstance(value, Choice) or id(seed.root) not in trained or seed.root.kind != "script":
            continue
        if value.detached in ("random", "numpy") and value.op not in ("initial_seed", "getstate"):
            yield Draft(
                seed.place,
                "This seed is drawn anew in each run, and nothing lets one choose it: no run can be repeated.",
                (Step(value.place, "drawn here"),),
            )
            return


def _tuned_algorithms(trace: Trace) -> Iterator[Draft]:
    """cuDNN is asked for deterministic algorithms, and then to choose them by measuring.

    https://docs.pytorch.org/docs/stable/notes/randomness.html#cuda-convolution-benchmarking
    """
    switched = [
        (store, store.attribute, store.value.constant)
        for store in trace.of(Store)
        if isinstance(store.container, External) and store.container.qualified == "torch.backends.cudnn"
    ]
    for fixed, attribute, value in switched:
        if attribute != "deterministic" or value is not True:
            continue
        later = [item for item in switched if item[1] == "benchmark" and item[0].index > fixed.index]
        last = next((item for item in reversed(later) if item[0].root is fixed.root), None)
        if last is not None and last[2] is True and not last[0].excludes(fixed):
            yield Draft(
                last[0].place,
                "Deterministic algorithms are asked for, and `benchmark` lets cuDNN choose among them by timing, which "
                "differs between runs. Leave it False where results are to repeat.",
                (Step(fixed.place, "deterministic algorithms are asked for here"),),
            )
            return


def _alike_on_all_ranks(trace: Trace) -> Iterator[Draft]:
    """A loader that splits data among ranks, and draws its workers' seeds from the same stream on each of them."""
    told: set[Place] = set()
    for built in trace.of(LoaderBuilt):
        generator, sampler = built.loader.keyword("generator", "12"), built.loader.keyword("sampler", "3")
        if generator is None or sampler is None or generator.role != "generator":
            continue
        seed = generator.keyword("seed")
        if seed is None or not seed.is_constant or seed.place in told:
            continue
        if any(option.made_by.endswith("DistributedSampler") for option in sampler.options()):
            told.add(seed.place)
            yield Draft(
                seed.place,
                "The loader's workers are seeded from this generator, which starts alike on every rank: random "
                "augmentation repeats itself on all of them. Add the rank to the seed.",
                (Step(built.place, "the loader"), Step(sampler.place, "split among ranks")),
            )


def _same_noise_on_all_ranks(trace: Trace) -> Iterator[Draft]:
    """Every rank seeds alike and draws from that stream in the training loop: noise, time steps, masks."""
    if not any(True for _ in trace.of(ProcessGroupInit)):
        return
    seeds = [seed for seed in trace.of(Seed) if "torch" in seed.what]
    if not seeds or any(seed.value is None or not seed.value.is_constant or seed.loops for seed in seeds):
        return
    for draw in trace.of(RandomCall):
        loop = trace.step_loop(draw)
        if loop is None or draw.source != "torch" or draw.generator is not None or draw.name == "init":
            continue
        if not any(wrapped.root is draw.root for wrapped in trace.of(Wrapped)) or draw.guarded("rank"):
            continue
        yield Draft(
            seeds[0].place,
            "Every rank starts from this seed, and training draws from the stream: all ranks draw the same numbers for "
            "different samples. Add the rank to the seed once the model is built.",
            (Step(draw.place, "drawn alike on every rank"), Step(loop.place, "the training loop")),
        )
        return


def _source(event: Event) -> str | None:
    """The global generator that an event draws from."""
    if isinstance(event, RandomCall):
        return event.source if event.generator is None else None
    if isinstance(event, LoaderBuilt):
        shuffle = event.loader.keyword("shuffle", "2")
        return (
            "torch"
            if shuffle is not None and shuffle.constant is True and "generator" not in event.loader.keywords
            else None
        )
    if isinstance(event, ModuleCreated):
        own = event.module.made_by.startswith("torch.nn.") and event.module.made_by.endswith(_WITH_WEIGHTS)
        return "torch" if own else None
    return None


def _named(source: str) -> str:
    return {"torch": "torch", "numpy": "NumPy", "random": "Python"}.get(source, source)
