"""A form that is sent again because its reply was lost: stored once, and confirmed."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from rooms import lifecycle
from rooms.contract import ids
from rooms.models import Answer, Message, Question, Room

Ask = Callable[..., Question]
HTMX = {"HX-Request": "true"}
FORMS = {
    "answer": {"choice-0": "1", "notes-0": "Not before\r\nFriday"},
    "skip": {"reason": "not today"},
    "ask-back": {"reply": " Why\r\nnow? "},
}


def send(browser: Client, question: Question, name: str, data: dict[str, str], **headers: str) -> Any:
    address = reverse(f"ask_bridge:{name}", args=(question.room.slug, question.pk))
    return browser.post(address, data, headers={**HTMX, **headers})


@pytest.mark.parametrize("name", FORMS)
def test_the_same_form_again_shows_the_own_decision(browser: Client, question: Question, name: str) -> None:
    first, second = (send(browser, question, name, FORMS[name]) for _ in range(2))
    assert (first.status_code, second.status_code) == (200, 200)
    assert "by you" in second.content.decode()
    assert "too late" not in second.content.decode()
    assert Answer.objects.count() == 1


@pytest.mark.parametrize("name", FORMS)
def test_without_htmx_it_leads_to_the_question(browser: Client, question: Question, name: str) -> None:
    address = reverse(f"ask_bridge:{name}", args=(question.room.slug, question.pk))
    replies = [browser.post(address, FORMS[name]) for _ in range(2)]
    assert [reply.status_code for reply in replies] == [303, 303]


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("answer", {"choice-0": "0"}),
        ("answer", {"choice-0": "1"}),  # without the note
        ("skip", {"reason": "not tomorrow"}),
        ("ask-back", {"reply": "not today"}),
    ],
)
def test_another_decision_of_the_same_person_is_too_late(
    browser: Client, question: Question, name: str, other: dict[str, str]
) -> None:
    first = "skip" if name == "ask-back" else name
    send(browser, question, first, FORMS[first])
    late = send(browser, question, name, other)
    assert late.status_code == 409
    assert "by you" in late.content.decode()


@pytest.mark.parametrize("name", FORMS)
def test_the_same_form_of_another_person_is_too_late(
    browser: Client, ben: Any, question: Question, name: str
) -> None:
    first = Client()
    first.force_login(ben)
    assert send(first, question, name, FORMS[name]).status_code == 200
    late = send(browser, question, name, FORMS[name])
    assert late.status_code == 409
    assert "by ben" in late.content.decode()


def test_a_vote_that_decided_is_recognised(browser: Client, ask: Ask, ben: Any) -> None:
    question = ask(care={"votes": 2, "undo_seconds": 60})
    choice = {"question": "Which database should we use?", "selectedOptions": ["SQLite"], "notes": None}
    send(browser, question, "answer", {"choice-0": "1"})
    lifecycle.answer(question, [choice], via=Answer.Via.WEB, user=ben)
    held = send(browser, question, "answer", {"choice-0": "1"})
    assert (held.status_code, "too late" in held.content.decode()) == (200, False)
    assert send(browser, question, "answer", {"choice-0": "0"}).status_code == 409
    lifecycle.release(question)
    assert send(browser, question, "answer", {"choice-0": "1"}).status_code == 200


def test_a_vote_that_lost_is_too_late(browser: Client, ask: Ask, ben: Any, django_user_model: Any) -> None:
    question = ask(care={"votes": 2})
    choice = {"question": "Which database should we use?", "selectedOptions": ["SQLite"], "notes": None}
    send(browser, question, "answer", {"choice-0": "0"})
    for user in (ben, django_user_model.objects.create_user("cy")):
        lifecycle.answer(question, [choice], via=Answer.Via.WEB, user=user)
    assert send(browser, question, "answer", {"choice-0": "0"}).status_code == 409


# ---- messages --------------------------------------------------------------------------------------------


def say(browser: Client, room: Room, **data: str) -> Any:
    return browser.post(reverse("ask_bridge:post-message", args=(room.slug,)), data, headers=HTMX)


def contents() -> list[str]:
    return list(Message.objects.order_by("position").values_list("content", flat=True))


def test_a_message_with_the_same_nonce_is_stored_once(browser: Client, room: Room) -> None:
    nonce = ids.new_nonce()
    for _ in range(2):
        assert say(browser, room, content="Please hurry", nonce=nonce).status_code == 200
    assert contents() == ["Please hurry"]
    assert Message.objects.get().pk.endswith(nonce)


def test_another_text_with_the_same_nonce_is_another_message(browser: Client, room: Room) -> None:
    """A browser may show a page again as it was, with the nonce of what was sent from it."""
    nonce = ids.new_nonce()
    for content in ("Please hurry", "Thank you"):
        say(browser, room, content=content, nonce=nonce)
    assert contents() == ["Please hurry", "Thank you"]


@pytest.mark.parametrize("nonce", ["", "x", "%", "_" * 16, "\x00" * 16, "A" * 16])
def test_what_is_no_nonce_makes_each_message_its_own(browser: Client, room: Room, nonce: str) -> None:
    for _ in range(2):
        assert say(browser, room, content="Please hurry", nonce=nonce).status_code == 200
    assert len(contents()) == 2


def test_the_nonce_of_another_person_hides_nothing(browser: Client, room: Room, ben: Any) -> None:
    nonce = ids.new_nonce()
    lifecycle.say(room, ben, "Please hurry", nonce)
    say(browser, room, content="Please hurry", nonce=nonce)
    assert len(contents()) == 2


def test_every_composer_has_a_nonce_of_its_own(browser: Client, room: Room) -> None:
    address = reverse("ask_bridge:room", args=(room.slug,))
    pages = [browser.get(address).content.decode() for _ in range(2)]
    nonces = {page.partition('name="nonce" value="')[2][: ids.RANDOM_CHARACTERS] for page in pages}
    assert len(nonces) == 2
    assert all(map(ids.is_nonce, nonces))
