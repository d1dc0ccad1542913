"""Broken variants of Python files and notebooks, made from a seed: truncated, mutated, nested, huge, mis-encoded."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator

Source = str | bytes

PYTHON_2 = "import torch\nprint 'epoch', 1\nexec 'x = 1'\n"
NEWER_SYNTAX = (
    "import torch\ntype Batch[T] = list[T]\n\n\nclass Holder[T]:\n    def get[S](self, s: S) -> T: ...\n\n\n"
    "def f[T = int](x: T) -> T:\n    return x\n",
    'import torch\nx = {\'a\': 1}\nprint(f"{x["a"]} {f"{1 + 1}"}")\n',
    "import torch\n\n\ndef f():\n    try:\n        pass\n    except* ValueError:\n        pass\n",
    "import torch\nname = t'{1}'\n",
    "import torch\ntry:\n    pass\nexcept ValueError, TypeError:\n    pass\n",
)


def truncated(text: str, rng: random.Random) -> Source:
    """Cut at a random character."""
    return text[: rng.randrange(max(1, len(text)))]


def swapped_bytes(text: str, rng: random.Random) -> Source:
    """A few bytes replaced by random ones: null bytes, broken UTF-8."""
    raw = bytearray(text.encode())
    for _ in range(rng.randint(1, 12)):
        if raw:
            raw[rng.randrange(len(raw))] = rng.randrange(256)
    return bytes(raw)


def shuffled_lines(text: str, rng: random.Random) -> Source:
    """Lines dropped, doubled and moved, so that names and indentation come apart."""
    lines = text.splitlines(keepends=True)
    for _ in range(rng.randint(1, 8)):
        if len(lines) > 2:
            line = lines.pop(rng.randrange(len(lines)))
            if rng.random() < 0.6:
                lines.insert(rng.randrange(len(lines)), line)
    return "".join(lines)


def swapped_tokens(text: str, rng: random.Random) -> Source:
    """Words exchanged with other words of the same file."""
    words = text.split(" ")
    for _ in range(rng.randint(1, 20)):
        first, second = rng.randrange(len(words)), rng.randrange(len(words))
        words[first], words[second] = words[second], words[first]
    return " ".join(words)


def nested(_: str, rng: random.Random) -> Source:
    """Deep nesting of brackets, calls, attributes, blocks or operators."""
    depth = rng.choice((50, 400, 3000, 20_000))
    kind = rng.randrange(5)
    if kind == 0:
        return f"import torch\nx = {'(' * depth}1{')' * depth}\n"
    if kind == 1:
        return f"import torch\nx = {'f(' * depth}1{')' * depth}\n"
    if kind == 2:
        return f"import torch\nx = a{'.b' * depth}\n"
    if kind == 3:
        depth = min(depth, 400)
        return "import torch\n" + "".join(f"{' ' * level}if x:\n" for level in range(depth)) + " " * depth + "pass\n"
    return "import torch\nx = " + " + ".join("1" for _ in range(depth)) + "\n"


def megabyte_line(_: str, rng: random.Random) -> Source:
    """One line of a megabyte."""
    return "import torch\nx = [" + "1, " * rng.choice((10_000, 350_000)) + "]\n"


def many_functions(_: str, rng: random.Random) -> Source:
    """Thousands of small functions that call each other."""
    count = rng.choice((500, 10_000))
    return "import torch\n" + "".join(f"def f{n}(x):\n    return f{(n * 7 + 1) % count}(x)\n" for n in range(count))


def odd_encoding(text: str, rng: random.Random) -> Source:
    """Declared or undeclared encodings, byte-order marks, carriage returns."""
    kind = rng.randrange(5)
    if kind == 0:
        return ("# -*- coding: latin-1 -*-\n# \u00e9\n" + text).encode("latin-1", "replace")
    if kind == 1:
        return ("# -*- coding: no-such-codec -*-\n" + text).encode()
    if kind == 2:
        return text.encode("utf-16")
    if kind == 3:
        return b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()
    return text.replace("\n", "\r").encode()


def other_python(_: str, rng: random.Random) -> Source:
    """Python 2, and syntax newer than the oldest interpreter supported."""
    return rng.choice((PYTHON_2, *NEWER_SYNTAX))


MUTATIONS: tuple[Callable[[str, random.Random], Source], ...] = (
    truncated,
    swapped_bytes,
    shuffled_lines,
    swapped_tokens,
    odd_encoding,
    other_python,
)
HEAVY_MUTATIONS: tuple[Callable[[str, random.Random], Source], ...] = (nested, megabyte_line, many_functions)


def notebook(text: str, rng: random.Random) -> Source:
    """A notebook of the text, with magics, and now and then with broken JSON."""
    cells = [
        {"cell_type": "markdown", "source": ["# title"]},
        {"cell_type": "code", "source": "%matplotlib inline\n!pip install torch\n", "outputs": [], "metadata": {}},
        {"cell_type": "code", "source": text.splitlines(keepends=True), "outputs": [], "metadata": {}},
        {"cell_type": rng.choice(("code", "raw", 7)), "source": rng.choice(("x = 1", None, [1], {}))},
    ]
    dumped = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    return dumped[: rng.randrange(len(dumped))] if rng.random() < 0.4 else dumped


def inputs(seeds: list[str], count: int, seed: int, heavy_share: float = 0.01) -> Iterator[tuple[str, Source]]:
    """`count` pairs of file name and content, the same ones for the same seed."""
    rng = random.Random(seed)
    for number in range(count):
        text = rng.choice(seeds)
        if rng.random() < 0.08:
            yield f"case_{number}.ipynb", notebook(text, rng)
            continue
        pool = HEAVY_MUTATIONS if rng.random() < heavy_share else MUTATIONS
        yield f"case_{number}.py", rng.choice(pool)(text, rng)
