"""A deep model told from runs of a few of its blocks: the outcome is that of the whole run, to the byte."""

from collections.abc import Mapping

import pytest

from engine.memory.shadow import Launch, Outcome, shadow_run
from engine.memory.splicing.depth import depth_of
from engine.memory.splicing.plays import Spliced
from engine.memory.splicing.tape import Recorder
from engine.project import Project
from hardware_catalog.allocator import Allocator

LANGUAGE = """
import torch
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("{name}").cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
for step in range(10):
    ids = torch.randint(0, 1000, (4, 256), device="cuda")
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
"""
PICTURES = """
import torch
from transformers import ViTForImageClassification

model = ViTForImageClassification.from_pretrained("google/vit-large-patch16-224").cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
for step in range(10):
    images = torch.randn(8, 3, 224, 224, device="cuda")
    labels = torch.zeros(8, dtype=torch.long, device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model(pixel_values=images, labels=labels).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
PROGRAMS = {
    "gpt2": LANGUAGE.format(name="gpt2-medium"),
    "qwen": LANGUAGE.format(name="Qwen/Qwen2.5-0.5B"),
    "vit": PICTURES,
}
CHANGES = ((), ("expandable-segments",), ("8bit-optimizer", "checkpoint-blocks"), ("lora-16", "fused-optimizer"))


class Played:
    """A program under test: whole runs, runs of some blocks, and how many of these were asked for."""

    def __init__(self, source: str) -> None:
        self.project = Project.from_mapping({"train.py": source})
        self.small = 0

    def whole(self, adjust: object = None, *, expandable: bool = False) -> Outcome:
        return shadow_run(self.project, Launch("train.py"), adjust=adjust, expandable_segments=expandable)  # type: ignore[arg-type]

    def few(self, overrides: Mapping[str, str], adjust: object, blocks: int) -> Outcome:
        self.small += 1
        return shadow_run(self.project, Launch("train.py"), adjust=adjust, made_with=blocks)  # type: ignore[arg-type]


def changed(changes: tuple[str, ...]) -> object:
    return lambda interpreter: interpreter.state.update(changes=frozenset(changes))


def figures(outcome: Outcome) -> tuple[object, ...]:
    return outcome.allocated, outcome.reserved, dict(outcome.categories), outcome.observations


@pytest.mark.parametrize("name", PROGRAMS)
def test_outcomes_told_from_a_few_blocks_are_those_of_whole_runs(name: str) -> None:
    played = Played(PROGRAMS[name])
    spliced = Spliced(played.whole(), {}, played.few)
    for changes in CHANGES:
        told = spliced.outcome(changes, {}, changed(changes))  # type: ignore[arg-type]
        assert told is not None, changes
        whole = played.whole(changed(changes), expandable="expandable-segments" in changes)
        assert figures(told) == figures(whole), changes


def test_what_only_a_whole_run_can_tell_is_left_to_it() -> None:
    source = PROGRAMS["gpt2"]
    for other in (
        source.replace("gpt2-medium", "gpt2"),
        source.replace("loss.backward()", "loss.backward(); print(torch.cuda.memory_allocated())"),
    ):
        played = Played(other)
        assert Spliced(played.whole(), {}, played.few).outcome((), {}, None) is None
        assert played.small == 0


def test_a_run_that_its_blocks_do_not_tell_is_played_whole() -> None:
    uneven = PROGRAMS["gpt2"].replace(
        "optimizer = ", "model.transformer.h[7].mlp = torch.nn.Linear(1024, 1024).cuda()\noptimizer = "
    )
    played = Played(
        uneven.replace("model.transformer.h[7]", "model.transformer.h[min(7, len(model.transformer.h) - 1)]")
    )
    assert Spliced(played.whole(), {}, played.few).outcome((), {}, None) is None


class Loop:
    """A made-up training loop over so many layers, written down by a recorder."""

    def __init__(self, layers: int, *, extra: int = 0) -> None:
        self.layers = layers
        self.extra = extra

    def play(self, allocator: Allocator) -> Allocator:
        """Weights, then activations given back from the last to the first, copies among them that go from the first to
        the last before, and a list with a number for each layer."""
        weights = [allocator.allocate(4096, 0) for _ in range(self.layers)]
        saved, copies = [], []
        for _ in range(self.layers):
            saved.append(allocator.allocate(1 << 20, 5))
            copies.append(allocator.allocate(1 << 20, 5))
        for block in copies:
            allocator.release(block)
        for block in [allocator.allocate(77, 5) for _ in range(self.extra)]:
            allocator.release(block)
        gradients = []
        for block in reversed(saved):
            gradients.append(allocator.allocate(4096, 6))
            allocator.release(block)
        for block in gradients:
            allocator.recategorise(block, 2)
        allocator.reset_peak()
        norms = allocator.allocate(4 * self.layers, 6)
        for block in reversed(gradients):
            allocator.release(block)
        allocator.release(norms)
        for block in weights:
            allocator.release(block)
        return allocator


def test_a_tape_grows_by_what_one_more_block_asks() -> None:
    tapes = []
    for layers in (2, 3):
        recorder = Recorder()
        Loop(layers).play(recorder)
        tapes.append(recorder.tape)
    depth = depth_of(*tapes)
    assert depth is not None
    for layers in (3, 4, 40):
        told, whole = Recorder(), Recorder()
        depth.play(told, layers - 3)
        Loop(layers).play(whole)
        assert told.tape == whole.tape
        assert told.peak() == whole.peak()


def test_tapes_that_differ_by_something_else_tell_nothing() -> None:
    shallow, deep = Recorder(), Recorder()
    Loop(2).play(shallow)
    Loop(3, extra=1).play(deep)
    assert depth_of(shallow.tape, deep.tape) is None
