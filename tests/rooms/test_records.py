"""Records: questions that are decided or over, as one row that says how, with a text and an icon."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from rooms import lifecycle
from rooms.models import Answer, Question, Room
from rooms.rendering import cards, times

Ask = Callable[..., Question]
TEXT = "Which database should we use?"
SQLITE = [{"question": TEXT, "selectedOptions": ["SQLite"]}]


def in_words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def row_of(question: Question, viewer: Any = None) -> str:
    """The row of a record as HTML."""
    shown = Question.objects.with_answer().get(pk=question.pk)
    found = re.search(r"<summary>(.*?)</summary>", cards.render_card(shown, viewer and viewer.pk), re.DOTALL)
    assert found
    return found.group(1)


def icon_of(row: str) -> str:
    return re.findall(r'<svg class="ab-icon ab-record-icon"[^>]*><use href="[^"]*#([\w-]+)"', row)[0]


def answer(question: Question, user: Any = None, via: Answer.Via = Answer.Via.WEB) -> Question:
    return lifecycle.answer(question, SQLITE, via=via, user=user)


def close_stale(question: Question) -> None:
    Question.objects.update(is_attended=False, closes_at=question.asked_at)
    lifecycle.sweep()


ENDINGS: dict[str, tuple[Callable[[Question, Any, Any], Any], str]] = {
    "Answered by you": (lambda question, ana, ben: answer(question, ana), "check"),
    "Answered by ben": (lambda question, ana, ben: answer(question, ben), "check"),
    "Answered in the terminal": (
        lambda question, ana, ben: answer(question, via=Answer.Via.TERMINAL),
        "terminal",
    ),
    "Skipped by ben": (lambda question, ana, ben: lifecycle.decline(question, ben, ""), "skip"),
    "Asked back by you": (lambda question, ana, ben: lifecycle.ask_back(question, ana, "Why?"), "reply"),
    "Withdrawn by the agent": (lambda question, ana, ben: lifecycle.withdraw(question), "undo"),
    "Withdrawn by ben": (lambda question, ana, ben: lifecycle.withdraw(question, by=ben), "undo"),
    "Closed: no agent was waiting": (
        lambda question, ana, ben: close_stale(question),
        "closed",
    ),
    "Closed: the room was archived": (
        lambda question, ana, ben: lifecycle.archive_room(question.room),
        "closed",
    ),
}


@pytest.mark.parametrize("outcome", ENDINGS)
def test_a_record_says_how_it_ended_with_a_text_and_an_icon(
    question: Question, ana: Any, ben: Any, outcome: str
) -> None:
    end, icon = ENDINGS[outcome]
    end(question, ana, ben)
    row = row_of(question, ana)
    assert outcome in in_words(row)
    assert icon_of(row) == icon


def test_an_expired_question_has_a_clock(overdue: Question) -> None:
    lifecycle.expire_if_due(overdue)
    row = row_of(overdue)
    assert "Expired without an answer" in in_words(row)
    assert icon_of(row) == "clock"


def test_a_row_has_question_choice_person_time_and_delivery(question: Question, ben: Any) -> None:
    settled = answer(question, ben)
    row = row_of(question)
    assert in_words(row).startswith(f"{TEXT} SQLite Answered by ben {times.clock(settled.settled_at)}")
    assert in_words(row).endswith("Not delivered yet")
    lifecycle.deliver(question.pk)
    assert in_words(row_of(question)).endswith("Delivered to the agent")


def test_the_choice_of_several_prompts_names_each(ask: Ask, ana: Any) -> None:
    prompts = [
        {
            "question": "Which checks?",
            "header": "Checks",
            "multiSelect": True,
            "options": ["Unit", "All"],
        },
        {"question": "When do we release?", "options": ["Now", "Tonight"]},
    ]
    choices = [
        {"question": "Which checks?", "selectedOptions": ["Unit", "All"]},
        {"question": "When do we release?", "selectedOptions": ["Now"]},
    ]
    settled = lifecycle.answer(ask(questions=prompts), choices, via=Answer.Via.WEB, user=ana)
    assert in_words(row_of(settled)).startswith("Checks: Unit, All When do we release? Now Answered by")


def test_what_was_asked_back_is_in_the_row(question: Question, ben: Any) -> None:
    lifecycle.ask_back(question, ben, "How large does it get?")
    assert f"{TEXT} “How large does it get?” Asked back by ben" in in_words(row_of(question))


def test_a_held_decision_is_a_record_that_says_when_it_goes(ask: Ask, ben: Any) -> None:
    held = answer(ask(care={"undo_seconds": 60}), ben)
    assert "Goes to the agent:" in in_words(row_of(held))
    assert "Undo" in cards.render_card(held, ben.pk)


def test_the_opened_record_leads_to_its_page(question: Question, room: Room, ben: Any) -> None:
    html = cards.render_card(answer(question, ben))
    whole = html.partition("</summary>")[2]
    assert f'href="/rooms/{room.slug}/questions/{question.pk}"' in whole
    assert "refactor-bot" in whole
