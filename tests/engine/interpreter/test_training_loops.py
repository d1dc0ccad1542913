"""What the interpreter says of training loops: events, their order, loops, roles by use."""

from __future__ import annotations

from textwrap import dedent

from engine.interpreter import trace_project
from engine.project import Project
from engine.trace import Trace
from engine.trace.events import (
    Backward,
    ClipGradients,
    DeviceSync,
    Event,
    Forward,
    InPlaceUpdate,
    LossCall,
    ModeChange,
    OptimizerStep,
    SchedulerStep,
    Store,
    ZeroGrad,
)


def trace_of(source: str, **files: str) -> Trace:
    """The trace of one script and, by file name without suffix, of others beside it."""
    texts = {"train.py": dedent(source), **{f"{name}.py": dedent(text) for name, text in files.items()}}
    return trace_project(Project.from_mapping(texts))


def first_pass(trace: Trace, *types: type[Event]) -> list[str]:
    """Type names of the events of each loop's first pass."""
    return [type(e).__name__ for e in trace.of(*types) if not any(e.iterations)]


STEP = """
    def a(b, c, d, e):
        for f, g in c:
            d.zero_grad()
            h = e(b(f), g)
            h.backward()
            d.step()
"""


def test_a_training_step_is_told_by_use_and_not_by_names() -> None:
    trace = trace_of(STEP)
    steps = first_pass(trace, Forward, ZeroGrad, Backward, OptimizerStep)
    assert steps == ["ZeroGrad", "Forward", "Backward", "OptimizerStep"]
    forward = next(trace.of(Forward))
    assert (forward.module.name, forward.module.role) == ("b", "module")
    assert next(trace.of(OptimizerStep)).optimizer.role == "optimizer"


def test_a_loop_with_a_backward_trains_and_its_subject_is_a_loader() -> None:
    backward = next(trace_of(STEP).of(Backward))
    loop = backward.loops[-1]
    assert loop.trains and loop.innermost_training and loop.kind == "loader"


def test_helpers_in_other_files_stand_in_the_callers_loop() -> None:
    trace = trace_of(
        """
        from engine import optimise
        def fit(net, data, opt, crit):
            for x, y in data:
                optimise(crit(net(x), y), opt)
        """,
        engine="""
        def optimise(loss, opt):
            loss.backward()
            opt.step()
        """,
    )
    backward = next(trace.of(Backward))
    assert backward.place.path == "engine.py"
    assert [place.path for place in backward.stack] == ["train.py"]
    assert backward.loop is not None and backward.loop.place.path == "train.py"


def test_methods_share_what_the_constructor_was_given() -> None:
    trace = trace_of(
        """
        class T:
            def __init__(self, net, opt):
                self.net, self.opt = net, opt
            def clear(self):
                self.opt.zero_grad()
            def fit(self, data):
                for x in data:
                    self.clear()
                    self.net(x).mean().backward()
                    self.opt.step()
        """
    )
    zero, step = next(trace.of(ZeroGrad)), next(trace.of(OptimizerStep))
    assert zero.target is step.optimizer
    assert zero.loops == step.loops


def test_object_that_only_steps_first_after_the_backward_is_the_optimizer() -> None:
    trace = trace_of(
        """
        class T:
            def __init__(self, p, q, r):
                self.p, self.q, self.r = p, q, r
            def fit(self, data):
                for x in data:
                    self.p(x).mean().backward()
                    self.q.step()
                    self.r.step()
        """
    )
    assert next(trace.of(OptimizerStep)).optimizer.name == "q"
    assert next(trace.of(SchedulerStep)).scheduler.name == "r"


def test_data_getters_are_no_modules() -> None:
    trace = trace_of(
        """
        def fit(net, buffer, opt, n):
            net.train()
            for _ in range(n):
                batch = buffer.sample(64)
                opt.zero_grad()
                net(batch).mean().backward()
                opt.step()
        """
    )
    assert {forward.module.name for forward in trace.of(Forward)} == {"net"}


def test_accumulation_guard_names_its_divisor() -> None:
    trace = trace_of(
        """
        def fit(net, data, opt, k):
            for i, x in enumerate(data):
                (net(x).mean() / k).backward()
                last = (i + 1) % k == 0
                if last:
                    opt.step()
                    opt.zero_grad()
        """
    )
    guard = next(trace.of(OptimizerStep)).guarded("modulo")
    assert guard is not None and guard.divisor == "k"


def test_running_total_keeps_the_graph_and_item_does_not() -> None:
    trace = trace_of(
        """
        def fit(net, data, opt):
            total, seen = 0, 0
            for x in data:
                opt.zero_grad()
                loss = net(x).mean()
                loss.backward()
                opt.step()
                total += loss
                seen += loss.item()
        """
    )
    kept = {s.target: s for s in trace.of(Store) if s.how == "accumulate" and not any(s.iterations)}
    assert kept["total"].value.carries_graph is True and kept["total"].crossing
    assert kept["seen"].value.carries_graph is False


def test_container_emptied_in_the_loop_does_not_cross_it() -> None:
    trace = trace_of(
        """
        def fit(net, data, opt):
            kept = []
            for i, x in enumerate(data):
                loss = net(x).mean()
                loss.backward()
                opt.step()
                kept.append(loss)
                if i % 10 == 0:
                    kept.clear()
        """
    )
    assert all(not s.crossing for s in trace.of(Store) if s.how == "append")


def test_mode_left_behind_by_a_call_is_seen_in_the_next_epoch() -> None:
    trace = trace_of(
        """
        def check(net, data):
            net.eval()
        def fit(net, data, opt, n):
            net.train()
            for _ in range(n):
                for x in data:
                    opt.zero_grad()
                    net(x).mean().backward()
                    opt.step()
                check(net, data)
        """
    )
    assert [m.mode for m in trace.of(ModeChange)][:2] == ["train", "eval"]
    assert {f.iterations[0]: f.mode for f in trace.of(Forward)} == {0: "train", 1: "eval"}


def test_phases_over_constants_are_played_one_by_one() -> None:
    trace = trace_of(
        """
        import torch
        def fit(net, data, opt):
            for phase in ["train", "val"]:
                for x in data[phase]:
                    with torch.set_grad_enabled(phase == "train"):
                        out = net(x).mean()
                        if phase == "train":
                            out.backward()
                            opt.step()
        """
    )
    assert {f.iterations[0]: f.grad for f in trace.of(Forward)} == {0: True, 1: False}
    assert {b.iterations[0] for b in trace.of(Backward)} == {0}


def test_activation_is_seen_through_the_projects_modules_and_views() -> None:
    trace = trace_of(
        """
        import torch.nn as nn
        import torch.nn.functional as F
        class M(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(4, 2)
            def forward(self, x):
                return F.softmax(self.a(x), dim=1)
        def loss(x, y):
            return nn.CrossEntropyLoss()(M()(x).squeeze(1), y)
        """
    )
    call = next(trace.of(LossCall))
    assert call.kind == "cross_entropy"
    assert call.input is not None and call.input.activation is not None
    assert call.input.activation.kind == "probabilities"


def test_early_return_leaves_the_opposite_guard_on_what_follows() -> None:
    trace = trace_of(
        """
        import torch.distributed as dist
        def f(net, x, local_rank):
            if dist.get_rank() != 0:
                return
            print(net(x).mean().item())
        """
    )
    guard = next(trace.of(DeviceSync)).guarded("rank")
    assert guard is not None and guard.early and guard.holds


def test_clipping_names_whose_parameters() -> None:
    trace = trace_of(
        """
        import torch
        def f(net):
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        """
    )
    assert [v.name for v in next(trace.of(ClipGradients)).of] == ["net"]


def test_hostile_nesting_is_survived() -> None:
    deep = "import torch\nx = " + "(" * 80 + "1" + ")" * 80 + "\ny = " + "-" * 900 + "1\n"
    trace = trace_project(Project.from_mapping({"deep.py": deep, "train.py": dedent(STEP)}))
    assert list(trace.of(Backward))


def test_a_file_that_does_not_parse_is_named_and_loses_nothing_else() -> None:
    trace = trace_project(Project.from_mapping({"broken.py": "import torch\ndef f(:\n", "train.py": dedent(STEP)}))
    assert "broken.py" in trace.failed
    assert list(trace.of(Backward))


def test_a_training_loop_is_reached_behind_long_preparation() -> None:
    chores = "\n".join(f"    print({n})" for n in range(7_000))
    trace = trace_of(
        f"def main(b, c, d, e):\n{chores}\n    for f, g in c:\n        e(b(f), g).backward()\n        d.step()"
    )
    assert not trace.truncated
    assert len(first_pass(trace, Backward, OptimizerStep)) == 2


def test_long_programs_without_a_training_loop_end_at_their_budget() -> None:
    chores = "\n".join(f"    print({n})" for n in range(7_000))
    assert trace_of(f"import torch\ndef main():\n{chores}\n").truncated == {"train.py"}


def test_methods_are_played_from_their_callers_where_others_name_those_too() -> None:
    trace = trace_of(
        """
        import torch

        class Averager:
            def _mix(self, old, new):
                for p, q in zip(old.parameters(), new.parameters()):
                    p.mul_(0.9).add_(q, alpha=0.1)

            @torch.no_grad()
            def on_step(self, old, new):
                self._mix(old, new)

        def tell(callbacks, old, new):
            for each in callbacks:
                each.on_step(old, new)
        """
    )
    assert {update.grad for update in trace.of(InPlaceUpdate)} == {False}


def test_a_parameter_annotated_with_the_schedulers_module_is_no_optimizer() -> None:
    trace = trace_of(
        """
        import torch

        def fit(net, scheduler: torch.optim.lr_scheduler, loader):
            for x in loader:
                net(x).mean().backward()
                scheduler.step()
        """
    )
    assert first_pass(trace, OptimizerStep, SchedulerStep) == ["SchedulerStep"]
