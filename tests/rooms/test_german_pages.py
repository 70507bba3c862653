"""Whoever asks for German gets German: every page, every state of a card, every refusal.

What people and agents wrote is marked, so that every other word on a page has to be in the German catalogues.
"""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.utils import label_for_field
from django.contrib.auth import get_user_model
from django.template.loader import render_to_string
from django.test import Client
from django.utils.translation import override

from rooms import access, frames, lifecycle
from rooms.models import Answer, Membership, Question, Room
from rooms.payload import parse_ask
from tests.catalogues import CATALOGUES, SAME_EVERYWHERE, Texts, compiled
from tests.processes import ROOT

DATABASE = {
    "question": "¤Datenbank",
    "header": "¤DB",
    "options": [
        {"label": "¤Eins (Recommended)", "description": "¤Beschreibung", "preview": "¤Vorschau"},
        {"label": "¤Zwei"},
    ],
}
CHECKS = {"question": "¤Tests", "multiSelect": True, "options": ["¤Drei", "¤Vier"]}
HTMX = {"HX-Request": "true"}

# Each language is called by its own name.
NAMES = SAME_EVERYWHERE | {"Deutsch", "English"}
DATA = r"¤\S+"
OWN_WORDS = rf"← {DATA}|„?(?:{DATA}[ ,.…]*)+“?"


def segments(german: str) -> list[str]:
    """Patterns of the texts that a page shows for it: markup divides it, and data takes its places."""
    pieces = [piece.strip() for piece in re.split("<[^>]+>", german)]
    patterns = [re.sub(r"%\\\(\w+\\\)s", ".+", re.escape(piece)) for piece in pieces if piece]
    # Hardly more than its places fits anything.
    return [pattern for pattern in patterns if re.search(r"\w{4}|^\w+$", pattern)]


GERMAN = [
    pattern
    for catalogue in CATALOGUES
    for original, german in compiled(catalogue).items()
    if original
    for pattern in segments(german)
]
KNOWN = re.compile(
    # A sentence about something wrong begins on the page as a sentence does, and ends as one.
    f"(?:{'|'.join([*GERMAN, *map(re.escape, NAMES), OWN_WORDS])})\\.?",
    re.IGNORECASE,
)


def foreign_words(html: str) -> set[str]:
    """What the page says that is neither German nor somebody's own words."""
    texts = (text for found in Texts(html).found for text in re.split(r" · |^\(\d+\) ", found))
    said = {" ".join(text.split()).strip("· ") for text in texts}
    # The page names the prompt that something is wrong with.
    said = {re.sub(rf"^{DATA}: ", "", text) for text in said}
    return {text for text in said if re.search(r"[^\W\d_]", text) and not KNOWN.fullmatch(text)}


@pytest.fixture
def people(db: None) -> Any:
    create = get_user_model().objects.create_user
    return create("¤ana", first_name="¤Ana"), create("¤ben", first_name="¤Ben")


@pytest.fixture
def german_room(people: Any) -> Room:
    return lifecycle.create_room("raum", name="¤Raum", members=people)


@pytest.fixture
def browser(people: Any) -> Client:
    client = Client(headers={"Accept-Language": "de-AT,de;q=0.8,en;q=0.5"})
    client.force_login(people[0])
    return client


@pytest.fixture
def ask(german_room: Room) -> Callable[..., Question]:
    def ask_in_room(*prompts: Any, **fields: Any) -> Question:
        agent = {"name": "¤agent"}
        asked = parse_ask({"questions": list(prompts) or [DATABASE], "agent": agent, **fields})
        return lifecycle.ask(german_room, None, asked)[0]

    return ask_in_room


def address(question: Question, tail: str = "") -> str:
    return f"/rooms/{question.room.slug}/questions/{question.pk}{tail}"


@pytest.fixture
def every_state(ask: Callable[..., Question], people: Any, german_room: Room) -> None:
    """A card for everything that can become of a question, seen by Ana."""
    context = {"text": "¤Kontext", "cwd": "/¤ordner", "branch": "¤zweig"}
    lifecycle.wait_started(ask(context=context, timeout_seconds=3600).pk)
    gone = ask(DATABASE, CHECKS)
    lifecycle.wait_started(gone.pk)
    lifecycle.wait_ended(gone.pk)
    ask()
    for person in people:
        chosen = {"question": "¤Datenbank", "customInput": "¤anders", "notes": "¤Notiz"}
        answered = lifecycle.answer(ask(context=context), [chosen], via=Answer.Via.WEB, user=person)
        lifecycle.decline(ask(), person, "¤Grund")
        lifecycle.ask_back(ask(), person, "¤Frage")
    lifecycle.deliver(answered.pk)
    for via in (Answer.Via.TERMINAL, Answer.Via.API):
        lifecycle.answer(ask(), [{"question": "¤Datenbank", "selectedOptions": ["¤Zwei"]}], via=via)
    lifecycle.expire(ask(timeout_seconds=1))
    lifecycle.expire(ask(timeout_seconds=1, default={"¤Datenbank": "¤Zwei"}))
    lifecycle.withdraw(ask())
    for kind in ("log", "log", "message"):
        fields = {"sender": "¤Cleo", "sender_type": "human", "kind": kind, "content": "¤Zeile"}
        lifecycle.post_message(german_room, **fields)


@pytest.mark.parametrize("path", ["/", "/rooms/raum", "/rooms/raum?before=12", "/settings?saved=1"])
def test_every_state_of_a_card_is_german(browser: Client, every_state: None, path: str) -> None:
    page = browser.get(path)
    assert page["Content-Language"] == "de"
    html = page.content.decode()
    assert '<html lang="de">' in html
    assert "language=de" in html  # what the page asks its stream for
    assert foreign_words(html) == set()


def test_a_page_in_english_would_be_noticed(browser: Client, every_state: None) -> None:
    html = browser.get("/rooms/raum", headers={"Accept-Language": "en"}).content.decode()
    assert {"Agent waiting", "Skipped by you", "Skipped by ¤Ben", "Send", "Add a note"} <= foreign_words(html)


def test_empty_pages_are_german(browser: Client, german_room: Room) -> None:
    assert foreign_words(browser.get("/").content.decode()) == set()
    assert foreign_words(browser.get("/rooms/raum").content.decode()) == set()
    Membership.objects.all().delete()
    assert "Noch keine Räume" in (html := browser.get("/").content.decode())
    assert foreign_words(html) == set()


def test_a_long_room_is_german(
    browser: Client, ask: Callable[..., Question], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rooms.pages.OPEN_CARDS", 1)
    monkeypatch.setattr("rooms.pages.ENTRIES_PER_PAGE", 1)
    for _ in range(2):
        ask()
        lifecycle.withdraw(ask())
    html = browser.get("/rooms/raum").content.decode()
    assert "Das sind die ersten 1 von 2 offenen Fragen." in html
    assert "Ältere Einträge anzeigen" in html
    assert foreign_words(html) == set()


def test_refusals_are_german(browser: Client, ask: Callable[..., Question], people: Any) -> None:
    question = ask(DATABASE, CHECKS)
    for tail, form in (
        ("/answer", {}),
        ("/answer", {"choice-0": ["1", "other"], "other-0": "¤a", "other-1": "¤" * 4001}),
        ("/reply", {"reply": " "}),
        ("/reply", {"reply": "¤" * 4001}),
    ):
        reply = browser.post(address(question, tail), form)
        assert reply.status_code == 422
        assert foreign_words(reply.content.decode()) == set()
    lifecycle.decline(question, people[1])
    late = browser.post(address(question, "/answer"), {"choice-0": "1"})
    assert late.status_code == 409
    assert foreign_words(late.content.decode()) == set()


def test_numbers_in_a_refusal_are_written_as_germans_do(
    browser: Client, ask: Callable[..., Question]
) -> None:
    reply = browser.post(address(ask(), "/reply"), {"reply": "x" * 4001}, headers=HTMX)
    expected = "Die Rückfrage ist zu lang: 4.001 Zeichen, erlaubt sind 4.000."
    assert expected in reply.content.decode()


def test_connecting_an_agent_is_german(browser: Client, german_room: Room, people: Any) -> None:
    assert foreign_words(browser.get("/rooms/raum/connect").content.decode()) == set()
    german_room.memberships.filter(user=people[0]).update(role=Membership.Role.MANAGER)
    access.revoke_keys(german_room.keys.filter(pk=access.create_key(german_room, label="¤alt")[0].pk))
    created = browser.post("/rooms/raum/connect", {"label": "¤neu"})
    assert foreign_words(created.content.decode()) == set()
    refused = browser.post("/rooms/raum/connect", {"label": ""})
    assert "Dieses Feld ist zwingend erforderlich." in refused.content.decode()
    browser.post("/rooms/raum/connect/test")
    asked = Question.objects.get()
    assert (asked.agent_name, asked.prompts[0]["question"]) == ("Testfrage", "Ist diese Karte zu sehen?")


def test_those_who_are_not_signed_in_read_german(client: Client, question: Question) -> None:
    german = {"Accept-Language": "de"}
    assert foreign_words(client.get("/login/", headers=german).content.decode()) == set()
    wrong = client.post("/login/", {"username": "¤ana", "password": "x"}, headers=german)
    assert foreign_words(wrong.content.decode()) == set()
    for error in (ROOT / "templates").glob("[45]*.html"):
        with override("de"):
            assert foreign_words(render_to_string(error.name, {"minutes": 15})) == set()
    signed_out = client.post(address(question, "/answer"), headers=german | HTMX)
    assert signed_out.status_code == 401
    assert foreign_words(signed_out.content.decode()) == set()


def test_what_the_stream_says_is_in_the_language_of_its_page(
    ask: Callable[..., Question], german_room: Room, people: Any
) -> None:
    lifecycle.answer(
        ask(), [{"question": "¤Datenbank", "customInput": "¤x"}], via=Answer.Via.WEB, user=people[0]
    )
    _, news = frames.frames_after(german_room.pk, 0, ["de", "en"])
    here = frames.here_frame("raum", [f"¤P{number}" for number in range(12)])
    news += [frames.answering_frame("raum", "q", people[1].pk, "¤Ben"), here]

    def said(language: str) -> str:
        sent = [frame.encode(people[0].pk, language, many_rooms=True).decode() for frame in news]
        return " ".join(re.findall("(?m)^data: (.*)$", "".join(sent)))

    assert foreign_words(said("de")) == set()
    assert {"Answered by you", "¤Ben is answering…", "and 4 more"} <= foreign_words(said("en"))


def test_the_manifest_is_in_the_language_of_its_browser(client: Client) -> None:
    reply = client.get("/manifest.webmanifest", headers={"Accept-Language": "de"})
    assert reply.json()["lang"] == "de"
    assert reply.json()["description"].startswith("Fragen der KI-Agenten")
    assert "Accept-Language" in reply["Vary"]


# ---- admin -----------------------------------------------------------------------------------------------


OUR_MODELS = [
    model._meta.model_name for model in admin.site._registry if model._meta.app_label == "ask_bridge"
]


@pytest.mark.parametrize("name", OUR_MODELS)
def test_the_admin_is_german(admin_client: Client, every_state: None, name: str) -> None:
    page = admin_client.get(f"/admin/ask_bridge/{name}/", headers={"Accept-Language": "de"})
    changes = page.context["cl"]
    fields = {*changes.list_display, *(changes.model_admin.fields or ())} - {"action_checkbox", "id"}
    actions = [label for code, label in changes.model_admin.get_action_choices(page.wsgi_request) if code]
    with override("de"):
        labels = [label_for_field(field, changes.model, changes.model_admin) for field in fields]
        filters = [one.title for one in changes.filter_specs]
        names = [changes.opts.verbose_name, changes.opts.verbose_name_plural]
        said = {str(text) for text in [*labels, *filters, *names, *actions]}
    django_says = {f"Ausgewählte {changes.opts.verbose_name_plural} löschen"}
    assert said - django_says <= set(compiled(CATALOGUES[0]).values())


def test_what_an_action_did_is_told_in_german(admin_client: Client, every_state: None) -> None:
    done = admin_client.post(
        "/admin/ask_bridge/room/",
        {"action": "archive", "_selected_action": [str(Room.objects.get().pk)]},
        headers={"Accept-Language": "de"},
        follow=True,
    )
    assert "Archivierte Räume: 1." in done.content.decode()
