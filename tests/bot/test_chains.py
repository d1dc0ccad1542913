"""The check run's text tells how each finding comes about, each place a link to the code at the head."""

from __future__ import annotations

from bot import messages
from bot.review.analysis import Limits, ProcessAnalyst
from bot.review.chains import Source, chains, with_chains
from engine.findings import Evidence, Finding
from tests.bot.conftest import Bench
from tests.bot.rendered import tokens

SHA = "0123456789abcdef0123456789abcdef01234567"
SOURCE = Source("https://github.com/acme/trainer", SHA)
HELPER = """import torch

losses = []


def keep(value):
    losses.append(value)
"""
TRAIN = """import torch
from helper import keep

model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(100):
    optimizer.zero_grad()
    loss = model(torch.randn(2, 4)).sum()
    loss.backward()
    optimizer.step()
    keep(loss.item())
"""


def finding(number: int = 0, severity: str = "error", path: str = "train.py", **step: str) -> Finding:
    evidence = Evidence(path=step.get("path", "model.py"), line=3, message=step.get("message", "the graph begins here"))
    return Finding(
        rule="PF101",
        name="retained-graph",
        severity=severity,  # type: ignore[arg-type]
        path=path,
        line=12 + number,
        column=1,
        end_line=12 + number,
        end_column=5,
        message="m",
        evidence=(evidence,),
    )


async def test_each_place_of_a_chain_leads_to_its_line_at_the_head(bench: Bench) -> None:
    bench.folder.commit({"train.py": TRAIN, "helper.py": HELPER, ".github/preflight.yml": "memory: false\n"})
    pull = bench.open({"train.py": TRAIN.replace("loss.item()", "loss")})
    bench.pipeline.analyst = ProcessAnalyst(Limits(seconds=120, memory_bytes=4 * 2**30))

    await bench.review(pull)

    text = bench.github.checks[0].text or ""
    root = f"{bench.github.web_url}/acme/trainer/blob/{pull.head_sha}"
    links = [str(token.attrs["href"]) for token in tokens(text) if token.type == "link_open"]
    assert f"{root}/helper.py#L7" in links
    assert f"{root}/train.py#L11" in links


def test_the_gravest_come_first_and_what_has_no_room_is_counted() -> None:
    findings = [finding(number, "warning", message="m" * 200) for number in range(2_000)] + [finding(5_000)]

    text = with_chains("The beginning.", findings, SOURCE)

    assert text is not None
    assert len(text) <= messages.CHECK_LIMIT
    assert text.startswith("The beginning.\n\n### How each finding comes about")
    assert text.index("train.py:5012") < text.index("train.py:12")
    told = text.count("**retained-graph**")
    assert 100 < told < 2_001
    assert text.endswith(f"The chains of {2_001 - told:,} more findings stand in their annotations, under the details.")


def test_a_finding_that_rests_on_its_own_line_alone_has_no_chain_to_tell() -> None:
    alone = finding().model_copy(update={"evidence": (Evidence(path="train.py", line=12, message="here"),)})

    assert with_chains(None, [alone], SOURCE) is None


def test_paths_and_messages_of_a_chain_stay_in_their_place() -> None:
    path = "a](https://evil.example) `b` (c) #1 @octocat\u202e%2e.py"
    text = chains([finding(path=path, message="reads `x` of [y](https://evil.example) <b>@octocat")], SOURCE, 5_000)

    shown = list(tokens(text))
    hrefs = [str(token.attrs["href"]) for token in shown if token.type == "link_open"]
    assert len(hrefs) == 2
    assert all(href.startswith(f"https://github.com/acme/trainer/blob/{SHA}/") for href in hrefs)
    assert not [token for token in shown if token.type in ("html_inline", "html_block", "image")]
    assert not [token for token in shown if token.type == "text" and "@octocat" in token.content]


def test_a_cell_of_a_notebook_is_linked_by_its_file_and_an_unknown_page_not_at_all() -> None:
    cell = "runs/a b.ipynb#cell=3"

    assert SOURCE.link(cell, 4) == f"[`{cell}:4`](https://github.com/acme/trainer/blob/{SHA}/runs/a%20b.ipynb)"
    assert Source("", SHA).link("train.py", 4) == "`train.py:4`"
