"""Models of standard modules that reach outside a program, and bounded forms of those that could run away."""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import itertools
import json
import math
import random
import tomllib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.memory.program.attributes import read
from engine.memory.program.budget import MAX_ELEMENTS, OutOfBudget
from engine.memory.program.operators import BY_NAME
from engine.memory.program.stdlib_importing import make_importlib, make_pkgutil
from engine.memory.program.stdlib_introspection import make_dataclasses, make_functools, make_inspect, make_typing
from engine.memory.program.stdlib_paths import make_os, make_os_path, make_pathlib
from engine.memory.program.unknown import Unknown

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter


MAX_LITERAL = 100_000
"""Longest text that `ast.literal_eval` reads, in characters."""


class Silent:
    """A logger, profiler, timer or lock: every method exists and does nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _nothing

    def __call__(self, *args: Any, **kwargs: Any) -> Silent:
        return self

    def __enter__(self) -> Silent:
        return self

    def __exit__(self, *exc: object) -> None:
        return None


def _nothing(*args: Any, **kwargs: Any) -> None:
    return None


def _logging(interpreter: Interpreter) -> dict[str, Any]:
    class SilentLogger(Silent):
        level = 20
        name = "root"
        propagate = True
        manager = SimpleNamespace(loggerDict={})

        def __init__(self) -> None:
            self.handlers: list[Any] = []

        def getEffectiveLevel(self) -> int:
            return self.level

        def isEnabledFor(self, level: Any) -> bool:
            return False

        def getChild(self, suffix: str) -> SilentLogger:
            return self

        def hasHandlers(self) -> bool:
            return True

    logger = SilentLogger()

    class Handler(Silent):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            pass

    members: dict[str, Any] = {"getLogger": lambda *args: logger, "root": logger, "basicConfig": _nothing}
    for name in (
        "debug",
        "info",
        "warning",
        "warn",
        "error",
        "exception",
        "critical",
        "log",
        "disable",
        "captureWarnings",
    ):
        members[name] = _nothing
    for name in (
        "Handler",
        "StreamHandler",
        "FileHandler",
        "Formatter",
        "Logger",
        "NullHandler",
        "Filter",
        "LoggerAdapter",
    ):
        members[name] = type(name, (Handler,), {})
    members.update(DEBUG=10, INFO=20, WARNING=30, WARN=30, ERROR=40, CRITICAL=50, NOTSET=0)
    return members


def _warnings(interpreter: Interpreter) -> dict[str, Any]:
    return {
        "warn": _nothing,
        "filterwarnings": _nothing,
        "simplefilter": _nothing,
        "catch_warnings": lambda *args, **kwargs: contextlib.nullcontext([]),
    }


def _time(interpreter: Interpreter) -> dict[str, Any]:
    ticks = itertools.count()

    def tick(*args: Any) -> float:
        return 1.7e9 + next(ticks) * 0.001

    names = dict.fromkeys(("time", "perf_counter", "monotonic", "process_time"), tick)
    return {
        **names,
        "sleep": _nothing,
        "strftime": lambda *args: "20250101-000000",
        "time_ns": lambda: int(tick() * 1e9),
    }


def _datetime(interpreter: Interpreter) -> dict[str, Any]:
    import datetime

    class FixedDatetime(datetime.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> FixedDatetime:
            return cls(2025, 1, 1)

        utcnow = today = now

    return {"datetime": FixedDatetime}


def _random(interpreter: Interpreter) -> dict[str, Any]:
    generator = random.Random(0)
    members: dict[str, Any] = {
        name: getattr(generator, name)
        for name in [
            "random",
            "randint",
            "choice",
            "sample",
            "shuffle",
            "uniform",
            "gauss",
            "randrange",
            "normalvariate",
            "betavariate",
            "expovariate",
            "getrandbits",
            "getstate",
            "setstate",
            "triangular",
            "lognormvariate",
        ]
    }

    def choices(*args: Any, **kwargs: Any) -> Any:
        if isinstance(kwargs.get("k"), int) and kwargs["k"] > MAX_ELEMENTS:
            raise OutOfBudget("a list grows beyond what a shadow run grants")
        return generator.choices(*args, **kwargs)

    return {**members, "choices": choices, "seed": _nothing, "Random": random.Random}


def _math(interpreter: Interpreter) -> dict[str, Any]:
    def small(function: Callable[..., int]) -> Callable[..., int]:
        def bounded(*args: int) -> int:
            if any(isinstance(arg, int) and arg > 5_000 for arg in args):
                raise OutOfBudget("a number grows beyond what a shadow run grants")
            return function(*args)

        return bounded

    def product(items: Any, *, start: Any = 1) -> Any:
        for item in interpreter.budget.bounded(items):
            start = BY_NAME["mul"](start, item)
        return start

    return {"factorial": small(math.factorial), "comb": small(math.comb), "perm": small(math.perm), "prod": product}


def _itertools(interpreter: Interpreter) -> dict[str, Any]:
    step = interpreter.budget.step

    def count(start: Any = 0, increment: Any = 1) -> Iterator[Any]:
        while True:
            step()
            yield start
            start += increment

    def cycle(items: Any) -> Iterator[Any]:
        # A loader is read anew in each round, as its batches are all alike and need not be kept.
        if hasattr(items, "__len__"):
            while True:
                step()
                yield from items
        seen = []
        for item in items:
            seen.append(item)
            yield item
        while seen:
            for item in seen:
                step()
                yield item

    def repeat(item: Any, times: Any = None) -> Iterator[Any]:
        index = 0
        while times is None or index < times:
            step()
            index += 1
            yield item

    def islice(items: Any, *bounds: Any) -> Iterator[Any]:
        limits = slice(*bounds)
        start, stop, stride = limits.start or 0, limits.stop, limits.step or 1
        iterator = iter(items)
        index = 0
        while stop is None or index < stop:
            step()
            try:
                item = next(iterator)
            except StopIteration:
                return
            if index >= start and (index - start) % stride == 0:
                yield item
            del item
            index += 1

    return {"count": count, "cycle": cycle, "repeat": repeat, "islice": islice}


def _contextlib(interpreter: Interpreter) -> dict[str, Any]:
    class Manager:
        """A generator function's one-shot context manager, usable as a decorator too."""

        def __init__(self, function: Any, args: Any, kwargs: Any) -> None:
            self.function, self.args, self.kwargs = function, args, kwargs
            self.generator: Any = None

        def __enter__(self) -> Any:
            self.generator = interpreter.call(self.function, list(self.args), dict(self.kwargs))
            return next(self.generator)

        def __exit__(self, kind: Any, problem: Any, trace: Any) -> bool:
            if kind is None:
                for _ in self.generator:
                    raise RuntimeError("generator didn't stop")
                return False
            if not isinstance(problem, Exception):
                return False
            try:
                self.generator.throw(problem)
            except StopIteration:
                return True
            except Exception as raised:
                if raised is problem:
                    return False
                raise
            return False

        def __call__(self, function: Any) -> Any:
            def wrapped(*args: Any, **kwargs: Any) -> Any:
                with Manager(self.function, self.args, self.kwargs):
                    return interpreter.call(function, list(args), kwargs)

            return wrapped

    class ManagerFactory:
        def __init__(self, function: Any) -> None:
            self.function = function

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            return (
                self if instance is None else lambda *args, **kwargs: Manager(self.function, (instance, *args), kwargs)
            )

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return Manager(self.function, args, kwargs)

    redirect = lambda *args: contextlib.nullcontext()  # noqa: E731
    return {"contextmanager": ManagerFactory, "redirect_stdout": redirect, "redirect_stderr": redirect}


def _operator(interpreter: Interpreter) -> dict[str, Any]:
    def attrgetter(*names: str) -> Callable[[Any], Any]:
        def get(value: Any) -> Any:
            found = tuple(functools.reduce(read, name.split("."), value) for name in names)
            return found[0] if len(found) == 1 else found

        return get

    def methodcaller(name: str, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
        return lambda value: interpreter.call(read(value, name), list(args), kwargs)

    return {**BY_NAME, "attrgetter": attrgetter, "methodcaller": methodcaller}


def _json(interpreter: Interpreter) -> dict[str, Any]:
    def loads(text: Any, **kwargs: Any) -> Any:
        return text if isinstance(text, Unknown) else json.loads(text)

    def load(file: Any, **kwargs: Any) -> Any:
        return file if isinstance(file, Unknown) else json.loads(file.read())

    def dumps(value: Any, **kwargs: Any) -> str:
        return json.dumps(value, default=str, indent=2 if kwargs.get("indent") else None)

    return {"loads": loads, "load": load, "dump": _nothing, "dumps": dumps, "JSONDecodeError": json.JSONDecodeError}


def _ast(interpreter: Interpreter) -> dict[str, Any]:
    def literal_eval(text: Any) -> Any:
        if not isinstance(text, str):
            return text
        if len(text) > MAX_LITERAL:
            raise OutOfBudget("a literal is longer than a shadow run reads")
        try:
            return ast.literal_eval(text)
        except (RecursionError, MemoryError) as problem:
            raise ValueError("a literal is nested too deeply to read") from problem

    return {"literal_eval": literal_eval}


def _tomllib(interpreter: Interpreter) -> dict[str, Any]:
    def load(file: Any) -> Any:
        if isinstance(file, Unknown):
            return file
        data = file.read()
        return tomllib.loads(data.decode() if isinstance(data, bytes) else data)

    return {"load": load, "loads": tomllib.loads, "TOMLDecodeError": tomllib.TOMLDecodeError}


def _configparser(interpreter: Interpreter) -> dict[str, Any]:
    import configparser

    from engine.memory.program.files import is_file, read_text

    def reader(base: type[configparser.RawConfigParser]) -> type:
        class Parser(base):  # type: ignore[valid-type, misc]
            def read(self, names: Any, encoding: Any = None) -> list[str]:
                found = [
                    str(n) for n in (names if isinstance(names, (list, tuple)) else [names]) if is_file(interpreter, n)
                ]
                for name in found:
                    self.read_string(read_text(interpreter, name))
                return found

            def write(self, *args: Any, **kwargs: Any) -> None:
                return None

        return Parser

    return {
        "ConfigParser": reader(configparser.ConfigParser),
        "RawConfigParser": reader(configparser.RawConfigParser),
        "ExtendedInterpolation": configparser.ExtendedInterpolation,
    }


class VersionInfo(NamedTuple):
    """``sys.version_info``."""

    major: int
    minor: int
    micro: int
    releaselevel: str
    serial: int


def _sys(interpreter: Interpreter) -> dict[str, Any]:
    def leave(*args: Any) -> None:
        raise SystemExit(*args)

    return {
        "argv": [interpreter.entry, *interpreter.arguments],
        "path": [""],
        "modules": interpreter.modules,
        "exit": leave,
        "stdout": Silent(),
        "stderr": Silent(),
        "stdin": Silent(),
        "maxsize": 2**63 - 1,
        "platform": "linux",
        "version_info": VersionInfo(3, 11, 0, "final", 0),
        "version": "3.11.0",
        "executable": "python",
        "getsizeof": lambda *args: 64,
        "setrecursionlimit": _nothing,
        "getrecursionlimit": lambda: 1000,
        "float_info": SimpleNamespace(
            max=1.7976931348623157e308, min=2.2250738585072014e-308, epsilon=2.220446049250313e-16
        ),
        "byteorder": "little",
        "exc_info": lambda: (None, None, None),
        "intern": lambda text: text,
    }


def _io(interpreter: Interpreter) -> dict[str, Any]:
    return {"StringIO": io.StringIO, "BytesIO": io.BytesIO}


def _accept(self: Any, *args: Any, **kwargs: Any) -> None:
    return None


def _silent(*names: str) -> Callable[[Interpreter], dict[str, Any]]:
    """Classes that a program may also inherit from, and functions in lower case."""
    return lambda interpreter: {
        name: type(name, (Silent,), {"__init__": _accept}) if name[0].isupper() else Silent() for name in names
    }


def _copy(interpreter: Interpreter) -> dict[str, Any]:
    return {}


MODELS: dict[str, Callable[[Interpreter], dict[str, Any]]] = {
    "logging": _logging,
    "logging.handlers": _logging,
    "logging.config": _logging,
    "warnings": _warnings,
    "time": _time,
    "datetime": _datetime,
    "random": _random,
    "math": _math,
    "itertools": _itertools,
    "functools": make_functools,
    "contextlib": _contextlib,
    "operator": _operator,
    "dataclasses": make_dataclasses,
    "typing": make_typing,
    "inspect": make_inspect,
    "ast": _ast,
    "json": _json,
    "tomllib": _tomllib,
    "tomli": _tomllib,
    "configparser": _configparser,
    "importlib": make_importlib,
    "pkgutil": make_pkgutil,
    "importlib.util": lambda i: make_importlib(i)["util"].special("__dict__"),
    "importlib.metadata": lambda i: make_importlib(i)["metadata"].special("__dict__"),
    "sys": _sys,
    "io": _io,
    "os": make_os,
    "os.path": make_os_path,
    "posixpath": make_os_path,
    "pathlib": make_pathlib,
    "gc": lambda i: {"collect": _nothing, "disable": _nothing, "enable": _nothing, "freeze": _nothing},
    "signal": lambda i: {"signal": _nothing, "SIGTERM": 15, "SIGINT": 2},
    "threading": _silent(
        "Lock", "RLock", "Thread", "Event", "Condition", "Semaphore", "Timer", "Barrier", "local", "current_thread"
    ),
    "queue": lambda i: {
        **_silent("Queue", "LifoQueue", "PriorityQueue", "SimpleQueue")(i),
        "Empty": LookupError,
        "Full": OverflowError,
    },
    "builtins": lambda i: dict(i.builtins),
    "traceback": lambda i: {"print_exc": _nothing, "format_exc": lambda *a: ""},
    "atexit": lambda i: {"register": lambda f, *a, **k: f},
    "socket": lambda i: {"gethostname": lambda: "host"},
    "platform": lambda i: {
        "system": lambda: "Linux",
        "python_version": lambda: "3.11.0",
        "node": lambda: "host",
        "machine": lambda: "x86_64",
    },
    "shutil": lambda i: {
        "rmtree": _nothing,
        "copy": _nothing,
        "copyfile": _nothing,
        "copytree": _nothing,
        "which": _nothing,
    },
    "glob": lambda i: {"glob": lambda *a, **k: [], "iglob": lambda *a, **k: iter(())},
    "tempfile": lambda i: {
        "mkdtemp": lambda *a, **k: "/tmp/run",
        "gettempdir": lambda: "/tmp",
        "TemporaryDirectory": lambda *a, **k: contextlib.nullcontext("/tmp/run"),
    },
    "pickle": lambda i: {
        "load": lambda *a, **k: Unknown("pickle.load is not run"),
        "dump": _nothing,
        "dumps": lambda *a: b"",
        "HIGHEST_PROTOCOL": 5,
    },
    "csv": lambda i: {
        "reader": lambda *a, **k: iter(()),
        "writer": lambda *a, **k: Silent(),
        "DictWriter": lambda *a, **k: Silent(),
        "DictReader": lambda *a, **k: iter(()),
    },
    "subprocess": lambda i: {},
    "multiprocessing": lambda i: {"cpu_count": lambda: 8, "set_start_method": _nothing, "freeze_support": _nothing},
    "argparse": lambda i: __import__("engine.memory.program.arguments", fromlist=["make_argparse"]).make_argparse(i),
    "__future__": lambda i: {},
}
