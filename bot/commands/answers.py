"""What the bot answers to commands. No line of it begins with a command, and what people typed is shown as code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from engine.findings import ByteRange, EstimateReport, Target
from engine.presentation.markdown import code_span, escape, prose, table
from engine.presentation.memory import VERDICT_WORDS, savings_table, show_bytes, show_range, show_rent
from engine.settings import LoadedSettings, Settings, show_value

MOST_ROWS = 30
MOST_NOTES = 8
LONGEST_PAGE = 20_000
LONGEST_WORD = 60

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


def unknown_gpu(name: str, close: Sequence[str]) -> str:
    """Answer a command that names a GPU which the catalogue does not have."""
    hint = f" Close to it: {', '.join(f'`{other}`' for other in close)}." if close else ""
    return f"{_quoted(name)} is no GPU of the catalogue.{hint}"


def gpu_table(rows: Sequence[tuple[str, str, int]]) -> str:
    """Answer `gpus`: id, name and usable bytes."""
    shown = [(code_span(row[0], table=True), prose(row[1]), show_bytes(row[2])) for row in rows[:MOST_ROWS]]
    more = (
        f"\n\nAnd {len(rows) - MOST_ROWS} more; a word after `gpus` narrows it down." if len(rows) > MOST_ROWS else ""
    )
    return table(("GPU", "name", "usable by one process"), shown, right=(2,)) + more


def wrong_setting(message: str) -> str:
    """Answer an estimate with a setting that does not exist."""
    sentence = prose(message[:1].upper() + message[1:])
    return sentence if sentence.endswith("?") else f"{sentence}."


def no_script(path: str) -> str:
    """Answer a command that names a script which is not there."""
    return f"{_quoted(path)} is no file of this pull request's head."


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


def too_many_counts(most: int) -> str:
    """Answer a comparison that would take too many estimates."""
    return f"Compare at most {most} different numbers of devices at a time."


def rule_needed(command: str, names: Sequence[str]) -> str:
    """Answer a command that needs a rule and got none."""
    return f"Name a rule, such as `{command} {names[0]}`. All rules: {', '.join(f'`{name}`' for name in names)}."


def unknown_rule(word: str, names: Sequence[str]) -> str:
    """Answer a command about a rule that does not exist."""
    close = get_close_matches(word.lower(), names, n=3)
    hint = (
        f"Close to it: {', '.join(f'`{name}`' for name in close)}"
        if close
        else "All rules: " + ", ".join(f"`{name}`" for name in names)
    )
    return f"{_quoted(word)} is no rule. {hint}."


def rule_page(code: str, name: str, severity: str, page: str) -> str:
    """Answer `explain` with the rule's own page; the heading in it is lowered under ours."""
    text = page if len(page) <= LONGEST_PAGE else page[:LONGEST_PAGE].rpartition("\n\n")[0]
    return f"**{name}** ({code}, {severity})\n\n{text}"


def ignored_rule(code: str) -> str:
    """Answer `ignore` of a rule."""
    return f"Findings of {code} are ignored on this pull request from now on; `unignore {code}` takes it back."


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


def _quoted(text: str) -> str:
    """Return what a person typed as code."""
    return code_span(text[:LONGEST_WORD])
