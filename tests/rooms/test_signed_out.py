"""A form that is sent by htmx after signing out: what its page is told, and where signing in leads."""

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from django.urls import reverse

from rooms.models import Question, Room


def next_of(reply: Any) -> str:
    """Where the login leads."""
    assert reply.status_code == 401
    link = re.search(r'href="([^"]+)"', reply.content.decode())
    assert link
    (place,) = parse_qs(urlsplit(link.group(1)).query)["next"]
    return place


def send(address: str, page: str) -> Any:
    return Client().post(address, headers={"HX-Request": "true", "HX-Current-URL": page})


def test_signing_in_leads_back_to_the_card(question: Question) -> None:
    address = reverse("ask_bridge:answer", args=(question.room.slug, question.pk))
    assert next_of(send(address, "http://testserver/?show=200")) == f"/?show=200#card-{question.pk}"
    assert next_of(send(address, "http://testserver/rooms/ops#x")) == f"/rooms/ops#card-{question.pk}"


def test_signing_in_leads_back_to_the_composer_page(room: Room) -> None:
    address = reverse("ask_bridge:post-message", args=(room.slug,))
    assert next_of(send(address, "http://testserver/rooms/ops")) == "/rooms/ops"


@pytest.mark.parametrize(
    "page",
    [
        "https://evil.example/x",
        "http://testserver//evil.example/x",
        "//evil.example/x",
        "javascript:alert(1)",
        "",
    ],
)
def test_signing_in_never_leads_elsewhere(question: Question, page: str) -> None:
    place = next_of(send(reverse("ask_bridge:answer", args=(question.room.slug, question.pk)), page))
    assert place.startswith("/")
    assert not place.startswith("//")
    assert not urlsplit(place).netloc
