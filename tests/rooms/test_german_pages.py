"""German pages: every page, every state of a card, every refusal.

What people and agents wrote is marked, so that every other word on a page has to be in the German catalogues.
"""

import re
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import django
import pytest
from django.contrib import admin
from django.contrib.admin.utils import label_for_field
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.template.loader import render_to_string
from django.test import Client
from django.utils import timezone
from django.utils.dates import WEEKDAYS, WEEKDAYS_ABBR
from django.utils.formats import date_format
from django.utils.translation import override

from rooms import access, lifecycle
from rooms.contract.payload import parse_ask
from rooms.history import writer
from rooms.live import events
from rooms.live.background import write_history
from rooms.models import (
    Answer,
    Membership,
    Notice,
    NoticeRule,
    PushSubscription,
    Question,
    Room,
    Webhook,
)
from rooms.models.notifications import AT_ONCE
from rooms.notifications import outbox, rules
from rooms.notifications.content import content_about
from rooms.people.presence import PersonHere
from tests.harness.mail_backends import use_mail_backend
from tests.harness.receivers import receiving
from tests.harness.sites import ROOT
from tests.harness.translations import CATALOGUES, SAME_EVERYWHERE, Texts, compiled

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

# Each language is called by its own name, and each time zone by the one that programs have for it.
NAMES = SAME_EVERYWHERE | {"Deutsch", "English"} | set(rules.zones())
DATA = r"¤\S+"
OWN_WORDS = rf"„?(?:{DATA}[ ,.…]*)+“?|{DATA} in {DATA}|An {DATA}"

with override("de"):
    WEEKDAY_NAMES = [str(name) for name in [*WEEKDAYS.values(), *WEEKDAYS_ABBR.values()]]
    MONTH_NAMES = [date_format(date(2026, month, 1), "M") for month in range(1, 13)]
# Too short to be told from anything else by the catalogues alone.
DAY = rf"\d+\. (?:{'|'.join(MONTH_NAMES)})"
MEASURES = rf"{DAY}(?: bis {DAY})?|[\d.,]+ (?:d|h|min|s)(?: \d+ (?:h|min|s))?"


def segments(german: str) -> list[str]:
    """Patterns of the texts that a page shows for it: markup divides it, and data takes its places."""
    pieces = [piece.strip() for piece in re.split("<[^>]+>", german.replace("%%", "%"))]
    patterns = [re.sub(r"%\\\(\w+\\\)s|\\\{\w+\\\}", ".+", re.escape(piece)) for piece in pieces if piece]
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
    f"(?:{'|'.join([*GERMAN, *map(re.escape, [*NAMES, *WEEKDAY_NAMES]), OWN_WORDS, MEASURES])})\\.?",
    re.IGNORECASE,
)


def is_known(text: str) -> bool:
    """One text of the catalogues, or one after another."""
    if KNOWN.fullmatch(text):
        return True
    ends = (end.start() for end in re.finditer(r"(?<=[.:]) ", text))
    return any(KNOWN.fullmatch(text[:end]) and is_known(text[end + 1 :]) for end in ends)


def foreign_words(html: str) -> set[str]:
    """Texts of the page that are neither German nor written by a person."""
    texts = (text for found in Texts(html).found for text in re.split(r" · |^\(\d+\) ", found))
    said = {" ".join(text.split()).strip("· ") for text in texts}
    # The page names the prompt that something is wrong with, where a link leads back to, what a file is of,
    # and who may vote.
    said = {re.sub(rf"^{DATA}: |^← | als (?:CSV|JSON)$| \({DATA}(?: {DATA})*\)$", "", text) for text in said}
    # A sentence goes on after a <time>, whose text is left out.
    said = {text for text in said if not is_known(text.lstrip(",: "))}
    return {text for text in said if re.search(r"[^\W\d_]", text) and not is_known(text)}


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
    lifecycle.expire(ask(timeout_seconds=60, default={"¤Datenbank": "¤Zwei"}))
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
    assert 'id="ab-layout" lang="de" dir="ltr"' in html  # a portal's <html> may have another one
    assert "language=de" in html  # what the page asks its stream for
    assert foreign_words(html) == set()


@pytest.mark.parametrize(
    "path",
    [
        "/history",
        "/history?state=answered",
        "/history?q=nirgends",
        "/history/export",
        "/history/export?state=answered",
        "/history/export/progress?run=x",
        "/insights",
        "/insights?days=365",
        "/rooms/raum/insights",
    ],
)
def test_what_became_of_questions_is_told_in_german(browser: Client, every_state: None, path: str) -> None:
    writer.catch_up(5)
    assert foreign_words(browser.get(path).content.decode()) == set()


def test_a_page_in_english_would_be_noticed(browser: Client, every_state: None) -> None:
    html = browser.get("/rooms/raum", headers={"Accept-Language": "en"}).content.decode()
    assert {"Waiting", "Skipped by you", "Skipped by ¤Ben", "Send", "Add a note"} <= foreign_words(html)


def test_empty_pages_are_german(browser: Client, german_room: Room) -> None:
    for path in (
        "/",
        "/rooms/raum",
        "/history",
        "/history/export",
        "/rooms/raum/insights",
        "/insights?days=365",
    ):
        assert foreign_words(browser.get(path).content.decode()) == set()
    Membership.objects.all().delete()
    assert "Noch keine Räume" in (html := browser.get("/").content.decode())
    assert foreign_words(html) == set()


def test_a_long_room_is_german(
    browser: Client, ask: Callable[..., Question], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rooms.pages.open_cards.OPEN_CARDS", 1)
    monkeypatch.setattr("rooms.pages.room.ENTRIES_PER_PAGE", 1)
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


# ---- careful questions and what was asked before ----------------------------------------------------------


def choose(question: Question, person: Any, label: str = "¤Zwei") -> Question:
    chosen = {"question": "¤Datenbank", "selectedOptions": [label], "notes": "¤Notiz"}
    return lifecycle.answer(question, [chosen], via=Answer.Via.WEB, user=person)


def test_careful_questions_are_german(browser: Client, ask: Callable[..., Question], people: Any) -> None:
    ana, ben = people
    ask(care={"first": ["¤ana"], "escalate_seconds": 60})
    ask(care={"first": {"role": "manager"}})
    told = ask(care={"escalate_seconds": 60})
    Question.objects.filter(pk=told.pk).update(escalates_at=timezone.now())
    lifecycle.sweep()
    ask(care={"escalate_seconds": 60})
    choose(ask(care={"votes": {"needed": 2, "of": ["¤ana", "¤ben"]}}), ben)
    choose(choose(ask(care={"votes": 2}), ana), ben)
    choose(ask(care={"undo_seconds": 300}), ana)
    ask(care={"undo_seconds": 1})
    html = browser.get("/rooms/raum").content.decode()
    for said in ("</time>: Leitung", "die Leitung wurde benachrichtigt", "Stimme nötig", "Rückgängig"):
        assert said in html
    assert foreign_words(html) == set()


def test_people_who_are_not_asked_first_read_so_in_german(
    browser: Client, ask: Callable[..., Question], people: Any
) -> None:
    path = address(ask(care={"first": ["¤ben"]}), "/answer")
    refused = browser.post(path, {"choice-0": "1"}, headers=HTMX)
    assert refused.status_code == 422
    assert "Diese Frage können nur die Personen entscheiden" in refused.content.decode()
    assert foreign_words(refused.content.decode()) == set()


def test_what_was_asked_before_is_german(browser: Client, ask: Callable[..., Question], people: Any) -> None:
    choose(ask(), people[1])
    lifecycle.answer(
        ask(), [{"question": "¤Datenbank", "selectedOptions": ["¤Zwei"]}], via=Answer.Via.TERMINAL
    )
    card = ask()
    write_history(5)
    html = browser.get(address(card)).content.decode()
    assert "Schon einmal gefragt: 2 ähnliche Antworten" in html
    assert foreign_words(html) == set()


# ---- beyond the page -------------------------------------------------------------------------------------


@pytest.fixture
def manager(browser: Client, german_room: Room, people: Any) -> Client:
    german_room.memberships.filter(user=people[0]).update(role=Membership.Role.MANAGER)
    return browser


def test_webhooks_are_german(manager: Client, settings: Any) -> None:
    page = "/rooms/raum/webhooks"
    assert foreign_words(manager.get(page).content.decode()) == set()
    settings.ASK_BRIDGE = {
        **settings.ASK_BRIDGE,
        "ORIGIN": "https://ask.example.org",
        "WEBHOOK_ALLOWED_NETWORKS": ["127.0.0.0/8"],
    }
    filled = {"label": "¤Team", "kind": "json", "on_asked": "on", "after_minutes": "5"}
    with receiving() as receiver:
        added = manager.post(page, {**filled, "url": receiver.url, "on_settled": "on"})
        assert "Geheimnis kopieren" in added.content.decode()
        tried = manager.post(f"{page}/try", {"webhook": Webhook.objects.get().pk}).url
        assert foreign_words(manager.get(tried).content.decode()) == set()
        outbox.send_due()
        assert "Gesendet und angenommen." in manager.get(tried).content.decode()
    soon = timezone.now() + timedelta(minutes=1)
    Webhook.objects.update(host="¤host", is_enabled=False, failures=5, paused_until=soon)
    for reply in (
        manager.get(page),
        manager.post(page, {**filled, "url": "ftp://example.org"}),
        manager.post(page, {**filled, "url": "http://10.1.2.3/"}),
        manager.post(page, {**filled, "on_asked": "", "url": receiver.url}),
    ):
        assert foreign_words(reply.content.decode()) == set()


DJANGO = Path(django.__file__).parent / "conf/locale/de/LC_MESSAGES/django.po"
SAID_BY_DJANGO = (pattern for german in compiled(DJANGO).values() if german for pattern in segments(german))
# What Django says of a wrong value, who made a key or a link, and the public part of a link.
ALSO_KNOWN = re.compile("|".join([*SAID_BY_DJANGO, r"von ¤\w+", "1 Tag", "[0-9a-z]{10}"]))


def foreign_in(reply: Any) -> set[str]:
    return {text for text in foreign_words(reply.content.decode()) if not ALSO_KNOWN.fullmatch(text)}


def test_settings_of_a_room_are_german(
    manager: Client, german_room: Room, people: Any, ask: Callable[..., Question]
) -> None:
    ask()
    german_room.keys.create(label="¤bot", lookup="a" * 10, digest="x", expires_at=timezone.now())
    manager.post("/rooms/raum/manage/members/invite", {"days": "7", "max_uses": "1"})
    lifecycle.create_invitation(
        german_room, get_user_model().objects.create_superuser("¤root"), days=1, max_uses=5
    )
    Group.objects.create(name="¤Gruppe").user_set.add(people[0])
    for page in (
        "",
        "/members",
        "/members?q=¤&saved=added",
        "/members?q=zz",
        "/care",
        "/keys",
        "/retention",
        "/archive",
    ):
        assert foreign_in(manager.get(f"/rooms/raum/manage{page}")) == set(), page
    for section, form in (
        ("", {"name": ""}),
        ("/members/invite", {"days": "365", "max_uses": "5"}),
        ("/members/remove", {"member": german_room.memberships.get(role="manager").pk}),
        ("/care", {"first_people": "¤wer"}),
        ("/care", {"first_people": "¤ana, ¤ana, ¤wer"}),
        ("/care", {"first_people": "¤ana", "votes_needed": "2"}),
        ("/care", {"first_people": ", ".join(f"¤{number}" for number in range(21))}),
        ("/care", {"votes_needed": "1", "undo_seconds": "1000"}),
        ("/keys", {"label": ""}),
        ("/keys", {"label": "¤neu"}),
        ("/retention", {"keep_days": "-1"}),
    ):
        reply = manager.post(f"/rooms/raum/manage{section}", form)
        assert reply.status_code in (200, 409, 422)
        assert foreign_in(reply) == set(), form
    lifecycle.archive_room(german_room)
    for page in ("/rooms/raum/manage/archive", "/rooms/archived"):
        assert foreign_in(manager.get(page)) == set()


def test_making_and_joining_a_room_are_german(manager: Client, german_room: Room, people: Any) -> None:
    assert foreign_in(manager.get("/rooms")) == set()
    _, token = lifecycle.create_invitation(german_room, people[0], days=1, max_uses=1)
    get_user_model().objects.filter(pk=people[1].pk).update(is_staff=True)
    german_room.memberships.filter(user=people[1]).delete()
    guest = Client(headers={"Accept-Language": "de"})
    guest.force_login(people[1])
    for page in (f"/join/{token}", "/join/x", "/rooms", "/rooms/new"):
        assert foreign_in(guest.get(page)) == set(), page
    for form in (
        {"name": ""},
        {"name": "¤Neu", "slug": "raum"},
        {"name": "¤¤"},
        {"name": "¤Neu", "slug": "archived"},
    ):
        reply = guest.post("/rooms/new", form)
        assert reply.status_code == 422
        assert foreign_in(reply) == set(), form


def test_being_notified_is_german(manager: Client, german_room: Room, people: Any, settings: Any) -> None:
    ana = people[0]
    for failures, reached in ((0, None), (0, timezone.now()), (3, None)):
        PushSubscription.objects.create(
            user=ana,
            endpoint=f"https://push.example.org/{failures}/{reached}",
            label="¤Gerät",
            failures=failures,
            last_success_at=reached,
        )
    NoticeRule.objects.create(user=ana, room=german_room, push=AT_ONCE)
    assert foreign_words(manager.get("/settings").content.decode()) == set()
    get_user_model().objects.filter(pk=ana.pk).update(email="¤ana@example.org")
    use_mail_backend(settings, "dummy")
    lifecycle.create_room("noch-einer", name="¤Nocheiner", members=[ana])
    assert foreign_words(manager.get("/settings").content.decode()) == set()
    refused = manager.post("/settings/devices", {"subscription": "{}"})
    assert "Das ist keine gültige Push-Anmeldung." in refused.content.decode()


@pytest.mark.parametrize("kind", [Notice.Kind.ASKED, Notice.Kind.ESCALATED, Notice.Kind.SETTLED])
def test_a_mail_is_german(ask: Callable[..., Question], people: Any, kind: Notice.Kind) -> None:
    question = ask({"question": "¤Datenbank", "options": ["¤Eins", "¤Zwei"]})
    if kind == Notice.Kind.SETTLED:
        question = choose(question, people[1])
    with override("de"):
        letter = content_about(kind, question)
        html = render_to_string("ask_bridge/mail.html", {"content": letter, "settings_address": "/settings"})
    assert foreign_words(html) == set()


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
    _, changes = events.frames_after(german_room.pk, 0, ["de", "en"])
    here = events.presence_frame("raum", [PersonHere(f"¤P{number}", None) for number in range(12)])
    changes += [events.answering_frame("raum", "q", people[1].pk, "¤Ben"), here]

    def said(language: str) -> str:
        sent = [frame.encode(people[0].pk, language, many_rooms=True).decode() for frame in changes]
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
