"""Pages through Django's test client: what needs neither a browser nor a running site."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from rooms import cards, lifecycle
from rooms.models import Answer, Question, Room


@pytest.fixture
def browser(ana: Any) -> Client:
    client = Client()
    client.force_login(ana)
    return client


@pytest.mark.parametrize("before", ["²", "-1", "9" * 30, "x", ""])
def test_a_strange_page_of_the_past_is_the_present(browser: Client, room: Room, before: str) -> None:
    assert browser.get(f"/rooms/{room.slug}", {"before": before}).status_code == 200


def test_head_is_as_good_as_get(browser: Client, room: Room) -> None:
    assert browser.head(f"/rooms/{room.slug}").status_code == 200


def test_a_slash_too_many_leads_to_the_room(browser: Client, room: Room) -> None:
    assert browser.get(f"/rooms/{room.slug}/")["Location"] == f"/rooms/{room.slug}"


@pytest.mark.parametrize("tail", ["answer", "skip", "reply"])
def test_the_address_of_a_form_leads_to_its_page(browser: Client, question: Question, tail: str) -> None:
    address = f"/rooms/{question.room.slug}/questions/{question.pk}"
    assert browser.get(f"{address}/{tail}")["Location"] == address


def test_a_form_sent_after_the_session_leads_back_to_its_page(client: Client, question: Question) -> None:
    address = f"/rooms/{question.room.slug}/questions/{question.pk}"
    reply = client.post(f"{address}/answer", {"choice-0": "0"})
    assert reply["Location"] == f"/login/?next={address}"


def test_a_renamed_room_has_its_new_address_on_every_card(
    browser: Client, question: Question, room: Room
) -> None:
    assert f'action="/rooms/{room.slug}/questions' in browser.get(f"/rooms/{room.slug}").content.decode()
    Room.objects.filter(pk=room.pk).update(slug="renamed", name="Renamed")
    page = browser.get("/rooms/renamed").content.decode()
    assert f'action="/rooms/renamed/questions/{question.pk}/answer"' in page


def test_the_longest_name_can_answer(question: Question, ana: Any, browser: Client) -> None:
    ana.first_name, ana.last_name = "A" * 150, "B" * 150
    ana.save()
    reply = browser.post(f"/rooms/{question.room.slug}/questions/{question.pk}/answer", {"choice-0": "1"})
    assert reply.status_code == 303
    assert Answer.objects.get(question=question).person_name == f"{'A' * 150} {'B' * 150}"
    lifecycle.say(question.room, ana, "Done.")


def test_more_open_questions_than_a_page_shows_are_said_to_be_there(
    browser: Client, room: Room, ask: Callable[..., Question]
) -> None:
    for _ in range(101):
        ask()
    for address in (f"/rooms/{room.slug}", "/"):
        page = browser.get(address).content.decode()
        assert "the first 100 of 101 open questions" in page
        assert page.count('data-status="open"') == 100
        [more] = re.findall(r'href="(\?show=\d+)"', page)
        assert browser.get(f"{address}{more}").content.decode().count('data-status="open"') == 101


def test_a_host_that_is_not_ours_is_a_problem_for_agents_and_a_page_for_people(client: Client) -> None:
    headers = {"Host": "evil.example"}
    reply = client.get("/api/v1/questions/q_1", headers=headers)
    assert (reply.status_code, reply.json()["code"]) == (400, "bad_host")
    assert client.get("/", headers=headers)["Content-Type"].startswith("text/html")


@pytest.mark.parametrize(
    ("asked", "header", "sentence"),
    [
        ("Ship it?", "", "Ship it? Yes"),
        ("Ship **this & that?**", "", "Ship this &amp; that? Yes"),
        ("Choose a day", "", "Choose a day: Yes"),
        ("Ship it?", "Release", "Release: Yes"),
    ],
)
def test_a_settled_card_says_what_was_decided_in_one_sentence(
    ask: Callable[..., Question], ana: Any, asked: str, header: str, sentence: str
) -> None:
    prompt = {"question": asked, "header": header, "options": [{"label": "Yes"}, {"label": "No"}]}
    choices = [{"question": asked, "selectedOptions": ["Yes"]}]
    settled = lifecycle.answer(ask(questions=[prompt]), choices, via=Answer.Via.WEB, user=ana)

    said = re.sub(r"<[^>]*>", "", cards.render_card(settled))

    assert sentence in said
