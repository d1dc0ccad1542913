"""Rules by the words that people write for them."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from bot.commands.parsing import bare
from engine.rules import Rule, registry

LONGEST_NAME_WORDS = 6
MOST_CLOSE = 5


def first_rule(words: Sequence[str]) -> tuple[Rule | None, int]:
    """Return the rule with which the words begin, by code or name, and of how many words its name is.

    `retained graph` is `retained-graph`.
    """
    parts = [bare(word).lower() for word in words[:LONGEST_NAME_WORDS]]
    known = {name: rule for rule in registry() for name in (rule.code.lower(), rule.name)}
    for used in range(len(parts), 0, -1):
        rule = known.get("-".join(part for part in parts[:used] if part).replace("_", "-"))
        if rule is not None:
            return rule, used
    return None, 0


def leading_rules(words: Sequence[str]) -> tuple[Sequence[Rule], Sequence[str]]:
    """Return the rules with which the words begin, each once, and the words behind them."""
    found: list[Rule] = []
    left = list(words)
    while left:
        rule, used = first_rule(left)
        if rule is None:
            if found and bare(left[0]).lower() in ("and", "&", "+") and first_rule(left[1:])[0] is not None:
                left = left[1:]
                continue
            break
        left = left[used:]
        if rule not in found:
            found.append(rule)
    return found, left


def close_rules(word: str) -> Sequence[str]:
    """Return the names or codes that may be meant by a word that is none."""
    wanted = bare(word).lower()
    codes = [rule.code for rule in registry()]
    names = [rule.name for rule in registry()]
    if wanted.startswith("pf") and wanted[2:].isdigit():
        near = get_close_matches(wanted.upper(), codes, n=MOST_CLOSE, cutoff=0.75)
        return sorted([code for code in codes if code.startswith(wanted.upper())][:MOST_CLOSE] or near)
    holding = [name for name in names if len(wanted) > 2 and wanted in name]
    return holding[:MOST_CLOSE] or get_close_matches(wanted, names, n=3)
