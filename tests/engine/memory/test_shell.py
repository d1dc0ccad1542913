"""What a launch script runs: words with their lines, variables, arrays, separators."""

import pytest

from engine.memory.shell import Command, commands
from engine.project import Project


def read(text: str) -> list[Command]:
    return list(commands(Project.from_mapping({"jobs/run.sh": text}), "jobs/run.sh"))


def test_words_keep_the_line_they_stand_on() -> None:
    (command,) = read("#!/bin/bash\nLR=1e-4  # small\ntorchrun --nproc_per_node 4 \\\n    train.py \\\n    --lr $LR\n")
    assert command.texts() == ("torchrun", "--nproc_per_node", "4", "train.py", "--lr", "1e-4")
    assert [word.line for word in command.words] == [3, 3, 3, 4, 5, 5]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ARGS=(\n  --n 4  # each\n  --bf16\n)\npython a.py ${ARGS[@]}", ("python", "a.py", "--n", "4", "--bf16")),
        ("A=(--x 1)\nA+=(--y 2)\npython a.py \"${A[@]}\"", ("python", "a.py", "--x", "1", "--y", "2")),
        ("N=8\npython a.py --b $((N / 2 * 3))", ("python", "a.py", "--b", "12")),
        ("python a.py --b ${BATCH:-16} \"$@\" 2>&1 | tee log.txt", ("python", "a.py", "--b", "16")),
        ("python a.py --note 'a # b' > out.log", ("python", "a.py", "--note", "a # b")),
        ("python $(dirname $0)/a.py", ("python", "jobs/a.py")),
    ],
)  # fmt: skip
def test_variables_arrays_and_redirections(text: str, words: tuple[str, ...]) -> None:
    assert read(text)[0].texts() == words


def test_separators_and_environment() -> None:
    first, second = read("export HF_HOME=/cache\ncd src && CUDA_VISIBLE_DEVICES=0,1 \\\n  deepspeed a.py; \n")
    assert first.texts() == ("cd", "src")
    assert second.texts() == ("deepspeed", "a.py")
    assert second.environment == {"HF_HOME": "/cache", "CUDA_VISIBLE_DEVICES": "0,1"}


@pytest.mark.parametrize("head", ["for n in 96 192\ndo\n", "for n in 96 192; do\n", "for n in 96 192; do "])
def test_a_sweep_is_read_with_the_first_of_its_values(head: str) -> None:
    text = f"model=Informer\n{head}  python -u run.py --model $model --pred_len $n\ndone\n"
    started = [command.texts() for command in read(text) if "python" in command.texts()]
    assert started == [("python", "-u", "run.py", "--model", "Informer", "--pred_len", "96")]


def test_recipes_of_a_makefile() -> None:
    variables = "BS ?= 64\nCFG := gan.toml\n.PHONY: train\n\n"
    text = f"{variables}train: data\n\t@python -m gan.cli train -c $(CFG) \\\n\t  --bs ${{BS}}\n"
    (command,) = commands(Project.from_mapping({"Makefile": text}), "Makefile")
    assert command.texts() == ("python", "-m", "gan.cli", "train", "-c", "gan.toml", "--bs", "64")


def test_commands_know_where_the_script_has_gone() -> None:
    found = read("cd src\npython a.py\ncd ../tools && python b.py\ncd /data\npython c.py\n")
    assert [c.folder for c in found if c.words[0].text == "python"] == ["src", "tools", ""]
