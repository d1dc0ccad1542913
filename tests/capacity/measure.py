"""`python -m tests.capacity.measure [--rounds N]`: what one review costs, on a bot and a stand-in of this machine."""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import re
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import as_file, files
from pathlib import Path
from statistics import median

import aiohttp

from bot.standin import PullRequest, Repository, StandIn
from bot.standin.gate import CREATES_CONTENT
from bot.standin.state import Call
from tests.bot.conftest import Folder
from tests.bot.test_serving import free_port
from tests.capacity.costs import KEPT, Cost, Costs, Kind
from tests.stress.repositories import module

TICKS = os.sysconf("SC_CLK_TCK")
AT_REST_SECONDS = 8.0
PATIENCE_SECONDS = 300.0
FILES = 30
Content = dict[str, str | bytes | None]


@dataclass(frozen=True)
class Processor:
    """Processor time of a process and of its ended children, in seconds."""

    own: float
    children: float

    @classmethod
    def of(cls, process: int) -> Processor:
        """Read it from /proc; fields 14 to 17 of `stat`."""
        fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        user, system, child_user, child_system = (int(field) / TICKS for field in fields[11:15])
        return cls(user + system, child_user + child_system)

    def __sub__(self, other: Processor) -> Processor:
        return Processor(self.own - other.own, self.children - other.children)


def sample(side: str) -> Content:
    """Return one side of the demo's repository."""
    with as_file(files("bot.demo").joinpath("sample", side)) as folder:
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def change(kind: Kind, round_: int) -> Content:
    """Return what a pull request of a kind changes; no two rounds are alike, or results would be found again."""
    base, head = sample("base"), sample("head")
    mark = f"\n# Round {round_}.\n".encode()
    match kind:
        case "documentation":
            return {"README.md": _bytes(base["README.md"]) + mark}
        case "clean":
            return {"train.py": _bytes(base["train.py"]) + mark}
        case "large":
            modules: Content = {
                f"models/block{number}.py": module(number).encode() + mark for number in range(FILES - 1)
            }
            return modules | {"train.py": _bytes(head["train.py"]) + mark}
        case _:
            return {**head, "train.py": _bytes(head["train.py"]) + mark}


def _bytes(content: str | bytes | None) -> bytes:
    assert isinstance(content, bytes)
    return content


@dataclass
class Bench:
    """A bot in a process of its own, and the GitHub that it speaks to."""

    github: StandIn
    repository: Repository
    folder: Folder
    process: int
    port: int
    at_rest: float = 0.0
    """Processor time that a second of nothing to do takes."""

    async def settle(self) -> None:
        """Wait until there is nothing to do, and measure what that takes."""
        await self._idle()
        # What a start does besides is over by then.
        await asyncio.sleep(AT_REST_SECONDS)
        before = Processor.of(self.process)
        await asyncio.sleep(AT_REST_SECONDS)
        self.at_rest = (Processor.of(self.process) - before).own / AT_REST_SECONDS

    async def _idle(self) -> None:
        async with aiohttp.ClientSession() as session, asyncio.timeout(PATIENCE_SECONDS):
            while True:
                try:
                    async with session.get(f"http://127.0.0.1:{self.port}/metrics") as answer:
                        if "preflight_jobs_unfinished 0.0" in await answer.text():
                            return
                except aiohttp.ClientConnectionError:
                    pass
                await asyncio.sleep(0.2)

    async def cost(self, action: str, pull: PullRequest) -> Cost:
        """Deliver an event, wait for the end of the review, and add up."""
        calls, before = len(self.github.log), Processor.of(self.process)
        began = asyncio.get_running_loop().time()
        delivery = await self.github.deliver("pull_request", action, pull=pull)
        assert delivery.status_code == 202
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not any(run.head_sha == pull.head_sha and run.status == "completed" for run in self.github.checks):
                await asyncio.sleep(0.1)
        await self._idle()
        lasted = asyncio.get_running_loop().time() - began
        spent = Processor.of(self.process) - before
        return add_up(self.github.log[calls:], spent.children, max(0.0, spent.own - self.at_rest * lasted))


def add_up(calls: Sequence[Call], analysis_seconds: float, worker_seconds: float) -> Cost:
    """Count calls by what they cost at GitHub; tokens are asked for once an hour, and left out."""
    rest = [call for call in calls if call.operation not in ("graphql", "apps/create-installation-access-token")]
    reads = [call for call in rest if call.method == "GET"]
    writes = [call for call in rest if call.method != "GET"]
    texts = [str((call.body or {}).get("query", "")) for call in calls if call.operation == "graphql"]
    mutations = [text for text in texts if text.lstrip().startswith("mutation")]
    return Cost(
        reads=sum(call.counted for call in reads),
        unchanged=sum(not call.counted for call in reads),
        writes=len(writes),
        content=sum(call.operation in CREATES_CONTENT for call in writes),
        queries=len(texts) - len(mutations),
        mutations=len(mutations),
        analysis_seconds=analysis_seconds,
        worker_seconds=worker_seconds,
    )


@asynccontextmanager
async def bench(folder: Path) -> AsyncIterator[Bench]:
    """Start a stand-in and a bot, with the settings that an operator would have, and end both."""
    code = Folder(folder / "leaf-doctor")
    code.commit(sample("base"))
    async with StandIn() as github:
        repository = github.add_repository(code.path, owner="acme", name="leaf-doctor")
        port = free_port()
        github.webhook_url = f"http://127.0.0.1:{port}/webhook"
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bot", "serve", "--host", "127.0.0.1", "--port", str(port)),
            env={name: os.environ[name] for name in ("PATH", "HOME", "LANG", "PYTHONPATH") if name in os.environ}
            | {
                "PREFLIGHT_APP_ID": str(github.app.id),
                "PREFLIGHT_PRIVATE_KEY": github.app.private_key,
                "PREFLIGHT_WEBHOOK_SECRET": github.app.webhook_secret,
                "PREFLIGHT_DATABASE_URL": f"sqlite:///{folder / 'queue.sqlite3'}",
                "PREFLIGHT_RESULTS_FOLDER": str(folder / "results"),
                "PREFLIGHT_GITHUB_API_URL": github.url,
                "PREFLIGHT_WRITE_INTERVAL_SECONDS": "0",
                "PREFLIGHT_SYNCHRONIZE_DELAY_SECONDS": "0",
            },
            stderr=asyncio.subprocess.DEVNULL,
        )
        try:
            yield Bench(github, repository, code, process.pid, port)
        finally:
            process.send_signal(signal.SIGTERM)
            await process.wait()


async def measure(rounds: int) -> dict[Kind, list[Cost]]:
    """Review pull requests of every kind, `rounds` of each."""
    costs: dict[Kind, list[Cost]] = {}
    with tempfile.TemporaryDirectory(prefix="preflight-capacity-") as name:
        async with bench(Path(name)) as at:
            await at.settle()
            for round_ in range(rounds + 1):
                for kind in ("documentation", "clean", "findings", "large"):
                    branch = f"{kind}-{round_}"
                    at.folder.commit(change(kind, round_), branch)
                    pull = at.github.open_pull(at.repository, base="main", head=branch)
                    cost = await at.cost("opened", pull)
                    again: Cost | None = None
                    if kind == "findings":
                        at.folder.commit({"train.py": _bytes(change(kind, round_)["train.py"]) + b"# Again.\n"}, branch)
                        at.github.push(pull, branch)
                        again = await at.cost("synchronize", pull)
                    if round_ == 0:
                        # The first ones also read what stays the same from then on: configuration, base, results.
                        continue
                    costs.setdefault(kind, []).append(cost)
                    if again is not None:
                        costs.setdefault("same-again", []).append(again)
                    print(kind, cost, again or "", flush=True)
    return costs


def middle(costs: Sequence[Cost]) -> Cost:
    """Return the median of each figure."""
    values: dict[str, float | int] = {}
    for field in Cost.model_fields:
        value = median(getattr(cost, field) for cost in costs)
        values[field] = round(value, 2) if field.endswith("_seconds") else round(value)
    return Cost.model_validate(values)


def processor() -> str:
    """Return the name of this machine's processor."""
    found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    return found[1].strip() if found else platform.machine()


def described(costs: Mapping[Kind, Sequence[Cost]], rounds: int) -> Costs:
    """Add when and where."""
    where = (
        f"{datetime.now(UTC).date()}, {processor()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"medians of {rounds} rounds"
    )
    kinds = {kind: middle(each) for kind, each in costs.items()}
    # What goes below is noise of what the process takes at rest: every other kind does more than this one.
    least = kinds["documentation"].worker_seconds
    kinds = {
        kind: cost.model_copy(update={"worker_seconds": max(least, cost.worker_seconds)})
        for kind, cost in kinds.items()
    }
    return Costs(measured=where, kinds=kinds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    found = described(asyncio.run(measure(options.rounds)), options.rounds)
    KEPT.write_text(found.model_dump_json(indent=2) + "\n", encoding="utf-8")
    print(found.model_dump_json(indent=2))
