"""The `preflight-bot` command."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import sqlalchemy as sa

from bot.listening import CannotListen
from bot.observability.redaction import configure_logging
from bot.settings import SETTINGS_FILE, Settings, SettingsError, StorageSettings, settings_file
from bot.storage.database import UnsupportedDatabase

SWITCH_SECONDS = 0.0005


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the commands. Returns 2 where settings, address or database do not do."""
    try:
        return _run(list(sys.argv[1:] if arguments is None else arguments))
    except (CannotListen, UnsupportedDatabase) as error:
        print(f"preflight-bot: {error}", file=sys.stderr)
    except sa.exc.ArgumentError:
        # Never the address itself: it may hold a password.
        print(
            "preflight-bot: PREFLIGHT_DATABASE_URL is no address such as sqlite:///preflight.sqlite3", file=sys.stderr
        )
    except sa.exc.OperationalError as error:
        told = str(error.orig).strip().splitlines() or [type(error).__name__]
        print(f"preflight-bot: the database of PREFLIGHT_DATABASE_URL does not answer: {told[0]}", file=sys.stderr)
    return 2


def _run(given: list[str]) -> int:
    if given[:1] == ["demo"]:
        # The demo has its own options, and needs no settings.
        from bot.demo import main as demo

        return demo(given[1:])
    options = _parser().parse_args(given)
    if options.command == "setup":
        from bot.setup.command import FileStore, PrintStore, run

        return run(
            host=options.host,
            port=options.port,
            public_url=options.url,
            organisation=options.organisation,
            github_url=options.github,
            store=PrintStore() if options.print else FileStore(options.output),
        )
    try:
        if options.command == "serve" and not Settings.names_an_app() and not _registered(options):
            return 1
        # Who copies or migrates the database need not know the App's secrets.
        storage = StorageSettings.from_environment()
        settings = Settings.from_environment() if options.command in ("serve", "worker") else None
    except SettingsError as error:
        print(f"preflight-bot: these settings are missing or wrong:\n{error}", file=sys.stderr)
        return 2
    configure_logging(storage.log_level, settings.secrets() if settings else (), storage.log_format)
    if options.command == "backup":
        return _back_up(storage.database_url, options.file)
    from bot import service

    if settings is None:
        asyncio.run(service.migrate(storage))
        return 0
    if options.command == "worker":
        return _until_signalled(lambda stop: service.work(settings, stop=stop, host=options.host, port=options.port))
    return _until_signalled(
        lambda stop: service.serve(
            settings, host=options.host, port=options.port, worker=not options.no_worker, stop=stop
        )
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="preflight-bot", description="The Preflight GitHub App.")
    commands = parser.add_subparsers(dest="command", required=True)
    serve = commands.add_parser("serve", help="receive webhooks and, by default, work in the same process")
    serve.add_argument("--host", default="0.0.0.0")
    serve.add_argument("--port", type=int, default=8000)
    serve.add_argument("--no-worker", action="store_true", help="only receive; run `preflight-bot worker` beside it")
    worker = commands.add_parser("worker", help="only work on what was received")
    worker.add_argument("--host", default="0.0.0.0")
    worker.add_argument("--port", type=int, help="answer /healthz, /readyz and /metrics there; nowhere by default")
    commands.add_parser("migrate", help="bring the tables of the database up to date, and end")
    backup = commands.add_parser("backup", help="copy the SQLite database while it is in use")
    backup.add_argument("file", type=Path, help="file to write; an older one is replaced once the copy is whole")
    commands.add_parser("demo", help="review a pull request on a local stand-in for GitHub")
    setup = commands.add_parser("setup", help="register the App at GitHub, step by step")
    setup.add_argument("--url", default="", help="public address of the server, such as https://preflight.example.org")
    setup.add_argument("--organisation", help="register it for this organisation instead of your own account")
    setup.add_argument("--github", help="address of the GitHub to register at (default: chosen on the page)")
    setup.add_argument(
        "--output", type=Path, default=Path(SETTINGS_FILE), help="file that receives the secrets (mode 0600)"
    )
    setup.add_argument("--print", action="store_true", help="print the secrets instead, for a secret manager")
    setup.add_argument("--host", default="127.0.0.1")
    setup.add_argument("--port", type=int, default=8765)
    return parser


def _back_up(database_url: str, target: Path) -> int:
    from bot.storage.backup import BackupFailed, back_up

    try:
        written = back_up(database_url, target)
    except BackupFailed as failure:
        print(f"preflight-bot: {failure}", file=sys.stderr)
        return 1
    print(f"{target}: {written} bytes")
    return 0


def _registered(options: argparse.Namespace) -> bool:
    """Open the server's own `/setup` until there is an App."""
    from bot.clock import SystemClock
    from bot.setup.command import register_first
    from bot.setup.door import SharedDoor
    from bot.storage.database import create_engine

    # Several servers have no App at the same time only where they share PostgreSQL.
    url = StorageSettings.from_environment().database_url
    shared = not url.startswith("sqlite")
    door = SharedDoor(create_engine(url), SystemClock().now) if shared else None

    done: list[bool] = []

    async def register(stop: asyncio.Event) -> None:
        done.append(
            await register_first(
                host=options.host,
                port=options.port,
                output=settings_file(),
                public_url=os.environ.get("PREFLIGHT_PUBLIC_URL", ""),
                github_url=os.environ.get("PREFLIGHT_GITHUB_URL"),
                stop=stop,
                door=door,
            )
        )

    _until_signalled(register)
    return done == [True]


def _until_signalled(run: Callable[[asyncio.Event], Awaitable[None]]) -> int:
    # Threads write to the database while the loop answers: at the usual 5 ms each hand-over would cost that much.
    sys.setswitchinterval(SWITCH_SECONDS)

    async def until() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        await run(stop)

    asyncio.run(until())
    return 0


if __name__ == "__main__":
    sys.exit(main())
