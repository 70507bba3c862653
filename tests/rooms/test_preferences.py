"""Preferences from the Settings page, and their effect on pages."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from rooms import lifecycle
from rooms.models import Preferences, Question, Room
from rooms.people import preferences

LOCALE_MIDDLEWARE = "django.middleware.locale.LocaleMiddleware"
COOKIE = settings.LANGUAGE_COOKIE_NAME


@pytest.fixture
def second_room(ana: Any) -> Room:
    return lifecycle.create_room("docs", name="Documentation", members=[ana])


def shown(browser: Client, address: str = "/") -> str:
    return browser.get(address).content.decode()


def body_of(page: str) -> str:
    return re.search('<div class="ab-layout" [^>]*>', page).group()


def muted(user: Any) -> set[str]:
    return set(Preferences.objects.get(pk=user.pk).muted_rooms.values_list("slug", flat=True))


# ---- the form --------------------------------------------------------------------------------------------


def test_who_never_chose_has_the_defaults_and_no_row(browser: Client, ana: Any, room: Room) -> None:
    body = body_of(shown(browser))
    assert "data-submit" not in body
    assert "data-keyboard" not in body
    assert "data-notify" not in body
    page = shown(browser, "/settings")
    assert 'name="keyboard" checked' in page
    assert 'name="always_submit" >' in page
    assert not Preferences.objects.exists()


@pytest.mark.parametrize(("sent", "kept"), [("dark", "dark"), ("light", "light"), ("", ""), ("pink", "")])
def test_the_colour_scheme_is_the_persons_choice_else_the_systems(
    browser: Client, ana: Any, room: Room, sent: str, kept: str
) -> None:
    browser.post("/settings", {"theme": sent})
    assert Preferences.objects.get(pk=ana.pk).theme == kept
    assert (f'data-theme="{kept}"' in body_of(shown(browser))) == bool(kept)
    assert f'<option value="{kept}" selected>' in shown(browser, "/settings")


def test_what_was_chosen_is_kept_and_is_on_every_page(browser: Client, room: Room) -> None:
    reply = browser.post("/settings", {"always_submit": "on", "notify": "on"})
    assert (reply.status_code, reply["Location"]) == (303, "/settings?saved=1#ab-saved")
    page = shown(browser, reply["Location"])
    assert "Saved." in page
    assert 'name="keyboard" >' in page
    assert 'name="always_submit" checked' in page
    for address in ("/", "/settings", f"/rooms/{room.slug}", f"/rooms/{room.slug}/connect"):
        body = body_of(shown(browser, address))
        assert 'data-submit="always"' in body
        assert 'data-keyboard="off"' in body
        assert " data-notify" in body


def test_one_tap_answers_for_who_chose_it(browser: Client, room: Room) -> None:
    assert "data-one-tap" not in body_of(shown(browser))
    assert 'name="one_tap" >' in shown(browser, "/settings")
    browser.post("/settings", {"one_tap": "on"})
    assert "data-one-tap" in body_of(shown(browser))
    assert 'name="one_tap" checked' in shown(browser, "/settings")


def test_what_was_chosen_can_be_taken_back(browser: Client, ana: Any, room: Room) -> None:
    browser.post("/settings", {"always_submit": "on", "notify": "on", "muted": [room.slug]})
    browser.post("/settings", {"keyboard": "on"})
    chosen = preferences.preferences_of(ana)
    assert (chosen.always_submit, chosen.keyboard, chosen.notify) == (False, True, False)
    assert muted(ana) == set()


def test_each_person_has_their_own(browser: Client, ben: Any, room: Room) -> None:
    browser.post("/settings", {"always_submit": "on", "muted": [room.slug]})
    assert not preferences.preferences_of(ben).always_submit
    assert preferences.muted_room_ids(preferences.preferences_of(ben)) == set()


def test_settings_are_for_those_who_are_signed_in(client: Client, db: None) -> None:
    assert client.get("/settings")["Location"] == "/login/?next=/settings"


def test_a_form_without_its_token_changes_nothing(ana: Any) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ana)
    assert strict.post("/settings", {"always_submit": "on"}).status_code == 403
    assert not Preferences.objects.exists()


# ---- muted rooms -----------------------------------------------------------------------------------------


def test_rooms_are_muted_by_ticks(browser: Client, ana: Any, room: Room, second_room: Room) -> None:
    browser.post("/settings", {"muted": [room.slug]})
    assert muted(ana) == {room.slug}
    assert f'value="{room.slug}" checked' in shown(browser, "/settings")
    assert f'value="{second_room.slug}" >' in shown(browser, "/settings")
    browser.post("/settings", {"muted": [second_room.slug]})
    assert muted(ana) == {second_room.slug}


def test_foreign_rooms_are_neither_offered_nor_muted(
    browser: Client, ana: Any, room: Room, other_room: Room
) -> None:
    assert other_room.name not in shown(browser, "/settings")
    assert browser.post("/settings", {"muted": [other_room.slug, "none-such"]}).status_code == 303
    assert muted(ana) == set()
    assert browser.post(f"/rooms/{other_room.slug}/mute").status_code == 404


def test_a_room_that_is_away_for_a_while_stays_muted(browser: Client, ana: Any, room: Room) -> None:
    browser.post("/settings", {"muted": [room.slug]})
    lifecycle.archive_room(room)
    browser.post("/settings", {})
    assert muted(ana) == {room.slug}


def test_the_button_in_a_room_mutes_it_and_lets_it_call_again(browser: Client, ana: Any, room: Room) -> None:
    address = f"/rooms/{room.slug}"
    assert 'name="mute" value="on"' in shown(browser, address)
    for _ in range(2):  # a double click does not undo it
        reply = browser.post(f"{address}/mute", {"mute": "on"})
        assert (reply.status_code, reply["Location"]) == (303, address)
        assert muted(ana) == {room.slug}
    assert 'name="mute" value="off"' in shown(browser, address)
    browser.post(f"{address}/mute", {"mute": "off"})
    assert muted(ana) == set()
    assert browser.get(f"{address}/mute")["Location"] == address


def test_muting_keeps_what_else_was_chosen(browser: Client, ana: Any, room: Room) -> None:
    browser.post("/settings", {"always_submit": "on"})
    browser.post(f"/rooms/{room.slug}/mute", {"mute": "on"})
    chosen = preferences.preferences_of(ana)
    assert (chosen.always_submit, chosen.keyboard) == (True, False)


def test_a_muted_room_is_shown_but_does_not_call(
    browser: Client, room: Room, second_room: Room, ask: Callable[..., Question], body: dict[str, Any]
) -> None:
    ask()
    ask()
    browser.post("/settings", {"muted": [room.slug]})
    page = shown(browser)
    assert page.count('<li class="ab-row"') == 2
    assert "<title>Inbox" in page
    assert re.search(r"data-total[^>]*>0<", page)
    assert re.search(r"data-open-total>2<", page)
    link = re.search(rf'<a [^>]*data-room="{room.slug}".*?</a>', page, re.DOTALL).group()
    assert "data-muted" in link
    assert '<span class="ab-sr-only">muted</span>' in link
    assert "data-part" not in link
    assert re.search(r"data-open[^>]*>2<", link)
    other = re.search(rf'<a [^>]*data-room="{second_room.slug}".*?</a>', page, re.DOTALL).group()
    assert "data-muted" not in other
    assert "data-part" in other


def test_what_calls_is_counted_in_title_and_rail(
    browser: Client, room: Room, second_room: Room, ask: Callable[..., Question]
) -> None:
    ask()
    browser.post("/settings", {"muted": [second_room.slug]})
    page = shown(browser)
    assert "<title>(1) Inbox" in page
    assert re.search(r"data-total[^>]*>1<", page)


@pytest.mark.parametrize("address", ["/", "/settings", "/rooms/ops"])
def test_a_page_asks_at_most_twice_for_preferences(
    browser: Client, ana: Any, room: Room, second_room: Room, address: str
) -> None:
    def asked() -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            browser.get(address)
        return sum("ask_bridge_preferences" in query["sql"] for query in queries)

    assert asked() == 1
    preferences.mute(ana, room, is_muted=True)
    preferences.mute(ana, second_room, is_muted=True)
    assert asked() == 2


# ---- language --------------------------------------------------------------------------------------------


@pytest.fixture
def languages(settings: Any) -> None:
    settings.MIDDLEWARE = [*without_locale(settings), LOCALE_MIDDLEWARE]
    settings.LANGUAGES = [("en", "English"), ("de", "German"), ("x-own", "Our own")]
    settings.LANGUAGE_COOKIE_AGE = 3600
    settings.LANGUAGE_COOKIE_SAMESITE = "Strict"


def without_locale(settings: Any) -> list[str]:
    return [name for name in settings.MIDDLEWARE if name != LOCALE_MIDDLEWARE]


def test_one_language_is_no_choice(browser: Client, languages: None, settings: Any, room: Room) -> None:
    settings.LANGUAGES = [("de", "German")]
    assert 'name="language"' not in shown(browser, "/settings")
    assert COOKIE not in browser.post("/settings", {"language": "de"}).cookies


def test_a_portal_that_does_not_choose_languages_offers_none(
    browser: Client, languages: None, settings: Any, room: Room
) -> None:
    settings.MIDDLEWARE = without_locale(settings)
    assert 'name="language"' not in shown(browser, "/settings")
    assert COOKIE not in browser.post("/settings", {"language": "de"}).cookies


def test_a_language_is_kept_in_the_browser(browser: Client, languages: None, room: Room) -> None:
    page = shown(browser, "/settings")
    assert re.search(r'<option value="de" lang="de" >Deutsch<', page)
    assert ">Our own<" in page
    cookie = browser.post("/settings", {"language": "de"}).cookies[COOKIE]
    assert (cookie.value, cookie["max-age"], cookie["samesite"]) == ("de", 3600, "Strict")
    assert 'value="de" lang="de" selected' in shown(browser, "/settings")


def test_a_language_can_be_left_to_the_browser_again(browser: Client, languages: None, room: Room) -> None:
    browser.post("/settings", {"language": "de"})
    cookie = browser.post("/settings", {"language": ""}).cookies[COOKIE]
    assert (cookie.value, cookie["max-age"]) == ("", 0)


def test_a_language_that_there_is_not_is_not_kept(browser: Client, languages: None, room: Room) -> None:
    reply = browser.post("/settings", {"language": "tlh"})
    assert COOKIE not in reply.cookies
