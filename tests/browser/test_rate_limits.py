"""The rate limit in the browser: shown on the card, and nothing typed is lost."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.sites import run_manage

# As many answers as fit into a minute; written at once, or the minute would be over.
ANSWER_A_LOT = """
from django.contrib.auth import get_user_model
from django.utils import timezone
from rooms.conf import setting
from rooms.models import Answer, Question, Room
eli, room = get_user_model().objects.get(username="eli"), Room.objects.get(slug="lobby")
settled = dict(status="declined", settled_at=timezone.now(), session_id="busy")
positions = range(1000, 1000 + setting("ANSWERS_PER_MINUTE"))
questions = [Question(room=room, prompts=[], position=at, revision=at, **settled) for at in positions]
Question.objects.bulk_create(questions)
given = dict(room=room, user=eli, via="web", position=1)
Answer.objects.bulk_create([Answer(question=question, **given) for question in questions])
"""
LET_A_MINUTE_PASS = """
from rooms.models import Question
Question.objects.filter(session_id="busy").delete()
"""
SENTENCE = "More than 600 within a minute: send it again in"


@pytest.fixture
def shell(bridge: Bridge) -> Iterator[Callable[[str], None]]:
    def run(script: str) -> None:
        done = run_manage(bridge.environment, "shell", "-v0", "-c", script)
        assert done.returncode == 0, done.stderr

    yield run
    run(LET_A_MINUTE_PASS)


def fill_in(page: Page, agent: Agent) -> None:
    page.goto(f"/rooms/{agent.room}")
    page.get_by_text("Other…").click()
    page.get_by_label("Your own answer to").fill("Both of them")


def test_the_card_says_so_and_keeps_what_was_typed(
    agent: Agent, open_browser, shell: Callable[[str], None]
) -> None:
    question = agent.ask()
    page = open_browser("eli").new_page()
    fill_in(page, agent)
    shell(ANSWER_A_LOT)
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("alert").filter(has_text=SENTENCE)).to_be_visible()
    expect(page.get_by_label("Your own answer to")).to_have_value("Both of them")
    assert agent.read(question["id"])["status"] == "open"


def test_without_javascript_a_page_keeps_it_and_sends_it_again(
    agent: Agent, open_browser, shell: Callable[[str], None]
) -> None:
    question = agent.ask()
    page = open_browser("eli", java_script_enabled=False).new_page()
    fill_in(page, agent)
    shell(ANSWER_A_LOT)
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", name="Too many requests")).to_be_visible()
    expect(page.get_by_text(SENTENCE)).to_be_visible()
    shell(LET_A_MINUTE_PASS)
    page.get_by_role("button", name="Send again").click()
    expect(page.get_by_role("article")).to_contain_text("Answered by you")
    assert agent.read(question["id"])["answer"]["answers"][0]["customInput"] == "Both of them"
