"""`python -m tests.capacity`: write docs/capacity.md."""

from __future__ import annotations

from tests.capacity.costs import Costs
from tests.capacity.page import PAGE, written

PAGE.parent.mkdir(exist_ok=True)
PAGE.write_text(written(Costs.kept()), encoding="utf-8")
print(PAGE)
