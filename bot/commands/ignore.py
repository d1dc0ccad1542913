"""`/preflight ignore RULE [REASON]` and `unignore`: what people do not want to hear of again on a pull request."""

from __future__ import annotations

from dataclasses import dataclass

from bot import markers
from bot.commands import answers
from bot.commands.command import Call, SlashCommand
from bot.github.repository import is_own
from bot.storage.remembered import Dismissal
from engine.rules import registry


@dataclass(frozen=True)
class _Finding:
    """The finding of the thread in which the command stands."""

    fingerprint: str
    rule: str


async def ignore(call: Call) -> str:
    """Remember a dismissal: of the thread's finding where the command stands in one, of a whole rule elsewhere."""
    words = call.intent.arguments
    finding = await _thread_finding(call)
    rule = _rule_code(words[0]) if words else None
    if finding is not None and rule in (None, finding.rule):
        subject, reason = finding.fingerprint, words if rule is None else words[1:]
        told = answers.ignored_finding(finding.rule)
    elif rule is not None:
        subject, reason, told = rule, words[1:], answers.ignored_rule(rule)
    elif words:
        return answers.unknown_rule(words[0], [rule.name for rule in registry()])
    else:
        return answers.rule_needed("ignore", [rule.name for rule in registry()])
    dismissal = Dismissal(subject=subject, means="command", login=call.intent.login, reason=" ".join(reason))
    await call.pipeline.remembered.dismiss(call.intent.repository, call.intent.number, [dismissal])
    call.suppressed(rule or (finding.rule if finding else ""), "command")
    await call.review_again()
    return told


async def unignore(call: Call) -> str:
    """Forget the dismissal of the thread's finding, of a rule, or of everything."""
    words = call.intent.arguments
    finding = await _thread_finding(call)
    rule = _rule_code(words[0]) if words else None
    if words and rule is None:
        return answers.unknown_rule(words[0], [rule.name for rule in registry()])
    subjects: list[str] | None = None
    if rule is not None:
        subjects = [rule]
    if finding is not None and rule in (None, finding.rule):
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


def _rule_code(word: str) -> str | None:
    wanted = word.strip(",:").lower()
    return next((rule.code for rule in registry() if wanted in (rule.code.lower(), rule.name)), None)


ignore_command = SlashCommand(
    "ignore",
    "/preflight ignore [RULE] [REASON]",
    "ignores a rule on this pull request or, in a thread, its finding",
    ignore,
    who="write",
)
unignore_command = SlashCommand(
    "unignore", "/preflight unignore [RULE]", "takes that back, for all without a rule", unignore, who="write"
)
