"""The card shows an agent as waiting while its `poll` or `listen` command runs."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Page, expect

from tests.harness.agents import Agent
from tests.harness.pages import wait_for_still_cards
from tests.harness.sites import ROOT

RoomPage = Callable[..., Page]
Command = Callable[..., "subprocess.Popen[str]"]

QUESTION = json.dumps(
    {"question": "Which database?", "header": "Database", "options": ["PostgreSQL", "SQLite"]}
)


@pytest.fixture
def command(agent: Agent) -> Command:
    """Start `ask-bridge` with the agent's key."""
    settings = {
        "ASK_BRIDGE_URL": f"http://127.0.0.1:{agent.site.port}",
        "ASK_BRIDGE_KEY": agent.key,
        "ASK_BRIDGE_ROOM": agent.room,
    }

    def start(*arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-u", "-m", "bridge_client", *arguments],
            cwd=ROOT,
            env=os.environ | settings,
            stdout=subprocess.PIPE,
            text=True,
        )

    return start


@contextmanager
def running(process: "subprocess.Popen[str]") -> Iterator["subprocess.Popen[str]"]:
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
            process.communicate()


def ask(command: Command, agent: Agent) -> str:
    asked = command("send-ask-question", agent.room, "refactor-bot", QUESTION)
    said, _ = asked.communicate()
    assert asked.returncode == 0
    return next(word for word in said.replace('"', " ").split() if word.startswith("q_"))


def test_the_card_follows_a_poll(agent: Agent, room_page: RoomPage, command: Command) -> None:
    page = room_page()
    question = ask(command, agent)
    card = page.locator(f"#card-{question}")
    expect(card).to_contain_text("No agent is waiting yet")
    with running(command("poll", "--after", question, "--wait", "60")) as poll:
        expect(card).to_contain_text("Waiting")
        expect(page.locator(f"a[data-room={agent.room}] .ab-count")).to_have_text("1")
        wait_for_still_cards(page)
        card.locator("label", has_text="SQLite").click()
        expect(card).to_contain_text("Answered by you")
        said, _ = poll.communicate()
    assert "AskUserQuestionResponse" in said
    expect(card).to_contain_text("Delivered to the agent")


def test_the_card_follows_a_listener(agent: Agent, room_page: RoomPage, command: Command) -> None:
    page = room_page()
    asked_before = ask(command, agent)
    with running(command("listen")) as listen:
        expect(page.locator(f"#card-{asked_before}")).to_contain_text("Waiting")
        # The stream is there: what is asked from here on is waited for at once.
        question = ask(command, agent)
        card = page.locator(f"#card-{question}")
        expect(card).to_contain_text("Waiting")
        wait_for_still_cards(page)
        card.locator("label", has_text="SQLite").click()
        expect(card).to_contain_text("Delivered to the agent")
        assert listen.stdout
        assert any("AskUserQuestionResponse" in line for line in iter(listen.stdout.readline, ""))


def test_the_card_says_that_a_listener_left(agent: Agent, room_page: RoomPage, command: Command) -> None:
    page = room_page()
    question = ask(command, agent)
    card = page.locator(f"#card-{question}")
    with running(command("listen")):
        expect(card).to_contain_text("Waiting")
    expect(card).to_contain_text("Agent left")
