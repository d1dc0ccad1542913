"""`preflight-bot demo`: options, and the course of the demonstration."""

from __future__ import annotations

import argparse
import asyncio
import logging
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web
from pydantic import SecretStr
from rich.console import Console

from bot import messages
from bot.demo import sample, serving, terminal
from bot.demo.shown import Shown
from bot.service import running
from bot.settings import Settings
from bot.standin import PullRequest, StandIn
from bot.standin.git import GitFolder, UnknownRevision

ACCEPTED = 202
PATIENCE_SECONDS = 300.0
LOOK_EVERY_SECONDS = 0.05


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 0 after the review was shown, 1 where the bot did not finish it, 2 for wrong use."""
    options = parser().parse_args(arguments)
    logging.basicConfig(level=logging.ERROR, format="%(message)s")
    console = Console()
    try:
        return asyncio.run(demonstrate(options, console))
    except serving.NotServed as error:
        print(f"preflight-bot demo: {error}", file=sys.stderr)
        return 1
    except UnknownRevision as error:
        print(f"preflight-bot demo: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 0


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="preflight-bot demo",
        description="Reviews a pull request on a stand-in for GitHub on this machine. Nothing leaves it.",
    )
    made.add_argument("--repo", type=Path, help="a local git repository (default: a small training project)")
    made.add_argument("--head", help="the revision that is proposed (default: HEAD)")
    made.add_argument("--base", help="where it would be merged (default: main or master, else the commit before)")
    made.add_argument("--port", type=int, default=0, help="port of the page (default: a free one)")
    made.add_argument("--page", choices=("auto", "always", "never"), default="auto", help=argparse.SUPPRESS)
    return made


async def demonstrate(options: argparse.Namespace, console: Console) -> int:
    with tempfile.TemporaryDirectory(prefix="preflight-demo-") as temporary:
        folder = Path(temporary)
        async with StandIn() as github:
            pull = open_pull(github, options, folder)
            async with bot(github, folder):
                with console.status("Preflight reviews the pull request …"):
                    delivery = await github.deliver("pull_request", "opened", pull=pull)
                    finished = delivery.status_code == ACCEPTED and await reviewed(github, pull)
                shown = Shown(github, pull)
                terminal.show(console, shown)
                if not finished:
                    console.print(f"[red]The bot did not finish this review; it answered {delivery.status_code}.[/red]")
                    return 1
                if shown.check is not None and shown.check.title == messages.BROKEN_TITLE:
                    return 1
                if options.page != "never":
                    await show_pages(shown, options, folder, console)
    return 0


def open_pull(github: StandIn, options: argparse.Namespace, folder: Path) -> PullRequest:
    """The pull request to review: of the given repository, or of the demo's own."""
    if options.repo is None:
        repository = github.add_repository(sample.write(folder), owner="greenhouse", default_branch=sample.BASE)
        pull = github.open_pull(
            repository, base=options.base or sample.BASE, head=options.head or sample.HEAD, title=sample.TITLE,
            body=sample.DESCRIPTION, author="ada",
        )  # fmt: skip
    else:
        git = GitFolder(options.repo)
        try:
            root = Path(git.text("rev-parse", "--absolute-git-dir"))
        except UnknownRevision:
            raise UnknownRevision(f"{options.repo} is no git repository") from None
        name = (root.parent if root.name == ".git" else root).name.removesuffix(".git") or "repository"
        head = options.head or "HEAD"
        base = options.base or base_of(git, head)
        repository = github.add_repository(options.repo, owner="local", name=name)
        pull = github.open_pull(repository, base=base, head=head, author="ada")
        git.merge_base(pull.base_sha, pull.head_sha)
    github.set_permission(repository, "ada", "write")
    return pull


def base_of(git: GitFolder, head: str) -> str:
    """The branch that such a change would be merged into, or the commit before it."""
    for branch in ("main", "master", git.default_branch()):
        if git.is_branch(branch) and git.commit_sha(branch) != git.commit_sha(head):
            return branch
    return f"{head}~1"


@asynccontextmanager
async def bot(github: StandIn, folder: Path) -> AsyncIterator[None]:
    """The real bot, set up for the stand-in as an operator would set it up for GitHub."""
    # The address has to be known before anything is served: it stands in the check run's details link.
    listener = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    github.app.callback_urls = (f"{address}/login/callback",)
    settings = Settings(
        app_id=github.app.id,
        private_key=SecretStr(github.app.private_key),
        webhook_secret=SecretStr(github.app.webhook_secret),
        database_url=f"sqlite:///{folder / 'preflight.sqlite3'}",
        github_api_url=github.url,
        synchronize_delay_seconds=0,
        write_interval_seconds=0,
        reconcile_on_start=False,
        log_level="ERROR",
        client_id=github.app.client_id,
        client_secret=SecretStr(github.app.client_secret),
        public_url=address,
    )
    async with running(settings, worker=True) as service:
        runner = web.AppRunner(service.application, access_log=None)
        await runner.setup()
        try:
            await web.SockSite(runner, listener).start()
            github.webhook_url = f"{address}/webhook"
            yield
        finally:
            await runner.cleanup()


async def reviewed(github: StandIn, pull: PullRequest) -> bool:
    """Waits for the check run of the head to be completed; the bot completes it after all else is posted."""
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not any(run.status == "completed" and run.head_sha == pull.head_sha for run in github.checks):
                await asyncio.sleep(LOOK_EVERY_SECONDS)
    except TimeoutError:
        return False
    return True


async def show_pages(shown: Shown, options: argparse.Namespace, folder: Path, console: Console) -> None:
    """Serve the pages until the person stops it; where nobody watches, open each once and go on."""
    async with serving.serving(shown, options.port, folder) as addresses:
        if options.page == "auto" and not sys.stdin.isatty():
            await serving.prove(addresses, shown.pull.author)
            console.print(
                "The pages of the pull request, its report and the set-up were opened once; a terminal keeps them."
            )
            return
        serving.show(console, addresses)
        await asyncio.Event().wait()
