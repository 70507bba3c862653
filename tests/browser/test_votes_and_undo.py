"""Votes and the undo window in the browser: votes arrive live, and the agent waits for the final decision."""

import re
from collections.abc import Callable

from playwright.sync_api import BrowserContext, Page, expect

from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.pages import click_option, wait_for_stream

RoomPage = Callable[..., Page]


def test_votes_show_on_all_cards_until_enough_agree(agent: Agent, room_page: RoomPage) -> None:
    ana, ben = room_page("ana"), room_page("ben")
    with agent.asking(wait=50, care={"votes": 2}) as wait:
        expect(ben.locator(".ab-slots")).to_have_text("No votes yet, 2 needed")
        click_option(ana, "SQLite")
        expect(ana.locator(".ab-slots")).to_have_text("You chose SQLite, 1 more vote needed")
        expect(ben.locator(".ab-slots")).to_have_text("Ana Costa chose SQLite, 1 more vote needed")
        for page in (ana, ben):
            expect(page.locator(".ab-slot")).to_have_count(2)
            expect(page.locator(".ab-slot.ab-is-filled")).to_have_count(1)
        click_option(ben, "SQLite")
        settled = wait.result()
    assert settled["answer"]["answers"][0]["selectedOptions"] == ["SQLite"]
    assert [vote["by"]["username"] for vote in settled["answer"]["votes"]] == ["ana", "ben"]
    for page in (ana, ben):
        expect(page.get_by_role("article")).to_contain_text("Decided by Ana Costa, Ben Okafor")


def test_decision_can_be_undone_by_another_person_and_is_told_only_afterwards(
    agent: Agent, room_page: RoomPage
) -> None:
    ana, ben = room_page("ana"), room_page("ben")
    with agent.asking(wait=50, care={"undo_seconds": 6}) as wait:
        click_option(ana, "SQLite")
        expect(ana.get_by_role("article")).to_contain_text("Answered by you")
        expect(ben.get_by_role("article")).to_contain_text("Answered by Ana Costa")
        ben.get_by_role("button", name="Undo").click()
        for page in (ana, ben):
            expect(page.get_by_role("radio", name="SQLite")).to_be_visible()
        click_option(ben, "PostgreSQL")
        expect(ana.get_by_role("button", name="Undo")).to_be_visible()
        settled = wait.result(timeout=40)  # the time to undo, and whatever this machine needs
    assert settled["answer"]["by"]["username"] == "ben"
    for page in (ana, ben):
        expect(page.get_by_role("article")).to_contain_text("Delivered to the agent")
        expect(page.get_by_role("button", name="Undo")).to_have_count(0)


def test_who_is_not_asked_yet_sees_locked_options_until_they_are_opened(
    agent: Agent, bridge: Bridge, room_page: RoomPage
) -> None:
    ana, ben = room_page("ana"), room_page("ben")
    question = agent.ask(care={"first": "ben"})
    card = ana.get_by_role("article")
    expect(card.locator(".ab-status")).to_contain_text("Ben Okafor decides until")
    expect(card.locator(".ab-lock")).to_have_text(
        re.compile(r"^Only Ben Okafor can answer this until \d\d:\d\d( [AP]M)?$")
    )
    expect(card.get_by_role("radio", name="SQLite")).to_be_disabled()
    expect(card.get_by_role("button", name="Submit")).to_have_count(0)
    expect(card.get_by_text("Skip", exact=True)).to_have_count(0)
    expect(ben.get_by_role("radio", name="SQLite")).to_be_enabled()
    # A click and the keyboard choose nothing.
    card.get_by_text("SQLite", exact=True).click(force=True)
    card.focus()
    ana.keyboard.press("2")
    ana.keyboard.press("Enter")
    expect(card.locator("input:checked")).to_have_count(0)
    assert agent.read(question["id"])["status"] == "open"
    # What Ben has begun stays as it is when the question is opened to all.
    ben.get_by_role("radio", name="Other").check()
    ben.get_by_label("Your own answer").fill("half a thought")
    bridge.let_escalate(question)
    expect(card).to_contain_text("managers were notified")
    expect(card).to_be_focused()
    expect(ben.get_by_role("article")).to_contain_text("managers were notified")
    expect(ben.get_by_label("Your own answer")).to_have_value("half a thought")
    click_option(ana, "SQLite")
    expect(card).to_contain_text("Answered by you")


def test_a_question_for_others_moves_into_the_inbox_when_it_is_opened_to_all(
    agent: Agent, bridge: Bridge, open_browser: Callable[..., BrowserContext]
) -> None:
    page = open_browser("ana").new_page()
    page.goto(f"/?room={agent.room}")
    wait_for_stream(page)
    question = agent.ask(care={"first": "ben"})
    expect(page.get_by_role("heading", name="Others decide")).to_be_visible()
    row = page.locator(f"#ab-group-others #row-{question['id']}")
    row.click()
    card = page.locator(f"#card-{question['id']}")
    expect(card).to_contain_text("Only Ben Okafor can answer this")
    rail = page.locator(f'.ab-rail-link[data-room="{agent.room}"] .ab-count')
    expect(rail).to_have_text("0")
    bridge.let_escalate(question)
    expect(page.locator(f"#ab-group-needed #row-{question['id']}")).to_be_visible()
    expect(row).to_have_count(0)
    expect(card).to_contain_text("managers were notified")
    expect(rail).to_have_text("1")


def test_locked_options_can_be_read_without_javascript(
    agent: Agent, open_browser: Callable[..., BrowserContext]
) -> None:
    agent.ask(care={"votes": {"needed": 2, "of": ["ben", "cleo"]}})
    page = open_browser("ana", java_script_enabled=False).new_page()
    page.goto(f"/rooms/{agent.room}")
    expect(page.get_by_role("article")).to_contain_text("Only Ben Okafor and cleo can vote on this")
    expect(page.get_by_role("radio", name="SQLite")).to_be_disabled()
    expect(page.get_by_role("button", name="Submit")).to_have_count(0)
