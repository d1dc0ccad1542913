"""What other packages build on to bring rules and frameworks of their own. This is version 1 of that interface.

A package names one module for each rule and for each framework in its metadata:

    [project.entry-points."preflight.rules"]
    loader-timeout = "acme_preflight.loader_timeout"

    [project.entry-points."preflight.frameworks"]
    acme-trainer = "acme_preflight.acme_trainer"

Each module says `PREFLIGHT_API = 1`: the version that it was written for. A module of a rule binds `check` to a Rule
and has a Markdown page of the same name beside it (`loader_timeout.md`), which `preflight explain` prints; a module of
a framework binds `FRAMEWORK` to a Framework. `tests/plugins/` holds a package that does both.

A rule's code is letters and digits of its own (`ACME001`); `PF` is Preflight's. A rule reads the trace and changes
nothing in it (`engine.trace` says how to ask). A framework's table uses the kinds of `CALL_KINDS` and `METHOD_KINDS`.

While the version stays the same, the names below keep their meaning. Events, values and kinds may be added, and an
event may get further fields; the number rises when something is taken away or changes its meaning. Everything else of
the engine may change at any time.
"""

from __future__ import annotations

from engine import fixes
from engine.findings import Fix, Severity
from engine.frameworks.effects import CALL_KINDS, METHOD_KINDS, Effect, Framework
from engine.project import Project
from engine.rules.rule import Draft, Rule, rule
from engine.trace import Place, Step, Trace, Value, events

API_VERSION = 1
"""The version that this Preflight offers."""
SUPPORTED_VERSIONS = frozenset({1})
"""The versions that it still understands."""

__all__ = [
    "API_VERSION",
    "CALL_KINDS",
    "METHOD_KINDS",
    "SUPPORTED_VERSIONS",
    "Draft",
    "Effect",
    "Fix",
    "Framework",
    "Place",
    "Project",
    "Rule",
    "Severity",
    "Step",
    "Trace",
    "Value",
    "events",
    "fixes",
    "rule",
]
