"""Answers from the buttons of a push notification: who is offered them, and what is shown after a press."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from rooms import lifecycle
from rooms.models import Answer, Notice, Preferences, PushSubscription, Question, Room
from rooms.notifications import content
from rooms.notifications.actions import offered_labels
from rooms.notifications.channels import push

Ask = Callable[..., Question]


def prompt(**fields: Any) -> dict[str, Any]:
    return {"question": "Which database?", "options": ["PostgreSQL (Recommended)", "SQLite"], **fields}


def address(question: Question) -> str:
    return f"/rooms/{question.room.slug}/questions/{question.pk}/push"


def press(browser: Client, question: Question, option: int = 1) -> Any:
    return browser.post(address(question), {"choice-0": str(option)})


# ---- which notifications have buttons --------------------------------------------------------------------


def test_a_plain_question_offers_its_options(ask: Ask, ana: Any) -> None:
    assert offered_labels(ask(questions=[prompt()]), ana) == ["PostgreSQL", "SQLite"]


@pytest.mark.parametrize(
    "fields",
    [
        {"questions": [prompt(multiSelect=True)]},
        {"questions": [prompt(), prompt(question="When?")]},
        {"questions": [prompt(options=[{"label": "A", "preview": "x = 1"}, "B"])]},
        {"questions": [prompt(question="Which database, " * 40)]},
        {"questions": [prompt(options=["Drop the table " * 5, "Keep it"])]},
        {"questions": [prompt(options=["Now", "Now (Recommended)"])]},
        {"questions": [prompt()], "care": {"undo_seconds": 10}},
        {"questions": [prompt()], "care": {"first": "ben"}},
        {"questions": [prompt()], "care": {"votes": 2}},
    ],
    ids=[
        "several choices",
        "two prompts",
        "preview",
        "long text",
        "long label",
        "same label",
        "undo",
        "first",
        "votes",
    ],
)
def test_what_needs_its_card_offers_none(ask: Ask, ana: Any, fields: dict[str, Any]) -> None:
    assert offered_labels(ask(**fields), ana) == []


def test_who_always_confirms_with_submit_is_offered_none(question: Question, ana: Any) -> None:
    Preferences.objects.create(user=ana, always_submit=True)
    assert offered_labels(question, ana) == []


def test_a_settled_question_offers_none(question: Question, ana: Any) -> None:
    assert offered_labels(lifecycle.decline(question, ana), ana) == []


def test_the_message_to_a_device_has_the_buttons_and_their_address(question: Question, ana: Any) -> None:
    device = PushSubscription(user=ana, endpoint="https://push.example.org/1")
    notice = Notice(kind=Notice.Kind.ASKED, question=question, user=ana, subscription=device)
    message = push.payload(content.content_of(notice), push.actions_of(notice))
    assert message["actions"] == [
        {"action": "0", "title": "PostgreSQL"},
        {"action": "1", "title": "SQLite"},
    ]
    assert message["answer"] == address(question)
    assert message["unsent"] == "Could not send your answer. Open the card to try again."
    notice.kind = Notice.Kind.SETTLED
    assert push.actions_of(notice) == {}


# ---- a press ---------------------------------------------------------------------------------------------


def test_a_press_answers_in_the_name_of_the_person(browser: Client, question: Question, ana: Any) -> None:
    reply = press(browser, question)
    assert (reply.status_code, reply.json()) == (
        200,
        {
            "title": "Answered: SQLite",
            "body": "Nothing is waiting for you.",
            "url": f"/rooms/ops/questions/{question.pk}",
        },
    )
    answer = Answer.objects.get()
    assert (answer.user, answer.via) == (ana, Answer.Via.WEB)


def test_the_reply_leads_to_the_next_question(browser: Client, ask: Ask) -> None:
    answered, following, _ = ask(), ask(), ask()
    shown = press(browser, answered).json()
    assert shown["body"] == "Next: 2 waiting"
    assert shown["url"] == f"/?question={following.pk}"


def test_muted_rooms_are_not_next(browser: Client, ask: Ask, room: Room, ana: Any) -> None:
    answered, _ = ask(), ask()
    Preferences.objects.create(user=ana).muted_rooms.add(room)
    assert press(browser, answered).json()["body"] == "Nothing is waiting for you."


def test_who_was_faster_is_named(browser: Client, question: Question, ben: Any) -> None:
    chosen = [{"question": "Which database should we use?", "selectedOptions": ["SQLite"]}]
    lifecycle.answer(question, chosen, via=Answer.Via.WEB, user=ben)
    reply = press(browser, question, option=0)
    assert reply.status_code == 409
    assert reply.json() == {
        "title": "Your answer came too late",
        "body": "Answered by ben: SQLite",
        "url": f"/rooms/ops/questions/{question.pk}",
    }


def test_the_same_press_twice_is_one_answer(browser: Client, question: Question) -> None:
    replies = [press(browser, question).json()["title"] for _ in range(2)]
    assert replies == ["Answered: SQLite"] * 2


def test_an_own_undo_window_holds_it_back(browser: Client, question: Question, ana: Any) -> None:
    Preferences.objects.create(user=ana, undo_seconds=30)
    reply = press(browser, question).json()
    assert reply["body"] == "Open the card to undo it."
    question.refresh_from_db()
    assert question.is_open
    assert question.is_held


def test_what_was_not_offered_is_not_answered(browser: Client, ask: Ask) -> None:
    careful = ask(care={"undo_seconds": 10})
    reply = press(browser, careful)
    assert (reply.status_code, reply.json()["title"]) == (422, "Not answered")
    assert not Answer.objects.exists()


def test_a_held_decision_of_others_is_refused_with_a_sentence(
    browser: Client, ask: Ask, room: Room, ben: Any
) -> None:
    careful = ask(care={"first": "ben", "undo_seconds": 30})
    chosen = [{"question": "Which database should we use?", "selectedOptions": ["SQLite"]}]
    lifecycle.answer(careful, chosen, via=Answer.Via.WEB, user=ben)
    reply = press(browser, careful, option=0)
    assert reply.status_code == 422
    assert reply.json()["body"] == "Only the people named on the card can decide this question"


@pytest.mark.parametrize("option", ["7", "", "other"])
def test_only_an_offered_option_answers(browser: Client, question: Question, option: str) -> None:
    reply = browser.post(address(question), {"choice-0": option})
    assert (reply.status_code, reply.json()["title"]) == (422, "Not answered")
    assert not Answer.objects.exists()


def test_too_many_answers_are_a_sentence(browser: Client, ask: Ask, settings: Any) -> None:
    settings.ASK_BRIDGE = {**settings.ASK_BRIDGE, "ANSWERS_PER_MINUTE": 1}
    press(browser, ask())
    reply = press(browser, ask())
    assert reply.status_code == 429
    assert reply.json()["body"].startswith("More than 1 within a minute")


# ---- who may press ---------------------------------------------------------------------------------------


def test_a_press_needs_the_token_that_the_worker_reads_first(ana: Any, question: Question) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ana)
    assert press(strict, question).status_code == 403
    token = strict.get(address(question)).json()["token"]
    reply = strict.post(address(question), {"choice-0": "1"}, headers={"X-CSRFToken": token})
    assert reply.status_code == 200
    assert Answer.objects.get().user == ana


def test_a_stranger_gets_no_token_and_answers_nothing(question: Question, other_room: Room) -> None:
    foreign = Client()
    assert foreign.get(address(question)).status_code == 302
    assert press(foreign, question).status_code == 302
    assert not Answer.objects.exists()
