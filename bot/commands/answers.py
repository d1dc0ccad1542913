"""What the bot answers to commands. No line of it begins with a command, and what people typed is shown as code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.commands.folding import folded_page
from engine.findings import ByteRange, EstimateReport, Target
from engine.memory.overrides import WrongOverride
from engine.presentation.markdown import code_span, escape, prose, table
from engine.presentation.memory import VERDICT_WORDS, savings_table, show_bytes, show_range, show_rent
from engine.settings import LoadedSettings, Settings, show_value
from hardware_catalog import AmbiguousGPU, NoDevices, UnknownGPU

MOST_ROWS = 30
MOST_NOTES = 8
LONGEST_PAGE = 20_000
LONGEST_WORD = 60
_EXAMPLES = {
    "precision": "amp-bf16",
    "sharding": "fsdp",
    "gradient_checkpointing": "on",
    "optimizer": "adamw",
    "attention": "sdpa",
    "quantization": "nf4",
    "offload": "cpu",
}

CLOSED = "This pull request is not open, so there is nothing to review."
GPUS_NEEDED = "Name the GPUs to compare, such as `compare t4 a100 8xh100`."
PAUSED = "Reviews of this pull request are paused. `resume` goes on with them."
NOT_PAUSED = "Reviews of this pull request are not paused."
RESUMED = "Reviews of this pull request go on; the newest commit is being reviewed."


@dataclass(frozen=True)
class Candidate:
    """One GPU of a comparison, how many of it, its usable bytes, and the estimate for that many."""

    gpu: str
    count: int
    usable_bytes: int
    report: EstimateReport | None


def usage(rows: Sequence[tuple[str, str]]) -> str:
    """Return the table of commands. None of them stands at the start of a line, where it would be one."""
    return table(("command", "what it does"), [(code_span(form, table=True), prose(meaning)) for form, meaning in rows])


def unknown_command(name: str, close: str | None, commands: str) -> str:
    """Answer a command that does not exist."""
    hint = f" Did you mean `{close}`?" if close else ""
    return f"{_quoted(name)} is no command of Preflight's.{hint}\n\n{commands}"


def failed(reason: str) -> str:
    """Answer a command that could not be carried out for reasons of the bot's own."""
    return f"Preflight could not carry this out: {prose(reason)}."


def reviewing(check_name: str, head_sha: str) -> str:
    """Answer `check`."""
    return f"{head_sha[:7]} is being reviewed. The result will be in the check **{prose(check_name)}**."


def no_word(error: UnknownGPU) -> str:
    """Answer a command with a word that is no GPU, or not one."""
    close = _codes(error.suggestions)
    if isinstance(error, NoDevices):
        return f"{_quoted(error.name)} asks for no device at all. A number is 1 or more, as in {close}."
    if isinstance(error, AmbiguousGPU):
        return f"{_quoted(error.name)} is the name of several devices. Write which: {close}."
    hint = f" Close to it: {close}." if close else " `gpus` lists what there is."
    return f"{_quoted(error.name)} is no GPU of the catalogue.{hint}"


def readings(taken: Mapping[str, tuple[str, Sequence[str]]]) -> str:
    """Say how names were read that devices of several sizes have; empty where there are none."""
    lines = [
        f"- {_quoted(word)} is read as {_codes([meant])}; of other sizes there are {_codes(others)}."
        for word, (meant, others) in taken.items()
    ]
    return "\n\n" + "\n".join(lines) if lines else ""


def gpu_table(rows: Sequence[tuple[str, str, int]]) -> str:
    """Answer `gpus` with words: id, name and usable bytes."""
    more = (
        f"\n\nAnd {len(rows) - MOST_ROWS} more; further words after `gpus` narrow it down."
        if len(rows) > MOST_ROWS
        else ""
    )
    return _gpu_rows(rows[:MOST_ROWS]) + more


def rented_gpus(rows: Sequence[tuple[str, str, int]], all_: int) -> str:
    """Answer `gpus` alone: what clouds rent out."""
    return f"{_gpu_rows(rows)}\n\nThese are for rent. Of all {all_}, words after `gpus` find the others."


def _gpu_rows(rows: Sequence[tuple[str, str, int]]) -> str:
    shown = [(code_span(row[0], table=True), prose(row[1]), show_bytes(row[2])) for row in rows]
    return table(("GPU", "name", "usable by one process"), shown, right=(2,))


def wrong_setting(error: WrongOverride) -> str:
    """Answer an estimate with a setting, or a value of one, that does not exist."""
    close = f" Did you mean {_codes(error.close, ' or ')}?" if error.close else ""
    if error.value is not None:
        return f"{_quoted(error.key)} takes {escape(error.possible)}, not {_quoted(error.value)}.{close}"
    return (
        f"There is no setting {_quoted(error.key)}.{close or f' There are: {_codes(error.possible.split(chr(44)))}.'}"
    )


def no_key(word: str, keys: Sequence[str]) -> str:
    """Answer a `=` with no setting before it."""
    return f"{_quoted(word)} names no setting. There are: {_codes(keys)}."


def value_needed(word: str, key: str) -> str:
    """Answer a setting without a value."""
    example = {"gpu": "a100"}.get(key, _EXAMPLES.get(key, "8"))
    return f"{_quoted(word)} needs a value, as in `{key}={example}`."


def given_twice(key: str, first: str, second: str) -> str:
    """Answer an estimate that gives a setting two values."""
    return f"{_quoted(key)} is given twice: {_quoted(first)} and {_quoted(second)}."


def different_counts(counts: Sequence[int]) -> str:
    """Answer an estimate for different numbers of devices."""
    numbers = " and ".join(str(count) for count in counts)
    return (
        f"One estimate is for one number of devices, and these ask for {numbers}. "
        "`compare` with the same words sets them side by side."
    )


def contradicting_counts(count: int, world_size: str) -> str:
    """Answer an estimate whose words name two numbers of devices."""
    return (
        f"The GPU asks for {count} devices and {_quoted(f'world_size={world_size}')} for another number. Leave out one."
    )


def several_scripts(paths: Sequence[str]) -> str:
    """Answer an estimate of several scripts."""
    return f"One estimate is of one script, and these are several: {_codes(paths)}."


def no_script(path: str, close: Sequence[str] = ()) -> str:
    """Answer a command that names a script which is not there."""
    hint = f" Close to it: {_codes(close)}." if close else ""
    return f"{_quoted(path)} is no file that can be read at this pull request's head.{hint}"


def estimate_broken(reason: str) -> str:
    """Answer a command whose analysis failed."""
    return f"Preflight could not read this pull request: {prose(reason)}."


def estimate(report: EstimateReport | None, script: str | None, overrides: Mapping[str, str]) -> str:
    """Answer `estimate`."""
    if report is None or report.memory is None:
        return f"The peak memory of this pull request's training script is not known.{_notes(report)}"
    # What the program did not follow is told in the notes.
    followed = {key: value for key, value in overrides.items() if _was_set(report, key)}
    given = ", ".join(code_span(f"{key}={value}") for key, value in followed.items())
    parts = [
        f"Peak memory of {_script(script)} per device{f' with {given}' if given else ''}: "
        f"**{show_range(report.memory.occupied)}**, as `nvidia-smi` shows it; the range holds 90 % of measured runs."
    ]
    if report.targets:
        parts.append(_targets(report))
    if report.savings:
        parts.append(savings_table(report.savings, [target.gpu for target in report.targets]))
    return "\n\n".join(parts) + _notes(report)


def _was_set(report: EstimateReport, key: str) -> bool:
    setting = report.configuration.get(key)
    return setting is not None and setting.path == "--set"


def _targets(report: EstimateReport) -> str:
    rows = [
        (
            code_span(target.gpu, table=True),
            show_bytes(target.usable_bytes),
            VERDICT_WORDS[target.verdict],
            _headroom(_takes(report, target), target.usable_bytes),
            _rent(target),
        )
        for target in report.targets
    ]
    return table(("GPU", "usable", "verdict", "headroom", "rent an hour"), rows, right=(1, 3, 4))


def _rent(target: Target | None) -> str:
    """The cheapest published price of as many devices as the run uses, and of when it is."""
    return escape(show_rent(target)) or "-" if target is not None else "-"


def _takes(report: EstimateReport, target: Target | None) -> ByteRange | None:
    """What the run takes on a device: each generation of them runs other kernels."""
    if target is not None and target.occupied is not None:
        return target.occupied
    return report.memory.occupied if report.memory is not None else None


def _headroom(takes: ByteRange | None, usable: int) -> str:
    """What is left at the expected peak, in bytes and as part of the device."""
    if takes is None:
        return "unknown"
    left = usable - takes.expected
    return f"{show_bytes(left)} ({left / usable:.0%})".replace("%", " %") if usable else show_bytes(left)


def comparison(rows: Sequence[Candidate], script: str | None) -> str:
    """Answer `compare`."""
    shown = []
    for row in rows:
        report = row.report
        name = code_span(f"{row.count}x {row.gpu}" if row.count > 1 else row.gpu, table=True)
        if report is None or report.memory is None:
            shown.append((name, show_bytes(row.usable_bytes), "unknown", "unknown", "unknown", "-", ""))
            continue
        target = next((each for each in report.targets if each.gpu == row.gpu), None)
        shown.append(
            (
                name,
                show_bytes(row.usable_bytes),
                show_range(takes) if (takes := _takes(report, target)) is not None else "unknown",
                VERDICT_WORDS[target.verdict] if target else "unknown",
                _headroom(takes, row.usable_bytes),
                _rent(target),
                _needed(report, target),
            )
        )
    headings = ("GPU", "usable", "peak per device", "verdict", "headroom", "rent an hour", "savings that a fit needs")
    first = next((row.report for row in rows if row.report is not None), None)
    return f"Peak memory of {_script(script)}:\n\n{table(headings, shown, right=(1, 2, 4, 5))}{_notes(first)}"


def _needed(report: EstimateReport, target: Target | None) -> str:
    if target is None or target.verdict == "fits":
        return "none" if target is not None else ""
    fitting = [saving for saving in report.savings if saving.verdict.get(target.gpu) == "fits"]
    if not fitting:
        return "no known change makes it fit"
    best = next((saving for saving in fitting if saving.recommended), fitting[0])
    return f"{prose(best.change)} (saves {show_bytes(best.saves_bytes)}; cost: {prose(best.cost)})"


def _notes(report: EstimateReport | None) -> str:
    notes = report.notes[:MOST_NOTES] if report is not None else ()
    return "\n" + "".join(f"\n- {prose(note)}" for note in notes) if notes else ""


def _script(script: str | None) -> str:
    return code_span(script) if script else "the training script"


def another_gpu_needed(name: str) -> str:
    """Answer a comparison of one GPU."""
    return f"To compare takes two GPUs or more. For {_quoted(name)} alone there is {_quoted(f'estimate {name}')}."


def too_many_gpus(given: int, most: int) -> str:
    """Answer a comparison of more GPUs than a table holds."""
    return f"Compare at most {most} GPUs at a time; these are {given}."


def others_left(number: int) -> str:
    """Say that a comment held more than the command that is answered."""
    verb = "was" if number == 1 else "were"
    return f"One command a comment: {number} more {verb} not carried out."


def too_many_counts(most: int) -> str:
    """Answer a comparison that would take too many estimates."""
    return f"Compare at most {most} different numbers of devices at a time."


def rule_needed(command: str, names: Sequence[str]) -> str:
    """Answer a command that needs a rule and got none."""
    return f"Name a rule, such as `{command} {names[0]}`.\n\n{_all_rules(names)}"


def unknown_rule(word: str, close: Sequence[str], names: Sequence[str]) -> str:
    """Answer a command about a rule that does not exist."""
    hint = f" Close to it: {_codes(close)}." if close else ""
    return f"{_quoted(word)} is no rule.{hint}\n\n{_all_rules(names)}"


def _all_rules(names: Sequence[str]) -> str:
    return f"<details><summary>All {len(names)} rules</summary>\n\n{_codes(names)}\n\n</details>"


def rule_page(code: str, name: str, severity: str, page: str) -> str:
    """Answer `explain` with the rule's own page: what is to know stands open, its examples are folded."""
    return f"**{name}** ({code}, {severity})\n\n{folded_page(page, LONGEST_PAGE)}"


def ignored_rules(codes: Sequence[str]) -> str:
    """Answer `ignore` of rules."""
    named = " and ".join(codes)
    return (
        f"Findings of {named} are ignored on this pull request from now on; `unignore {' '.join(codes)}` takes it back."
    )


def ignored_finding(code: str) -> str:
    """Answer `ignore` in a finding's thread."""
    return f"This finding of {code} is ignored on this pull request from now on; `unignore` here takes it back."


def restored(number: int) -> str:
    """Answer `unignore`."""
    if not number:
        return "Nothing of the kind was ignored on this pull request."
    what = "1 dismissal is" if number == 1 else f"{number} dismissals are"
    return f"{what} taken back; the newest commit is being reviewed."


def configuration(loaded: LoadedSettings, base_ref: str) -> str:
    """Answer `config`: every setting with its place, the defaults folded away."""
    settings = loaded.settings
    given, untouched = [], []
    for name in Settings.model_fields:
        value = code_span(show_value(getattr(settings, name)), table=True)
        origin = loaded.origins.get(name)
        if origin is None:
            untouched.append((code_span(name), value))
        else:
            given.append((code_span(name), value, code_span(str(origin), table=True)))
    parts = [f"Settings for pull requests against {code_span(base_ref)}:"]
    if given:
        parts.append(table(("setting", "value", "from"), given))
    else:
        parts.append("No file sets anything, so all defaults hold.")
    if loaded.problems:
        parts.append(
            "Not taken:\n\n" + "\n".join(f"- {prose(str(problem))}" for problem in loaded.problems[:MOST_ROWS])
        )
    defaults = table(("setting", "default"), untouched)
    parts.append(f"<details><summary>{len(untouched)} settings at their defaults</summary>\n\n{defaults}\n\n</details>")
    return "\n\n".join(parts)


def _codes(words: Sequence[str], between: str = ", ") -> str:
    """Return words of the catalogue's or of a repository as code."""
    return between.join(code_span(word.strip()) for word in words)


def _quoted(text: str) -> str:
    """Return what a person typed as code."""
    return code_span(text[:LONGEST_WORD])
