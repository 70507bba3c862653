"""The file that lets browsers install the pages as an app."""

import re
import struct
from pathlib import Path
from types import ModuleType

import pytest
from django.contrib.staticfiles import finders
from django.test import Client
from django.urls import include, path

from rooms.pages.manifest import PAPER


def test_it_is_public_and_cacheable(client: Client) -> None:
    reply = client.get("/manifest.webmanifest")
    assert reply["Content-Type"] == "application/manifest+json"
    assert reply["Cache-Control"] == "public, max-age=3600"
    assert not reply.cookies
    assert reply.json()["start_url"] == reply.json()["scope"] == "/"


def test_it_starts_at_the_inbox_of_a_portal_too(client: Client, settings: object) -> None:
    portal = ModuleType("portal_urls")
    portal.urlpatterns = [path("team/questions/", include("rooms.urls"))]  # type: ignore[attr-defined]
    settings.ROOT_URLCONF = portal  # type: ignore[attr-defined]
    reply = client.get("/team/questions/manifest.webmanifest").json()
    assert reply["start_url"] == reply["scope"] == reply["id"] == "/team/questions/"


def test_every_page_names_it(client: Client, db: None) -> None:
    page = client.get("/login/").content.decode()
    assert '<link rel="manifest" href="/manifest.webmanifest">' in page
    assert 'rel="apple-touch-icon"' in page


@pytest.mark.parametrize("index", range(4))
def test_icons_are_there_and_as_large_as_they_say(client: Client, index: int) -> None:
    icon = client.get("/manifest.webmanifest").json()["icons"][index]
    found = finders.find(icon["src"].removeprefix("/static/"))
    assert found, icon["src"]
    if icon["type"] == "image/png":
        width, height = struct.unpack(">II", Path(found).read_bytes()[16:24])
        assert icon["sizes"] == f"{width}x{height}"


def test_its_colours_are_those_of_the_pages(client: Client, db: None) -> None:
    tokens = Path(finders.find("ask_bridge/css/tokens.css")).read_text()
    assert re.search(r"--paper: light-dark\((#\w+),", tokens).group(1) == PAPER
    assert (
        f'content="{PAPER}" media="(prefers-color-scheme: light)"' in client.get("/login/").content.decode()
    )
