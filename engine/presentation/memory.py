"""Memory estimates as Markdown: ranges, verdicts, and savings ranked."""

from __future__ import annotations

from collections.abc import Sequence

from engine.findings import Breakdown, ByteRange, EstimateReport, MemoryChange, Saving, Setting, SmallerDevice, Target
from engine.presentation.markdown import code_span, escape, fenced, prose, table
from engine.presentation.renting import rent_in_words

GIB = 1 << 30
MIB = 1 << 20
KIB = 1 << 10

VERDICT_WORDS = {"fits": "fits", "borderline": "borderline", "does-not-fit": "does not fit", "unknown": "unknown"}
_VERDICT_MARKS = {"fits": "✅", "borderline": "⚠️", "does-not-fit": "❌", "unknown": "❔"}

MAX_SAVINGS = 6
LEAST_SHARE = 0.0005
"""Part of the peak below which a difference is none: the range is a hundred times as wide."""
MAX_NOTES = 8

COUNTERS = (
    ("occupied", "on the device (`nvidia-smi`)"),
    ("reserved", "reserved (`max_memory_reserved`)"),
    ("allocated", "allocated (`max_memory_allocated`)"),
)


def show_bytes(number: int) -> str:
    """`12.3 GiB`; below one GiB in MiB, below ten MiB with one decimal, below a tenth of one in KiB."""
    sign, size = ("-" if number < 0 else ""), abs(number)
    if size >= GIB:
        return f"{sign}{size / GIB:.1f} GiB"
    if size >= 10 * MIB or not size:
        return f"{sign}{size / MIB:.0f} MiB"
    return f"{sign}{size / MIB:.1f} MiB" if size >= MIB // 10 else f"{sign}{size / KIB:.1f} KiB"


def show_range(value: ByteRange) -> str:
    """`12.3 GiB (11.0 GiB to 13.9 GiB)`."""
    return f"{show_bytes(value.expected)} ({show_bytes(value.low)} to {show_bytes(value.high)})"


def show_difference(base: int, head: int) -> str:
    """`+1.2 GiB (+10 %)`."""
    change = head - base
    share = change / base if base else 0.0
    if abs(change) < MIB or (base and abs(share) < LEAST_SHARE):
        return "no change"
    percent = f" ({share:+.{0 if abs(share) >= 0.01 else 1}%})".replace("%", " %") if base else ""
    return f"{'+' if change > 0 else ''}{show_bytes(change)}{percent}"


def show_setting(setting: Setting) -> str:
    """The value of a setting as a person would write it."""
    value = setting.value
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def show_origin(setting: Setting) -> str:
    """Where a setting was read."""
    if setting.path is None:
        return "assumed" if setting.assumed else ""
    return setting.path if setting.line is None else f"{setting.path}:{setting.line}"


def show_verdict(verdict: str) -> str:
    """A mark and a word."""
    return f"{_VERDICT_MARKS[verdict]} {VERDICT_WORDS[verdict]}"


def show_price(usd_per_hour: float | None) -> str:
    """`$1.29`; empty where no price is known."""
    return "" if usd_per_hour is None else f"${usd_per_hour:,.2f}"


def show_rent(target: Target) -> str:
    """`$1.29 (2026-07-20)`, `$32.77 for 8 GPUs, $16.39 for each used (2026-07-20)`; empty where no price is known."""
    if target.usd_per_hour is None:
        return ""
    told = show_price(target.usd_per_hour)
    if target.gpus_rented is not None and target.gpus_rented > 1:
        told += f" for {target.gpus_rented} GPUs, {show_price(target.usd_per_gpu_hour)} for each used"
    return f"{told} ({target.price_date})" if target.price_date else told


def show_prices_dated(targets: Sequence[Target]) -> str:
    """A sentence on the prices of these devices; empty where there is none."""
    dates = sorted({target.price_date for target in targets if target.price_date is not None})
    if not dates:
        return ""
    when = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
    return f"Prices are on demand, of whole instances, as published ({when})."


def show_missing(target: Target) -> str:
    """What a device lacks for the run: `3.1 GiB (up to 4.0 GiB)`, `up to 0.9 GiB` where it may fit; else empty."""
    if target.occupied is None or target.verdict == "fits":
        return ""
    lacks, most = (size - target.usable_bytes for size in (target.occupied.expected, target.occupied.high))
    if most <= 0:
        return ""
    return f"{show_bytes(lacks)} (up to {show_bytes(most)})" if lacks > 0 else f"up to {show_bytes(most)}"


def memory_change(script: str, base: EstimateReport | None, head: EstimateReport | None) -> str:
    """The section on memory of a review's summary; empty where neither side could be estimated."""
    shown = head if head is not None and head.memory is not None else None
    before = base if base is not None and base.memory is not None else None
    if shown is None or shown.memory is None:
        if before is None or head is None:
            return ""
        reason = f" {escape(head.notes[0])}" if head.notes else ""
        return f"### Peak GPU memory of {code_span(script)}\n\nUnknown after this change.{reason}"
    if not uses_device(shown):
        words = "Nothing of it runs on a GPU the way it is started here"
        words += ", where it did before." if before is not None and uses_device(before) else "."
        basis = folded("What this was computed from", _settings_table(shown))
        return "\n\n".join(part for part in (f"### Peak GPU memory of {code_span(script)}", words, basis) if part)
    changes = memory_in_words(before, shown)
    size = shown.memory.occupied
    peak = (
        f"{show_bytes(size.expected)} as `nvidia-smi` shows it (90 % range: {show_bytes(size.low)} to "
        f"{show_bytes(size.high)}; confidence: {shown.confidence})."
    )
    parts = [
        f"### Peak GPU memory of {code_span(script)}",
        f"**{changes}** {peak}" if changes else f"{peak} This change does not move it." if before else peak,
    ]
    if shown.targets:
        told = "Per device: " + ", ".join(_target(target) for target in shown.targets) + "."
        parts.append(f"{told} {show_prices_dated(shown.targets)}".rstrip())
    parts += [rent_in_words(before, shown), _changed_settings(before, shown)]
    figures = f"{_counters(before, shown)}\n\n{_breakdown(before, shown)}"
    news = bool(changes) or before is None
    parts.append(figures if news else folded("The peak in figures", figures))
    savings = savings_table(shown.savings, [target.gpu for target in shown.targets]) if shown.savings else ""
    if shown.smaller is not None and (words := smaller_device(shown.smaller)):
        savings = "\n\n".join(part for part in (savings, escape(words)) if part)
    wanted = any(target.verdict != "fits" for target in shown.targets)
    parts.append(savings if wanted else folded("Ways to save memory", savings))
    notes = "\n".join(f"- {escape(note)}" for note in shown.notes[:MAX_NOTES])
    basis = "\n\n".join(part for part in (_settings_table(shown), notes) if part)
    parts.append(folded("What this was computed from", basis))
    return "\n\n".join(part for part in parts if part)


def uses_device(report: EstimateReport) -> bool:
    """Whether anything is put on a GPU: where nothing is, that it fits one is no news but a misunderstanding."""
    return report.memory is not None and report.memory.allocated.high > 0


def folded(title: str, text: str) -> str:
    """A text behind a title that opens it; empty where there is none."""
    return f"<details>\n<summary>{title}</summary>\n\n{text}\n\n</details>" if text else ""


def _counters(before: EstimateReport | None, shown: EstimateReport) -> str:
    """The peak as each tool counts it, before and after."""
    rows: list[list[str]] = []
    for name, meaning in COUNTERS:
        now: ByteRange = getattr(shown.memory, name)
        row = [meaning]
        if before is not None:
            was: ByteRange = getattr(before.memory, name)
            row += [show_range(was), show_range(now), show_difference(was.expected, now.expected)]
        else:
            row += [show_range(now)]
        rows.append(row)
    headings = ["Peak, 90 % range", *(["base"] if before else []), "this change", *(["difference"] if before else [])]
    return table(headings, rows, right=range(1, len(headings)))


def _breakdown(before: EstimateReport | None, shown: EstimateReport) -> str:
    was = before.memory.breakdown if before is not None and before.memory is not None else None
    return breakdown_chart(shown.memory.breakdown, was) if shown.memory is not None else ""


def _target(target: Target) -> str:
    """A device with its verdict and what it costs."""
    price = f" ({escape(show_price(target.usd_per_hour))} an hour)" if target.usd_per_hour is not None else ""
    return f"{code_span(target.gpu)}: {show_verdict(target.verdict)}{price}"


def breakdown_chart(now: Breakdown, was: Breakdown | None) -> str:
    """What the peak is made of: a Mermaid chart, which GitHub draws, and the same as a table, which mail shows too."""
    parts = now.model_dump()
    before = was.model_dump() if was is not None else {}
    shown = [name for name in parts if parts[name] or before.get(name)]
    slices = [
        f'    "{name.replace("_", " ")}" : {parts[name] / GIB:.3f}' for name in shown if parts[name] > GIB // 1000
    ]
    chart = fenced("\n".join(["pie showData title At the peak, GiB", *slices]), "mermaid") if len(slices) > 1 else ""
    rows = [
        [name.replace("_", " "), *([show_bytes(before[name])] if before else []), show_bytes(parts[name])]
        for name in shown
    ]
    headings = ["Of which", *(["base"] if before else []), "this change"]
    listed = table(headings, rows, right=range(1, len(headings)))
    return "\n\n".join(part for part in (chart, listed) if part)


def programs_table(programs: Sequence[MemoryChange]) -> str:
    """Several programs of one repository, a row each: peaks before and after, and the verdict on each device."""
    rows = []
    reasons = []
    for program in programs:
        if program.head is not None and program.head.memory is None and program.head.notes:
            reasons.append(f"- {code_span(program.script or '-')}: {prose(program.head.notes[0])}")
        if program.head is not None and program.head.memory is not None and not uses_device(program.head):
            rows.append([code_span(program.script or "-", table=True), "", "nothing on a GPU", "", ""])
            continue
        now = program.head.memory.occupied if program.head is not None and program.head.memory is not None else None
        was = program.base.memory.occupied if program.base is not None and program.base.memory is not None else None
        targets = program.head.targets if program.head is not None else ()
        rows.append(
            [
                code_span(program.script or "-", table=True),
                show_range(was) if was is not None else "unknown",
                show_range(now) if now is not None else "unknown",
                show_difference(was.expected, now.expected) if was is not None and now is not None else "",
                ", ".join(f"{code_span(each.gpu, table=True)} {show_verdict(each.verdict)}" for each in targets),
            ]
        )
    headings = ("Program", "base, 90 % range", "this change", "difference", "devices")
    listed = table(headings, rows, right=(1, 2, 3))
    return "\n\n".join(["### Peak GPU memory by program", listed, *(["\n".join(reasons)] if reasons else [])])


def _settings_table(report: EstimateReport) -> str:
    """Every value of the configuration and where it was read; empty where none is known."""
    rows = [
        [escape(key), code_span(show_setting(value), table=True), code_span(show_origin(value) or "-", table=True)]
        for key, value in report.configuration.items()
    ]
    return table(["Configuration", "value", "from"], rows) if rows else ""


def memory_in_words(base: EstimateReport | None, head: EstimateReport | None) -> str:
    """What the change does to the peak, in one sentence of Markdown; empty where it does nothing."""
    if base is None or head is None or base.memory is None or head.memory is None:
        return ""
    was, now = base.memory.occupied.expected, head.memory.occupied.expected
    difference = show_difference(was, now)
    verdicts = {target.gpu: target.verdict for target in base.targets}
    moved = [target for target in head.targets if verdicts.get(target.gpu, target.verdict) != target.verdict]
    if difference == "no change" and not moved:
        return ""
    verb = "rises" if now > was else "falls"
    told = f"The peak {verb} from {show_bytes(was)} to {show_bytes(now)}"
    told += "".join(f"; {code_span(target.gpu)}: {VERDICT_WORDS[target.verdict]} now" for target in moved)
    return told + "."


def no_longer_fitting(base: EstimateReport | None, head: EstimateReport | None) -> Sequence[Target]:
    """The devices on which the run fitted, or did so better, before a change; none where either side is not known."""
    if base is None or head is None:
        return ()
    ranks = {"fits": 0, "borderline": 1, "does-not-fit": 2}
    before = {target.gpu: ranks.get(target.verdict, 9) for target in base.targets}
    return tuple(each for each in head.targets if ranks.get(each.verdict, -1) > before.get(each.gpu, 9))


def savings_table(savings: Sequence[Saving], gpus: Sequence[str]) -> str:
    """What would save most, in the order given."""
    rows = [
        [
            ("**" + escape(s.change) + "**") if s.recommended else escape(s.change),
            show_bytes(s.saves_bytes),
            show_bytes(s.occupied_bytes),
            escape(s.cost),
            *(show_verdict(s.verdict.get(gpu, "unknown")) for gpu in gpus),
        ]
        for s in savings[:MAX_SAVINGS]
    ]
    headings = ["What would save memory", "saves", "leaves", "cost", *(code_span(gpu, table=True) for gpu in gpus)]
    return table(headings, rows, right=(1, 2))


def smaller_device(smaller: SmallerDevice) -> str:
    """A sentence on the next smaller device; empty where nothing known makes the run fit it."""
    if smaller.verdict != "fits":
        return ""
    name = f"{smaller.gpu} ({show_bytes(smaller.usable_bytes)} usable)"
    if smaller.change is None:
        return f"It fits the next smaller device too: {name}."
    return f"To fit the next smaller device, {name}: {smaller.change}. Cost: {smaller.cost}."


def _changed_settings(base: EstimateReport | None, head: EstimateReport) -> str:
    if base is None:
        return ""
    rows = []
    for key, now in head.configuration.items():
        was = base.configuration.get(key)
        if was is not None and was.value != now.value:
            rows.append(
                [
                    escape(key),
                    code_span(show_setting(was), table=True),
                    code_span(show_setting(now), table=True),
                    code_span(show_origin(now) or "-", table=True),
                ]
            )
    return table(["Configuration", "base", "this change", "from"], rows) if rows else ""


def estimate_markdown(report: EstimateReport, script: str) -> str:
    """A whole estimate as a page."""
    parts = [f"## Memory estimate for {code_span(script)}"]
    model = f"Model: {code_span(report.model.name)}"
    if report.model.parameters is not None:
        model += f", {report.model.parameters:,} parameters"
        if report.model.trainable_parameters not in (None, report.model.parameters):
            model += f" ({report.model.trainable_parameters:,} trainable)"
    parts.append(f"Task: {report.task}. {model}. Confidence: {report.confidence}.")
    if report.memory is None:
        parts.append("The peak is unknown: the code could not be followed far enough.")
    else:
        rows = [[meaning, show_range(getattr(report.memory, name))] for name, meaning in COUNTERS]
        parts.append(table(["Peak, 90 % range", "per device"], rows, right=(1,)))
        breakdown = report.memory.breakdown.model_dump()
        parts.append(
            table(
                ["Of which", ""], [[k.replace("_", " "), show_bytes(v)] for k, v in breakdown.items() if v], right=(1,)
            )
        )
    if report.targets:
        rows = [
            [
                code_span(t.gpu, table=True),
                show_bytes(t.usable_bytes),
                show_range(t.occupied) if t.occupied is not None else "unknown",
                show_verdict(t.verdict),
                show_missing(t) or "-",
                escape(show_rent(t) or "-"),
            ]
            for t in report.targets
        ]
        headings = ["Device", "usable", "takes, 90 % range", "verdict", "lacks", "rent an hour"]
        parts.append(table(headings, rows, right=(1, 2, 4, 5)))
    if report.savings:
        parts.append(savings_table(report.savings, [target.gpu for target in report.targets]))
    if report.smaller is not None and (words := smaller_device(report.smaller)):
        parts.append(escape(words))
    if settings := _settings_table(report):
        parts.append(settings)
    parts += [f"- {escape(note)}" for note in report.notes]
    return "\n\n".join(parts) + "\n"
