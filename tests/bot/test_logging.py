"""Logs: JSON, with the ids of the job, and without secrets."""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from bot.observability.redaction import Redaction, bound
from tests.bot.conftest import BUGGY, Bench

KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\nMIIEdef\n-----END RSA PRIVATE KEY-----"


class Lines:
    """What was logged."""

    def __init__(self) -> None:
        self.stream = io.StringIO()

    def read(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]


@pytest.fixture
def lines() -> Iterator[Lines]:
    lines = Lines()
    handler = logging.StreamHandler(lines.stream)
    handler.setFormatter(Redaction(["hush-hush-hush", KEY]))
    logger = logging.getLogger("bot")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield lines
    logger.removeHandler(handler)
    logger.setLevel(level)


async def test_every_line_of_a_job_names_its_delivery_installation_and_pull_request(bench: Bench, lines: Lines) -> None:
    pull = bench.open({"train.py": BUGGY})
    bench.github.app.permissions["pull_requests"] = "read"
    await bench.review(pull)

    told = lines.read()
    assert len(told) >= 2, "the refused review and the outcome"
    for line in told:
        assert line["delivery"] == "job"
        assert (line["installation"], line["pull_request"]) == (bench.repository.installation_id, pull.number)
        assert line["repository_id"] == bench.repository.id
        assert line["level"] in ("info", "warning")
        assert line["timestamp"].endswith("Z")


def test_ids_end_with_their_block(lines: Lines) -> None:
    with bound(delivery="guid", installation=7):
        logging.getLogger("bot.deliveries.receiver").warning("inside")
    logging.getLogger("bot.deliveries.receiver").warning("outside %s", "now")

    inside, outside = lines.read()
    assert (inside["event"], inside["delivery"], inside["installation"]) == ("inside", "guid", 7)
    assert (outside["event"], outside["logger"]) == ("outside now", "bot.deliveries.receiver")
    assert "delivery" not in outside


def test_no_secret_stands_in_a_message_an_id_or_a_traceback(lines: Lines) -> None:
    logger = logging.getLogger("bot.deliveries.receiver")
    with bound(delivery="ghs_" + "a1B2" * 9):
        logger.info("the secret is %s", "hush-hush-hush")
    try:
        raise ValueError(KEY)
    except ValueError:
        logger.error("failed", exc_info=sys.exc_info())

    text = lines.stream.getvalue()
    for secret in ("hush-hush-hush", "a1B2a1B2", "MIIEabc", "MIIEdef", "BEGIN RSA"):
        assert secret not in text
    told, failed = lines.read()
    assert told["event"] == "the secret is [secret]"
    assert "ValueError" in failed["exception"]


def test_a_line_stays_a_line_whatever_is_in_it(lines: Lines) -> None:
    logging.getLogger("bot").info("one\ntwo \u2028 \x1b[31m %s", {"a": 1})
    (line,) = lines.read()
    assert line["event"].startswith("one\ntwo")
    assert "\x1b" not in lines.stream.getvalue()


def test_text_for_a_terminal() -> None:
    record = logging.LogRecord("bot", logging.INFO, __file__, 1, "hello %s", ("there",), None)
    with bound(delivery="guid"):
        text = Redaction((), "text").format(record)
    assert "hello there" in text
    assert "delivery=guid" in text
