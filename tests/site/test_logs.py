"""The log of the standalone site: one line each, with the proxy's id of the request, as text or as JSON."""

import json
import logging
import re
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bridge import logs
from tests.harness.http import Reply
from tests.harness.sites import Site

Serve = Callable[..., Site]

REQUEST_ID = "5f3a9c0e7d2b4a61"


def fail(site: Site, data: Path, request_id: str) -> Reply:
    """Something that goes wrong inside: the table of rooms is gone."""
    with sqlite3.connect(data / "ask-bridge.sqlite3") as database:
        database.execute("ALTER TABLE ask_bridge_room RENAME TO elsewhere")
    key = re.findall(r"abk_\w+", site.printed)[0]
    headers = {"Authorization": f"Bearer {key}", "X-Request-ID": request_id}
    return site.request("GET", "/api/v1/rooms/lobby/questions", headers=headers)


def record(message: str, **fields: Any) -> logging.LogRecord:
    made = logging.LogRecord("rooms.live.hub", logging.WARNING, __file__, 1, message, None, None)
    made.__dict__.update(fields)
    return made


@pytest.mark.usefixtures("migrated")
def test_a_line_names_the_request_of_the_proxy(serve: Serve, tmp_path: Path) -> None:
    site = serve()
    assert fail(site, tmp_path / "data", REQUEST_ID).status == 503
    _, errors = site.stop()
    lines = [line for line in errors.splitlines() if "/api/v1/rooms/lobby/questions" in line]
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} ERROR rooms\.api\.endpoint: GET /api/", lines[0])
    # Django has one of its own to say about every 5xx.
    assert all(line.endswith(f" [request {REQUEST_ID}]") for line in lines)
    assert "abk_" not in errors


@pytest.mark.usefixtures("migrated")
def test_json_lines_are_json_and_name_the_request(serve: Serve, tmp_path: Path) -> None:
    site = serve(LOG_FORMAT="json")
    assert fail(site, tmp_path / "data", REQUEST_ID).status == 503
    _, errors = site.stop()
    lines = [json.loads(line) for line in errors.splitlines()]
    told, _ = [line for line in lines if line.get("request_id")]
    assert set(told) == {"time", "level", "logger", "message", "request_id"}
    assert (told["level"], told["logger"], told["request_id"]) == ("ERROR", "rooms.api.endpoint", REQUEST_ID)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", told["time"])
    assert "abk_" not in errors


@pytest.mark.usefixtures("migrated")
def test_a_hook_envelope_that_is_not_understood_is_one_line(serve: Serve) -> None:
    site = serve()
    key = re.findall(r"abk_\w+", site.printed)[0]
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    labels = ["Yes\n2026-11-18 ERROR forged", "Yes\u200b"]
    for tool_input in ({"message": "Go on?"}, {"questions": [{"question": "Go on?", "options": labels}]}):
        envelope = {"hook_event_name": "PreToolUse", "tool_name": "AskUserQuestion", "tool_input": tool_input}
        reply = site.request(
            "POST", "/api/v1/rooms/lobby/hooks/claude-code", body=json.dumps(envelope), headers=headers
        )
        assert (reply.status, reply.json()) == (200, {})
    _, errors = site.stop()
    lines = errors.splitlines()
    assert len(lines) == 2
    for line in lines:
        assert (
            "WARNING rooms.api.claude_code: A hook envelope for the room lobby was not understood: " in line
        )


def test_an_exception_stays_on_its_line() -> None:
    try:
        raise RuntimeError("two\nlines")
    except RuntimeError:
        formatted = logs.JsonLine().format(record("It failed", exc_info=sys.exc_info()))
    assert "\n" not in formatted
    assert json.loads(formatted)["exception"].endswith("RuntimeError: two\nlines")


@pytest.mark.parametrize("forged", ["x" * 65, "a b", "a\tb", "{}", ""])
def test_what_is_no_id_is_not_logged(forged: str) -> None:
    assert not logs.REQUEST_ID.fullmatch(forged.encode())


def test_without_a_proxy_there_is_no_id() -> None:
    made = record("Hello")
    assert logs.RequestId().filter(made)
    assert made.__dict__["request_suffix"] == ""
    assert "request_id" not in json.loads(logs.JsonLine().format(made))
