"""Careful questions in the browser: votes arrive live, decisions can be undone, the agent waits for both."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.actors import Agent
from tests.browser.test_the_whole_path import click_when_settled

RoomPage = Callable[..., Page]


def test_votes_show_on_everybodys_card_until_enough_agree(agent: Agent, room_page: RoomPage) -> None:
    ana, ben = room_page("ana"), room_page("ben")
    with agent.asking(wait=50, care={"votes": 2}) as wait:
        expect(ben.get_by_text("0 voted; 2 have to agree")).to_be_visible()
        click_when_settled(ana, "SQLite")
        for page in (ana, ben):
            expect(page.get_by_text("1 voted; 2 have to agree")).to_be_visible()
            expect(page.locator(".mark.vote")).to_have_text("Ana Costa: SQLite")
        click_when_settled(ben, "SQLite")
        settled = wait.result()
    assert settled["answer"]["answers"][0]["selectedOptions"] == ["SQLite"]
    assert [vote["by"]["username"] for vote in settled["answer"]["votes"]] == ["ana", "ben"]
    for page in (ana, ben):
        expect(page.get_by_role("article")).to_contain_text("Decided by Ana Costa, Ben Okafor")


def test_decision_can_be_undone_by_somebody_else_and_is_told_only_afterwards(
    agent: Agent, room_page: RoomPage
) -> None:
    ana, ben = room_page("ana"), room_page("ben")
    with agent.asking(wait=50, care={"undo_seconds": 6}) as wait:
        click_when_settled(ana, "SQLite")
        expect(ana.get_by_role("article")).to_contain_text("Answered by you")
        expect(ben.get_by_role("article")).to_contain_text("Answered by Ana Costa")
        ben.get_by_role("button", name="Undo").click()
        for page in (ana, ben):
            expect(page.get_by_role("radio", name="SQLite")).to_be_visible()
        click_when_settled(ben, "PostgreSQL")
        expect(ana.get_by_role("button", name="Undo")).to_be_visible()
        settled = wait.result(timeout=40)  # the time to undo, and whatever this machine needs
    assert settled["answer"]["by"]["username"] == "ben"
    for page in (ana, ben):
        expect(page.get_by_role("article")).to_contain_text("Delivered to the agent")
        expect(page.get_by_role("button", name="Undo")).to_have_count(0)


def test_who_is_not_asked_yet_is_told_whom_the_question_is_for(agent: Agent, room_page: RoomPage) -> None:
    ana = room_page("ana")
    agent.ask(care={"first": "ben", "escalate_seconds": 6})
    card = ana.get_by_role("article")
    expect(card).to_contain_text("Asked first: ben")
    click_when_settled(ana, "SQLite")
    expect(card.get_by_role("alert")).to_contain_text("for others to decide")
    expect(card).to_contain_text("Managers were told")
    click_when_settled(ana, "SQLite")
    expect(card).to_contain_text("Answered by you")
