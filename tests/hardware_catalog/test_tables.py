"""The reader of the catalogue's tables agrees with the general parser."""

from __future__ import annotations

import tomllib
from importlib.resources import files

import pytest

from hardware_catalog import tables

DATA = files("hardware_catalog").joinpath("data")


@pytest.mark.parametrize("name", ["gpus.toml", "instances.toml"])
def test_it_reads_what_the_general_parser_reads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = DATA.joinpath(name).read_text(encoding="utf-8")
    expected = tomllib.loads(text)
    monkeypatch.setattr(tables, "tomllib", None)
    assert tables.read_tables(text) == expected


@pytest.mark.parametrize(
    "text",
    ["[[a]]\nb = 'single'\n", "[[a]]\nb = 1_000 # thousand\n", "top = 1\n", "[a]\nb = 1\n", "[[a]]\nb = [\n  1,\n]\n"],
)
def test_other_spellings_go_to_the_general_parser(text: str) -> None:
    assert tables.read_tables(text) == tomllib.loads(text)


def test_what_is_no_toml_is_refused() -> None:
    with pytest.raises(tomllib.TOMLDecodeError):
        tables.read_tables("[[a]]\nb = 1\nb = 2\n")
