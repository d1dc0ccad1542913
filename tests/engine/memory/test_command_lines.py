"""Options and subcommands of `click` and `typer` programs, as the launch gives them."""

import pytest

from engine.memory.shadow import Launch, shadow_run
from engine.project import Project

CLICK = """
import click

@click.group()
def main():
    pass

@main.command()
@click.option("--batch-size", type=int, default=4)
def train(batch_size):
    raise ValueError(f"train {batch_size}")

@main.command("export")
def write():
    raise ValueError("export")

main()
"""
TYPER = """
import typer

app = typer.Typer()

@app.command()
def prepare(n: int = 1):
    raise ValueError("prepare")

@app.command()
def train(preset_name: str = typer.Option("base", "--preset"), accumulate: int = 1):
    raise ValueError(f"{preset_name} {accumulate}")

app()
"""


@pytest.mark.parametrize(
    ("source", "arguments", "said"),
    [
        (CLICK, ("train", "--batch-size", "64"), "train 64"),
        (CLICK, ("export",), "export"),
        (CLICK, (), "train 4"),
        (TYPER, ("train", "--preset", "small", "--accumulate", "4"), "small 4"),
        (TYPER, ("prepare",), "prepare"),
    ],
)
def test_the_command_that_the_arguments_name_is_run(source: str, arguments: tuple[str, ...], said: str) -> None:
    outcome = shadow_run(Project.from_mapping({"train.py": source}), Launch("train.py", arguments))
    assert outcome.problem is not None
    assert outcome.problem.endswith(f"ValueError: {said}")
