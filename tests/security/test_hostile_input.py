"""Hostile input of agents and people: accepted or refused with a reason, and always plain text."""

import copy
import json
import re
from collections.abc import Callable, Iterator
from http.client import HTTPResponse
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from rooms import access, lifecycle
from rooms.contract.payload import parse_ask
from rooms.models import Question, Room
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.http import open_response
from tests.security.payloads import (
    NOT_STORABLE,
    RAW_VALUES,
    SHOWN,
    STREAM,
    TEXTS,
    UNICODE,
    VALUES,
    as_caption,
    as_name,
)

ASK = {
    "agent": {"name": "bot", "color": "#818cf8"},
    "session_id": "",
    "tool_use_id": "",
    "questions": [
        {
            "question": "Which?",
            "header": "Which",
            "multiSelect": False,
            "options": [{"label": "A", "description": "", "preview": ""}, {"label": "B"}],
        }
    ],
    "context": {"text": "", "cwd": "", "branch": ""},
    "care": {"first": {"role": "manager"}, "undo_seconds": 5},
}
MESSAGE = {"content": "Hello", "sender": "bot", "color": "", "type": "message", "sender_type": "agent"}
ANSWER = {
    "answers": [{"question": "Which?", "selectedOptions": [], "customInput": "x", "notes": ""}],
    "via": "terminal",
}
RESPONSE = {"questionMessageId": "…", "selectedOptions": ["A"], "answers": []}
SPOT = "☞"
FORM_TYPE = "application/x-www-form-urlencoded"

Path = tuple[str | int, ...]


def spots(body: Any, path: Path = ()) -> Iterator[Path]:
    """Every place in the body at which something else could stand, the whole body included."""
    yield path
    parts = body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ()
    for name, part in parts:
        yield from spots(part, (*path, name))


def value_at(body: Any, path: Path) -> Any:
    for name in path:
        body = body[name]
    return body


def with_value(body: Any, path: Path, value: Any) -> Any:
    """The body with something else at that place."""
    if not path:
        return value
    changed = copy.deepcopy(body)
    value_at(changed, path[:-1])[path[-1]] = value
    return changed


def encoded(body: Any, value: Any) -> bytes:
    """The body as JSON with the value where the mark is."""
    written = value if isinstance(value, bytes) else json.dumps(value).encode()
    return json.dumps(body).encode().replace(json.dumps(SPOT).encode(), written)


def quoted(text: str) -> str:
    """For addresses and forms; half a surrogate pair is spelled as only an attacker would."""
    return quote(text.encode("utf-8", "surrogatepass"))


class Target:
    """A room with a key and a member, used without a server."""

    def __init__(self) -> None:
        self.person = get_user_model().objects.create_user("ana")
        self.room: Room = lifecycle.create_room("ops", members=[self.person])
        key, self.text = access.create_key(self.room, label="bot")
        self.key = key
        self.agent, self.browser = Client(), Client()
        self.browser.force_login(self.person)

    def ask(self) -> Question:
        return lifecycle.ask(self.room, self.key, parse_ask(ASK))[0]

    def send(self, method: str, path: str, body: bytes = b"", **headers: str) -> Any:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.agent.generic(
            method,
            f"/api/v1/{path}",
            body,
            content_type="application/json",
            headers={"Authorization": f"Bearer {self.text}", **named},
        )


@pytest.fixture
def target(db: None, settings: Any) -> Target:
    settings.ASK_BRIDGE = {"ASKS_PER_MINUTE": 0, "MESSAGES_PER_MINUTE": 0}
    return Target()


def check(response: Any, sent: object) -> None:
    """Taken, or refused in the one shape of a problem."""
    if 200 <= response.status_code < 300:
        return
    assert 400 <= response.status_code < 500, f"{response.status_code} for {sent!r}"
    assert response["Content-Type"] == "application/problem+json"
    problem = json.loads(response.content)
    assert problem.keys() >= {"type", "title", "status", "code", "detail"}
    assert problem["status"] == response.status_code
    if response.status_code == 422:
        assert problem["errors"]
        assert all(error["field"] and error["message"] for error in problem["errors"])


# ---- what agents send --------------------------------------------------------------------------------------

CALLS: dict[str, tuple[Callable[[Target], str], Any]] = {
    "ask": (lambda target: "rooms/ops/questions", ASK),
    "message": (lambda target: "rooms/ops/messages", MESSAGE),
    "reported answer": (lambda target: f"questions/{target.ask().pk}/answer", ANSWER),
}


@pytest.mark.parametrize("call", CALLS)
def test_any_text_in_any_field_is_taken_or_refused(target: Target, call: str) -> None:
    address, body = CALLS[call]
    fields = [path for path in spots(body) if isinstance(value_at(body, path), str)]
    # Where only some words are known, everything else is refused or taken for the usual one.
    free = [path for path in fields if path[-1] not in ("color", "via", "sender_type", "type")]
    for text in TEXTS:
        everywhere = body
        for path in free:
            # The answer has to name the question, and two options need two names.
            if path[-1] != "question" or call == "ask":
                value = f"{text} {path[-2]}" if path[-1] == "label" else text
                everywhere = with_value(everywhere, path, value)
        at_once = target.send("POST", address(target), json.dumps(everywhere).encode())
        check(at_once, text)
        for path in fields if at_once.status_code >= 400 else set(fields) - set(free):
            spoiled = json.dumps(with_value(body, path, text)).encode()
            check(target.send("POST", address(target), spoiled), text)


@pytest.mark.parametrize("call", CALLS)
def test_any_value_in_any_place_is_taken_or_refused(target: Target, call: str) -> None:
    address, body = CALLS[call]
    for path in spots(body):
        spoiled = with_value(body, path, SPOT)
        for value in [*VALUES, *RAW_VALUES]:
            check(target.send("POST", address(target), encoded(spoiled, value)), value)


@pytest.mark.parametrize(("kind", "inner"), [("AskUserQuestion", ASK), ("AskUserQuestionResponse", RESPONSE)])
def test_any_value_in_a_message_that_carries_json_is_taken_or_refused(
    target: Target, kind: str, inner: Any
) -> None:
    for path in spots(inner):
        spoiled = with_value(inner, path, SPOT)
        for value in [*VALUES[::2], *RAW_VALUES, *NOT_STORABLE]:
            content = encoded(spoiled, value).decode("utf-8", "replace").replace("…", target.ask().pk)
            body = {"content": content, "type": kind}
            check(target.send("POST", "rooms/ops/messages", json.dumps(body).encode()), value)


@pytest.mark.parametrize(
    "address",
    [
        "rooms/ops/questions?status=",
        "rooms/ops/questions?after=",
        "rooms/ops/questions?limit=",
        "rooms/ops/messages?after=",
        "rooms/ops/messages?limit=",
        "rooms/ops/messages?",
        "rooms/",
        "questions/",
    ],
)
def test_any_text_in_an_address_is_taken_or_refused(target: Target, address: str) -> None:
    for text in [*TEXTS, "9" * 5_000, "-1", "1e9", "NaN", "٣", "q_" + "0" * 27]:
        check(target.send("GET", address + quoted(text)), text)


@pytest.mark.parametrize("header", ["Idempotency_Key", "Last_Event_ID", "Authorization", "Accept_Language"])
def test_any_text_in_a_header_is_taken_or_refused(target: Target, header: str) -> None:
    for text in TEXTS:
        # What Python's server side can have in a header at all.
        value = re.sub(r"[\r\n\x00]", " ", text).encode("utf-8", "replace").decode("latin-1")
        check(target.send("POST", "rooms/ops/questions", json.dumps(ASK).encode(), **{header: value}), value)


def test_a_refusal_does_not_repeat_more_than_it_has_to(target: Target) -> None:
    """An error that quotes what was sent would let a small request make a large log."""
    body = ASK | {"questions": [{"question": "x" * 30_000, "options": ["y" * 10_000, "y" * 10_000]}]}
    refused = target.send("POST", "rooms/ops/questions", json.dumps(body).encode())
    assert refused.status_code == 422
    assert len(refused.content) < 2_000


# ---- what people write -------------------------------------------------------------------------------------

FORMS: dict[str, dict[str, Any]] = {
    "answer": {"choice-0": ["other", SPOT], "other-0": SPOT, "notes-0": SPOT},
    "skip": {"reason": SPOT},
    "reply": {"reply": SPOT},
    "answering": {"x": SPOT},
    "undo": {"x": SPOT},
}


@pytest.mark.parametrize("form", FORMS)
def test_any_text_in_a_form_of_a_card_is_taken_or_refused(target: Target, form: str) -> None:
    for number, text in enumerate(TEXTS):
        body = urlencode(FORMS[form], doseq=True).replace(quote(SPOT), quoted(text))
        # Without htmx the reply is a whole page, which takes longer and says the same.
        headers = {} if number % 8 == 0 else {"HX-Request": "true"}
        path = f"/rooms/ops/questions/{target.ask().pk}/{form}"
        reply = target.browser.post(path, body, content_type=FORM_TYPE, headers=headers)
        assert reply.status_code < 500, text


@pytest.mark.parametrize(
    "path", ["/rooms/ops/messages", "/settings", "/rooms/ops/mute", "/rooms/ops/connect"]
)
def test_any_text_in_a_form_around_a_room_is_taken_or_refused(target: Target, path: str) -> None:
    get_user_model().objects.update(is_superuser=True)
    fields = dict.fromkeys(("content", "label", "language", "muted", "mute"), SPOT)
    for text in TEXTS if path.endswith("messages") else TEXTS[::6]:
        body = urlencode(fields).replace(quote(SPOT), quoted(text))
        assert target.browser.post(path, body, content_type=FORM_TYPE).status_code < 500, text


@pytest.mark.parametrize(
    "address", ["/?show=", "/rooms/ops?before=", "/rooms/ops?rendered=1&before=", "/rooms/", "/login/?next="]
)
def test_any_text_in_the_address_of_a_page_is_taken_or_refused(target: Target, address: str) -> None:
    for text in [*TEXTS[::6], *NOT_STORABLE, "9" * 18, "9" * 5_000, "-1", "٣"]:
        assert target.browser.get(address + quoted(text)).status_code < 500, text


# ---- what goes out on streams ------------------------------------------------------------------------------


def lines_until(response: HTTPResponse, end: bytes) -> list[bytes]:
    lines = []
    while not lines or end not in lines[-1]:
        lines.append(response.readline())
        assert lines[-1], "the stream ended"
    return lines


def write_everything(agent: Agent, end: str) -> None:
    for text in [*STREAM, *UNICODE, *SHOWN[::6]]:
        sender, caption = as_name(text), as_caption(text)
        agent.ask(
            agent={"name": sender},
            questions=[{"question": text, "header": caption[:80], "options": [f"A {caption}"[:200], "B"]}],
            context={"text": text, "cwd": text, "branch": text[:250]},
        )
        agent.send(text, sender=sender)
        agent.send(text, sender=sender, type="log")
    agent.send(end)


@pytest.mark.parametrize("who", ["people", "agents"])
def test_no_text_forges_an_event(bridge: Bridge, who: str) -> None:
    """A line that a browser would read begins as one of ours, and every event is one that we know."""
    agent = bridge.agent()
    if who == "people":
        path, headers = f"/rooms/{agent.room}/stream", bridge.person()._headers({})
    else:
        path, headers = f"{agent.path}/events", agent.headers()
    with open_response(bridge.site, path, headers) as (response, _):
        assert response.readline() == b": welcome\n"
        write_everything(agent, end="This is the end.")
        lines = lines_until(response, b"This is the end.")
    events = rb"question|others|entry|card-\w+|marks-\w+|count-[\w-]+|answering-\w+"
    known = re.compile(rb"(event: (%b)|id: \w+|data: .*|retry: 1000|: keep-alive)?\n" % events)
    for line in lines:
        assert known.fullmatch(line), line
        assert b"\r" not in line
    if who == "people":
        cursors = [int(line[4:]) for line in lines if line.startswith(b"id: ")]
        assert cursors == sorted(cursors)
    else:
        messages = [json.loads(line[6:]) for line in lines if line.startswith(b"data: ")]
        assert all(message["id"] for message in messages)
