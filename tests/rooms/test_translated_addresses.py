"""Pages beside `i18n_patterns`, with and without a prefix for the default language: that of the person."""

import sys
from types import ModuleType
from typing import Any

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import include, path

from rooms.models import Room
from tests.rooms.test_checks import found

OURS = path("ask/", include("rooms.urls"))


def board(request: HttpRequest) -> HttpResponse:
    """A page of the portal."""
    return HttpResponse()


@pytest.fixture(params=[True, False], ids=["prefix", "no prefix"])
def has_prefix(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def use_urls(settings: Any, monkeypatch: pytest.MonkeyPatch, has_prefix: bool) -> Any:
    def use(*patterns: Any, beside: Any = ()) -> None:
        urls = ModuleType("translated_urls")
        translated = i18n_patterns(path("board/", board), *patterns, prefix_default_language=has_prefix)
        urls.urlpatterns = [*beside, *translated]  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "translated_urls", urls)
        settings.ROOT_URLCONF = urls
        settings.LOGIN_URL = "/board/" if not has_prefix else "https://login.example.org/"

    return use


def test_pages_beside_them_follow_the_person(browser: Client, room: Room, use_urls: Any) -> None:
    use_urls(beside=[OURS])
    assert not {"ask_bridge.E009", "ask_bridge.W007"} & set(found())
    german = {"Accept-Language": "de"}
    assert "Eingang" in browser.get("/ask/", headers=german).content.decode()
    page = browser.get("/ask/rooms/ops", headers=german)
    assert page["Content-Language"] == "de"
    assert "language=de" in page.content.decode()  # of the stream
    assert "Inbox" in browser.get("/ask/").content.decode()
    browser.cookies["django_language"] = "de"  # chosen on the page Settings
    assert "Eingang" in browser.get("/ask/").content.decode()
    assert "Eingang" in browser.get("/ask/", headers={"Accept-Language": "en"}).content.decode()


def test_pages_among_them_have_the_language_of_their_address(
    browser: Client, use_urls: Any, has_prefix: bool
) -> None:
    use_urls(OURS)
    german = {"Accept-Language": "de"}
    english_page = "/en/ask/" if has_prefix else "/ask/"
    assert "Inbox" in browser.get(english_page, headers=german).content.decode()
    assert "Eingang" in browser.get("/de/ask/").content.decode()
