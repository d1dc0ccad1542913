"""Trading the code that GitHub sends back for the App's id, key and secrets."""

from __future__ import annotations

import re

import aiohttp
from aiohttp.abc import AbstractResolver
from pydantic import ValidationError

from bot.github.models import ManifestConversion
from bot.setup.hosts import GitHubHost, GuardedResolver

CODE = re.compile(r"[A-Za-z0-9_-]{1,200}")
"""It becomes part of an address, so nothing else passes."""
ANSWER_BYTES = 1_000_000
ANSWER_SECONDS = 20


class ConversionFailed(Exception):
    """GitHub gave no App for the code; the message is for people."""


async def convert(host: GitHubHost, code: str, resolver: AbstractResolver | None = None) -> ManifestConversion:
    """Return what GitHub hands over, once, for a code.

    Raises:
        ConversionFailed: when it hands over nothing.
    """
    if not CODE.fullmatch(code):
        raise ConversionFailed("GitHub sent no code. Start again from the first page.")
    url = f"{host.api_url}/app-manifests/{code}/conversions"
    # A host that the operator named at the start may be anywhere; one from a form is looked at when it resolves.
    connector = aiohttp.TCPConnector() if host.trusted else aiohttp.TCPConnector(resolver=resolver or GuardedResolver())
    timeout = aiohttp.ClientTimeout(total=ANSWER_SECONDS)
    headers = {"accept": "application/vnd.github+json", "user-agent": "preflight-setup"}
    try:
        async with (
            aiohttp.ClientSession(connector=connector, trust_env=True, timeout=timeout) as session,
            session.post(url, headers=headers, allow_redirects=False) as response,
        ):
            if response.status != 201:
                raise ConversionFailed(
                    f"{host.name} refused the code ({response.status}). It works once and for an hour; start again."
                )
            body = await response.content.read(ANSWER_BYTES)
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise ConversionFailed(
            f"{host.name} could not be reached from this server ({type(error).__name__}). Start again."
        ) from None
    try:
        return ManifestConversion.model_validate_json(body)
    except ValidationError:
        raise ConversionFailed(f"The answer of {host.name} lacks what was expected. Start again.") from None
