"""The inbox: badge, title and list count what an agent waits for; the rest is folded and closed together."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from rooms import access, lifecycle
from rooms.contract.payload import parse_ask
from rooms.live import events
from rooms.models import AuditEntry, Question, Room


@pytest.fixture
def leave() -> Callable[[Question], Question]:
    """An agent waits for the question, and leaves."""

    def wait_and_leave(question: Question) -> Question:
        lifecycle.wait_started(question.pk)
        lifecycle.wait_ended(question.pk)
        return question

    return wait_and_leave


def folded(page: str) -> str:
    found = re.search(r'<details class="unattended".*?</details>\s*</div>', page, re.DOTALL)
    assert found
    return found[0]


def inbox(browser: Client, address: str = "/") -> str:
    return browser.get(address).content.decode()


def test_badge_title_and_list_count_what_an_agent_waits_for(
    browser: Client, ask: Callable[..., Question], leave: Callable[[Question], Question]
) -> None:
    new, left = ask(), leave(ask())
    waited_for = ask()
    lifecycle.wait_started(waited_for.pk)
    page = inbox(browser)
    assert "<title>(2) Inbox" in page
    assert '<span class="count" data-total data-zero="hide">2</span>' in page
    assert "<span data-open-total>2</span> waiting" in page
    # The one with an agent first; what was asked a moment ago counts as well.
    shown = page[: page.index('id="unattended"')]
    cards = re.findall(r'id="card-(\w+)"', shown)
    assert cards == [waited_for.pk, new.pk]
    assert re.findall(r'id="card-(\w+)"', folded(page)) == [left.pk]
    assert '<span class="count" id="unattended-count">1</span>' in page


def test_the_fold_is_not_shown_without_cards(browser: Client, question: Question) -> None:
    assert re.search(r'<details class="unattended"[^>]* hidden>', inbox(browser))


def test_the_number_of_a_room_follows_its_agents(question: Question, room: Room) -> None:
    def number_after(revision: int) -> str:
        _, sent = events.frames_after(room.pk, revision)
        (count,) = [frame for frame in sent if frame.event == f"count-{room.slug}"]
        return count._html("en", False)

    def revision() -> int:
        return Room.objects.get(pk=room.pk).revision

    before = revision()
    lifecycle.wait_started(question.pk)
    assert number_after(before) == "1"
    before = revision()
    lifecycle.wait_ended(question.pk)
    assert number_after(before) == "0"
    before = revision()
    lifecycle.wait_started(question.pk)
    assert number_after(before) == "1"


def test_close_all_closes_what_no_agent_waits_for_and_says_how_many(
    browser: Client, ask: Callable[..., Question], leave: Callable[[Question], Question]
) -> None:
    left = [leave(ask()) for _ in range(2)]
    waited_for = ask()
    lifecycle.wait_started(waited_for.pk)
    reply = browser.post("/close-unattended", follow=True)
    assert "2 questions closed." in reply.content.decode()
    for question in left:
        closed = Question.objects.get(pk=question.pk)
        assert closed.status == "withdrawn"
        assert closed.ended == {"reason": "person", "by": {"username": "ana", "name": "Ana Costa"}}
        entry = AuditEntry.objects.get(action="withdrawn", subject=question.pk)
        assert (entry.actor_type, entry.actor) == ("person", "ana")
    waited_for.refresh_from_db()
    assert waited_for.is_open


def test_close_all_closes_nothing_in_rooms_of_others(browser: Client, other_room: Room) -> None:
    key, _ = access.create_key(other_room, label="spy-bot")
    asked, _ = lifecycle.ask(other_room, key, parse_ask({"question": "Go?", "options": ["Yes", "No"]}))
    lifecycle.wait_started(asked.pk)
    lifecycle.wait_ended(asked.pk)
    assert "0 questions closed." in browser.post("/close-unattended", follow=True).content.decode()
    asked.refresh_from_db()
    assert asked.is_open


def test_close_all_leaves_what_others_decide(
    browser: Client, ask: Callable[..., Question], leave: Callable[[Question], Question]
) -> None:
    for_ben = leave(ask(care={"first": ["ben"]}))
    browser.post("/close-unattended")
    for_ben.refresh_from_db()
    assert for_ben.is_open


def test_an_agent_that_is_back_in_time_keeps_its_question(
    ask: Callable[..., Question], leave: Callable[[Question], Question], ana: Any
) -> None:
    left = leave(ask())
    seen_as_left = Question.objects.select_related("room").get(pk=left.pk)
    lifecycle.wait_started(left.pk)
    assert lifecycle.close_unattended([seen_as_left], by=ana) == 0
    left.refresh_from_db()
    assert left.is_open


def test_opening_the_address_of_close_all_leads_to_the_inbox(browser: Client) -> None:
    assert browser.get("/close-unattended").headers["Location"] == "/"


def test_a_room_page_shows_every_open_question(
    browser: Client, room: Room, ask: Callable[..., Question], leave: Callable[[Question], Question]
) -> None:
    ask(), leave(ask())
    page = inbox(browser, f"/rooms/{room.slug}")
    assert page.count('data-status="open"') == 2
    assert re.search(r'<span sse-swap="count-ops"[^>]*>1</span> waiting', page)
