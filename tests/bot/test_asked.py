"""What people type after `/preflight`: taken where it can only mean one thing, else answered with what is close."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.commands import answers
from bot.commands.asked import Asked, Misunderstood
from bot.commands.folding import folded_page
from bot.commands.naming_rules import close_rules, leading_rules
from bot.commands.parsing import Command, find_command
from engine.rules import registry
from tests.bot.conftest import BUGGY, Bench
from tests.bot.rendered import tokens
from tests.bot.test_commands import ask

TAKEN = {
    "8xh100": ["8 h100-sxm5-80gb"],
    "8 h100": ["8 h100-sxm5-80gb"],
    "8 x h100": ["8 h100-sxm5-80gb"],
    "h100:8": ["8 h100-sxm5-80gb"],
    "H100, T4": ["1 h100-sxm5-80gb", "1 t4"],
    "h100,t4": ["1 h100-sxm5-80gb", "1 t4"],
    "on h100 and t4.": ["1 h100-sxm5-80gb", "1 t4"],
    "`h100` vs 't4'": ["1 h100-sxm5-80gb", "1 t4"],
    "t4 t4 t4": ["1 t4"],
    "--gpu h100 --gpu=t4 gpus=l4": ["1 h100-sxm5-80gb", "1 t4", "1 l4"],
    "rtx 4090 a100 80gb t4": ["1 rtx-4090", "1 a100-sxm4-80gb", "1 t4"],
    "aws/p4d.24xlarge": ["8 a100-sxm4-40gb"],
    "batch_size = 8": ["batch_size=8"],
    "--batch-size 8 --precision=AMP-BF16": ["batch_size=8", "precision=amp-bf16"],
    "batch_size=8 batch-size=8": ["batch_size=8"],
    "./train.py. t4": ["1 t4", "train.py"],
    '"my/train.sh"': ["my/train.sh"],
}


@pytest.mark.parametrize(("words", "meant"), TAKEN.items(), ids=list(TAKEN))
def test_what_can_only_mean_one_thing_is_taken(words: str, meant: list[str]) -> None:
    asked = Asked.of(words.split())

    gpus = [f"{request.count} {request.gpu.id}" for request in asked.gpus]
    settings = [f"{key}={value}" for key, value in asked.overrides.items()]
    assert [*gpus, *settings, *([asked.script] if asked.script else [])] == meant


ANSWERED = {
    "0xh100": "`0xh100` asks for no device at all. A number is 1 or more, as in `h100-sxm5-80gb`, `8xh100-sxm5-80gb`.",
    "h100:0": "`h100:0` asks for no device at all.",
    "-1xh100": "`-1xh100` is no GPU of the catalogue. Close to it: `h100-sxm5-80gb`",
    "9999999xh100": "`9999999xh100` is no GPU of the catalogue. Close to it: `h100-sxm5-80gb`",
    "\u0668xh100": "`\u0668xh100` is no GPU of the catalogue. Close to it: `h100-sxm5-80gb`",
    "orin": "`orin` is the name of several devices. Write which: `jetson-agx-orin-64gb`",
    "toaster": "`toaster` is no GPU of the catalogue. `gpus` lists what there is.",
    "batch_size=-1": "`batch_size` takes a whole number from 1 to 1,000,000,000, not `-1`.",
    "batch_size=\u0663": "`batch_size` takes a whole number from 1 to 1,000,000,000, not `\u0663`.",
    "batch_size=1e3": "not `1e3`.",
    f"batch_size={'9' * 200}": f"not `{'9' * 60}`.",
    "batch_size=1000000001": "not `1000000001`.",
    "batch_size": "`batch_size` needs a value, as in `batch_size=8`.",
    "batch_size=": "`batch_size=` needs a value, as in `batch_size=8`.",
    "batchsize t4": "`batchsize` needs a value, as in `batch_size=8`.",
    "--gpu": "`--gpu` needs a value, as in `gpu=a100`.",
    "batch_sise=8": "There is no setting `batch_sise`. Did you mean `batch_size`?",
    "colour=red": "There is no setting `colour`. There are: `accumulation_steps`, `attention`, `batch_size`",
    "=8": "`=8` names no setting.",
    "batch_size=8 batch_size=16": "`batch_size` is given twice: `8` and `16`.",
    "precision=banana": "`precision` takes fp32, amp-fp16, amp-bf16, pure-fp16, pure-bf16, not `banana`.",
    "precision=bf16": "Did you mean `amp-bf16` or `pure-bf16`?",
    "world_size=8 4xh100": "The GPU asks for 4 devices and `world_size=8` for another number.",
    "train.py other.py": "One estimate is of one script, and these are several: `train.py`, `other.py`.",
}


@pytest.mark.parametrize(("words", "answer"), ANSWERED.items(), ids=[words[:40] for words in ANSWERED])
def test_what_means_nothing_is_answered_with_what_does(words: str, answer: str) -> None:
    with pytest.raises(Misunderstood) as misunderstood:
        Asked.of(words.split())

    assert answer in str(misunderstood.value)


@given(
    st.lists(
        st.text(max_size=12) | st.sampled_from(["8", "x", "=", "h100", "0x", "--gpu", "a.py", "/", ","]), max_size=8
    )
)
def test_no_words_break_it(words: list[str]) -> None:
    try:
        Asked.of(word for part in words for word in part.split())
    except Misunderstood as misunderstood:
        assert str(misunderstood)


COMPARED = {
    "": "Name the GPUs to compare",
    "t4": "To compare takes two GPUs or more. For `t4` alone there is `estimate t4`.",
    "t4 t4": "To compare takes two GPUs or more.",
    "t4 l4 a10 a10g a40 l40s v100 h100 b200": "Compare at most 8 GPUs at a time; these are 9.",
    "1xh100 2xh100 4xh100 8xh100": "Compare at most 3 different numbers",
}


@pytest.mark.parametrize(("words", "answer"), COMPARED.items(), ids=list(COMPARED))
async def test_a_comparison_of_too_few_or_too_many_says_so(bench: Bench, words: str, answer: str) -> None:
    pull = bench.open({"train.py": BUGGY})
    await ask(bench, pull, f"/preflight compare {words}")

    assert answer in bench.github.comments[-1].body
    assert not bench.analyst.estimated


async def test_an_estimate_for_different_numbers_of_devices_points_to_the_comparison(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    await ask(bench, pull, "/preflight estimate 8xh100 4xa100")

    assert "these ask for 8 and 4. `compare`" in bench.github.comments[-1].body
    assert not bench.analyst.estimated


async def test_a_name_of_several_sizes_is_said_as_which_it_is_read(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    await ask(bench, pull, "/preflight estimate a100 a10 t4")

    answer = bench.github.comments[-1].body
    assert (
        "- `a100` is read as `a100-sxm4-40gb`; of other sizes there are `a100-pcie-80gb`, `a100-sxm4-80gb`." in answer
    )
    assert answer.count("is read as") == 1


async def test_a_script_that_is_not_there_is_answered_with_those_of_its_name(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY, "tools/finetune.py": BUGGY})
    for words, close in (("finetune.py", "tools/finetune.py"), ("trian.py", "train.py")):
        await ask(bench, pull, f"/preflight estimate {words}")
        assert f"Close to it: `{close}`." in bench.github.comments[-1].body


@pytest.mark.parametrize(
    ("body", "command"),
    [
        ("/Preflight HELP", Command("help")),
        ("/preflight: check", Command("check")),
        ("/preflight, estimate? a100", Command("estimate", ("a100",))),
        ("/preflight\u00a0gpus", Command("gpus")),
        ("/preflight estimate a100\n/preflight check\n> /preflight pause", Command("estimate", ("a100",), others=1)),
        (f"/preflight explain {'x' * 5_000}", Command("explain", ("x" * 300,))),
        ("/preflight gpus" + " t4" * 5_000, Command("gpus", ("t4",) * 99)),
        ("/preflighted", None),
    ],
)
def test_a_command_is_heard_however_it_is_punctuated(body: str, command: Command | None) -> None:
    assert find_command(body) == command


async def test_of_two_commands_in_a_comment_the_second_is_said_to_be_left(bench: Bench) -> None:
    from bot.jobs.intents import CommandIntent

    pull = bench.open({"train.py": BUGGY})
    bench.github.set_permission(bench.repository, "ada", "write")
    comment = bench.github.add_comment(pull, "ada", "/preflight gpus t4\n/preflight check")
    command = find_command(comment.body)
    assert command is not None
    intent = CommandIntent(
        repository=bench.key(),
        number=pull.number,
        comment_id=comment.id,
        login="ada",
        is_author=False,
        command=command.name,
        arguments=command.arguments,
        others=command.others,
    )
    await bench.handler.handle("job", intent, bench.steps)

    assert bench.github.comments[-1].body.endswith("One command a comment: 1 more was not carried out.")
    assert not bench.accepted


def test_rules_are_known_by_code_or_name_however_they_are_written() -> None:
    def codes(text: str) -> tuple[list[str], str]:
        rules, rest = leading_rules(text.split())
        return [rule.code for rule in rules], " ".join(rest)

    assert codes("`PF101`, missing-zero-grad: it is fine") == (["PF101", "PF201"], "it is fine")
    assert codes("retained graph and pf201 pf201") == (["PF101", "PF201"], "")
    assert codes("PF101 and that is fine") == (["PF101"], "and that is fine")
    assert codes("everything") == ([], "everything")
    assert close_rules("PF1")[0] == "PF101"
    assert close_rules("retaned-graph")[0] == "retained-graph"
    assert "missing-zero-grad" in close_rules("zero")


async def test_several_rules_are_ignored_and_taken_back_together(bench: Bench) -> None:
    pull = bench.open({"train.py": BUGGY})
    await ask(bench, pull, "/preflight ignore PF101 PF201 these are on purpose")
    assert "Findings of PF101 and PF201 are ignored" in bench.github.comments[-1].body

    await ask(bench, pull, "/preflight unignore PF101 PF201")
    assert "2 dismissals are taken back" in bench.github.comments[-1].body


def test_a_rules_page_stands_open_and_its_examples_are_folded() -> None:
    for rule in registry():
        text = answers.rule_page(rule.code, rule.name, rule.severity, rule.page)
        before, _, folded = text.partition("<details>")
        assert "#### What it finds" in before
        assert "#### Flagged" not in before
        assert "#### Flagged" in folded
        assert len(before) < 6_000
        assert text.count("<details>") == text.count("</details>")
        code = [token for token in tokens(text) if token.type == "fence"]
        assert code or "```" not in rule.page


def test_of_a_page_too_long_for_a_comment_the_last_examples_go_first() -> None:
    code = "x = 1\n" * 200
    page = "# r (PF1)\n\nWhat.\n\n## Why\n\nBecause.\n\n" + "".join(
        f"## Flagged {number}\n\n```py\n## no heading\n{code}```\n\n" for number in range(40)
    )

    text = folded_page(page, 20_000)

    assert len(text) <= 20_000
    assert text.startswith("What.\n\n#### Why")
    assert "#### Flagged 0" in text
    assert "#### Flagged 39" not in text
    assert text.endswith("</details>")
    assert folded_page("# t\n\n" + "word\n\n" * 9_000, 20_000)
