"""`/preflight ignore RULE [REASON]` and `unignore`: what people do not want to hear of again on a pull request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot import markers
from bot.commands import answers
from bot.commands.command import Call, SlashCommand
from bot.commands.naming_rules import close_rules, leading_rules
from bot.github.repository import is_own
from bot.storage.remembered import Dismissal
from engine.rules import registry


@dataclass(frozen=True)
class _Finding:
    """The finding of the thread in which the command stands."""

    fingerprint: str
    rule: str


async def ignore(call: Call) -> str:
    """Remember a dismissal: of the thread's finding where the command stands in one, of whole rules elsewhere."""
    finding = await _thread_finding(call)
    rules, reason = leading_rules(call.intent.arguments)
    codes = [rule.code for rule in rules]
    if finding is not None and codes in ([], [finding.rule]):
        subjects, told = [finding.fingerprint], answers.ignored_finding(finding.rule)
        codes = [finding.rule]
    elif codes:
        subjects, told = codes, answers.ignored_rules(codes)
    else:
        return _no_rule("ignore", reason)
    dismissals = [
        Dismissal(subject=subject, means="command", login=call.intent.login, reason=" ".join(reason))
        for subject in subjects
    ]
    await call.pipeline.remembered.dismiss(call.intent.repository, call.intent.number, dismissals)
    for code in codes:
        call.suppressed(code, "command")
    await call.review_again()
    return told


async def unignore(call: Call) -> str:
    """Forget the dismissal of the thread's finding, of rules, or of everything."""
    finding = await _thread_finding(call)
    rules, rest = leading_rules(call.intent.arguments)
    codes = [rule.code for rule in rules]
    if rest and not codes:
        return _no_rule("unignore", rest)
    subjects: list[str] | None = codes or None
    if finding is not None and codes in ([], [finding.rule]):
        subjects = [*(subjects or ()), finding.fingerprint]
    remembered = call.pipeline.remembered
    number = await remembered.restore(call.intent.repository, call.intent.number, subjects)
    if number:
        await call.review_again()
    return answers.restored(number)


async def _thread_finding(call: Call) -> _Finding | None:
    """Return the finding of the bot's own comment that began the thread."""
    first = call.intent.reply_to
    if first is None:
        return None
    for comment in await call.repository.review_comments(call.intent.number):
        if comment.id == first and is_own(comment.user, call.slug):
            fingerprint = markers.finding_of(comment.body)
            return None if fingerprint is None else _Finding(fingerprint, markers.rule_of(comment.body))
    return None


def _no_rule(command: str, words: Sequence[str]) -> str:
    names = [rule.name for rule in registry()]
    return (
        answers.unknown_rule(words[0], close_rules(words[0]), names) if words else answers.rule_needed(command, names)
    )


ignore_command = SlashCommand(
    "ignore",
    "/preflight ignore [RULE ...] [REASON]",
    "ignores a rule on this pull request or, in a thread, its finding",
    ignore,
    who="write",
)
unignore_command = SlashCommand(
    "unignore", "/preflight unignore [RULE ...]", "takes that back, for all without a rule", unignore, who="write"
)
