"""A program that is estimated reaches nothing of the machine: each way out is tried, and the canary stays unseen."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.confinement import Refused, confined, released
from engine.memory.shadow import Launch, shadow_run
from engine.memory.tensors import Tensor
from engine.project import Project

CANARY = "the-canary-sings"

ESCAPES = {
    "forward reference": "import typing\ntyping.ForwardRef(PAYLOAD)._evaluate({}, {}, frozenset())",
    "annotation read by the host": (
        "import functools\nclass C: pass\nc = C()\nc.__annotations__ = {'x': PAYLOAD}\n"
        "functools.singledispatch(len).register(c)"
    ),
    "signature": (
        "import inspect\ndef f(a): pass\nf.__annotations__ = {'a': PAYLOAD}\n"
        "type(inspect.signature(lambda a: a)).from_callable(f, eval_str=True)"
    ),
    "members of a host module": (
        "import enum\nX = enum.Enum._convert_('X', 'os', lambda name: name == 'system')\n"
        "X.system.value('touch ' + MARKER)"
    ),
    "import of a special name": (
        "import {library}.__globals__ as names\nnames['__builtins__']['__import__']('os').system('touch ' + MARKER)"
    ),
    "from-import of a special name": "from einops.rearrange import __globals__ as names\nraise ValueError(list(names))",
    "name that lies about itself": (
        "import torch\nclass S(str):\n    def __getitem__(self, i): return 'xx'\n"
        "    def startswith(self, *a): return False\n"
        "getattr(torch.nn.functional.relu, S('__globals__'))['__builtins__']['eval'](PAYLOAD)"
    ),
    "dataclass field that lies about itself": (
        "import dataclasses\nclass S(str):\n    def isidentifier(self): return True\n"
        "    def __format__(self, spec): return 'a=' + PAYLOAD\nclass D: pass\nD.__annotations__ = {S('a'): int}\n"
        "dataclasses.dataclass(D)"
    ),
    "dataclass field renamed": (
        "import dataclasses\n@dataclasses.dataclass\nclass B:\n    x: int = 1\n"
        "B.__dataclass_fields__['x'].name = 'x=' + PAYLOAD\n@dataclasses.dataclass\nclass D(B):\n    y: int = 1"
    ),
    "dataclass fields made up": (
        "import dataclasses\nfrom types import SimpleNamespace as N\n"
        "f = N(name='x=' + PAYLOAD, init=True, kw_only=False, default=3, default_factory=dataclasses.MISSING,\n"
        "      repr=True, hash=None, compare=True, _field_type=None, type=int)\n"
        "class B:\n    __dataclass_fields__ = {'x': f}\n    __dataclass_params__ = N(frozen=False)\n"
        "@dataclasses.dataclass\nclass D(B):\n    y: int = 1"
    ),
    "dataclass fields of a metaclass": (
        "import dataclasses\nfrom types import SimpleNamespace as N\n"
        "f = N(name='x=' + PAYLOAD, init=True, kw_only=False, default=3, default_factory=dataclasses.MISSING,\n"
        "      repr=True, hash=None, compare=True, _field_type=None, type=int)\n"
        "class M(type):\n    def __getattr__(cls, name): return {'x': f} if 'fields' in name else N(frozen=False)\n"
        "class B(metaclass=M): pass\n@dataclasses.dataclass\nclass D(B):\n    y: int = 1"
    ),
    "arguments from a file": (
        "import argparse\np = argparse.ArgumentParser()\np.fromfile_prefix_chars = '@'\n"
        "p.add_argument('x', nargs='*')\nraise ValueError(p.parse_args(['@' + SECRET]))"
    ),
    "parser behind the parser": (
        "import argparse\nwide = argparse.ArgumentParser.__mro__[1](fromfile_prefix_chars='@')\n"
        "wide.add_argument('x', nargs='*')\nraise ValueError(wide.parse_args(['@' + SECRET]))"
    ),
    "configuration parser behind the parser": (
        "import configparser\nconfigparser.ConfigParser.__mro__[1].read(configparser.ConfigParser(), [SECRET])"
    ),
    "reader behind the reader": (
        "import configparser\nclass P(configparser.ConfigParser):\n    def go(self):\n"
        "        return super(configparser.ConfigParser, self).read([SECRET])\nP().go()"
    ),
    "file": "raise ValueError(open(SECRET).read())",
    "file by a relative path": "raise ValueError(open('../' * 20 + SECRET[1:]).read())",
    "path object": "from pathlib import Path\nraise ValueError(Path(SECRET).read_text())",
    "environment": "import os\nraise ValueError(dict(os.environ))",
    "format string": "import torch\nraise ValueError('{0.__globals__}'.format(torch.nn.functional.relu))",
    "pattern": (
        "import torch\nmatch torch.nn.functional.relu:\n    case object(__globals__=g):\n"
        "        g['__builtins__']['eval'](PAYLOAD)"
    ),
    "yaml object": "import yaml\nyaml.load('!!python/object/apply:os.system [\"touch ' + MARKER + '\"]', yaml.Loader)",
    "eval": "eval(PAYLOAD)",
    "exec": "exec(PAYLOAD)",
    "interpreter of a function": (
        "def f(): pass\ni = object.__getattribute__(f, 'preflight_interpreter')\n"
        "raise ValueError(type(i.project).from_folder(SECRET.rpartition('/')[0]).read_text('secret.txt'))"
    ),
    "frame of a generator": (
        "def g(): yield\ng().gi_frame.f_back.f_globals['__builtins__']['eval'](PAYLOAD)"
    ),
}  # fmt: skip

POISONS = {
    "by a metaclass": "class M(type): pass\nM.__setattr__(torch.Tensor, 'poison', 1)",
    "by an assignment": "torch.Tensor.poison = 1",
    "by a copy": (
        "import copy\nclass E:\n    def __reduce_ex__(self, protocol):\n"
        "        return (lambda: torch.Tensor, (), (None, {'poison': 1}))\ncopy.copy(E())"
    ),
    "by a late copy": (
        "import copy\nclass E: pass\n"
        "E.__reduce_ex__ = lambda self, protocol: (lambda: torch.Tensor, (), (None, {'poison': 1}))\ncopy.copy(E())"
    ),
    "by super": (
        "class M(type):\n    def go(cls): super(M, type(torch.zeros(1))).__setattr__('poison', 1)\n"
        "class C(metaclass=M): pass\nC.go()"
    ),
}


def everything_said(program: str) -> str:
    outcome = shadow_run(Project.from_mapping({"train.py": program}), Launch("train.py"), seconds=20)
    return f"{outcome.problem} {outcome.notes} {outcome.observations}"


@pytest.mark.parametrize("escape", ESCAPES)
@pytest.mark.parametrize("library", ["einops.rearrange", "numpy.asarray", "torch.nn.functional.relu"])
def test_no_program_gets_out(escape: str, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if library != "einops.rearrange" and "{library}" not in ESCAPES[escape]:
        pytest.skip("the same for all libraries")
    secret, marker = tmp_path / "secret.txt", tmp_path / "marker"
    secret.write_text(f"{CANARY}\n")
    monkeypatch.setenv("CANARY", CANARY)
    payload = f"__import__('os').system('touch {marker}')"
    names = f"SECRET = {str(secret)!r}\nMARKER = {str(marker)!r}\nPAYLOAD = {payload!r}\n"
    said = everything_said(names + ESCAPES[escape].replace("{library}", library))
    assert not marker.exists()
    assert CANARY not in said


@pytest.mark.parametrize("poison", POISONS)
def test_no_program_changes_the_engine(poison: str) -> None:
    everything_said(f"import torch\n{POISONS[poison]}\n")
    assert not hasattr(Tensor, "poison")


class TestConfinement:
    """The second line, which holds whatever a program got hold of."""

    def test_files_processes_and_text_are_refused(self, tmp_path: Path) -> None:
        (tmp_path / "secret.txt").write_text(CANARY)
        attempts: list[Callable[[], object]] = [
            lambda: (tmp_path / "secret.txt").read_text(),
            lambda: (tmp_path / "new.txt").write_text(""),
            lambda: list(tmp_path.iterdir()),
            lambda: os.system("true"),
            lambda: subprocess.run([sys.executable, "--version"], check=True),
            lambda: eval("1 + 1"),
            lambda: exec("x = 1"),
        ]
        for attempt in attempts:
            with confined(), pytest.raises(Refused):
                attempt()

    def test_the_engine_still_loads_what_it_needs(self) -> None:
        sys.modules.pop("colorsys", None)
        with confined():
            import colorsys

            assert Path(colorsys.__file__).read_text()

    def test_released_functions_read_the_project(self, tmp_path: Path) -> None:
        (tmp_path / "train.py").write_text("x = 1\n")
        with confined():
            assert Project.from_folder(tmp_path).read_text("train.py") == "x = 1\n"
            assert released(lambda: (tmp_path / "train.py").read_text())() == "x = 1\n"

    def test_it_ends(self, tmp_path: Path) -> None:
        with confined():
            pass
        assert list(tmp_path.iterdir()) == []
