"""Each rewrite touches only what it must: shown as the lines that change."""

from __future__ import annotations

import ast
from collections.abc import Callable
from difflib import unified_diff

import pytest

from engine import fixes
from engine.findings import Fix
from engine.project import Module, Project, Span

SOURCE = '''\
import torch
import torch.nn.functional as F

for epoch in range(3):
    for x, y in loader:  # batches
        loss = criterion(net(x), y)  # mean
        loss.backward()
        optimizer.step()
        total += loss + 1
    print(f"""
{total}
""")
state = torch.load("a.pt")
other = torch.load(
    "a.pt",
)
empty = f()


def forward(self, x):
    """Docstring."""
    return F.softmax(self.fc(x), dim=-1)


@torch.no_grad
def evaluate(net): return net


if x: step()
a = 1; b = 2
'''


def module() -> Module:
    return Project.from_mapping({"a.py": SOURCE}).module("a.py")


def line_of(code: str) -> int:
    return SOURCE[: SOURCE.index(code)].count("\n") + 1


def place(code: str) -> Span:
    line = line_of(code)
    column = SOURCE.index(code) - (SOURCE.rfind("\n", 0, SOURCE.index(code)) + 1) + 1
    ends = code.split("\n")
    end_column = column + len(code) if len(ends) == 1 else len(ends[-1]) + 1
    return Span(line, column, line + len(ends) - 1, end_column)


def changed(fix: Fix | None) -> list[str]:
    assert fix is not None
    after = fixes.applied(SOURCE, fix)
    ast.parse(after)
    diff = unified_diff(SOURCE.split("\n"), after.split("\n"), n=0, lineterm="")
    return [line for line in list(diff)[2:] if not line.startswith("@@")]


CASES: dict[str, tuple[Callable[[Module], Fix | None], list[str]]] = {
    "a method call on a name": (
        lambda m: fixes.append_method_call(m, Span(9, 18, 9, 22), "item"),
        ["-        total += loss + 1", "+        total += loss.item() + 1"],
    ),
    "a method call on a sum brings parentheses": (
        lambda m: fixes.append_method_call(m, place("loss + 1"), "detach"),
        ["-        total += loss + 1", "+        total += (loss + 1).detach()"],
    ),
    "division": (
        lambda m: fixes.divide(m, place("criterion(net(x), y)"), "steps"),
        [
            "-        loss = criterion(net(x), y)  # mean",
            "+        loss = criterion(net(x), y) / steps  # mean",
        ],
    ),
    "a line before": (
        lambda m: fixes.insert_statement_before(m, line_of("loss.backward()"), "optimizer.zero_grad()"),
        ["+        optimizer.zero_grad()"],
    ),
    "a line after": (
        lambda m: fixes.insert_statement_after(m, line_of("optimizer.step()"), "optimizer.zero_grad()"),
        ["+        optimizer.zero_grad()"],
    ),
    "a line first in a loop": (
        lambda m: fixes.insert_first_in_body(m, line_of("for epoch"), "sampler.set_epoch(epoch)"),
        ["+    sampler.set_epoch(epoch)"],
    ),
    "a line first in a function stands behind its docstring": (
        lambda m: fixes.insert_first_in_body(m, line_of("def forward"), "self.eval()"),
        ["+    self.eval()"],
    ),
    "a statement replaced keeps its comment": (
        lambda m: fixes.replace_statement(m, line_of("loss = criterion"), "loss = f()"),
        ["-        loss = criterion(net(x), y)  # mean", "+        loss = f()  # mean"],
    ),
    "a statement removed": (
        lambda m: fixes.remove_statement(m, line_of("optimizer.step()")),
        ["-        optimizer.step()"],
    ),
    "two statements swapped": (
        lambda m: fixes.swap_statements(m, line_of("loss.backward()"), line_of("optimizer.step()")),
        ["+        optimizer.step()", "-        optimizer.step()"],
    ),
    "a statement moved": (
        lambda m: fixes.move_statement_before(m, line_of("optimizer.step()"), line_of("loss = criterion")),
        ["+        optimizer.step()", "-        optimizer.step()"],
    ),
    "a keyword": (
        lambda m: fixes.add_keyword(m, place('torch.load("a.pt")'), "map_location", '"cpu"'),
        ['-state = torch.load("a.pt")', '+state = torch.load("a.pt", map_location="cpu")'],
    ),
    "a keyword in a call over several lines": (
        lambda m: fixes.add_keyword(m, place('torch.load(\n    "a.pt",\n)'), "map_location", '"cpu"'),
        ['-    "a.pt",', '+    "a.pt", map_location="cpu",'],
    ),
    "a keyword in an empty call": (
        lambda m: fixes.add_keyword(m, place("f()"), "n", "1"),
        ["-empty = f()", "+empty = f(n=1)"],
    ),
    "an argument replaced": (
        lambda m: fixes.replace_call_argument(m, place("criterion(net(x), y)"), 1, "y.long()"),
        [
            "-        loss = criterion(net(x), y)  # mean",
            "+        loss = criterion(net(x), y.long())  # mean",
        ],
    ),
    "a call unwrapped": (
        lambda m: fixes.unwrap_call(m, place("F.softmax(self.fc(x), dim=-1)")),
        ["-    return F.softmax(self.fc(x), dim=-1)", "+    return self.fc(x)"],
    ),
    "a decorator called": (
        lambda m: fixes.call_decorator(m, place("torch.no_grad")),
        ["-@torch.no_grad", "+@torch.no_grad()"],
    ),
    "a decorator added": (
        lambda m: fixes.add_decorator(m, line_of("def forward"), "@torch.no_grad()"),
        ["+@torch.no_grad()"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_rewrite(name: str) -> None:
    make, expected = CASES[name]
    assert changed(make(module())) == expected


def test_wrapping_indents_code_and_leaves_strings() -> None:
    fix = fixes.wrap_with(module(), line_of("for x, y"), line_of('""")'), "torch.no_grad()")
    added = [line for line in changed(fix) if line.startswith("+")]
    assert added[0] == "+    with torch.no_grad():"
    assert "+            loss = criterion(net(x), y)  # mean" in added
    assert fix is not None
    assert '\n{total}\n""")' in fixes.applied(SOURCE, fix)


@pytest.mark.parametrize(
    "make",
    [
        lambda m: fixes.insert_statement_before(m, line_of("if x: step()"), "x = 1 +"),
        lambda m: fixes.remove_statement(m, line_of("a = 1; b = 2")),
        lambda m: fixes.swap_statements(m, line_of("loss.backward()"), line_of("state = ")),
        lambda m: fixes.append_method_call(m, Span(1, 1, 1, 3), "item"),
        lambda m: fixes.replace_call_argument(m, place("criterion(net(x), y)"), 7, "y"),
        lambda m: fixes.insert_first_in_body(m, line_of("def evaluate"), "x = 1"),
        lambda m: fixes.replace_expression(m, place("loss + 1"), "loss +"),
    ],
)
def test_what_would_be_a_guess_or_break_the_file_is_not_offered(make: Callable[[Module], Fix | None]) -> None:
    assert make(module()) is None


def test_several_rewrites_as_one() -> None:
    m = module()
    both = fixes.combine(
        m,
        fixes.insert_statement_before(m, 7, "optimizer.zero_grad()", safe=True),
        fixes.append_method_call(m, place("loss + 1"), "detach", safe=True),
    )
    assert both is not None and both.safe
    assert len(changed(both)) == 3
    one = fixes.remove_statement(m, 7)
    assert fixes.combine(m, one, one) is None
    assert fixes.combine(m, one, None) is None
