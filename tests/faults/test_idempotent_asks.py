"""An agent that repeats an ask, at once or after a crash, gets the question of its first ask."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier
from typing import Any

import pytest

from tests.faults.stored_questions import questions
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.figures import report, setup_of
from tests.harness.http import Reply
from tests.harness.people import Person
from tests.harness.sites import ROOT, Site
from tests.harness.timing import eventually

ASKS = 20
TOOL_USE = {"session_id": "8f0c", "tool_use_id": "toolu_abc"}


@pytest.fixture
def person(bridge: Bridge) -> Person:
    return bridge.person()


def ask_at_once(sites: list[Site], agent: Agent, bodies: list[Any], key: str = "") -> list[Reply]:
    """All of these in the same moment, over all processes."""
    start = Barrier(len(bodies))
    headers = agent.headers() | ({"Idempotency-Key": key} if key else {})

    def ask(number: int) -> Reply:
        body = json.dumps(bodies[number])
        start.wait(timeout=30)
        site = sites[number % len(sites)]
        return site.request("POST", f"{agent.path}/questions", body=body, headers=headers)

    with ThreadPoolExecutor(len(bodies)) as pool:
        return list(pool.map(ask, range(len(bodies))))


@contextmanager
def running_agent(agent: Agent, body: Any) -> Iterator["subprocess.Popen[str]"]:
    """The real client in a process of its own, asking and waiting."""
    with subprocess.Popen(
        [sys.executable, "-m", "bridge_client", "ask", "-", "--json"],
        cwd=ROOT,
        env={
            "PATH": os.environ["PATH"],
            "ASK_BRIDGE_URL": f"http://127.0.0.1:{agent.site.port}",
            "ASK_BRIDGE_ROOM": agent.room,
            "ASK_BRIDGE_KEY": agent.key,
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin
        process.stdin.write(json.dumps(body))
        process.stdin.close()
        try:
            yield process
        finally:
            process.kill()


def printed_by(process: "subprocess.Popen[str]") -> Any:
    """What it prints before it ends by itself."""
    assert process.stdout
    printed = json.load(process.stdout)
    assert process.wait(timeout=10) == 0
    return printed


@pytest.mark.parametrize("named_by", ["key", "tool use"])
def test_the_same_ask_twenty_times_at_once_is_one_question(
    bridge: Bridge, agent: Agent, named_by: str
) -> None:
    body = agent.question_body(**(TOOL_USE if named_by == "tool use" else {}))
    started = time.monotonic()
    replies = ask_at_once(bridge.sites, agent, ASKS * [body], "one" if named_by == "key" else "")
    seconds = time.monotonic() - started
    statuses = Counter(reply.status for reply in replies)
    assert statuses == {201: 1, 200: ASKS - 1}
    (asked,) = questions(agent)
    assert {reply.json()["id"] for reply in replies} == {asked["id"]}
    report(f"ask once, {setup_of(bridge)}: {ASKS} asks with one {named_by} in {seconds:.2f} s, one question")


def test_one_key_for_two_questions_at_once_takes_one_of_them(bridge: Bridge, agent: Agent) -> None:
    bodies = [
        agent.question_body(),
        agent.question_body(questions=[{"question": "Other?", "options": ["Yes", "No"]}]),
    ]
    replies = ask_at_once(bridge.sites, agent, bodies * (ASKS // 2), "one")
    (asked,) = questions(agent)
    for body, reply in zip(bodies * (ASKS // 2), replies, strict=True):
        if body["questions"][0]["question"] == asked["questions"][0]["question"]:
            assert (reply.status in (200, 201), reply.json()["id"]) == (True, asked["id"])
        else:
            assert (reply.status, reply.json()["code"]) == (409, "idempotency_conflict")


def test_an_agent_started_again_gets_the_same_question_and_waits_on(
    bridge: Bridge, agent: Agent, person: Person
) -> None:
    body = agent.question_body(**TOOL_USE)
    with running_agent(agent, body) as killed:
        question = eventually(lambda: [asked for asked in questions(agent) if asked["agent"]["active"]])[0]
        killed.kill()
    eventually(lambda: not agent.read(question["id"])["agent"]["active"])
    with running_agent(agent, body) as again:
        eventually(lambda: agent.read(question["id"])["agent"]["active"])
        person.answer(question, "SQLite")
        printed = printed_by(again)
    assert (printed["id"], printed["status"]) == (question["id"], "answered")
    assert len(questions(agent)) == 1


def test_an_agent_started_again_gets_the_answer_that_came_meanwhile(
    bridge: Bridge, agent: Agent, person: Person
) -> None:
    body = agent.question_body(**TOOL_USE)
    with running_agent(agent, body) as killed:
        question = eventually(lambda: questions(agent))[0]
        killed.kill()
    person.answer(question, "SQLite")
    with running_agent(agent, body) as again:
        printed = printed_by(again)
    assert printed["id"] == question["id"]
    assert printed["answer"]["by"]["username"] == person.username
    assert printed["answer"]["answers"][0]["selectedOptions"] == ["SQLite"]
    assert len(questions(agent)) == 1
    eventually(lambda: agent.read(question["id"])["delivered_at"])
