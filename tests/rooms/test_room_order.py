"""Rooms are listed by name as people sort names, on every database."""

import re
from typing import Any

from django.test import Client

from rooms.lifecycle import create_room


def test_rooms_are_sorted_without_regard_to_case_and_accents(browser: Client, ana: Any) -> None:
    for slug, name in (("z", "zoo"), ("a", "Ärzte"), ("b", "Bank"), ("c", "apps"), ("d", "bakery")):
        create_room(slug, name=name, is_open=True)
    shown = browser.get("/").content.decode()
    names = re.findall(r'class="ab-rail-name">([^<]+)<', shown)
    assert names == ["apps", "Ärzte", "bakery", "Bank", "zoo"]
