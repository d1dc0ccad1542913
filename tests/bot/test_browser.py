"""A newcomer's way in a real browser: set-up, installation, pull request, report, savings; light, dark, and on a phone.

Needs Chromium with its driver (Debian: `chromium`, `chromium-driver`) and selenium. With `PREFLIGHT_SCREENSHOTS=FOLDER`
a picture of each page is kept there.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from bot.demo import sample
from bot.demo.page import Page
from bot.demo.shown import Shown
from bot.service import running
from bot.settings import Settings
from bot.setup import command
from bot.setup.storing import read_settings
from bot.standin import PullRequest, StandIn

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

from selenium.common.exceptions import StaleElementReferenceException  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.support.wait import WebDriverWait  # noqa: E402

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="there is no chromium with its chromedriver")

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--hide-scrollbars",
)  # fmt: skip
PATIENCE_SECONDS = 240
DESKTOP, PHONE = 1200, 390
LOOKS = [("light", DESKTOP), ("dark", DESKTOP), ("light", PHONE), ("dark", PHONE)]


class Browser:
    """Chromium, as a person uses it."""

    def __init__(self, profile: Path) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(DRIVER))
        self.look("light", DESKTOP)

    def look(self, scheme: str, width: int, height: int = 900) -> None:
        """Take the light or the dark look, at some width in CSS pixels."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width == PHONE}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def until(self, holds: Callable[[], Any]) -> None:
        """Wait until something holds."""
        waiting = WebDriverWait(self.driver, PATIENCE_SECONDS, ignored_exceptions=[StaleElementReferenceException])
        waiting.until(lambda _driver: holds())

    def sees(self, words: str) -> None:
        """Wait for words on the page."""
        self.until(lambda: words in self.text)

    @property
    def text(self) -> str:
        return str(self.one("body").text)

    def one(self, selector: str) -> Any:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def click(self, words: str) -> None:
        """Press the button or follow the link with these words."""
        found = f"//*[self::a or self::button][contains(normalize-space(.), '{words}')]"
        self.driver.find_element(By.XPATH, found).click()

    def check_every_look(self, name: str) -> None:
        """The page fits its width, and is light or dark as asked; a picture is kept where one is wanted."""
        folder = os.environ.get("PREFLIGHT_SCREENSHOTS")
        for scheme, width in LOOKS:
            self.look(scheme, width)
            assert self.driver.execute_script("return document.documentElement.scrollWidth") <= width, (name, width)
            colour = self.driver.execute_script("return getComputedStyle(document.body).backgroundColor")
            brightness = sum(int(part) for part in colour[4:-1].split(",")[:3]) / 3
            assert (brightness > 200) == (scheme == "light"), (name, scheme, colour)
            if folder:
                height = self.driver.execute_script("return document.documentElement.scrollHeight")
                self.look(scheme, width, min(height, 8000))
                self.driver.save_screenshot(str(Path(folder) / f"{name}-{scheme}-{width}.png"))
        self.look("light", DESKTOP)

    def complaints(self) -> list[str]:
        """What the console says: refused scripts and styles, files that are not there."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    made = Browser(tmp_path / "profile")
    yield made
    made.driver.quit()


def set_up(browser: Browser, link: str) -> None:
    """From the printed link to the installed App."""
    browser.driver.get(link)
    browser.sees("What the App may do")
    browser.check_every_look("setup")
    # The field of the organisation appears with its choice, without any script.
    assert not browser.one("#organisation").is_displayed()
    browser.one("[value=organisation]").click()
    browser.one("#organisation").send_keys("not a name")
    browser.click("Continue")
    browser.sees("The organisation's name as it stands in its address")
    browser.one("#organisation").clear()
    browser.one("#organisation").send_keys("greenhouse")
    browser.click("Continue")
    browser.sees("Create it at")
    browser.check_every_look("confirm")
    browser.click("Create the App at")
    browser.sees("Create a GitHub App for greenhouse")
    browser.click("Create GitHub App")
    browser.sees("preflight is registered")
    browser.check_every_look("registered")
    browser.click("Install it at")
    browser.sees("greenhouse/leaf-doctor")
    browser.click("Install")
    browser.sees("Installed preflight")


def read_report(browser: Browser, pull: str, report: str) -> None:
    """From the pull request's page to the report, its timeline, its savings, and the installation."""
    browser.driver.get(pull)
    browser.sees("wants to merge into")
    browser.check_every_look("pull")
    browser.driver.get(report)
    browser.sees("Continue as")
    browser.one("button[value=ada]").click()
    browser.sees("Memory over time")
    browser.check_every_look("report")
    assert "put into training mode here" in browser.text
    # The timeline tells what was live under the pointer.
    at_rest = browser.one(".reading").text
    plot = browser.one(".scroll svg")
    browser.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", plot)
    ActionChains(browser.driver).move_to_element(plot).perform()
    browser.until(lambda: browser.one(".reading").text != at_rest and "reserved" in browser.one(".reading").text)
    # A tick plays the run again, in place.
    outcome = browser.one(".outcome")
    assert "does not fit" in outcome.text
    browser.one("[value=amp-bf16]").click()
    browser.until(lambda: "with 1 change" in browser.one(".outcome").text)
    assert "does not fit" not in browser.one(".outcome").text and "fits" in browser.one(".outcome").text
    assert "with=amp-bf16" in browser.driver.current_url
    browser.driver.refresh()
    browser.until(lambda: "with 1 change" in browser.one(".outcome").text)
    browser.check_every_look("savings")
    browser.one(".crumbs a").click()
    browser.sees("Estimates against capacity")
    browser.check_every_look("installation")
    browser.click("Sign out")
    browser.sees("Signed out")


@asynccontextmanager
async def serving(settings: Settings, listener: socket.socket) -> AsyncIterator[None]:
    async with running(settings, worker=True) as service:
        runner = web.AppRunner(service.application, access_log=None)
        await runner.setup()
        await web.SockSite(runner, listener).start()
        try:
            yield
        finally:
            await runner.cleanup()


async def reviewed(github: StandIn, pull: PullRequest) -> str:
    """The address of the finished review's report."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not any(run.status == "completed" for run in github.checks):
            await asyncio.sleep(0.05)
    (run,) = github.checks
    assert run.details_url is not None, run.summary
    return run.details_url


async def test_from_the_set_up_to_the_savings(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    listener.close()
    root, output = f"http://127.0.0.1:{port}", tmp_path / "settings.env"
    async with StandIn(enterprise=True) as github:
        repository = github.add_repository(sample.write(tmp_path), owner="greenhouse", installed=False)
        pull = github.open_pull(repository, base=sample.BASE, head=sample.HEAD, title=sample.TITLE, author="ada")
        github.set_permission(repository, "ada", "write")
        registering = asyncio.create_task(
            command.register_first(
                host="127.0.0.1", port=port, output=output, public_url=root, github_url=github.web_url,
                stop=asyncio.Event(),
            )
        )  # fmt: skip
        while not (printed := capsys.readouterr().out):
            await asyncio.sleep(0)
        link = next(word for word in printed.split() if word.startswith(root))
        await asyncio.to_thread(set_up, browser, link.rstrip(";"))
        assert await registering and repository.installed

        monkeypatch.setenv("PREFLIGHT_SETTINGS_FILE", str(output))
        settings = Settings.from_environment(
            {**read_settings(output), "PREFLIGHT_DATABASE_URL": f"sqlite:///{tmp_path / 'bot.sqlite3'}"}
        ).model_copy(update={"write_interval_seconds": 0.0, "reconcile_on_start": False})
        async with serving(settings, socket.create_server(("127.0.0.1", port))):
            await github.deliver("pull_request", "opened", pull=pull)
            report = await reviewed(github, pull)
            assert report.startswith(f"{root}/reports/{repository.id}/1/")
            page = web.AppRunner(Page(Shown(github, pull)).application(), access_log=None)
            await page.setup()
            await web.TCPSite(page, "127.0.0.1", 0).start()
            address = f"http://127.0.0.1:{page.addresses[0][1]}/"
            await asyncio.to_thread(read_report, browser, address, report)
            await page.cleanup()
    # The one mistake that was made on purpose, in the set-up's form.
    assert [each for each in browser.complaints() if "status of 422" not in each] == []
