"""How people are called and pictured: sensible names by default, and a portal's own names and pictures."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.template.loader import render_to_string
from django.test import Client
from django.utils.functional import SimpleLazyObject

from rooms.history import writer
from rooms.models import Question, Room
from rooms.profiles import Profiles, avatar_token, name_of
from tests.harness.agents import Agent
from tests.rooms.test_checks import found

UUID = "0b46c0a2-8d0e-4b2c-9d83-5f7a3a9e5d11"
HASH = "Xq3kPz0LwUvNfYt8sE2aBm5cRjD"


class TeamProfiles(Profiles):
    """Names with the team, and a picture for all but Ben."""

    def name(self, user: Any) -> str:
        return f"{super().name(user)}\n(Platform)"

    def avatar(self, user: Any) -> str:
        return "" if user.username == "ben" else f"https://pictures.example.org/{user.username}.png"


class Nameless(Profiles):
    def name(self, user: Any) -> str:
        return " \u200b"


def of_class(path: type[Profiles]) -> dict[str, str]:
    return {"PROFILES": f"tests.rooms.test_profiles.{path.__name__}"}


def user(username: str, full_name: Any = "", **columns: Any) -> Any:
    """A user of any model; without a full name it has no `get_full_name`."""
    kind = type("User", (SimpleNamespace,), {"get_email_field_name": staticmethod(lambda: "email")})
    methods = {"get_username": lambda: username}
    if full_name != "":
        methods["get_full_name"] = lambda: full_name
    return kind(**methods, **columns)


# ---- names by default ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("person", "name"),
    [
        (user("ana", "Ana Costa"), "Ana Costa"),
        (user("ana", "None None"), "ana"),
        (user("ana", "None None", name="Ana Costa"), "Ana Costa"),
        (user("ana", "Ana None"), "Ana"),
        (user("ana", None), "ana"),
        (user("ana", "  "), "ana"),
        (user("ana"), "ana"),
        (user("ana", name=None), "ana"),
        (user("ana", name=" Ana \n Costa "), "Ana Costa"),
        (user("ana.costa@example.org"), "ana.costa"),
        (user("@ana"), "@ana"),
        (user("ana@laptop"), "ana@laptop"),
        (user(UUID, email="ana@example.org"), "ana"),
        (user(UUID[:30], email="ana@example.org"), "ana"),
        (user(HASH, email="ana@example.org"), "ana"),
        (user("auth0|5f7c8ec7c33c6c004bbafe82", email="ana@example.org"), "ana"),
        (user(HASH), HASH),
        (user(HASH, email=""), HASH),
        (user("christopher-montgomery", email="chris@example.org"), "christopher-montgomery"),
        (user(4711), "4711"),
    ],
)
def test_name_of_any_user_model(person: Any, name: str) -> None:
    assert name_of(person) == name
    assert name_of(SimpleLazyObject(lambda: person)) == name  # as `request.user` is


def test_name_of_a_visitor_is_empty() -> None:
    assert name_of(AnonymousUser()) == ""


def test_blank_name_of_a_portal_is_the_user_name(settings: Any) -> None:
    settings.ASK_BRIDGE = of_class(Nameless)
    assert name_of(user("ana", "Ana Costa")) == "ana"


# ---- names of a portal -----------------------------------------------------------------------------------


@pytest.fixture
def own_profiles(settings: Any) -> None:
    settings.ASK_BRIDGE = of_class(TeamProfiles)


@pytest.mark.usefixtures("own_profiles")
def test_name_of_the_portal_is_on_pages_and_in_the_api(
    browser: Client, question: Question, agent: Agent
) -> None:
    assert "Ana Costa (Platform)" in browser.get("/settings").content.decode()
    browser.post(f"/rooms/ops/questions/{question.pk}/answer", {"choice-0": "0"})
    assert agent.read(question.pk)["answer"]["by"] == {
        "username": "ana",
        "name": "Ana Costa (Platform)",
    }
    browser.post("/rooms/ops/messages", {"content": "Thanks!"})
    page = browser.get("/rooms/ops").content.decode()
    assert page.count("Ana Costa (Platform)") >= 3


@pytest.mark.usefixtures("own_profiles")
def test_named_people_have_their_names_on_the_card(browser: Client, ask: Callable[..., Question]) -> None:
    ask(care={"votes": {"needed": 2, "of": ["ana", "ben"]}})
    page = browser.get("/rooms/ops").content.decode()
    assert "Ana Costa (Platform) and ben (Platform) have to agree" in page


@pytest.mark.django_db
def test_stored_name_stays_as_it_was(browser: Client, question: Question, settings: Any) -> None:
    browser.post(f"/rooms/ops/questions/{question.pk}/answer", {"choice-0": "0"})
    settings.ASK_BRIDGE = of_class(TeamProfiles)
    assert "Answered by you" in browser.get("/rooms/ops").content.decode()
    assert Question.objects.get().answer.person_name == "Ana Costa"


# ---- pictures --------------------------------------------------------------------------------------------


def picture_of(person: Any) -> str:
    return f"/avatars/{avatar_token(person.pk)}"


def test_without_a_hook_there_are_initials_and_no_request(browser: Client, room: Room) -> None:
    browser.post("/rooms/ops/messages", {"content": "Hello"})
    page = browser.get("/rooms/ops").content.decode()
    assert '<span class="ab-avatar" aria-hidden="true">AC</span>' in page
    assert "<img" not in page


@pytest.mark.usefixtures("own_profiles")
def test_picture_is_over_the_initials_wherever_they_are(browser: Client, room: Room, ana: Any) -> None:
    room.memberships.filter(user=ana).update(role="manager")
    browser.post("/rooms/ops/messages", {"content": "Hello"})
    picture = f'aria-hidden="true">A(<img src="{picture_of(ana)}" alt="" loading="lazy"></span>'
    for address in ("/rooms/ops", "/rooms/ops/manage/members", "/rooms/ops/manage/members?q=ana"):
        assert picture in browser.get(address).content.decode()


@pytest.mark.usefixtures("own_profiles")
def test_picture_is_beside_the_name_of_who_decided(
    browser: Client, question: Question, ana: Any, ask: Callable[..., Question]
) -> None:
    browser.post(f"/rooms/ops/questions/{question.pk}/answer", {"choice-0": "0"})
    voted = ask(care={"votes": 2})
    browser.post(f"/rooms/ops/questions/{voted.pk}/answer", {"choice-0": "0"})
    writer.catch_up()
    portrait = f'<span class="ab-avatar ab-portrait" aria-hidden="true">A<img src="{picture_of(ana)}"'
    of_question = f"/rooms/ops/questions/{question.pk}"
    of_vote = f"/rooms/ops/questions/{voted.pk}"
    counts = {"/settings": 2, "/rooms/ops": 2, of_question: 2, of_vote: 2, "/history": 2}
    pages = {address: browser.get(address).content.decode() for address in counts}
    assert {address: page.count(portrait) for address, page in pages.items()} == counts


@pytest.mark.usefixtures("own_profiles")
def test_address_leads_to_the_picture_or_to_a_transparent_one(browser: Client, ana: Any, ben: Any) -> None:
    shown = browser.get(picture_of(ana))
    assert (shown.status_code, shown["Location"]) == (302, "https://pictures.example.org/ana.png")
    assert shown["Cache-Control"] == "private, max-age=600"
    missing = browser.get(picture_of(ben))
    assert (missing.status_code, missing["Content-Type"]) == (200, "image/gif")


@pytest.mark.usefixtures("own_profiles")
def test_only_signed_in_people_get_pictures_and_only_of_people_they_have_seen(
    browser: Client, ana: Any
) -> None:
    assert Client().get(picture_of(ana)).status_code == 404
    assert browser.get(f"/avatars/{ana.pk}").status_code == 404
    assert browser.get(f"/avatars/{ana.pk}:forged").status_code == 404


@pytest.mark.usefixtures("own_profiles")
def test_person_of_a_deleted_account_has_no_picture(browser: Client, ben: Any) -> None:
    address = picture_of(ben)
    ben.delete()
    assert browser.get(address)["Content-Type"] == "image/gif"


@pytest.mark.usefixtures("own_profiles")
def test_name_with_markup_is_escaped() -> None:
    html = render_to_string(
        "ask_bridge/_people.html", {"people": [SimpleNamespace(name="<b> <i>", user_id=1)]}
    )
    assert "&lt;&lt;<img" in html


@pytest.mark.django_db  # Django's own checks ask the database what it supports
@pytest.mark.parametrize("path", ["portal.nowhere.Names", "rooms.permissions.Permissions"])
def test_check_refuses_a_class_that_is_none(settings: Any, path: str) -> None:
    settings.ASK_BRIDGE = {"PROFILES": path}
    assert "PROFILES" in found()["ask_bridge.E003"].msg
