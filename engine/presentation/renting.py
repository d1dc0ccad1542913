"""What a change costs or saves: the rent of the cheapest device that surely holds the run, before and after it."""

from __future__ import annotations

from collections.abc import Callable

from engine.findings import EstimateReport
from engine.presentation.markdown import code_span, escape
from hardware_catalog import Gpu, Rental, bf16_tflops, cheapest_that, memory_bandwidth_gb_s, usable_bytes

LEAST_DOLLARS = 0.01
"""Difference of an hour's rent below which there is none to speak of."""

Words = Callable[[str], str]
"""Makes a text fit for where it is shown."""


def rent_in_words(
    base: EstimateReport | None, head: EstimateReport, name: Words = code_span, text: Words = escape
) -> str:
    """One sentence, of Markdown by default; empty where the rent stays the same or nothing is known to compare."""
    if base is None or base.memory is None or head.memory is None:
        return ""
    was, now = cheapest_for(base), cheapest_for(head)
    if was is None or (now is not None and abs(now.usd_per_hour - was.usd_per_hour) < LEAST_DOLLARS):
        return ""

    def offer(rental: Rental) -> str:
        number = f"{rental.instances} × " if rental.instances > 1 else ""
        price = text(f"${rental.usd_per_hour:,.2f}")
        dated = f" as of {rental.instance.price_date}" if rental.instance.price_date else ""
        return f"{name(rental.gpu.id)} ({number}{name(rental.instance.id)}, {price}{dated})"

    if now is None:
        return f"Before, {offer(was)} surely held it; no device with a published price surely holds it now."
    difference = now.usd_per_hour - was.usd_per_hour
    share = f" ({difference / was.usd_per_hour:+.0%})".replace("%", " %")
    verb = "costs" if difference > 0 else "saves"
    told = f"This change {verb} {text(f'${abs(difference):,.2f}')} an hour{share}"
    speed = _speed(was.gpu, now.gpu)
    return (
        f"{told}: the cheapest device for rent that surely holds the run goes from {offer(was)} to {offer(now)}{speed}."
    )


def _speed(was: Gpu, now: Gpu) -> str:
    """How the second device compares in what bounds a step's time; empty where a figure is not published."""
    rates, widths = (bf16_tflops(was), bf16_tflops(now)), (memory_bandwidth_gb_s(was), memory_bandwidth_gb_s(now))
    told = [
        f"{after / before:.1f} times the {what}"
        for (before, after), what in ((rates, "16-bit rate"), (widths, "memory bandwidth"))
        if before and after
    ]
    return f", with {' and '.join(told)}" if told and was != now else ""


def cheapest_for(report: EstimateReport) -> Rental | None:
    """The cheapest rental of as many devices as the run uses, each with room for the upper end of the range.

    A device that the report has a verdict of is taken at its word. None where none is enough or nothing is known.
    """
    if report.memory is None:
        return None
    high = report.memory.occupied.high
    verdicts = {target.gpu: target.verdict for target in report.targets}

    def holds(gpu: Gpu) -> bool:
        return verdicts[gpu.id] == "fits" if gpu.id in verdicts else usable_bytes(gpu) >= high

    size = report.configuration.get("world_size")
    devices = size.value if size is not None and isinstance(size.value, int) else 1
    return cheapest_that(holds, max(1, devices))
