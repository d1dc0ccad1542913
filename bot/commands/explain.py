"""`/preflight explain retained-graph`: a rule's page."""

from __future__ import annotations

from bot.commands import answers
from bot.commands.command import Call, SlashCommand
from bot.commands.naming_rules import close_rules, first_rule
from engine.rules import registry


async def run(call: Call) -> str:
    """Return the page of the rule named."""
    words = call.intent.arguments
    if not words:
        return answers.rule_needed("explain", [rule.name for rule in registry()])
    rule, _ = first_rule(words)
    if rule is None:
        return answers.unknown_rule(words[0], close_rules(words[0]), [rule.name for rule in registry()])
    return answers.rule_page(rule.code, rule.name, rule.severity, rule.page)


command = SlashCommand("explain", "/preflight explain RULE", "shows what a rule looks for and why", run)
