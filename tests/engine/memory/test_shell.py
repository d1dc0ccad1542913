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
