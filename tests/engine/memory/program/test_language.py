"""What the interpreter of shadow runs makes of the language."""

from collections.abc import Mapping
from typing import Any

import pytest

from engine.memory.program.budget import Budget, OutOfBudget
from engine.memory.program.machine import Interpreter
from engine.memory.program.unknown import Unknown
from engine.project import Project


def run(source: str, seconds: float = 5.0, files: Mapping[str, str] | None = None) -> Any:
    """The value of `result` after running `source`, beside `files`."""
    project = Project.from_mapping({"main.py": source, **(files or {})})
    interpreter = Interpreter(project, lambda _, name: None, budget=Budget(seconds=seconds))
    interpreter.run_main("main.py")
    return interpreter.modules["__main__"].result


PROGRAMS = {
    "closures share variables": (
        "def counter():\n    n = 0\n    def up():\n        nonlocal n\n        n += 1\n        return n\n    return up\n"  # noqa: E501
        "c = counter(); c()\nresult = c()",
        2,
    ),
    "late binding of loop variables": ("result = [f() for f in [lambda: i for i in range(3)]]", [2, 2, 2]),
    "class bodies do not leak into comprehensions": (
        "x = 5\nclass A:\n    x = 1\n    ys = [x for _ in range(2)]\nresult = A.ys",
        [5, 5],
    ),
    "super, properties and operators": (
        "class A:\n    def __init__(self, n):\n        self.n = n\n    @property\n    def twice(self):\n        return 2 * self.n\n"  # noqa: E501
        "    def __add__(self, other):\n        return type(self)(self.n + other.n)\n"
        "class B(A):\n    def __init__(self, n):\n        super().__init__(n + 1)\n"
        "result = (B(1) + B(2)).twice",
        12,
    ),
    "dataclasses and enums": (
        "from dataclasses import dataclass, field\nfrom enum import Enum\n"
        "class Kind(Enum):\n    A = 'a'\n"
        "@dataclass\nclass C:\n    x: int = 3\n    y: list = field(default_factory=list)\n"
        "result = (C(), Kind('a').name)\nresult = (result[0].x, result[0].y, result[1])",
        (3, [], "A"),
    ),
    "generators are lazy and cleaned up": (
        "log = []\ndef g():\n    try:\n        got = yield 1\n        log.append(got)\n        yield from (x for x in (2, 3))\n"  # noqa: E501
        "    finally:\n        log.append('end')\n"
        "i = g(); first = next(i); second = i.send('sent'); rest = list(i)\nresult = (first, second, rest, log)",
        (1, 2, [3], ["sent", "end"]),
    ),
    "try, except, else, finally": (
        "result = []\nfor f in (lambda: 1 / 0, lambda: 1):\n    try:\n        f()\n    except ZeroDivisionError as e:\n"
        "        result.append(type(e).__name__)\n    else:\n        result.append('else')\n    finally:\n        result.append('f')",  # noqa: E501
        ["ZeroDivisionError", "f", "else", "f"],
    ),
    "eval of an expression in the names of its caller": (
        "class Wide:\n    pass\nwidth = 4\n"
        "def build(kind, layers, k=2):\n    inner = lambda: k\n    return eval(kind), eval(layers), eval('k + inner()')\n"  # noqa: E501
        "found = build('Wide', '[(width, 3)] + [(k, 1)] * 2')\nresult = (found[0] is Wide, found[1], found[2])",
        (True, [(4, 3), (2, 1), (2, 1)], 4),
    ),
    "every kind of parameter": (
        "def f(a, /, b, *c, d=4, **e):\n    return a, b, c, d, e\nresult = f(1, 2, 3, d=5, q=6)",
        (1, 2, (3,), 5, {"q": 6}),
    ),
    "patterns": (
        "match {'k': [1, 2, 3]}:\n    case {'k': [a, *rest]}:\n        result = (a, rest)",
        (1, [2, 3]),
    ),
    "context managers by decorator": (
        "from contextlib import contextmanager\nresult = []\n@contextmanager\ndef m():\n    result.append('in')\n"
        "    try:\n        yield 1\n    finally:\n        result.append('out')\nwith m() as one:\n    result.append(one)",  # noqa: E501
        ["in", 1, "out"],
    ),
    "a missing package leaves the fallback": (
        "try:\n    import apex\nexcept ImportError:\n    apex = None\nresult = apex",
        None,
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_language(name: str) -> None:
    source, expected = PROGRAMS[name]
    assert run(source) == expected


def test_modules_of_the_project_import_each_other() -> None:
    source = "from package.b import value\nimport package\nresult = value + package.base"
    files = {"package/__init__.py": "base = 1", "package/b.py": "from . import base\nvalue = base + 10"}
    assert run(source, files=files) == 12


def test_arguments_and_files_of_the_project() -> None:
    source = (
        "import argparse, json\np = argparse.ArgumentParser()\np.add_argument('--batch-size', type=int, default=8)\n"
        "args = p.parse_args()\nresult = (args.batch_size, json.load(open('config.json'))['width'])"
    )
    project = Project.from_mapping({"main.py": source, "config.json": '{"width": 7}'})
    interpreter = Interpreter(project, lambda _, name: None, arguments=("--batch-size", "16"))
    interpreter.run_main("main.py")
    assert interpreter.modules["__main__"].result == (16, 7)


def test_what_is_not_known_stays_unknown_and_says_why() -> None:
    found = run("import wandb\nresult = wandb.init(project='x').config.rate * 2")
    assert isinstance(found, Unknown)
    assert "wandb" in found.reason


@pytest.mark.parametrize(
    "expression",
    [
        "().__class__.__base__.__subclasses__()",
        "(lambda: 0).__globals__",
        "(lambda: 0).preflight_interpreter",
        "'{0.__init__.__globals__}'.format(1)",
        "print.__self__",
        "type.__dict__",
        "(x for x in []).gi_frame",
        "getattr([], '__cl' + 'ass__').__subclasses__()",
        "__import__('os').popen('id')",
        "open('/etc/passwd')",
        "eval('().__class__.__base__.__subclasses__()')",
        "eval('print.__self__')",
        "eval('__import__(\\'os\\').popen(\\'id\\')')",
    ],
)
def test_the_host_is_out_of_reach(expression: str) -> None:
    try:
        found = run(f"result = {expression}")
    except (AttributeError, TypeError):
        return
    assert isinstance(found, Unknown)


@pytest.mark.parametrize(
    "source",
    [
        "10 ** 10 ** 10",
        "'a' * 10 ** 12",
        "[0] * 10 ** 12",
        "list(range(10 ** 12))",
        "sum(range(10 ** 13))",
        "'%1000000000d' % 1",
        "f'{1:1000000000}'",
        "while True:\n    pass",
        "x = [1]\nwhile True:\n    x = x + x",
        "import itertools\nlist(itertools.count())",
    ],
)
def test_hostile_sizes_end_the_run(source: str) -> None:
    with pytest.raises(OutOfBudget):
        run(source, seconds=1.0)


def test_endless_recursion_is_the_programs_own_error() -> None:
    with pytest.raises(RecursionError):
        run("def f():\n    return f()\nf()")


def test_a_module_is_loaded_from_the_path_of_its_file() -> None:
    source = (
        "import importlib.util, os\n"
        "spec = importlib.util.spec_from_file_location('conf', os.path.dirname(__file__) + 'confs/a.py')\n"
        "conf = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(conf)\nresult = conf.batch\n"
    )
    assert run(source, files={"confs/a.py": "batch = 512\n"}) == 512
