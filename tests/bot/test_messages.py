"""What the bot says may quote names and texts of a repository that nobody trusts; none of them comes alive."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from bot import messages
from bot.commands import answers
from engine.findings import Breakdown, ByteRange, EstimateReport, FailedFile, Memory, Saving
from engine.memory.overrides import WrongOverride
from hardware_catalog import AmbiguousGPU, NoDevices, UnknownGPU
from tests.bot.rendered import tokens

HOSTILE = [
    "a`@octocat`b.py",
    "`@octocat/team` <img src=x onerror=alert(1)>",
    "x\n\n# heading\n\n```\nopen fence",
    "[here](https://example.org/evil) ![](https://example.org/pixel.png)",
    "</details><script>alert(1)</script>",
    "<!-- preflight:summary -->",
    "| a | b |\n|---|---|\n| @octocat | #1 |",
    "octocat/repo#1 GH-1 www.example.org https://example.org",
    "\u202eyp.niart",
]
RANGE = ByteRange(low=1, expected=2, high=3)
REPORT = EstimateReport(memory=Memory(allocated=RANGE, reserved=RANGE, occupied=RANGE, breakdown=Breakdown()))

SAYINGS: dict[str, Callable[[str], str | None]] = {
    "broken": messages.broken_summary,
    "configuration": lambda text: messages.check_text(problems=[text]),
    "note": lambda text: messages.check_text(problems=(), notes=[text]),
    "failed file": lambda text: messages.check_text(
        problems=(), failed=[FailedFile(path=text, reason="r"), FailedFile(path="p", reason=text)]
    ),
    "left out": lambda text: messages.check_text(problems=(), left_out=[text]),
    "unknown estimate": lambda text: answers.estimate(EstimateReport(notes=(text,)), text, {text: text}),
    "estimate": lambda text: answers.estimate(
        REPORT.model_copy(
            update={
                "notes": (text,),
                "savings": (Saving(change=text, saves_bytes=1, occupied_bytes=1, cost=text, verdict={}),),
            }
        ),
        text,
        {text: text},
    ),
    "estimate broken": answers.estimate_broken,
    "unknown gpu": lambda text: answers.no_word(UnknownGPU(text, ())),
    "ambiguous gpu": lambda text: answers.no_word(AmbiguousGPU(text, ("a", "b"))),
    "no gpu at all": lambda text: answers.no_word(NoDevices(text, ("a",))),
    "wrong key": lambda text: answers.wrong_setting(WrongOverride(text, None, "a, b")),
    "wrong value": lambda text: answers.wrong_setting(WrongOverride("precision", text, "a, b", ("a",))),
    "no key": lambda text: answers.no_key(text, ("batch_size",)),
    "no value": lambda text: answers.value_needed(text, "batch_size"),
    "given twice": lambda text: answers.given_twice("batch_size", text, "8"),
    "several scripts": lambda text: answers.several_scripts((text, "b.py")),
    "no script": lambda text: answers.no_script(text, (text,)),
    "one gpu": answers.another_gpu_needed,
    "reading": lambda text: answers.readings({text: ("a100", ("a",))}),
    "unknown command": lambda text: answers.unknown_command(text, None, ""),
    "unknown rule": lambda text: answers.unknown_rule(text, (), ()).partition("<details>")[0],
}


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("saying", SAYINGS)
def test_what_is_quoted_stays_text(saying: str, text: str) -> None:
    said = SAYINGS[saying](text)
    assert said
    allowed = {"heading_open": said.count("### ")}
    headings = 0
    for token in tokens(said):
        assert token.type not in {"html_block", "html_inline", "link_open", "image", "fence", "code_block"}, said
        headings += token.type == "heading_open"
        if token.type == "text":
            assert not re.search(r"@\w|#\d|GH-\d|https?://|www\.", token.content), said
            assert "\u202e" not in token.content
    assert headings <= allowed["heading_open"]
