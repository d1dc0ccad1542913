"""The hub of models: asked for configurations alone, only where it is named, and never in the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from bot.github.egress import GitHubConnector
from bot.github.models import ChangedFile
from bot.review.analysis import Limits, ProcessAnalyst
from bot.review.hub import LARGEST_BYTES, Hub
from bot.review.reading import Sides
from engine.settings import Settings
from tests.bot.conftest import FakeClock

LIMITS = Limits(seconds=60, memory_bytes=4 * 2**30)
LLAMA = {
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "vocab_size": 1000,
    "torch_dtype": "float32",
}
SCRIPT = """import torch
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("acme/house-model").cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(100):
    ids = torch.randint(0, 1000, (4, 128), device="cuda")
    model(input_ids=ids, labels=ids).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


class Server:
    """A hub of one model, with its bad days."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        match request.match_info["rest"].partition("/resolve/")[0]:
            case "acme/house-model":
                return web.json_response(LLAMA)
            case "acme/elsewhere":
                raise web.HTTPFound("http://127.0.0.2:1/config.json")
            case "acme/large":
                return web.Response(body=b" " * (LARGEST_BYTES + 10))
            case "acme/deep":
                return web.Response(text="[" * 100_000)
            case "acme/broken":
                return web.Response(status=503)
        return web.Response(status=404)


@pytest.fixture
async def server() -> AsyncIterator[tuple[Server, str]]:
    server = Server()
    application = web.Application()
    application.router.add_get("/{rest:.*}", server.answer)
    async with TestServer(application) as running:
        yield server, str(running.make_url("/"))


async def test_a_configuration_is_asked_for_once_a_day_and_trouble_is_nobodys(server: tuple[Server, str]) -> None:
    log, url = server
    clock = FakeClock()
    async with aiohttp.ClientSession(connector=GitHubConnector((url,))) as session:
        hub = Hub(session, url, clock)
        assert await hub.configurations(["acme/house-model", "acme/house-model"]) == {"acme/house-model": LLAMA}
        assert await hub.configurations(["acme/house-model", "gone"]) == {"acme/house-model": LLAMA}
        assert log.asked == ["/acme/house-model/resolve/main/config.json", "/gone/resolve/main/config.json"]
        for name in ("acme/elsewhere", "acme/large", "acme/deep", "acme/broken"):
            assert await hub.configurations([name]) == {}
        clock.time += 24 * 3600 + 1
        await hub.configurations(["acme/house-model"])
    assert len(log.asked) == 7


@pytest.mark.parametrize("name", ["../etc", "a/b/c", "a/../b", "/a", "a b", "", "a/b?c=d", "http://x/y", "a" * 300])
async def test_what_is_no_name_is_not_asked_for(server: tuple[Server, str], name: str) -> None:
    log, url = server
    async with aiohttp.ClientSession() as session:
        assert await Hub(session, url, FakeClock()).configurations([name]) == {}
    assert not log.asked


class Known:
    """A hub without a network."""

    def __init__(self) -> None:
        self.asked: list[Sequence[str]] = []

    async def configurations(self, names: Sequence[str]) -> Mapping[str, dict[str, Any]]:
        self.asked.append(tuple(names))
        return {"acme/house-model": LLAMA}


async def test_an_estimate_knows_what_the_hub_knows_where_one_is_named() -> None:
    sides = Sides({}, {"train.py": SCRIPT})
    changed = [ChangedFile(filename="train.py", status="added")]
    hub = Known()

    async def asked(analyst: ProcessAnalyst) -> Any:
        found = await analyst.estimate(sides, changed, Settings(), ["t4"], {})
        return found.report

    without, with_hub = await asyncio.gather(asked(ProcessAnalyst(LIMITS)), asked(ProcessAnalyst(LIMITS, hub=hub)))
    assert without.model.parameters is None
    assert with_hub.model.evidence == "config"
    assert with_hub.memory is not None
    assert hub.asked == [("acme/house-model",)]
