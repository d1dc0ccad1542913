"""The page of one review: who sees it, what it shows, and that nothing in it is more than text."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest

from bot.pages.rendering import breakable
from bot.reports.access import REMEMBERED_SECONDS
from bot.reports.chart import size
from bot.review.measured import Evidence as Measured
from engine.findings import Edit, Evidence, Fix
from tests.bot.reports.conftest import GIB, SCRIPT, Library, finding, report
from tests.bot.test_measured import row


async def page(library: Library, path: str, login: str = "ada") -> tuple[int, str]:
    async with library.visitor(login) as browser:
        answer = await browser.get(path)
        return answer.status, await answer.text()


async def test_only_who_can_read_the_repository_sees_it(library: Library) -> None:
    path = await library.keep()
    assert (await page(library, path))[0] == 200
    status, text = await page(library, path, "mallory")
    other = await page(library, path.replace(library.sha, "0" * 40), "mallory")
    # A report that is not theirs looks like one that is not there.
    assert status == 404 and "trainer" not in text and other[0] == 404
    strip = re.compile(r"<span>mallory</span>")
    assert strip.sub("", text) == strip.sub("", other[1])
    assert (await page(library, path + "/exploration", "mallory"))[0] == 404


async def test_who_loses_access_loses_the_report_within_a_minute(library: Library) -> None:
    path = await library.keep()
    async with library.visitor("ada") as browser:
        assert (await browser.get(path)).status == 200
        library.bench.github.set_permission(library.bench.repository, "ada", "none")
        library.bench.clock.time += REMEMBERED_SECONDS + 1
        assert (await browser.get(path)).status == 404


async def test_a_public_repository_is_open_to_everybody_who_signs_in(library: Library) -> None:
    library.bench.repository.private = False
    assert (await page(library, await library.keep(), "mallory"))[0] == 200


async def test_another_repository_under_the_old_name_opens_nothing(library: Library) -> None:
    path, github = await library.keep(), library.bench.github
    library.bench.repository.installed = False
    library.bench.repository.name = "moved"
    impostor = github.add_repository(library.bench.folder.path, owner="acme", name="trainer", private=True)
    github.set_permission(impostor, "mallory", "admin")
    assert (await page(library, path, "mallory"))[0] == 404


async def test_a_renamed_repository_keeps_its_reports(library: Library) -> None:
    path = await library.keep()
    library.bench.github.rename(library.bench.repository, "renamed")
    status, text = await page(library, path)
    assert status == 200 and "renamed" in text


async def test_while_github_is_away_nobody_sees_anything(library: Library) -> None:
    path = await library.keep()
    async with library.visitor("ada") as browser:
        library.bench.github.refuse_next("500", "500", "500", "500")
        answer = await browser.get(path)
        assert answer.status == 503 and "Retained" not in await answer.text()


async def test_nothing_from_the_pull_request_is_more_than_text(library: Library) -> None:
    async with library.visitor("ada") as browser:
        answer = await browser.get(await library.keep())
        text = await answer.text()
    assert SCRIPT not in text and "<script>alert" not in text
    assert text.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 3  # title, message, code
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe-inline" not in policy
    assert "frame-ancestors 'none'" in policy and answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"
    # Under this policy inline scripts and styles would be dead, so there are none, nor anything from elsewhere.
    assert re.findall(r"<script(?![^>]*\bsrc=\"/static/)[^>]*>", text) == []
    assert " style=" not in text and " onclick=" not in text
    assert re.findall(r'(?:src|href)="(https?:[^"]+)"', text.replace(library.bench.github.web_url, "")) == []


async def test_evidence_is_laid_over_the_source(library: Library) -> None:
    _, text = await page(library, await library.keep())
    rows = [unescape(re.sub(r"<[^>]+>", " ", row)).split() for row in re.findall(r"<tr.*?</tr>", text, re.DOTALL)]
    lines = [" ".join(row) for row in rows]
    made = next(n for n, line in enumerate(lines) if line.startswith("6 loss"))
    kept = next(n for n, line in enumerate(lines) if line.startswith("8 losses"))
    assert lines[made + 1] == "1 made here, with gradients recorded"
    assert lines[kept + 1] == "2 Retained graph"
    assert any(line.startswith("+ losses . append ( loss . detach ()") for line in lines)
    assert f"/acme/trainer/blob/{library.sha}/train.py#L8" in text


async def test_two_places_of_a_suggestion_do_not_read_as_one(library: Library) -> None:
    fix = Fix(
        description="Keep the values",
        safe=True,
        edits=(
            Edit(line=1, column=1, end_line=1, end_column=1, text="import math\n"),
            Edit(line=8, column=19, end_line=8, end_column=23, text="loss.detach()"),
        ),
    )
    _, text = await page(library, await library.keep(report(finding(fix=fix))))
    shown = re.search(r'<table class="source diffed">(.*?)</table>', text, re.DOTALL)
    assert shown is not None
    rows = re.findall(r'<tr class="(\w*)">', shown[1])
    assert rows == ["added", "gap", "removed", "added"]


@pytest.mark.parametrize(
    ("number_of_bytes", "said"),
    [(0, "0 MiB"), (272 << 20, "272 MiB"), (-(90 << 20), "-90 MiB"), (5 << 30, "5.00 GiB"), (33 << 30, "33.0 GiB")],
)
def test_sizes_are_told_as_in_the_comment(number_of_bytes: int, said: str) -> None:
    assert size(number_of_bytes) == said


async def test_no_source_is_stored(library: Library, tmp_path_factory: pytest.TempPathFactory) -> None:
    await library.keep()
    stored = await library.store.find(library.key)
    assert stored is not None and "torch.nn.Linear" not in stored.document.model_dump_json()


async def test_a_commit_that_github_no_longer_has_leaves_the_findings(library: Library) -> None:
    path = await library.keep(sha="f" * 40)
    status, text = await page(library, path)
    assert status == 200 and "The graph of every step stays alive" in text
    assert "made here, with gradients recorded" in text and '<table class="source">' not in text


async def test_memory_configuration_and_savings_are_shown(library: Library) -> None:
    _, text = await page(library, await library.keep())
    for words in (
        "30.0 GiB",
        "does not fit",
        "NVIDIA GeForce RTX 4090",
        "Memory over time",
        "train.py:5",
        "Mixed precision",
    ):
        assert words in text, words
    assert '<code>256</code> <span class="faint">was <code>64</code>' in text
    data = json.loads(unescape(re.search(r'data-timeline="([^"]+)"', text)[1]))  # type: ignore[index]
    assert [category["name"] for category in data["categories"]] == ["Parameters", "Activations"]
    assert len(data["samples"]) == 30 and 'class="band c-activations"' in text


async def test_a_review_without_findings_or_memory_has_a_page_too(library: Library) -> None:
    empty = report().model_copy(update={"memory": report().memory.model_copy(update={"head": None, "base": None})})
    status, text = await page(library, await library.keep(empty))
    assert status == 200 and "Nothing in this change will silently go wrong" in text


async def test_a_finding_in_a_notebook_and_one_beyond_the_file_do_no_harm(library: Library) -> None:
    made = report(
        finding(path="notes.ipynb#cell=3", evidence=()), finding(line=900, end_line=905, fix=None), finding("note")
    )
    status, text = await page(library, await library.keep(made))
    assert status == 200 and "notes.ipynb#cell=3:8" in text


async def test_a_finding_in_a_notebook_lies_over_the_source_of_its_cell(library: Library) -> None:
    code = ["losses = []\n", "for batch in loader:\n", "    losses.append(loss)\n", f"    # {SCRIPT}\n"]
    cells = [
        {"cell_type": "code", "source": ["import torch\n", "model = torch.nn.Linear(4, 4)"]},
        {"cell_type": "markdown", "source": "words"},
        {"cell_type": "code", "source": code, "outputs": [{"text": "x" * 1_200_000}]},
    ]
    notebook = json.dumps({"cells": cells, "nbformat": 4, "metadata": {}})
    sha = library.bench.folder.commit({"eda.ipynb": notebook}, "feature")
    made = finding(
        path="eda.ipynb#cell=2", line=3, end_line=3, column=5, end_column=24,
        evidence=(Evidence(path="eda.ipynb#cell=1", line=2, message="the model"),),
        fix=Fix(
            description="Keep the value", safe=True,
            edits=(Edit(line=3, column=19, end_line=3, end_column=23, text="loss.detach()"),),
        ),
    )  # fmt: skip
    status, text = await page(library, await library.keep(report(made), sha=sha))
    assert status == 200
    excerpts = re.findall(r'<table class="source">(.*?)</table>', text, re.DOTALL)
    assert ["torch" in excerpt for excerpt in excerpts] == [True, False]
    assert "losses" in excerpts[1] and 'class="k"' in excerpts[1]
    assert "<script>alert" not in text
    shown = re.search(r'<table class="source diffed">(.*?)</table>', text, re.DOTALL)
    assert shown is not None and re.findall(r'<tr class="(\w*)">', shown[1]) == ["removed", "added"]
    assert f"/blob/{sha}/eda.ipynb" in text


async def test_measured_peaks_stand_beside_the_estimate(library: Library) -> None:
    measurement = row(device="NVIDIA L4", allocated_bytes=27 * GIB, reserved_bytes=29 * GIB)
    measured = Measured(measurement=measurement, check=f"measure {SCRIPT}", app="actions")
    _, text = await page(library, await library.keep(measured=measured))
    assert "27.00 GiB allocated and 29.00 GiB reserved on NVIDIA L4" in text
    assert "holds it" in text and "rtx-4090 does not fit" in text
    assert "<script>alert" not in text
    other = measured.model_copy(update={"measurement": row(entry="other.py")})
    assert "Measured by" not in (await page(library, await library.keep(measured=other)))[1]


def test_long_names_break_behind_a_mark_and_nowhere_else() -> None:
    assert breakable("saved (torch.autograd.save_on_cpu)") == ("saved (torch.<wbr>autograd.<wbr>save_<wbr>on_<wbr>cpu)")
    assert breakable("set A_B=<c:True>, twice. Then") == "set A_<wbr>B=&lt;c:<wbr>True&gt;, twice. Then"


# The explorer


async def test_ticked_changes_are_played_and_change_the_verdict(library: Library) -> None:
    path = await library.keep()
    async with library.visitor("ada") as browser:
        text = await (await browser.get(path + "?with=amp-bf16")).text()
        assert "18.0 GiB" in text and "−12.0 GiB" in text and '<span class="verdict good">fits' in text
        assert re.search(r'value="amp-bf16"[^>]* checked', text)
        part = await (await browser.get(path + "/exploration?with=amp-bf16")).text()
        assert "18.0 GiB" in part and "<html" not in part
    # The second answer came from what was kept.
    assert library.explores.asked == [("train.py", ("amp-bf16",))]


async def test_what_is_no_change_of_this_run_is_not_played(library: Library) -> None:
    path = await library.keep()
    async with library.visitor("ada") as browser:
        for query in ("with=nf4", "with=../../etc", "with=" + "x" * 5000, "with=<b>"):
            assert (await browser.get(f"{path}?{query}")).status == 200
    assert library.explores.asked == []
