"""A portal with USE_THOUSAND_SEPARATOR writes 1,234 for 1234, but not in what scripts and links read."""

import html
import re
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from rooms import access, lifecycle
from rooms.contract.payload import parse_ask
from rooms.models import Question, Room
from rooms.pages.room import ENTRIES_PER_PAGE
from rooms.rendering import cards

GROUPED = re.compile(r".{0,60}\b\d{1,3}(?:,\d{3})+\b.{0,20}")
PAGES = (
    *("/", "/history", "/insights", "/rooms", "/settings", "/rooms/ops", "/rooms/ops/connect"),
    *(
        f"/rooms/ops/{page}"
        for page in ("manage", "manage/members", "manage/care", "manage/keys", "manage/retention", "webhooks")
    ),
)


@pytest.fixture(autouse=True)
def grouping(settings: Any) -> None:
    settings.USE_THOUSAND_SEPARATOR = True


@pytest.fixture
def question(db: None) -> Question:
    """The last one of many, asked in a room of people with high ids."""
    people = get_user_model().objects
    ana, ben = (people.create_user(name, pk=number) for name, number in (("ana", 1234567), ("ben", 1234568)))
    room = lifecycle.create_room("ops", members=[ana, ben])
    room.memberships.filter(user=ana).update(role="manager")
    key, _ = access.create_key(room, label="refactor-bot")
    Room.objects.update(revision=1234567)
    room.refresh_from_db()
    lifecycle.ask(room, key, parse_ask({"question": "Go?", "options": ["Yes", "No"]}))
    asked, _ = lifecycle.ask(room, key, parse_ask({"question": "Go on?", "options": ["Yes", "No"]}))
    return asked


@pytest.fixture
def browser(question: Question) -> Client:
    client = Client()
    client.force_login(get_user_model().objects.get(username="ana"))
    return client


@pytest.mark.parametrize("address", PAGES)
def test_no_page_groups_the_digits_of_a_number(browser: Client, address: str) -> None:
    reply = browser.get(address)
    assert reply.status_code == 200
    assert GROUPED.findall(reply.content.decode()) == []


@pytest.mark.parametrize("part", ["ab-rows", "ab-focus"])
def test_parts_of_the_inbox_have_no_grouped_digits(browser: Client, part: str) -> None:
    reply = browser.get("/", headers={"HX-Request": "true", "HX-Target": part})
    assert GROUPED.findall(reply.content.decode()) == []


def test_cards_and_their_marks_have_no_grouped_digits(browser: Client, question: Question) -> None:
    assert f'data-revision="{question.revision}"' in cards.render_marks(question)
    reply = browser.post(
        f"/rooms/ops/questions/{question.pk}/answer", {"choice-0": "0"}, headers={"HX-Request": "true"}
    )
    assert GROUPED.findall(reply.content.decode()) == []
    answered = Question.objects.with_answer().get(pk=question.pk)
    assert f'data-revision="{answered.revision}"' in cards.render_marks(answered)
    assert GROUPED.findall(browser.get(f"/rooms/ops/questions/{question.pk}").content.decode()) == []


def test_older_entries_are_reached(browser: Client, question: Question) -> None:
    ben = get_user_model().objects.get(username="ben")
    for _ in range(ENTRIES_PER_PAGE + 1):
        lifecycle.say(question.room, ben, "Done.")
    older = re.search(r'hx-get="([^"]*before=[^"]*)"', browser.get("/rooms/ops").content.decode())
    assert older
    address = html.unescape(older[1])
    assert address != "/rooms/ops"
    page = browser.get(address, headers={"HX-Request": "true"}).content.decode()
    assert GROUPED.findall(page) == []
    assert page.count("Done.") == 1
