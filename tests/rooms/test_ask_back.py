"""Asking back: a person writes to the agent instead of choosing."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from rooms import lifecycle
from rooms.contract.limits import FREE_TEXT_LENGTH
from rooms.contract.types import InvalidPayload
from rooms.models import Answer, Question

SQLITE = {"question": "Which database should we use?", "selectedOptions": ["SQLite"]}
TEXT = "How large does it get?"


# ---- the verb --------------------------------------------------------------------------------------------


def test_the_question_is_declined_with_a_text_for_the_agent(question: Question, ana: Any) -> None:
    settled = lifecycle.ask_back(question, ana, f"  {TEXT}\n")
    assert (settled.status, settled.answer.asks_back) == ("declined", True)
    assert (settled.answer.reason, settled.answer.choices) == (TEXT, [])
    assert (settled.answer.via, settled.answer.username) == ("web", "ana")


def test_a_skip_does_not_ask_back(question: Question, ana: Any) -> None:
    assert lifecycle.decline(question, ana, TEXT).answer.asks_back is False


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "write what the agent should know before you choose"),
        (" \n\t", "write what the agent should know before you choose"),
        ("x" * (FREE_TEXT_LENGTH + 1), "the reply is too long: 4,001 characters, 4,000 are allowed"),
    ],
)
def test_there_must_be_something_to_read(question: Question, ana: Any, text: str, sentence: str) -> None:
    with pytest.raises(InvalidPayload) as refused:
        lifecycle.ask_back(question, ana, text)
    assert [(error.field, error.message) for error in refused.value.errors] == [("reply", sentence)]
    question.refresh_from_db()
    assert question.is_open


def test_the_longest_reply_fits(question: Question, ana: Any) -> None:
    assert lifecycle.ask_back(question, ana, "ä" * FREE_TEXT_LENGTH).answer.reason == "ä" * FREE_TEXT_LENGTH


def test_a_reply_after_an_answer_is_refused(question: Question, ana: Any, ben: Any) -> None:
    lifecycle.answer(question, [SQLITE], via=Answer.Via.WEB, user=ana)
    with pytest.raises(lifecycle.AlreadySettled) as late:
        lifecycle.ask_back(question, ben, TEXT)
    assert (late.value.question.status, late.value.question.answer.username) == ("answered", "ana")


def test_an_answer_after_a_reply_is_refused(question: Question, ana: Any, ben: Any) -> None:
    lifecycle.ask_back(question, ana, TEXT)
    with pytest.raises(lifecycle.AlreadySettled) as late:
        lifecycle.answer(question, [SQLITE], via=Answer.Via.WEB, user=ben)
    assert late.value.question.answer.asks_back


def test_a_reply_after_the_deadline_is_late(overdue: Question, ana: Any) -> None:
    with pytest.raises(lifecycle.AlreadySettled) as late:
        lifecycle.ask_back(overdue, ana, TEXT)
    assert late.value.question.status == "expired"


def test_listeners_are_told_that_it_is_settled(
    question: Question, ana: Any, hints: list[dict[str, Any]], committed: Any
) -> None:
    with committed():
        lifecycle.ask_back(question, ana, TEXT)
    assert [(hint["question_id"], hint["is_settled"]) for hint in hints] == [(question.pk, True)]


# ---- the form of the card --------------------------------------------------------------------------------


@pytest.fixture
def address(question: Question) -> str:
    return f"/rooms/{question.room.slug}/questions/{question.pk}"


def htmx(browser: Client, address: str, text: str) -> Any:
    return browser.post(address, {"reply": text}, headers={"HX-Request": "true"})


def test_an_open_card_has_the_form(browser: Client, address: str) -> None:
    page = browser.get(address).content.decode()
    assert f'action="{address}/reply"' in page
    assert re.search(r'<details class="ab-ask-back" name="[^"]+" >', page)


def test_a_reply_leads_to_the_settled_question(browser: Client, address: str) -> None:
    reply = browser.post(f"{address}/reply", {"reply": "How large?\r\nAnd for how long?"})
    assert (reply.status_code, reply["Location"]) == (303, address)
    assert Answer.objects.get().reason == "How large?\nAnd for how long?"
    page = browser.get(address).content.decode()
    assert "Asked back by you" in page
    assert "icons.svg#reply" in page
    assert "“How large?\nAnd for how long?”" in page


def test_others_see_who_asked_back(browser: Client, address: str, question: Question, ben: Any) -> None:
    lifecycle.ask_back(question, ben, "<b>How large?</b>")
    page = browser.get(address).content.decode()
    assert "Asked back by ben" in page
    assert "“&lt;b&gt;How large?&lt;/b&gt;”" in page


def test_with_htmx_the_card_comes_back(browser: Client, address: str) -> None:
    reply = htmx(browser, f"{address}/reply", TEXT)
    assert reply.status_code == 200
    assert reply.content.decode().startswith('<article class="ab-card ab-is-declined"')


@pytest.mark.parametrize("text", ["  ", "x" * 4_001])
def test_what_cannot_be_sent_stays_in_the_field(browser: Client, address: str, text: str) -> None:
    reply = browser.post(f"{address}/reply", {"reply": text})
    page = reply.content.decode()
    assert reply.status_code == 422
    assert '<p class="ab-field-error">' in page
    assert re.search(r'<details class="ab-ask-back" name="[^"]+" open>', page)
    assert f">{text}</textarea>" in page


def test_with_htmx_only_the_sentence_comes_back(browser: Client, address: str, question: Question) -> None:
    reply = htmx(browser, f"{address}/reply", " ")
    assert (reply.status_code, reply["HX-Retarget"]) == (422, "find .ab-errors")
    assert "Write what the agent should know before you choose." in reply.content.decode()


@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}])
def test_a_late_reply_names_the_winner_and_stays_readable(
    browser: Client, address: str, question: Question, ben: Any, headers: dict[str, str]
) -> None:
    lifecycle.answer(question, [SQLITE], via=Answer.Via.WEB, user=ben)
    reply = browser.post(f"{address}/reply", {"reply": TEXT}, headers=headers)
    page = reply.content.decode()
    assert reply.status_code == 409
    assert "Answered by ben" in page
    assert "Your answer came too late." in page
    assert f'<p class="ab-lost-text">{TEXT}</p>' in page


def test_an_empty_reply_to_a_settled_question_is_late_too(
    browser: Client, address: str, question: Question, ben: Any
) -> None:
    lifecycle.decline(question, ben)
    reply = browser.post(f"{address}/reply", {"reply": " "})
    assert reply.status_code == 409
    assert "Skipped by ben" in reply.content.decode()
    assert "came too late" not in reply.content.decode()


def test_a_late_skip_keeps_its_reason(browser: Client, address: str, question: Question, ben: Any) -> None:
    lifecycle.ask_back(question, ben, TEXT)
    reply = browser.post(f"{address}/skip", {"reason": "Not mine to decide"})
    assert reply.status_code == 409
    assert "Asked back by ben" in reply.content.decode()
    assert '<p class="ab-lost-text">Not mine to decide</p>' in reply.content.decode()


def test_a_late_answer_is_told_of_the_reply(
    browser: Client, address: str, question: Question, ben: Any
) -> None:
    lifecycle.ask_back(question, ben, TEXT)
    reply = browser.post(f"{address}/answer", {"choice-0": "1"})
    assert reply.status_code == 409
    assert "Asked back by ben" in reply.content.decode()
    assert f"“{TEXT}”" in reply.content.decode()


def test_strangers_do_not_find_the_form(address: str, question: Question, django_user_model: Any) -> None:
    stranger = Client()
    stranger.force_login(django_user_model.objects.create_user("eve"))
    assert stranger.post(f"{address}/reply", {"reply": TEXT}).status_code == 404
    question.refresh_from_db()
    assert question.is_open


# ---- the wire --------------------------------------------------------------------------------------------


def decided(question: Question, ana: Any) -> Question:
    return lifecycle.answer(question, [SQLITE], via=Answer.Via.WEB, user=ana)


def written(question: Question, ana: Any) -> Question:
    other = {"question": "Which database should we use?", "customInput": "Both"}
    return lifecycle.answer(question, [other], via=Answer.Via.TERMINAL)


@pytest.mark.parametrize(
    ("settle", "kind"),
    [
        (decided, "choice"),
        (written, "choice"),
        (lambda question, ana: lifecycle.expire(question), "choice"),
        (lambda question, ana: lifecycle.decline(question, ana), "skip"),
        (lambda question, ana: lifecycle.decline(question, ana, "Later."), "skip"),
        (lambda question, ana: lifecycle.ask_back(question, ana, TEXT), "reply"),
    ],
)
def test_the_wire_says_what_kind_of_answer_it_is(
    agent: Any,
    ask: Callable[..., Question],
    ana: Any,
    settle: Callable[[Question, Any], Question],
    kind: str,
) -> None:
    question = settle(ask(default={"Which database should we use?": "SQLite"}), ana)
    assert agent.get(agent.question_url(question.pk)).json()["answer"]["kind"] == kind


def test_the_agent_reads_the_reply_as_the_reason(agent: Any, question: Question, ana: Any) -> None:
    lifecycle.ask_back(question, ana, TEXT)
    reply = agent.get(agent.question_url(question.pk)).json()
    assert reply["status"] == "declined"
    assert (reply["answer"]["reason"], reply["answer"]["answers"]) == (TEXT, [])
