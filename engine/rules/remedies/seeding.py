"""Generators that are left out where a script seeds others."""

from __future__ import annotations

import ast

from engine import fixes
from engine.findings import Fix
from engine.fixes.imports import spelled
from engine.fixes.locating import statement_at
from engine.project import Module
from engine.rules.facts.text import in_file
from engine.rules.remedies.syntax import call_at
from engine.rules.rule import FixMaker
from engine.trace import Place
from engine.trace.events import Seed

_SEEDS = {"torch": "torch.manual_seed", "numpy": "numpy.random.seed", "random": "random.seed"}


def seeded_alike(source: str, drawn: Place, seeds: list[Seed]) -> FixMaker | None:
    """The generator is seeded beside another one, with the same number. Whether to seed at all is not ours to say."""
    beside = next((seed for seed in seeds if seed.place.path == drawn.path and not seed.rank_dependent), None)
    if beside is None or source not in _SEEDS:
        return None

    def build(module: Module) -> Fix | None:
        naming = spelled(module, _SEEDS[source])
        call, located = call_at(module, beside.place), statement_at(module, beside.place.line)
        if naming is None or naming.added is not None or located is None or not isinstance(located.node, ast.Expr):
            return None
        if call is None or len(call.args) != 1 or located.node.value is not call or beside.place.line >= drawn.line:
            return None
        code = f"{naming.code}({module.source(call.args[0])})"
        return fixes.insert_statement_after(
            module, beside.place.line, code, safe=True, description="Seed this generator as well."
        )

    return in_file(drawn, build)
