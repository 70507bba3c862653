"""The Rooms page, and the bar at the bottom of narrow pages."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from rooms.models import Preferences, Question, Room


def shown(browser: Client, address: str) -> str:
    return browser.get(address).content.decode()


def listed(page: str) -> list[tuple[str, str]]:
    """Address and number of each room."""
    return re.findall(
        r'<a class="ab-rooms-link" href="([^"]+)">.*?data-zero="hide">(\d+)</span>', page, re.DOTALL
    )


def test_the_rooms_of_a_person_are_listed_with_their_counts(
    browser: Client, ask: Callable[..., Question], room: Room, other_room: Room
) -> None:
    ask(), ask()
    assert listed(shown(browser, "/rooms")) == [("/rooms/ops", "2")]


def test_a_muted_room_says_so(browser: Client, room: Room, ana: Any) -> None:
    Preferences.objects.create(user=ana).muted_rooms.add(room)
    page = shown(browser, "/rooms").partition('class="ab-rooms-list"')[2]
    assert "bell-off" in page.partition("</ul>")[0]


def test_who_has_no_room_is_told_whom_to_ask(browser: Client, other_room: Room) -> None:
    assert "You are not a member of any room yet." in shown(browser, "/rooms")


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("/", "/"),
        ("/rooms", "/rooms"),
        ("/rooms/ops", "/rooms"),
        ("/history", "/history"),
        ("/settings", "/settings"),
    ],
)
def test_the_bar_marks_where_one_is(browser: Client, room: Room, address: str, place: str) -> None:
    bar = shown(browser, address).partition('<nav class="ab-tabs"')[2].partition("</nav>")[0]
    assert re.findall(r'href="(/[^".]*)"\s+aria-current', bar) == [place]
