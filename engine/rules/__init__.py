"""One rule, one file, and one Markdown page of the same name beside it.

A rule module binds `check` to a `Rule`; nothing else has to be edited to add one. Rules of other packages come through
`engine.plugins`.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from functools import cache

from engine.rules.rule import Draft, Rule, rule

__all__ = ["Draft", "Rule", "own_rules", "registry", "rule"]


def registry() -> Sequence[Rule]:
    """All rules: Preflight's own by code, then those of other packages."""
    from engine.plugins import plugins

    return (*own_rules(), *plugins().rules)


@cache
def own_rules() -> Sequence[Rule]:
    """The rules that Preflight brings, by code."""
    found = []
    for module in pkgutil.iter_modules(__path__):
        check = getattr(importlib.import_module(f"{__name__}.{module.name}"), "check", None)
        if isinstance(check, Rule):
            found.append(check)
    return tuple(sorted(found, key=lambda rule: rule.code))
