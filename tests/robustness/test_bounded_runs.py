"""No single operation of a program outruns the limits of a shadow run: each is refused before it is begun."""

import time

import pytest

from engine.memory.shadow import Launch, shadow_run
from engine.project import Project

ENDLESS = {
    "power": "10 ** 10 ** 10",
    "power by its name": "(10).__pow__(10 ** 9)",
    "power by the module": "__import__('operator').pow(10, 10 ** 10)",
    "repeated text": "'a' * 10 ** 12",
    "repeated text by its name": "'a'.__mul__(10 ** 10)",
    "repeated text by the module": "__import__('operator').mul('a', 10 ** 10)",
    "shift by its name": "(1).__lshift__(10 ** 10)",
    "product": "__import__('math').prod(range(1, 10 ** 9))",
    "list of a range": "list(range(10 ** 12))",
    "sum of a range": "sum(range(10 ** 12))",
    "half in a range": "0.5 in range(10 ** 12)",
    "half counted in a range": "range(10 ** 12).count(0.5)",
    "queue that keeps nothing": "__import__('collections').deque(range(10 ** 12), maxlen=0)",
    "counter": "__import__('collections').Counter(range(10 ** 12))",
    "mean": "__import__('statistics').mean(range(10 ** 12))",
    "dictionary": "dict.fromkeys(range(10 ** 12))",
    "spread": "[*range(10 ** 12)]",
    "product of iterators": "list(__import__('itertools').product(range(1000), repeat=20))",
    "choices": "__import__('random').choices([1], k=10 ** 12)",
    "key derivation": "__import__('hashlib').pbkdf2_hmac('sha256', b'', b'', 10 ** 12)",
    "fraction": "__import__('fractions').Fraction('1e1000000000')",
    "decimal": "int(__import__('decimal').Decimal('1e1000000000'))",
    "format by a width given": "'%*d' % (10 ** 9, 1)",
    "format by its name": "'%999999999d'.__mod__((1,))",
    "format of a number by its name": "(1).__format__('>9999999999')",
    "format of a nested width": "'{:>{w}}'.format('a', w=10 ** 10)",
    "padding": "'a'.ljust(10 ** 12)",
    "replacement": "('a' * 10 ** 6).replace('a', 'b' * 10 ** 6)",
    "nested repeats": "__import__('re').match(r'(a+)+$', 'a' * 60 + 'b')",
    "alternatives that overlap": "__import__('re').compile(r'(a|aa)+$').match('a' * 90 + 'b')",
    "groups in a repeat": "__import__('re').search(r'((\\d+)\\.?)+x', '1' * 60)",
    "anything many times": "__import__('re').search(r'.*.*.*.*.*=', 'a' * 5000)",
    "rows of a tensor": "[row for row in __import__('torch').zeros(10 ** 10)]",
    "pieces of a tensor": "__import__('torch').zeros(10 ** 10).split(1)",
    "chunks of a tensor": "__import__('torch').zeros(10 ** 10).chunk(10 ** 9)",
    "rows of an array": "list(__import__('numpy').arange(10 ** 12))",
    "recursion": "(lambda f: f(f))(lambda f: f(f))",
}
STATEMENTS = {
    "loop": "while True: pass",
    "generator": "def g():\n    while True: yield 1\nx = sorted(g())",
    "iterator": "class A:\n    def __iter__(self): return self\n    def __next__(self): return 1\nx = tuple(A())",
    "attribute": "class A:\n    def __getattr__(self, name): return getattr(self, name + 'x')\nA().x",
    "comparison": "class A:\n    def __eq__(self, other): return self == other\nA() == A()",
    "text that doubles": "x = 'a'\nwhile True: x += x",
    "nest": "x = []\nfor i in range(10 ** 6): x = [x]\nrepr(x)",
}
PROGRAMS = {name: f"x = {expression}" for name, expression in ENDLESS.items()} | STATEMENTS

QUICK = {
    r"(\w+\.)*weight": "model.layers.10.self_attn.q_proj.weight",
    r"(?:blocks|layers)\.(\d+)\.(.+)": "transformer.layers.10.self_attn.q_proj.weight",
    r"(?P<first>\d+)(?:-(?P<more>\d+))*$": "1-2-3-4-5-6-7-8-9-10-11-12-13-14",
    r"(?:[a-z]+_)+[a-z]+": "a_very_long_name_with_many_parts_of_words",
    r"([^/]+/)*([^/]+)": "/some/where/far/down/in/a/tree/of/folders/name.txt",
    r"(foo|bar)+": "foobarfoobarfoobarfoobarfoobarfoobarfoobar",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_nothing_runs_on(program: str) -> None:
    begun = time.process_time()
    outcome = shadow_run(Project.from_mapping({"train.py": program}), Launch("train.py"), seconds=2)
    assert outcome.problem or outcome.notes or "hashlib" in program
    assert time.process_time() - begun < 20


@pytest.mark.parametrize("pattern", QUICK)
def test_ordinary_patterns_are_searched_with(pattern: str) -> None:
    program = f"import re\nif re.search({pattern!r}, {QUICK[pattern]!r}): raise ValueError('found')"
    outcome = shadow_run(Project.from_mapping({"train.py": program}), Launch("train.py"), seconds=20)
    assert outcome.problem is not None and "found" in outcome.problem
