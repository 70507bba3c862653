"""The inbox: badge, title and list count what an agent waits for; the rest is folded and closed together."""

import html
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from rooms import access, lifecycle
from rooms.access.locks import held_in, standing_of
from rooms.contract.payload import parse_ask
from rooms.live import events
from rooms.models import AuditEntry, Question, Room
from rooms.pages.inbox import ROWS, Filters, _filtered


@pytest.fixture
def leave() -> Callable[[Question], Question]:
    """An agent waits for the question, and leaves."""

    def wait_and_leave(question: Question) -> Question:
        lifecycle.wait_started(question.pk)
        lifecycle.wait_ended(question.pk)
        return question

    return wait_and_leave


def rows(page: str, group: str) -> list[str]:
    """The questions of a group of the inbox, in their order."""
    found = re.search(rf'<section class="ab-group"\s+id="ab-group-{group}".*?</section>', page, re.DOTALL)
    assert found
    return re.findall(r'id="row-(\w+)"', found[0])


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
    assert '<span class="ab-count" data-total data-zero="hide">2</span>' in page
    assert "<span data-open-total>2</span> waiting" in page
    # What was asked a moment ago counts as well. The one that waits longest comes first, also as a card.
    assert rows(page, "needed") == [new.pk, waited_for.pk]
    assert re.findall(r'id="card-(\w+)"', page) == [new.pk]
    assert '<span class="ab-count" id="ab-unattended-count">1</span>' in page
    assert rows(page, "unattended") == []
    assert rows(inbox(browser, "/?unattended=1"), "unattended") == [left.pk]


def test_groups_without_questions_are_hidden(browser: Client, question: Question) -> None:
    page = inbox(browser)
    assert re.search(r'id="ab-group-unattended"[^>]* hidden>', page)
    assert re.search(r'id="ab-group-others"[^>]* hidden>', page)
    assert not re.search(r'id="ab-group-needed"[^>]* hidden>', page)


def test_a_row_opens_its_card(browser: Client, ask: Callable[..., Question]) -> None:
    first, second = ask(), ask()
    page = inbox(browser, f"/?question={second.pk}")
    assert re.findall(r'id="card-(\w+)"', page) == [second.pk]
    assert "2 of 2" in page
    assert f'href="/?question={first.pk}" data-step="-1"' in page


def test_the_card_of_a_settled_question_is_its_record(browser: Client, question: Question, ana: Any) -> None:
    lifecycle.decline(question, ana)
    page = inbox(browser, f"/?question={question.pk}")
    assert re.findall(r'id="card-(\w+)"', page) == [question.pk]
    assert "Skipped by you" in page


@pytest.mark.parametrize("wanted", ["q_unknown", "%00", "../x"])
def test_an_unknown_question_in_the_address_is_not_found(browser: Client, room: Room, wanted: str) -> None:
    expected = 200 if wanted == "%00" else 404
    assert browser.get(f"/?question={wanted}").status_code == expected


def test_a_question_of_a_foreign_room_is_not_found(browser: Client, other_room: Room) -> None:
    key, _ = access.create_key(other_room, label="spy-bot")
    asked, _ = lifecycle.ask(other_room, key, parse_ask({"question": "Go?", "options": ["Yes", "No"]}))
    assert browser.get(f"/?question={asked.pk}").status_code == 404


def test_filters_are_in_the_address_and_in_every_link(
    browser: Client, ask: Callable[..., Question], room: Room
) -> None:
    by_bot = ask(agent={"name": "deploy-bot"})
    ask(agent={"name": "docs-writer"})
    page = inbox(browser, "/?agent=deploy-bot")
    assert rows(page, "needed") == [by_bot.pk]
    assert f'href="/?agent=deploy-bot&amp;question={by_bot.pk}"' in page
    assert '<option value="deploy-bot" selected>' in page
    assert len(rows(inbox(browser, f"/?room={room.slug}"), "needed")) == 2
    nothing = inbox(browser, "/?room=elsewhere")
    assert rows(nothing, "needed") == []
    assert "No open question matches these filters." in nothing


def test_asked_by_name_leaves_out_what_anybody_may_answer(
    browser: Client, ask: Callable[..., Question]
) -> None:
    ask()
    named = ask(care={"first": ["ana"]})
    ask(care={"first": ["ben"]})
    assert rows(inbox(browser, "/?mine=1"), "needed") == [named.pk]


def test_parts_of_the_page_come_alone_for_the_script(browser: Client, ask: Callable[..., Question]) -> None:
    first, second = ask(), ask()
    headers = {"HX-Request": "true"}
    found = browser.get("/", headers={**headers, "HX-Target": "ab-rows"}).content.decode()
    assert rows(found, "needed") == [first.pk, second.pk]
    assert "<article" not in found
    assert "<html" not in found
    address, target = f"/?question={second.pk}", {"HX-Target": "ab-focus"}
    card = browser.get(address, headers={**headers, **target}).content.decode()
    assert re.findall(r'id="card-(\w+)"', card) == [second.pk]
    assert "ab-row" not in card


def test_a_group_shows_its_first_rows_and_more_on_demand(
    browser: Client, ask: Callable[..., Question]
) -> None:
    asked = [ask() for _ in range(ROWS + 1)]
    page = inbox(browser)
    assert rows(page, "needed") == [question.pk for question in asked[:ROWS]]
    assert f'<span class="ab-count ab-hot">{ROWS + 1}</span>' in page
    [more] = re.findall(r'href="(/\?show=\d+)"', page)
    assert len(rows(inbox(browser, more), "needed")) == ROWS + 1


def test_more_rows_of_each_group_keep_the_filters(
    browser: Client, ask: Callable[..., Question], leave: Callable[[Question], Question]
) -> None:
    for _ in range(ROWS + 1):
        ask(care={"first": ["ben"]})
        leave(ask())
    for address, group in (("/?room=ops", "others"), ("/?room=ops&unattended=1", "unattended")):
        page = inbox(browser, address)
        assert len(rows(page, group)) == ROWS
        more = html.unescape(
            re.findall(rf'id="ab-group-{group}".*?href="([^"]*show=[^"]*)"', page, re.DOTALL)[0]
        )
        assert "room=ops" in more
        assert len(rows(inbox(browser, more), group)) == ROWS + 1
    assert "show=" not in inbox(browser, "/?room=elsewhere&unattended=1")


def test_two_hundred_open_questions_make_a_page_as_small_as_ten(
    browser: Client, ask: Callable[..., Question]
) -> None:
    def elements() -> int:
        return len(re.findall(r"<[a-z]", inbox(browser)))

    [ask() for _ in range(10)]
    with_ten = elements()
    [ask() for _ in range(190)]
    assert elements() <= 1.2 * with_ten


def test_rows_come_from_an_index_in_their_order(room: Room, ana: Any) -> None:
    """However many questions are open: no sort, and no reading of all of them."""
    questions = _filtered(Question.objects.attended(), Filters(), [room], standing_of(ana, [room]))
    plan = questions.order_by("asked_at")[:ROWS].explain()
    if connection.vendor == "sqlite":
        assert "ask_bridge_q_inbox" in plan
        assert "TEMP B-TREE" not in plan


def test_the_foot_of_the_list_has_the_numbers_of_today(
    browser: Client, ask: Callable[..., Question], ana: Any
) -> None:
    assert "answered by you today" not in inbox(browser)
    for _ in range(3):
        lifecycle.decline(ask(), ana)
    assert "<strong>3</strong> answered by you today" in inbox(browser)
    assert "median" in inbox(browser)


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


def test_close_all_closes_only_what_the_filters_show(
    browser: Client, ask: Callable[..., Question], leave: Callable[[Question], Question]
) -> None:
    shown, left_out = leave(ask(agent={"name": "deploy-bot"})), leave(ask(agent={"name": "docs-writer"}))
    page = inbox(browser, "/?agent=deploy-bot&unattended=1")
    [form] = re.findall(r'<form[^>]* action="/close-unattended">.*?</form>', page, re.DOTALL)
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form))
    reply = browser.post("/close-unattended", fields)
    assert reply.headers["Location"] == "/?agent=deploy-bot&closed=1"
    for question, status in ((shown, "withdrawn"), (left_out, "open")):
        question.refresh_from_db()
        assert question.status == status
    for nothing in ({"room": "elsewhere"}, {"mine": "1"}):
        assert "closed=0" in browser.post("/close-unattended", nothing).headers["Location"]


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


def test_a_vote_waits_for_others_and_not_for_who_cast_it(
    browser: Client, ask: Callable[..., Question], room: Room, ana: Any
) -> None:
    question = ask(care={"votes": 2})
    before = room.revision
    address = f"/rooms/ops/questions/{question.pk}/answer"
    browser.post(address, {"choice-0": "0"})
    page = inbox(browser)
    assert rows(page, "needed") == []
    assert rows(page, "others") == [question.pk]
    assert "You chose PostgreSQL" in page
    assert "<title>Inbox" in page
    assert "Change my vote" in inbox(browser, f"/?question={question.pk}")
    _, sent = events.frames_after(room.pk, before)
    (count,) = [frame for frame in sent if frame.event == "count-ops"]
    for person, number in ((ana, b"0"), (None, b"1")):
        standing = standing_of(person, [room]) if person else None
        assert b"data: " + number in count.encode(None, "en", many_rooms=True, standing=standing)


def test_a_decision_in_its_undo_window_waits_for_nobody(
    browser: Client, ask: Callable[..., Question], room: Room
) -> None:
    held, waiting = ask(care={"undo_seconds": 60}), ask()
    browser.post(f"/rooms/ops/questions/{held.pk}/answer", {"choice-0": "0"})
    page = inbox(browser)
    assert "<title>(1) Inbox" in page
    assert (rows(page, "needed"), rows(page, "held")) == ([waiting.pk], [held.pk])
    assert rows(page, "others") == []
    _, sent = events.frames_after(room.pk, room.revision)
    (count,) = [frame for frame in sent if frame.event == "count-ops"]
    assert b"data: 1\n" in count.encode(None, "en", many_rooms=True)


def test_held_decisions_come_from_their_index(room: Room) -> None:
    if connection.vendor == "sqlite":
        assert "ask_bridge_q_held" in held_in([room]).explain()


def test_filters_that_match_nothing_say_so_instead_of_all_caught_up(
    browser: Client, ask: Callable[..., Question]
) -> None:
    ask()
    page = inbox(browser, "/?mine=1")
    assert "All caught up" not in page
    assert "Show all questions" in page


def test_an_agent_that_is_chosen_leaves_the_others_in_the_menu(
    browser: Client, ask: Callable[..., Question]
) -> None:
    for name in ("deploy-bot", "docs-writer"):
        ask(agent={"name": name})
    assert '<option value="docs-writer" >' in inbox(browser, "/?agent=deploy-bot")


def test_all_caught_up_has_the_numbers_of_today(
    browser: Client, ask: Callable[..., Question], ana: Any
) -> None:
    assert "Try it" in inbox(browser)
    lifecycle.decline(ask(), ana)
    page = inbox(browser)
    for text in ("All caught up", "Answered by you today", "Your median", "Longest wait"):
        assert text in page
    assert "Try it" not in page


def test_numbers_of_today_come_with_the_rows(browser: Client, question: Question, ana: Any) -> None:
    lifecycle.decline(question, ana)
    found = browser.get("/", headers={"HX-Request": "true", "HX-Target": "ab-rows"}).content.decode()
    assert "<strong>1</strong> answered by you today" in found


def test_the_page_of_a_held_question_says_that_it_is_decided(
    browser: Client, ask: Callable[..., Question]
) -> None:
    question = ask(care={"undo_seconds": 60})
    browser.post(f"/rooms/ops/questions/{question.pk}/answer", {"choice-0": "0"})
    page = inbox(browser, f"/rooms/ops/questions/{question.pk}")
    assert "Not answered yet" not in page
    assert "Not sent to the agent yet" in page
