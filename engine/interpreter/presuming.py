"""What a function's model most likely is, where nothing says so: the only model of its file that nobody builds."""

from __future__ import annotations

from collections import defaultdict

from engine.trace import Place, Trace, Value
from engine.trace.events import Forward, ModuleDefined


def presumable(trace: Trace, called: frozenset[str]) -> dict[str, dict[Place, str]]:
    """For each file, the parameters (by place) that are called as modules and the class that they may be an object of.

    Only a file that defines exactly one module which no code builds, derives from or hands on says something, and only
    of functions that take one module. `called` holds the names that are called anywhere, or handed on.
    """
    models: dict[str, set[str]] = defaultdict(set)
    derived = {base.name for defined in trace.of(ModuleDefined) for base in defined.cls.project_bases}
    for defined in trace.of(ModuleDefined):
        cls = defined.cls
        if cls.family == "module" and cls.name not in called | derived and cls.method("forward") is not None:
            models[cls.path].add(cls.name)
    taken: dict[str, dict[str, set[Place]]] = defaultdict(lambda: defaultdict(set))
    for forward in trace.of(Forward):
        parameter = _innermost(forward.module)
        if parameter.op == "parameter-of-function" and parameter.cls is None and len(forward.module.options()) == 1:
            taken[parameter.place.path][forward.root.name].add(parameter.place)
    return {
        path: {place: name for places in taken[path].values() if len(places) == 1 for place in places}
        for path, names in models.items()
        if len(names) == 1 and path in taken
        for name in names
    }


def _innermost(module: Value) -> Value:
    """The model inside of its wrappers."""
    for _ in range(8):
        if module.wrapped is None:
            break
        module = module.wrapped
    return module.origin
