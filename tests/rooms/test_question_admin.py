"""Questions in the admin: readable, searchable by their text, with a way to the card."""

import html
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from rooms import lifecycle
from rooms.contract.choices import Choice
from rooms.models import Answer, Question, Room
from tests.rooms.test_admin import listing, page

Asking = Callable[..., Question]
PROMPT = "Which database should we use?"


@pytest.fixture
def admin_client(db: None) -> Client:
    browser = Client()
    browser.force_login(get_user_model().objects.create_superuser("root"))
    return browser


def decide(question: Question, user: Any, label: str = "SQLite", notes: str | None = None) -> Question:
    choice = Choice(question=question.prompts[0]["question"], selected_options=[label], notes=notes)
    return lifecycle.answer(question, [choice], via=Answer.Via.WEB, user=user)


def shown(browser: Client, model: str, row: Any) -> str:
    response = browser.get(page(model, row.pk))
    assert response.status_code == 200
    return html.unescape(response.content.decode())


def address_of_card(question: Question) -> str:
    return reverse("ask_bridge:question", args=(question.room.slug, question.pk))


# ---- page ------------------------------------------------------------------------------------------------


def test_answered_question_is_readable(admin_client: Client, ask: Asking, ana: Any) -> None:
    context = {"text": "The tests **pass**.", "cwd": "/srv/shop"}
    question = decide(ask(context=context), ana, notes="Enough for now")
    content = shown(admin_client, "question", question)
    for text in ("Answered by Ana Costa", PROMPT, "Grows with us.", "<strong>pass</strong>", "/srv/shop"):
        assert text in content
    for text in ("Enough for now", "Asked by refactor-bot", "Not delivered yet", "(chosen)"):
        assert text in content
    chosen = content.partition('class="ab-admin-chosen"')[2].partition("</li>")[0]
    assert "SQLite" in chosen
    assert "PostgreSQL" not in chosen


def test_a_wait_is_one_line_and_over_when_the_question_is_settled(
    admin_client: Client, ask: Asking, ana: Any
) -> None:
    question = ask()
    assert "No agent has waited for the answer yet" in shown(admin_client, "question", question)
    lifecycle.wait_started(question.pk)
    waiting = shown(admin_client, "question", question)
    assert waiting.count("Agent last seen waiting") == 1
    assert "icon-yes" in waiting
    settled = shown(admin_client, "question", decide(question, ana))
    assert settled.count("Agent last seen waiting") == 1
    assert "icon-yes" not in settled


@pytest.mark.parametrize("model", ["question", "answer"])
def test_no_page_shows_json(admin_client: Client, ask: Asking, ana: Any, ben: Any, model: str) -> None:
    careful = ask(care={"votes": 2, "undo_seconds": 5})
    for user in (ana, ben):
        decide(careful, user)
    simple = decide(ask(), ana)
    with_default = ask(default={PROMPT: "SQLite"}, timeout_seconds=600)
    rows = [careful, simple, with_default] if model == "question" else [simple.answer]
    for row in rows:
        content = shown(admin_client, model, row)
        for sign in ('{"', '["', "{'", "['", "selectedOptions"):
            assert sign not in content


def test_care_votes_and_default_are_sentences(admin_client: Client, ask: Asking, ana: Any) -> None:
    question = ask(care={"votes": 2, "undo_seconds": 5})
    decide(question, ana)
    content = shown(admin_client, "question", question)
    for text in (
        "Matching votes needed: 2.",
        "A decision can be undone for 5 s.",
        "Ana Costa: <strong>SQLite</strong>",
    ):
        assert text in content
    with_default = ask(default={PROMPT: "SQLite"}, timeout_seconds=600)
    content = shown(admin_client, "question", with_default)
    assert "Default at the deadline: <strong>SQLite</strong>" in content


def test_markdown_is_not_shown_in_titles(admin_client: Client, ask: Asking) -> None:
    question = ask(questions=[{"question": "Drop the **old** table?", "options": ["Yes", "No"]}])
    assert "<h2>Drop the old table?</h2>" in shown(admin_client, "question", question)
    assert "Drop the old table?" in admin_client.get(listing("question")).content.decode()


def test_reason_of_a_skip_is_shown(admin_client: Client, question: Question, ana: Any) -> None:
    content = shown(admin_client, "question", lifecycle.decline(question, ana, "Ask again on Monday."))
    assert "Skipped by Ana Costa" in content
    assert "Ask again on Monday." in content


def test_everything_an_agent_writes_is_escaped(admin_client: Client, ask: Asking) -> None:
    bad = "<script>alert(1)</script>"
    option = {"label": f"A {bad}", "description": bad, "preview": bad}
    prompt = {"question": bad, "header": "<b>x</b>", "options": [option, "B"]}
    question = ask(questions=[prompt], context={"text": bad, "cwd": bad})
    assert b"<script>alert(1)" not in admin_client.get(page("question", question.pk)).content


# ---- card ------------------------------------------------------------------------------------------------


def test_open_question_leads_to_its_card(admin_client: Client, question: Question) -> None:
    content = shown(admin_client, "question", question)
    assert "View card" in content
    assert "Answer on its card" in content
    assert content.count(f'href="{address_of_card(question)}"') == 2
    assert admin_client.get(address_of_card(question)).status_code == 200


def test_settled_question_offers_no_answer(admin_client: Client, question: Question, ana: Any) -> None:
    content = shown(admin_client, "question", decide(question, ana))
    assert "View card" in content
    assert "Answer on its card" not in content


def test_last_wait_of_an_agent_is_one_line(admin_client: Client, question: Question) -> None:
    assert "No agent has waited for the answer yet" in shown(admin_client, "question", question)
    Question.objects.filter(pk=question.pk).update(last_seen_at=timezone.now())
    content = shown(admin_client, "question", question)
    assert content.count("Agent last seen waiting") == 1
    assert "No agent has waited for the answer yet" not in content


def test_question_for_others_says_so(admin_client: Client, ask: Asking) -> None:
    content = shown(admin_client, "question", ask(care={"first": ["ana"]}))
    assert "Answer on its card" not in content
    assert "Other people decide this question; the card says who." in content


def test_no_link_leads_to_a_card_that_is_missing_for_this_admin(
    admin_client: Client, question: Question, room: Room
) -> None:
    user = get_user_model().objects.create_user("clerk", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename="view_question"))
    clerk = Client()
    clerk.force_login(user)
    assert clerk.get(address_of_card(question)).status_code == 404
    content = shown(clerk, "question", question)
    assert "You are not a member of this room" in content
    assert address_of_card(question) not in content
    lifecycle.archive_room(room)
    content = shown(admin_client, "question", question)
    assert "The room is archived, so its cards cannot be opened" in content
    assert address_of_card(question) not in content


# ---- list ------------------------------------------------------------------------------------------------


def found(browser: Client, text: str) -> set[str]:
    changes = browser.get(listing("question"), {"q": text}).context["cl"]
    return {question.pk for question in changes.result_list}


def test_questions_are_found_by_their_text(admin_client: Client, ask: Asking, ana: Any) -> None:
    prompt = {"question": "Wie heißt die Größe?", "options": ["Länge", "Breite"]}
    still_open, settled = ask(questions=[prompt]), decide(ask(questions=[prompt]), ana, "Länge")
    decide(ask(), ana)
    for text in ("Größe", "gröss", "heißt größe", '"die Größe"', "LÄNGE"):
        assert found(admin_client, text) == {still_open.pk, settled.pk}, text
    assert found(admin_client, "Größe database") == set()
    assert found(admin_client, '"Größe die"') == set()


def test_questions_are_found_by_answer_and_person(admin_client: Client, ask: Asking, ana: Any) -> None:
    wanted = decide(ask(), ana, notes="because of the backups")
    lifecycle.decline(ask(), get_user_model().objects.create_user("zoe"), "")
    assert found(admin_client, "backups") == {wanted.pk}
    assert found(admin_client, "Costa") == {wanted.pk}


def test_search_keeps_the_filters(admin_client: Client, ask: Asking, ana: Any) -> None:
    still_open = ask()
    decide(ask(), ana)
    query = {"q": "database", "status__exact": "open"}
    changes = admin_client.get(listing("question"), query).context["cl"]
    assert [question.pk for question in changes.result_list] == [still_open.pk]


def test_list_says_who_answered(admin_client: Client, ask: Asking, ana: Any) -> None:
    decide(ask(), ana)
    assert "Answered by Ana Costa" in admin_client.get(listing("question")).content.decode()
    assert admin_client.get(listing("question"), {"answer__via__exact": "web"}).status_code == 200
