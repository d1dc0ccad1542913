"""Registering the App: the pages of the bot's /setup and of `preflight-bot setup`, against the stand-in."""

from __future__ import annotations

import asyncio
import re
import socket
import stat
from collections.abc import AsyncIterator
from html import unescape
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.test_utils import TestClient, TestServer

from bot.github.models import ManifestConversion
from bot.settings import Settings, SettingsError, with_file
from bot.setup import command
from bot.setup.conversion import ConversionFailed, convert
from bot.setup.door import HOUR_SECONDS, SharedDoor
from bot.setup.hosts import GitHubHost, GuardedResolver, NotAHost, RefusedAddress, api_url, is_refused
from bot.setup.manifest import EVENTS, FILE, PERMISSIONS, Manifest, registration_url
from bot.setup.server import Proposal, SetupPages, add_locked, is_public_address
from bot.setup.storing import FileStore, PrintStore, settings_text
from bot.standin import StandIn
from bot.storage.database import create_engine

from .conftest import FakeClock

ROOT = Path(__file__).parents[2]
PUBLIC = "https://preflight.example.org"
CHOSEN = {"name": "Preflight", "public_url": PUBLIC, "owner": "account", "github": "github.com"}


class Setup:
    """The pages of one registration, and a browser that was let in."""

    def __init__(self, github: StandIn, store: FileStore | PrintStore, clock: FakeClock) -> None:
        self.pages = SetupPages(store, Proposal(github=GitHubHost.of_operator(github.web_url)), clock=clock)
        application = web.Application()
        self.pages.add_to(application)
        self.github, self.clock = github, clock
        self.browser: TestClient[Any, Any] = TestClient(TestServer(application))

    async def begin(self, **changed: str) -> tuple[str, str]:
        """Fill in the form; returns the address that the confirmation posts to and the page."""
        answer = await self.browser.post("/setup", data={**CHOSEN, **changed})
        page = unescape(await answer.text())
        assert answer.status == 200, page
        found = re.search(r'<form action="([^"]+)"', page)
        assert found is not None
        return found[1], page

    async def state(self) -> str:
        return (await self.begin())[0].partition("state=")[2]


@pytest.fixture
async def setup(tmp_path: Path) -> AsyncIterator[Setup]:
    clock = FakeClock()
    async with StandIn(enterprise=True, clock=clock.now) as github:
        made = Setup(github, FileStore(tmp_path / "settings.env"), clock)
        async with made.browser:
            await made.browser.get(made.pages.link)
            yield made


def test_the_manifest_is_the_file() -> None:
    by_hand = yaml.safe_load((ROOT / "app-manifest.yml").read_text(encoding="utf-8"))
    by_machine = Manifest.of(PUBLIC, f"{PUBLIC}/setup/registered").model_dump()

    assert by_hand["default_permissions"] == by_machine["default_permissions"] == PERMISSIONS
    assert tuple(by_hand["default_events"]) == by_machine["default_events"] == EVENTS
    assert by_machine["callback_urls"] == (f"{PUBLIC}/login/callback",)


def test_each_permission_says_why() -> None:
    assert set(FILE.why) == set(PERMISSIONS)


def test_nothing_but_reading_is_asked_of_the_code() -> None:
    assert PERMISSIONS["contents"] == "read"


def test_addresses() -> None:
    assert registration_url("https://github.com", None, "s") == "https://github.com/settings/apps/new?state=s"
    assert (
        registration_url("https://git.example.org/", "acme", "s")
        == "https://git.example.org/organizations/acme/settings/apps/new?state=s"
    )
    assert api_url("https://github.com") == "https://api.github.com"
    assert api_url("https://git.example.org") == "https://git.example.org/api/v3"
    assert api_url("https://acme.ghe.com") == "https://api.acme.ghe.com"


async def test_the_page_says_what_is_asked_and_why(setup: Setup) -> None:
    page = unescape(await (await setup.browser.get("/setup")).text())
    for why in FILE.why.values():
        assert why in page


async def test_the_code_becomes_settings_that_only_the_owner_reads(
    setup: Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    action, _ = await setup.begin()
    assert action.startswith(f"{setup.github.web_url}/settings/apps/new?state=")
    state = action.partition("state=")[2]
    answer = await setup.browser.get("/setup/registered", params={"state": state, "code": "standin-manifest-code"})
    page = await answer.text()

    assert answer.status == 200, page
    assert f"{setup.github.web_url}/apps/preflight/installations/new" in page
    output = tmp_path / "settings.env"
    assert stat.S_IMODE(output.stat().st_mode) == 0o600
    for secret in ("PRIVATE KEY", setup.github.app.client_secret, setup.github.app.webhook_secret):
        assert secret not in page
    monkeypatch.setenv("PREFLIGHT_SETTINGS_FILE", str(output))
    settings = Settings.from_environment(with_file({}))
    assert settings.app_id == setup.github.app.id
    assert settings.private_key.get_secret_value().strip() == setup.github.app.private_key.strip()
    assert settings.webhook_secret.get_secret_value() == setup.github.app.webhook_secret
    assert settings.client_secret.get_secret_value() == setup.github.app.client_secret
    assert settings.public_url == PUBLIC and settings.web_url == setup.github.web_url


async def test_the_settings_can_be_printed_for_a_secret_manager(capsys: pytest.CaptureFixture[str]) -> None:
    clock = FakeClock()
    async with StandIn(enterprise=True, clock=clock.now) as github:
        printing = Setup(github, PrintStore(), clock)
        async with printing.browser:
            await printing.browser.get(printing.pages.link)
            query = {"state": await printing.state(), "code": "standin-manifest-code"}
            await printing.browser.get("/setup/registered", params=query)
    assert f"PREFLIGHT_APP_ID={github.app.id}\n" in capsys.readouterr().out


async def test_only_the_browser_with_the_printed_link_gets_in_and_once(setup: Setup) -> None:
    jar_less: TestClient[Any, Any] = TestClient(setup.browser.server)
    for path in ("/setup", "/setup?token=wrong", setup.pages.link, "/setup/registered?state=a&code=b"):
        answer = await jar_less.get(path, allow_redirects=False)
        assert answer.status == 403, path
        assert "permissions" not in await answer.text()
    assert (await jar_less.post("/setup", data=CHOSEN)).status == 403


async def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(setup: Setup) -> None:
    fresh = SetupPages(PrintStore())
    application = web.Application()
    fresh.add_to(application)
    async with TestClient(TestServer(application)) as browser:
        answer = await browser.get(fresh.link, allow_redirects=False, headers={"X-Forwarded-Proto": "https"})
    cookie = answer.headers["Set-Cookie"]
    assert answer.headers["Location"] == "/setup"
    assert {"HttpOnly", "SameSite=Lax", "Secure", "Path=/setup"} <= {part.strip() for part in cookie.split(";")}


async def test_a_form_of_another_site_is_refused(setup: Setup) -> None:
    for headers in (
        {"Origin": "https://evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        assert (await setup.browser.post("/setup", data=CHOSEN, headers=headers)).status == 403
    # A proxy may call this server by another name.
    behind = {"Origin": "https://preflight.example.org", "Sec-Fetch-Site": "same-origin"}
    assert (await setup.browser.post("/setup", data=CHOSEN, headers=behind)).status == 200


@pytest.mark.parametrize(
    ("state", "code", "status"),
    [
        ("wrong", "standin-manifest-code", 403),
        ("", "standin-manifest-code", 403),
        (None, "", 502),
        (None, "../../user", 502),
        (None, "unknown", 502),
    ],
)
async def test_what_did_not_begin_here_is_refused(
    setup: Setup, tmp_path: Path, state: str | None, code: str, status: int
) -> None:
    query = {"state": await setup.state() if state is None else state, "code": code}
    assert (await setup.browser.get("/setup/registered", params=query)).status == status
    assert not (tmp_path / "settings.env").exists()


async def test_a_registration_is_good_for_an_hour(setup: Setup) -> None:
    query = {"state": await setup.state(), "code": "standin-manifest-code"}
    setup.clock.time += HOUR_SECONDS + 1
    assert (await setup.browser.get("/setup/registered", params=query)).status == 403


async def test_after_the_set_up_everything_is_locked(setup: Setup) -> None:
    query = {"state": await setup.state(), "code": "standin-manifest-code"}
    await setup.browser.get("/setup/registered", params=query)
    for path in ("/setup", setup.pages.link, f"/setup/registered?state={query['state']}&code=x"):
        answer = await setup.browser.get(path)
        assert answer.status == 403 and "locked" in await answer.text()
    assert (await setup.browser.post("/setup", data=CHOSEN)).status == 403


async def test_a_server_with_an_app_has_no_set_up() -> None:
    application = web.Application()
    add_locked(application)
    async with TestClient(TestServer(application)) as browser:
        assert (await browser.get("/setup")).status == 403
        assert (await browser.get("/static/style.css")).status == 200


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", "<script>alert(1)</script>"),
        ("name", "x" * 35),
        ("public_url", "http://preflight.example.org"),
        ("public_url", "https://preflight.example.org/path"),
        ("public_url", "https://user:word@preflight.example.org"),
        ("public_url", "javascript:alert(1)"),
        ("public_url", 'https://preflight.example.org"$(reboot)'),
        ("organisation", "acme/../../x"),
    ],
)
async def test_a_mistake_is_named_and_nothing_is_sent(setup: Setup, field: str, value: str) -> None:
    changed = {field: value, **({"owner": "organisation"} if field == "organisation" else {})}
    answer = await setup.browser.post("/setup", data={**CHOSEN, **changed})
    page = await answer.text()
    assert answer.status == 422 and f'id="{field}-mistake"' in page
    assert "<script>" not in page and 'name="manifest"' not in page


async def test_an_organisation_registers_at_its_own_address(setup: Setup) -> None:
    action, _ = await setup.begin(owner="organisation", organisation="acme")
    assert action.startswith(f"{setup.github.web_url}/organizations/acme/settings/apps/new?state=")


@pytest.mark.parametrize(
    "name",
    ["", "localhost", "127.0.0.1", "[::1]", "0x7f000001", "2130706433", "10.0.0.1", "host", "a@github.example.org",
     "github.example.org:8080", "github.example.org/api", "http://github.example.org", "metadata.local", "a b.example"],
)  # fmt: skip
def test_what_is_no_plain_host_name_is_refused(name: str) -> None:
    with pytest.raises(NotAHost):
        GitHubHost.from_form(name)


def test_a_host_name_may_be_pasted_as_an_address() -> None:
    assert GitHubHost.from_form(" https://GitHub.Example.org/ ").api_url == "https://github.example.org/api/v3"


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "127.9.9.9", "0.0.0.0", "169.254.169.254", "169.254.0.1", "100.100.100.200", "168.63.129.16",
     "224.0.0.1", "240.0.0.1", "::1", "::", "fe80::1", "fe80::1%eth0", "fd00:ec2::254", "::ffff:127.0.0.1",
     "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:7f00:1::"],
)  # fmt: skip
def test_this_machine_and_its_cloud_are_no_github(address: str) -> None:
    assert is_refused(address)


@pytest.mark.parametrize(
    "address", ["10.1.2.3", "192.168.1.4", "172.16.0.9", "140.82.121.4", "fd12::5", "2606:50c0::1"]
)
def test_private_networks_are_where_enterprise_servers_stand(address: str) -> None:
    assert not is_refused(address)


class Names(AbstractResolver):
    """Resolves every name to one address."""

    def __init__(self, address: str) -> None:
        self.address = address

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host, host=self.address, port=port, family=socket.AF_INET, proto=0, flags=socket.AI_NUMERICHOST
            )
        ]

    async def close(self) -> None:
        """Nothing is open."""


async def test_a_name_that_leads_to_this_machine_gets_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    guarded = GuardedResolver(Names("127.0.0.1"))
    with pytest.raises(RefusedAddress):
        await guarded.resolve("github.example.org")
    with pytest.raises(ConversionFailed):
        await convert(GitHubHost.from_form("github.example.org"), "code", guarded)


async def test_a_redirect_is_not_followed() -> None:
    async def elsewhere(request: web.Request) -> web.Response:
        raise web.HTTPTemporaryRedirect("http://169.254.169.254/latest/meta-data")

    application = web.Application()
    application.router.add_post("/{path:.*}", elsewhere)
    async with TestServer(application) as server:
        with pytest.raises(ConversionFailed, match="307"):
            await convert(GitHubHost.of_operator(f"http://127.0.0.1:{server.port}"), "code")


def test_settings_that_are_there_are_not_overwritten(tmp_path: Path) -> None:
    output = tmp_path / "settings.env"
    output.write_text("PREFLIGHT_APP_ID=1\n", encoding="utf-8")
    assert "exists already" in (FileStore(output).problem() or "")
    with pytest.raises(FileExistsError):
        FileStore(output).keep("PREFLIGHT_APP_ID=2\n")
    assert output.read_text(encoding="utf-8") == "PREFLIGHT_APP_ID=1\n"


@pytest.mark.parametrize("value", ['"; reboot; "', "$(reboot)", "`reboot`", "a\nPREFLIGHT_DATABASE_URL=x"])
def test_an_answer_that_a_shell_would_carry_out_is_refused(value: str) -> None:
    conversion = ManifestConversion(id=1, slug="p", html_url="https://x", pem="k", webhook_secret=value)
    with pytest.raises(ConversionFailed):
        settings_text(conversion, api_url="https://api.github.com", public_url=PUBLIC)


def test_the_environment_wins_over_the_settings_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "s.env").write_text('# ours\nexport PREFLIGHT_APP_ID=1\nPREFLIGHT_CHECK_NAME="From file"\n')
    monkeypatch.setenv("PREFLIGHT_SETTINGS_FILE", str(tmp_path / "s.env"))
    known = with_file({"PREFLIGHT_APP_ID": "2"})
    assert known == {"PREFLIGHT_APP_ID": "2", "PREFLIGHT_CHECK_NAME": "From file"}
    monkeypatch.setenv("PREFLIGHT_SETTINGS_FILE", str(tmp_path))
    with pytest.raises(SettingsError, match="cannot read"):
        with_file({})


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:8000", "http://localhost", "https://a.example", "https://a:8443/"]
)
def test_public_addresses(address: str) -> None:
    assert is_public_address(address)


async def test_a_server_without_an_app_serves_its_set_up_until_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "SHOWN_SECONDS", 0.0)
    output = tmp_path / "settings.env"
    async with (
        StandIn(enterprise=True) as github,
        aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser,
    ):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        root = f"http://127.0.0.1:{port}"
        serving = asyncio.create_task(
            command.register_first(
                host="127.0.0.1", port=port, output=output, public_url=root, github_url=github.web_url,
                stop=asyncio.Event(),
            )
        )  # fmt: skip
        while not (printed := capsys.readouterr().out):
            await asyncio.sleep(0)
        link = re.search(r"http\S+", printed)
        assert link is not None
        while True:
            try:
                form = await browser.get(link[0])
                break
            except aiohttp.ClientConnectionError:
                await asyncio.sleep(0)
        assert form.status == 200 and str(form.url) == f"{root}/setup"
        page = unescape(await (await browser.post(f"{root}/setup", data={**CHOSEN, "public_url": root})).text())
        action = re.search(r'<form action="([^"]+)"', page)
        manifest = re.search(r'name="manifest" value="(.+?)">', page)
        assert action is not None and manifest is not None
        # GitHub's page, its button, and its redirect back to us.
        review = unescape(await (await browser.post(action[1], data={"manifest": manifest[1]})).text())
        state = re.search(r'name="state" value="([^"]+)"', review)
        assert state is not None
        sent = {"manifest": manifest[1], "state": state[1]}
        done = await browser.post(f"{github.web_url}/settings/apps/create", data=sent)
        assert done.status == 200 and str(done.url).startswith(f"{root}/setup/registered"), await done.text()
        assert await serving
    assert output.exists() and github.app.callback_urls == (f"{root}/login/callback",)
    assert github.webhook_url == f"{root}/webhook"


# Several servers of one database


async def test_servers_of_one_database_share_a_link_that_opens_one_of_them_once(tmp_path: Path) -> None:
    clock = FakeClock()
    url = f"sqlite:///{tmp_path / 'shared.sqlite3'}"
    async with StandIn(enterprise=True, clock=clock.now) as github:
        host = GitHubHost.of_operator(github.web_url)
        applications, links = [], set()
        for number in range(2):
            door = SharedDoor(create_engine(url), clock.now)
            store = FileStore(tmp_path / f"settings-{number}.env")
            pages = SetupPages(store, Proposal(github=host), door=door, clock=clock)
            application = web.Application()
            pages.add_to(application)
            applications.append(application)
            links.add(pages.link)
        (link,) = links
        async with TestServer(applications[0]) as one, TestServer(applications[1]) as other:
            jar = aiohttp.CookieJar(unsafe=True)
            async with aiohttp.ClientSession(cookie_jar=jar) as browser, aiohttp.ClientSession() as stranger:
                async with browser.get(one.make_url(link)) as opened:
                    assert opened.status == 200
                async with stranger.get(other.make_url(link)) as again:
                    assert again.status == 403
                # The form is sent to one, and GitHub's answer comes to the other.
                async with browser.post(other.make_url("/setup"), data=CHOSEN) as sent:
                    state = re.search(r"state=([\w-]+)", await sent.text())
                assert state is not None
                query = {"state": state[1], "code": "standin-manifest-code"}
                async with browser.get(one.make_url("/setup/registered"), params=query) as registered:
                    assert registered.status == 200, await registered.text()
                async with browser.get(other.make_url("/setup")) as locked:
                    assert "locked" in await locked.text()
    assert (tmp_path / "settings-0.env").exists() and not (tmp_path / "settings-1.env").exists()


def test_a_used_link_is_replaced_at_the_next_start_and_the_browser_that_is_in_goes_on(tmp_path: Path) -> None:
    clock = FakeClock()
    engine = create_engine(f"sqlite:///{tmp_path / 'shared.sqlite3'}")
    first = SharedDoor(engine, clock.now)
    session = first.session
    assert first.admits(first.token) and not first.admits(first.token)
    second = SharedDoor(engine, clock.now)
    assert second.token != first.token and second.session == session
    clock.time += HOUR_SECONDS + 1
    assert second.admits(second.token)
    assert SharedDoor(engine, clock.now).session != session


async def test_a_server_hears_that_the_app_was_registered_through_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "WATCHED_SECONDS", 0.01)
    engine = create_engine(f"sqlite:///{tmp_path / 'shared.sqlite3'}")
    door = SharedDoor(engine, FakeClock().now)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    waiting = asyncio.create_task(
        command.register_first(
            host="127.0.0.1", port=port, output=tmp_path / "settings.env", public_url=PUBLIC, github_url=None,
            stop=asyncio.Event(), door=door,
        )
    )  # fmt: skip
    SharedDoor(engine, FakeClock().now).close()
    assert await asyncio.wait_for(waiting, 30) is False
    said = capsys.readouterr()
    assert "at whichever server of this database" in said.out
    assert "registered through another server" in said.err
