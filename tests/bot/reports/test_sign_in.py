"""Signing in to the reports with GitHub."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from pydantic import SecretStr
from yarl import URL

from bot.reports.sign_in import SESSION_SECONDS, SIGN_IN_SECONDS, OAuthApp, SignIn
from tests.bot.reports.conftest import Library


async def test_a_stranger_is_sent_to_github_with_state_and_pkce(library: Library) -> None:
    async with library.visitor() as browser:
        answer = await browser.get(await library.keep(), allow_redirects=False)
    query = parse_qs(urlsplit(answer.headers["Location"]).query)
    assert answer.status == 302
    assert answer.headers["Location"].startswith(f"{library.bench.github.web_url}/login/oauth/authorize?")
    assert query["code_challenge_method"] == ["S256"] and len(query["code_challenge"][0]) == 43
    assert len(query["state"][0]) >= 32
    # The verifier stays with us, out of reach of scripts.
    assert {"HttpOnly", "SameSite=Lax"} <= {part.strip() for part in answer.headers["Set-Cookie"].split(";")}


async def test_after_the_sign_in_the_page_asked_for_is_shown(library: Library) -> None:
    path = await library.keep()
    async with library.visitor() as browser:
        answer = await browser.get(await library.callback(browser, "ada", path))
        assert answer.status == 200 and answer.url.path == path
        session = next(cookie for cookie in browser.cookie_jar if cookie.key == "preflight-session")
        assert session["httponly"] and session["samesite"] == "Lax"


@pytest.mark.parametrize("public_url", ["https://preflight.example.org"])
async def test_over_https_cookies_belong_to_this_host_alone(library: Library, public_url: str) -> None:
    oauth = OAuthApp("id", SecretStr("secret"), "https://github.com", "https://api.github.com", public_url)
    async with library.visitor() as browser:
        answer = SignIn(oauth, browser, library.bench.clock).begin("/")
    (cookie,) = answer.cookies.values()
    assert cookie.key == "__Host-preflight-sign-in" and cookie["secure"] and cookie["path"] == "/"
    assert not cookie["domain"]


async def test_an_answer_that_this_browser_did_not_ask_for_signs_nobody_in(library: Library) -> None:
    async with library.visitor() as hers, library.visitor() as his:
        callback = await library.callback(hers, "ada")
        answer = await his.get(callback, allow_redirects=False)
        assert answer.status == 403 and "preflight-session" not in answer.cookies
        wrong = callback.replace("state=", "state=x")
        assert (await hers.get(wrong, allow_redirects=False)).status == 403


async def test_a_code_works_once_and_only_with_its_verifier(library: Library) -> None:
    async with library.visitor() as browser:
        callback = await library.callback(browser, "ada")
        # Another sign-in of the same browser has another verifier and state.
        await browser.get("/", allow_redirects=False)
        assert (await browser.get(callback, allow_redirects=False)).status == 403
        again = await library.callback(browser, "ada")
        assert (await browser.get(again, allow_redirects=False)).status == 303
        assert (await browser.get(again, allow_redirects=False)).status == 403


async def test_a_sign_in_and_a_session_end_in_time(library: Library) -> None:
    path = await library.keep()
    async with library.visitor() as browser:
        callback = await library.callback(browser, "ada")
        library.bench.clock.time += SIGN_IN_SECONDS + 1
        assert (await browser.get(callback, allow_redirects=False)).status == 403
    async with library.visitor("ada") as browser:
        assert (await browser.get(path, allow_redirects=False)).status == 200
        library.bench.clock.time += SESSION_SECONDS + 1
        assert (await browser.get(path, allow_redirects=False)).status == 302


async def test_a_session_of_another_key_is_nobodys(library: Library) -> None:
    async with library.visitor("ada") as browser:
        cookie = next(each for each in browser.cookie_jar if each.key == "preflight-session")
        head, claims, _ = cookie.value.split(".")
        for forged in (f"{head}.{claims}.AAAA", "nonsense", ""):
            browser.cookie_jar.update_cookies(
                {"preflight-session": forged}, URL(f"http://127.0.0.1:{library.server.port}")
            )
            assert (await browser.get("/", allow_redirects=False)).status == 302


async def test_signing_out_ends_it_and_only_from_our_own_page(library: Library) -> None:
    async with library.visitor("ada") as browser:
        refused = await browser.post("/logout", headers={"Origin": "https://evil.example"})
        assert refused.status == 403
        assert (await browser.get("/", allow_redirects=False)).status == 200
        await browser.post("/logout")
        assert (await browser.get("/", allow_redirects=False)).status == 302


@pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example", "/\\evil.example", "/webhook"])
async def test_a_sign_in_leads_to_our_own_pages_only(library: Library, elsewhere: str) -> None:
    async with library.visitor() as browser:
        oauth = OAuthApp("id", SecretStr("secret"), "https://github.com", "https://api.github.com", "http://x")
        sign_in = SignIn(oauth, browser, library.bench.clock)
        (cookie,) = sign_in.begin(elsewhere).cookies.values()
        claims = sign_in._opened(cookie.value, "sign-in")
    assert claims is not None and claims["next"] == "/"


async def test_the_start_page_lists_installations_that_one_sees(library: Library) -> None:
    async with library.visitor("ada") as hers, library.visitor("mallory") as his:
        assert f'href="/installations/{library.bench.repository.installation_id}"' in await (await hers.get("/")).text()
        assert "/installations/" not in await (await his.get("/")).text()
