"""The page of one question: settled cards are unfolded, with votes, times, and a link back to the search."""

import re
from collections.abc import Callable
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.urls import reverse

from rooms import lifecycle
from rooms.history import writer
from rooms.history.index import LARGEST_ID
from rooms.models import Answer, Question
from rooms.rendering.humanize import duration

Ask = Callable[..., Question]
TEXT = "Which database should we use?"


def answer(question: Question, user: Any, label: str = "SQLite", notes: str | None = None) -> Question:
    choice = {"question": TEXT, "selectedOptions": [label], "notes": notes}
    return lifecycle.answer(question, [choice], via=Answer.Via.WEB, user=user)


LONG_CONTEXT = "The store keeps sessions in memory.\n\nI can move them to a table."


def shown(browser: Client, question: Question, **parameters: str) -> str:
    address = reverse("ask_bridge:question", args=(question.room.slug, question.pk))
    return unescape(browser.get(address, parameters).content.decode())


def steps(page: str) -> list[str]:
    return re.findall(r'<span class="ab-step-name">([^<]+)</span>', page)


def test_a_settled_question_is_unfolded_with_all_that_was_asked_and_said(
    browser: Client, ask: Ask, ben: Any
) -> None:
    question = ask(context={"text": LONG_CONTEXT, "cwd": "/srv/shop"})
    answer(question, ben, notes="Not before Friday")
    page = shown(browser, question)
    assert '<details class="ab-settled" open>' in page
    assert '<details class="ab-context" open>' in page
    for text in (
        TEXT,
        "PostgreSQL",
        "Grows with us.",
        "SQLite",
        "(chosen)",
        "Not before Friday",
        "/srv/shop",
    ):
        assert text in page


def test_a_short_text_of_the_agent_is_shown_whole(browser: Client, ask: Ask) -> None:
    page = shown(browser, ask(context={"text": "The store keeps sessions in memory."}))
    assert "The store keeps sessions in memory." in page
    assert '<details class="ab-context' not in page


def test_an_open_question_is_as_everywhere(browser: Client, ask: Ask) -> None:
    question = ask(context={"text": LONG_CONTEXT})
    page = shown(browser, question)
    assert '<details class="ab-context">' in page
    assert steps(page) == ["Asked by refactor-bot", "Not answered yet"]


def test_the_timeline_goes_from_the_ask_to_the_delivery(
    browser: Client, question: Question, ben: Any
) -> None:
    settled = answer(question, ben)
    assert steps(shown(browser, question)) == [
        "Asked by refactor-bot",
        "Answered by ben",
        "Not delivered yet",
    ]
    lifecycle.deliver(question.pk)
    page = shown(browser, question)
    assert steps(page) == ["Asked by refactor-bot", "Answered by ben", "Delivered to the agent"]
    for at in (settled.asked_at, settled.settled_at, Question.objects.get().delivered_at):
        assert f'<time class="ab-exact" datetime="{at.isoformat()}">' in page
    assert f"after {duration((settled.settled_at - settled.asked_at).total_seconds())}" in page


def test_what_ended_without_an_answer_waits_for_no_delivery(browser: Client, question: Question) -> None:
    lifecycle.withdraw(question)
    assert steps(shown(browser, question)) == ["Asked by refactor-bot", "Withdrawn by the agent"]


def test_every_vote_is_shown_with_its_time_and_note(
    browser: Client, ask: Ask, ana: Any, ben: Any, django_user_model: Any
) -> None:
    question = ask(care={"votes": 2})
    cy = django_user_model.objects.create_user("cy")
    answer(question, ben, "PostgreSQL (Recommended)", notes="It grows")
    answer(question, ana)
    answer(question, cy)
    page = shown(browser, question)
    votes = re.findall(
        r'<li class="ab-cast-vote( ab-is-deciding)?">.*?</svg>([^<]+): <strong>([^<]+)</strong>', page
    )
    assert votes == [
        ("", "ben", "PostgreSQL"),
        (" ab-is-deciding", "Ana Costa", "SQLite"),
        (" ab-is-deciding", "cy", "SQLite"),
    ]
    assert "“It grows”" in page
    for vote in Question.objects.get().votes or ():
        assert f'datetime="{vote["at"]}"' in page


def test_a_held_decision_is_unfolded_too(browser: Client, ask: Ask, ben: Any) -> None:
    question = answer(ask(care={"undo_seconds": 60}), ben)
    assert '<details class="ab-settled" open>' in shown(browser, question)


# ---- back to the search ----------------------------------------------------------------------------------


def back(page: str) -> str | None:
    found = re.search(r'<a href="([^"]+)">← Back to the search</a>', page)
    return found and found.group(1)


@pytest.mark.parametrize(
    "parameters", [{}, {"q": "data"}, {"q": "“sqlite” & co ä", "person": "ben"}, {"before": str(LARGEST_ID)}]
)
def test_a_decision_opened_from_the_history_leads_back_to_the_search(
    browser: Client, question: Question, ben: Any, parameters: dict[str, str]
) -> None:
    answer(question, ben, notes="SQLite & Co, Ä")
    writer.catch_up()
    address = reverse("ask_bridge:history") + (f"?{urlencode(parameters)}" if parameters else "")
    results = unescape(browser.get(address).content.decode())
    link = re.search(rf'<a class="ab-result-question" href="([^"]+{question.pk}[^"]*)">', results)
    assert link
    assert back(unescape(browser.get(link.group(1)).content.decode())) == f"{address}#result-{question.pk}"
    assert f'id="result-{question.pk}"' in results


def test_without_a_search_there_is_nothing_to_go_back_to(browser: Client, question: Question) -> None:
    assert back(shown(browser, question)) is None


@pytest.mark.parametrize(
    "hostile",
    [
        "https://evil.example/",
        "//evil.example",
        "\\\\evil.example",
        "javascript:alert(1)",
        'q="><script>alert(1)</script>',
        "q=\x00&before=-1&next=https://evil.example",
        "&" * 5000,
    ],
)
def test_the_way_back_is_always_our_own_history(browser: Client, question: Question, hostile: str) -> None:
    address = reverse("ask_bridge:question", args=(question.room.slug, question.pk))
    page = browser.get(address, {"search": hostile}).content.decode()
    link = back(page)
    assert link is not None
    assert re.match(rf"{reverse('ask_bridge:history')}[?#]", link)
    assert "evil.example" not in link
    assert "<script>alert" not in page
