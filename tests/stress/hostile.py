"""Pull requests made to break the worker, or to say something in the bot's name."""

from __future__ import annotations

import io
import json
import time
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bot.review.annotating import MOST_ANNOTATIONS
from bot.standin import PullRequest, StandIn
from tests.bot.rendered import REVERSES, escapes
from tests.bot.test_hostile_pulls import HOSTILE_NAMES, QUOTED
from tests.stress.end_state import all_reviewed, checks_of_head, is_reviewed, until
from tests.stress.figures import Outcome
from tests.stress.fleet import SERVE_WITH_WORKER, Fleet
from tests.stress.repositories import LINK, SUBMODULE, Branch, script, write

ANALYSIS_SECONDS = 60
ANALYSIS_BYTES = 1536 * 2**20
MOST_RESIDENT_BYTES = 1536 * 2**20
"""Of the bot's own process."""
ACCOUNT = "root:x:"
"""How the file begins to which links of the attacks lead."""
LOOPS_A_FILE = 50
LARGE_BYTES = 20_000_000
COMMENT_CHARACTERS = 65_536

LOOP = """
model{n} = nn.Linear({n} + 4, 4).cuda()
optimizer{n} = torch.optim.SGD(model{n}.parameters(), lr=0.1)
for step in range(100):
    model{n}(torch.randn(8, {n} + 4, device="cuda")).pow(2).mean().backward()
    optimizer{n}.step()
"""
TRAVERSAL = ("..\\..\\windows\\x.py", "a/..b/x.py", "~root/x.py", "%2e%2e%2fetc%2fpasswd.py", "C:x.py", "...", "-rf.py")


@dataclass(frozen=True)
class Attack:
    """Files of one pull request, and what its check run has to say of them."""

    files: Mapping[str, str | bytes]
    named: tuple[str, ...] = ()
    """Paths that the check run must name as not looked at."""
    least_findings: int = 1
    modes: Mapping[str, str] = field(default_factory=dict)


def bombs(depth: int) -> Attack:
    """Sources that exhaust a parser or an interpreter, beside a script with a bug."""
    calls = "".join(f"def f{n}(x):\n    return f{n + 1}(f{n + 1}(f{n + 1}(x)))\n" for n in range(40))
    branches = "".join(f"    if x[{n}] > 0:\n        x = x * {n}\n    else:\n        x = x + {n}\n" for n in range(200))
    return Attack(
        {
            "train.py": script(1, buggy=True),
            "nested.py": "import torch\nx = " + "(" * depth + ")" * depth + "\n",
            "unary.py": "import torch\nx = " + "-" * depth + "1\n",
            "lambda.py": "import torch\nx = " + "lambda: " * depth + "1\n",
            "blocks.py": "import torch\n" + "".join("  " * n + "if x:\n" for n in range(90)) + "  " * 90 + "pass\n",
            "line.py": "import torch\nx = [" + "1, " * 300_000 + "]\n",
            "fstring.py": "import torch\nx = " + "f'{" * 40 + "1" + "}'" * 40 + "\n",
            "power.py": "import torch\nx = 9 ** 9 ** 9\ny = 'a' * 10 ** 12\nz = [0] * 10 ** 12\nw = 1 << 10 ** 12\n",
            "range.py": "import torch\nfor i in range(10 ** 18):\n  for j in range(10 ** 18):\n    torch.ones(i)\n",
            "calls.py": f"import torch\n{calls}def f40(x):\n    return f0(x)\nf0(torch.ones(1)).backward()\n",
            "branches.py": f"import torch\ndef f(x):\n{branches}    return x\nf(torch.ones(9)).sum().backward()\n",
            "while.py": "import torch\nwhile True:\n    while True:\n        torch.ones(1).backward()\n",
            "null.py": b"import torch\n\x00\x00",
            "utf16.py": "import torch\n".encode("utf-16"),
            "regex.py": "import torch\nx = '" + "\\N{DIGIT ONE}" * 20_000 + "'\n",
        },
        named=("null.py", "nested.py"),
    )


def large() -> Attack:
    """Files beyond what is read."""
    cells = {"cells": [{"cell_type": "code", "source": ["import torch\n"], "outputs": ["x" * LARGE_BYTES]}]}
    return Attack(
        {
            "train.py": script(2, buggy=True),
            "generated.py": "import torch\nloss.backward()\n" * (LARGE_BYTES // 29),
            "outputs.ipynb": json.dumps(cells),
        },
        named=("generated.py", "outputs.ipynb"),
    )


def crowd(findings: int) -> Attack:
    """More findings than anybody reads."""
    head = "import torch\nfrom torch import nn\n\ntorch.manual_seed(0)\n"
    files = {
        f"train{start}.py": head + "".join(LOOP.format(n=start + n) for n in range(min(LOOPS_A_FILE, findings - start)))
        for start in range(0, findings, LOOPS_A_FILE)
    }
    return Attack(files, least_findings=findings // 20)


def names() -> Attack:
    """Names and texts that would like to be more than text."""
    text = script(3, buggy=True) + QUOTED
    files = dict.fromkeys((*HOSTILE_NAMES, *TRAVERSAL[:2], *TRAVERSAL[2:]), text)
    files |= {f"broken {name}": "def f(:\n" for name in HOSTILE_NAMES}
    files |= {"secret.py": "/etc/passwd", "up.py": "../../../../etc/passwd", "vendored": "a" * 40}
    modes = {"secret.py": LINK, "up.py": LINK, "vendored": SUBMODULE}
    return Attack(files, modes=modes, least_findings=len(HOSTILE_NAMES))


def data(trap: Path) -> Attack:
    """Configuration and notebooks that are not what they seem; whoever runs what stands in them makes `trap`."""
    laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30)
    )
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("zeros", b"\0" * 50_000_000)
    deep = "[" * 50_000 + "]" * 50_000
    return Attack(
        {
            "train.py": script(4, buggy=True) + "import yaml\nsettings = yaml.safe_load(open('config.yaml'))\n",
            "config.yaml": laughs,
            "accelerate.yaml": "? " * 50_000 + "x\n",
            "merge.yml": "a: &a\n  <<: *a\n" + "b: {<<: [" + "*a, " * 1000 + "*a]}\n",
            "tags.yaml": f"!!python/object/apply:os.system ['touch {trap}']\n",
            "ds_config.json": deep,
            "pyproject.toml": "x = " + "[" * 5_000 + "]" * 5_000 + "\n",
            ".github/preflight.yml": laughs + "ignore: [all]\n",
            "archive.ipynb": archive.getvalue(),
            "deep.ipynb": '{"cells": ' + deep + "}",
            "many.ipynb": json.dumps({"cells": [{"cell_type": "code", "source": ["x = 1\n"]}] * 20_000}),
            "odd.ipynb": json.dumps({"cells": {"a": 1}, "nbformat": "4"}),
            "run.sh": "torchrun " + "$(" * 5_000 + ")" * 5_000 + " train.py\n",
        },
        named=("archive.ipynb",),
    )


async def run(
    folder: Path,
    *,
    findings: int = 5_000,
    depth: int = 50_000,
    only: tuple[str, ...] = (),
    patience_seconds: float = 1800,
) -> Outcome:
    """Each attack is a pull request; all are open at once."""
    trap = folder / "run"
    made: dict[str, Callable[[], Attack]] = {
        "names": names,
        "bombs": lambda: bombs(depth),
        "data": lambda: data(trap),
        "large": large,
        "crowd": lambda: crowd(findings),
    }
    attacks = {name: make() for name, make in made.items() if not only or name in only}
    branches = [Branch(name, attack.files, modes=attack.modes) for name, attack in attacks.items()]
    write(folder / "trainer.git", {"train.py": script(0, buggy=False)}, branches)
    async with StandIn(hourly_limit=10**9) as github:
        repository = github.add_repository(folder / "trainer.git", owner="acme")
        pulls = {
            name: github.open_pull(repository, base="main", head=name, title=f"@octocat <b>{name}</b>")
            for name in attacks
        }
        settings = {
            "PREFLIGHT_ANALYSIS_SECONDS": str(ANALYSIS_SECONDS),
            "PREFLIGHT_ANALYSIS_MEMORY_BYTES": str(ANALYSIS_BYTES),
            "PREFLIGHT_RECONCILE_ON_START": "false",
        }
        fleet = Fleet(github, f"sqlite:///{folder / 'queue.sqlite3'}", folder, settings)
        try:
            await fleet.serve()
            begun = time.monotonic()
            for pull in pulls.values():
                await github.deliver("pull_request", "opened", pull=pull)
            took = dict.fromkeys(pulls, begun)
            for name, pull in pulls.items():
                await until(partial(is_reviewed, github, pull), patience_seconds, partial(str, name))
                took[name] = time.monotonic() - begun
            await all_reviewed(github, patience_seconds)
            resident = _peak_resident_bytes(fleet.running[SERVE_WITH_WORKER].pid)
        finally:
            await fleet.kill_all()
        faults = [f"{name}: {fault}" for name in attacks for fault in _faults(github, pulls[name], attacks[name])]
    if trap.exists():
        faults.append("a command in a configuration was run")
    if resident > MOST_RESIDENT_BYTES:
        faults.append(f"the bot held {resident / 2**20:.0f} MiB")
    shown = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in took.items())
    return Outcome(f"{shown}; the bot's own process held {resident / 2**20:.0f} MiB at most", faults)


def _peak_resident_bytes(pid: int) -> int:
    """The most memory that a process ever held, as Linux counts it."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def _faults(github: StandIn, pull: PullRequest, attack: Attack) -> list[str]:
    wrong = []
    (check,) = checks_of_head(github, pull)
    comments = [entry.body for entry in github.comments if entry.pull is pull]
    comments += [entry.body for entry in github.review_comments if entry.pull is pull]
    comments += [entry.body for entry in github.reviews if entry.pull is pull]
    said = [check.summary or "", check.text or "", *comments]
    for text in said:
        wrong += [f"more than text: {escape[:200]}" for escape in escapes(text)]
        if len(text) > COMMENT_CHARACTERS:
            wrong.append(f"a text of {len(text)} characters")
    for annotation in check.annotations:
        if REVERSES in annotation["message"] + annotation["title"]:
            wrong.append(f"an annotation turns the line round: {annotation['title']}")
    wrong += [f"{path} is not named: {check.text}" for path in attack.named if f"`{path}`" not in (check.text or "")]
    if len(check.annotations) < min(attack.least_findings, MOST_ANNOTATIONS):
        wrong.append(f"{len(check.annotations)} annotations, {check.title}: {check.summary}")
    if ACCOUNT in str(said) + str(check.annotations):
        wrong.append("a link was followed")
    return wrong
