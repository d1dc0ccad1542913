"""Every process writes the same file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.rules.facts.distributed import distributed_by, from_rank
from engine.rules.rule import Draft, rule
from engine.trace import Place, Step, Trace
from engine.trace.events import Save

_ONE_RANK = re.compile(r"rank|master|main|primary|leader|gpu|node|process|(?<![%\d] )\b\w+ == 0", re.IGNORECASE)
_COLLECTIVE = frozenset({"fsdp", "deepspeed"})


@rule("PF702", "save-from-every-rank", "warning", "A checkpoint is written by every process")
def check(trace: Trace) -> Iterator[Draft]:
    guarded = {save.place for save in trace.of(Save) if _perhaps_one_rank(save)}
    for save in trace.of(Save):
        if save.how != "torch.save" or save.place in guarded or from_rank(save.target) or _in_memory(save):
            continue
        shown = _shown_by(trace, save)
        if shown is None or _holds_sharded(save):
            continue
        yield Draft(
            save.place,
            "Every process writes this file: they race for it, and a reader may see a half-written checkpoint. "
            "Save on one "
            "rank only.",
            (Step(shown, "several processes run this code"),),
        )


def _perhaps_one_rank(save: Save) -> bool:
    """Whether a condition may let one rank through: by what it tests, or, to be silent in doubt, by its words."""
    return any(guard.kinds & {"rank"} or _ONE_RANK.search(guard.text) for guard in save.guards)


def _in_memory(save: Save) -> bool:
    return save.target is not None and any(part.made_by == "io.BytesIO" for part in save.target.options())


def _shown_by(trace: Trace, save: Save) -> Place | None:
    """Evidence of several processes: what is saved is inside a wrapper, or the class or script starts them."""
    launched = distributed_by(trace, save)
    if launched is not None:
        return launched.place
    owner = save.root.owner
    if owner is not None:
        for name, value in owner.attributes.items():
            if value.rank and name:
                return value.place
    return None


def _holds_sharded(save: Save) -> bool:
    if save.value is None:
        return True
    parts = [part for value in (save.value, *save.value.elements()) for part in value.ancestors(limit=60)]
    return any(part.wrapping in _COLLECTIVE for part in parts)
