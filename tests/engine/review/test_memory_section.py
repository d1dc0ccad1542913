"""The part of a summary that speaks of memory: before and after, in words and in figures."""

import re

from engine.estimate import estimate
from engine.findings import EstimateReport, MemoryChange
from engine.presentation.memory import memory_change, memory_in_words, show_bytes
from engine.presentation.renting import rent_in_words
from engine.presentation.summary import summary_markdown
from engine.project import Project

SOURCE = """
import torch

batch_size = {size}
model = torch.nn.Sequential(torch.nn.Linear(1024, 65536), torch.nn.ReLU(), torch.nn.Linear(65536, 16)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(100):
    model(torch.randn(batch_size, 1024, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def report(size: int) -> EstimateReport:
    return estimate(Project.from_mapping({"train.py": SOURCE.format(size=size)}), "train.py", gpus=["t4"])


def test_what_a_change_does_is_said_in_one_sentence() -> None:
    small, large = report(512), report(65536)
    told = memory_in_words(small, large)
    assert told.startswith("The peak rises from ")
    assert told.endswith("`t4`: does not fit now.")
    assert memory_in_words(large, small).endswith("`t4`: fits now.")
    assert memory_in_words(small, small) == ""


def test_a_changed_setting_is_shown_with_its_place() -> None:
    text = memory_change("train.py", report(512), report(65536))
    assert "| batch\\_size | `512` | `65536` | `train.py:4` |" in text
    assert "What this was computed from" in text


def test_what_a_change_costs_is_the_rent_of_the_cheapest_device_before_and_after() -> None:
    small, large = report(512), report(65536)
    costs = rent_in_words(small, large)
    assert re.match(r"This change costs \\\$\d+\.\d\d an hour \(\+\d+ %\): the cheapest device for rent", costs)
    assert "`t4`" not in costs.rpartition(" to ")[2]
    assert re.search(r", with \d+\.\d times the (16-bit rate|memory bandwidth)", costs)
    assert rent_in_words(large, small).startswith("This change saves \\$")
    assert rent_in_words(small, small) == ""
    assert rent_in_words(None, small) == ""
    assert costs in memory_change("train.py", small, large)
    assert re.search(r"`t4`: ✅ fits \(\\\$\d+\.\d\d an hour\)", memory_change("train.py", large, small))


def test_a_run_that_no_device_holds_any_more_is_said_to_be_so() -> None:
    assert "no device with a published price surely holds it now" in rent_in_words(report(512), report(1 << 24))


def test_what_the_peak_is_made_of_is_drawn_and_listed() -> None:
    small, large = report(512), report(65536)
    text = memory_change("train.py", small, large)
    assert large.memory is not None
    chart = text.split("```mermaid\n")[1].split("```")[0].splitlines()

    assert chart[0].startswith("pie showData title ")
    slices = dict(line.strip().split(" : ") for line in chart[1:])
    activations = large.memory.breakdown.activations
    assert abs(float(slices['"activations"']) - activations / 2**30) < 0.001
    assert small.memory is not None
    assert f"| activations | {show_bytes(small.memory.breakdown.activations)} |" in text
    alone = memory_change("train.py", None, large)
    assert "| Of which | this change |" in alone


def test_a_peak_that_does_not_move_is_one_line_and_the_rest_is_folded() -> None:
    small, large = report(512), report(65536)
    still = memory_change("train.py", small, small)
    outside = re.sub(r"<details>.*?</details>", "", still, flags=re.DOTALL)
    assert "This change does not move it." in outside
    assert "`t4`: ✅ fits" in outside
    assert "```" not in outside and "| ---" not in outside, "figures are for who asks"
    assert "The peak in figures" in still and "Ways to save memory" in still

    moved = re.sub(r"<details>.*?</details>", "", memory_change("train.py", small, large), flags=re.DOTALL)
    assert "```mermaid" in moved
    assert "| What would save memory |" in moved, "it does not fit: what would help stands open"
    fits = re.sub(r"<details>.*?</details>", "", memory_change("train.py", large, small), flags=re.DOTALL)
    assert "| What would save memory |" not in fits


def test_the_verdict_says_what_no_longer_fits_and_else_how_the_peak_moves() -> None:
    small, medium, large = report(512), report(1024), report(65536)

    def verdict(base: EstimateReport | None, head: EstimateReport) -> str:
        return summary_markdown((), (), 0, MemoryChange(script="a.py", base=base, head=head), ()).split("\n")[0]

    assert verdict(small, large) == "## Preflight: nothing new found; `a.py` does not fit `t4` now"
    assert re.fullmatch(
        r"## Preflight: nothing new found; the peak rises from \S+ GiB to \S+ GiB", verdict(small, medium)
    )
    assert verdict(small, small) == verdict(None, large) == "## Preflight: nothing new found"
    assert "falls from" in verdict(large, small)


def test_what_runs_on_no_gpu_is_not_said_to_fit_one() -> None:
    source = SOURCE.format(size=512).replace(".cuda()", "").replace(', device="cuda"', "")
    host = estimate(Project.from_mapping({"train.py": source}), "train.py", gpus=["t4"])

    text = memory_change("train.py", report(512), host)
    assert "Nothing of it runs on a GPU the way it is started here, where it did before." in text
    assert "fits" not in text
    rows = summary_markdown((), (), 0, MemoryChange(), (), [MemoryChange(script="train.py", head=host)] * 2)
    assert "| `train.py` |  | nothing on a GPU |  |  |" in rows


def test_why_the_peak_of_a_program_is_unknown_stands_under_the_table() -> None:
    unknown = EstimateReport(notes=("the option --dataset has no value",))
    rows = summary_markdown((), (), 0, MemoryChange(), (), [MemoryChange(script="a|.py", head=unknown)] * 2)
    assert "- `a|.py`: the option --dataset has no value" in rows


def test_several_programs_get_a_row_each_above_the_one_that_moves_most() -> None:
    small, large = report(512), report(65536)
    programs = [
        MemoryChange(script="a.py", base=small, head=large),
        MemoryChange(script="b|.py", base=None, head=small),
        MemoryChange(script="c.py", base=None, head=None),
    ]
    text = summary_markdown((), (), 0, programs[0], (), programs)
    rows = [line for line in text.splitlines() if line.startswith("| `")]

    assert [row.split(" | ")[0] for row in rows[:3]] == ["| `a.py`", "| `b\\|.py`", "| `c.py`"]
    assert "does not fit" in rows[0]
    assert rows[2].count("unknown") == 2
    assert text.index("by program") < text.index("Peak GPU memory of `a.py`")
    assert "by program" not in summary_markdown((), (), 0, programs[0], (), programs[:1])
