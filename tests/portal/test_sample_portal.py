"""examples/portal in a real browser, with Ask Bridge from the built wheel."""

import json
import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.harness.agents import Agent
from tests.harness.chromium import violations_in
from tests.harness.openid_provider import OpenIDProvider, openid_provider
from tests.harness.pages import mark_open_streams, wait_for_still_cards, wait_for_stream
from tests.harness.people import Person, Visitor
from tests.harness.shared_folder import made_once
from tests.harness.sites import ROOT
from tests.portal.machines import Machine
from tests.portal.portals import Portal

PREFIX = "/werkzeuge/fragen"
PASSWORD = secrets.token_urlsafe(12)
# Members of no room: they see the one of their team.
PEOPLE = """
from django.contrib.auth.models import Group
from people.models import Person
team = {"team": "plattform", "password": %r}
Person.objects.create_user("ana", first_name="Ana", last_name="Costa", **team)
Person.objects.create_user("gast", is_guest=True, **team)
ben = Person.objects.create_user("ben", password=%r, team="vertrieb")
ben.groups.add(Group.objects.create(name="Vertrieb"))
"""


@dataclass(frozen=True)
class Sample:
    portal: Portal
    agent: Agent
    provider: OpenIDProvider

    def person(self, name: str) -> Person:
        return self.portal.person(name, PASSWORD, "/anmelden/")


def install_packages(folder: Path) -> None:
    """`npm install`, as the README says."""
    if shutil.which("npm") is None:
        missing = "needs npm, to fetch Bootstrap: install the package npm"
        pytest.fail(missing) if os.environ.get("CI") == "true" else pytest.skip(missing)
    shutil.copy(ROOT / "examples" / "portal" / "package.json", folder)
    subprocess.run(["npm", "install", "--ignore-scripts"], check=True, capture_output=True, cwd=folder)


@pytest.fixture(scope="module")
def provider() -> Iterator[OpenIDProvider]:
    """django-allauth sends no nonce: it has PKCE."""
    with openid_provider(requires_nonce=False) as running:
        yield running


@pytest.fixture(scope="module")
def sample(
    portal_machine: Machine, provider: OpenIDProvider, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sample]:
    folder = tmp_path_factory.mktemp("sample") / "portal"
    unused = shutil.ignore_patterns("*.sqlite3", ".venv", "node_modules")
    shutil.copytree(ROOT / "examples" / "portal", folder, ignore=unused)

    with made_once("sample-portal-packages", install_packages) as packages:
        shutil.copytree(packages / "node_modules", folder / "node_modules")

    def manage(*arguments: str) -> str:
        return portal_machine.check("python", "manage.py", *arguments, cwd=folder, **provider.variables)

    manage("check", "--fail-level", "WARNING")
    manage("makemigrations", "--check", "--dry-run")
    manage("migrate", "--verbosity", "0")
    manage("createroom", "plattform", "--name", "Team Plattform")
    manage("shell", "-v0", "-c", PEOPLE % (PASSWORD, PASSWORD))
    manage("createroom", "vertrieb", "--group", "Vertrieb")
    key = manage("createkey", "plattform", "--label", "first-agent").strip()
    server = [str(portal_machine.python), "manage.py", "runserver", "PORT", "--noreload"]
    portal = Portal(server, folder, portal_machine.environment(**provider.variables), PREFIX)
    try:
        yield Sample(portal, portal.agent("plattform", key), provider)
    finally:
        portal.end()


@pytest.fixture
def sign_in(sample: Sample, chromium: Browser) -> Iterator[Callable[[str], Page]]:
    """Through the portal's own door; an error or a violated policy fails the test."""
    pages: list[Page] = []
    errors: list[str] = []

    def start(username: str) -> Page:
        page = chromium.new_page(base_url=f"http://127.0.0.1:{sample.portal.port}")
        pages.append(page)
        mark_open_streams(page)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: errors.extend(violations_in(message.text)))
        page.goto(f"{PREFIX}/")
        page.get_by_label("Benutzername").fill(username)
        page.get_by_label("Passwort").fill(PASSWORD)
        page.get_by_role("button", name="Anmelden").click()
        wait_for_stream(page)
        return page

    yield start
    for page in pages:
        page.close()
    assert errors == []


def style(page: Page, selector: str, name: str) -> str:
    found = page.locator(selector).first.evaluate(f"element => getComputedStyle(element)[{json.dumps(name)}]")
    return str(found)


def test_a_question_is_answered_in_the_portal_in_german(
    sample: Sample, sign_in: Callable[[str], Page]
) -> None:
    page = sign_in("ana")
    expect(page.get_by_role("heading", name="Eingang")).to_be_visible()
    with sample.agent.asking(wait=30) as asking:
        card = page.get_by_role("article").filter(has_text="Which database?")
        expect(card).to_contain_text("Wartet")
        wait_for_still_cards(page)
        card.get_by_text("SQLite").click()
        assert asking.result()["answer"]["answers"][0]["selectedOptions"] == ["SQLite"]
        expect(card).to_contain_text("Selbst beantwortet")
    # The portal's own app has heard of it.
    page.get_by_role("link", name="Schwarzes Brett").click()
    expect(page.get_by_role("listitem").first).to_contain_text("Beantwortet, Ana Costa")


def test_it_has_the_look_of_the_portal_and_leaves_the_portal_its_own(
    sign_in: Callable[[str], Page],
) -> None:
    page = sign_in("ana")
    expect(page.get_by_role("navigation", name="Portal")).to_be_visible()
    assert page.title().endswith("– Portal")
    assert style(page, ".ask-bridge", "fontFamily").startswith("Georgia")
    assert style(page, ".ab-logo-ground", "fill") == "rgb(122, 31, 162)"
    assert style(page, ".portal-bar .button", "minHeight") == "auto"
    # Bootstrap's own look, beside ours on one page.
    assert style(page, ".portal-bar .button", "borderRadius") == "4px"
    assert style(page, ".navbar", "display") == "flex"
    assert style(page, ".portal-bar .button", "backgroundColor") == "rgb(233, 216, 244)"


def test_its_permissions_hold(sample: Sample) -> None:
    question = sample.agent.ask()
    assert sample.person("ben").get(f"{PREFIX}/rooms/plattform").status == 404
    guest = sample.person("gast")
    page = guest.get(f"{PREFIX}/rooms/plattform/questions/{question['id']}").text
    assert "In diesem Raum ist nur Lesen möglich" in page
    assert '<form class="ab-card-form' not in page
    form = sample.person("ana").form_of(question)
    name, value = form["fields"]["SQLite"]
    assert guest.post(form["action"], {name: value}).status == 403
    told = guest.post(form["action"], {name: value}, HX_Request="true")
    assert told.status == 422
    assert "nur Lesen möglich" in told.text
    assert sample.agent.read(question["id"])["status"] == "open"


def test_group_has_its_room(sample: Sample) -> None:
    assert sample.person("ben").get(f"{PREFIX}/rooms/vertrieb").status == 200
    assert sample.person("ana").get(f"{PREFIX}/rooms/vertrieb").status == 404


def test_people_have_the_names_of_the_portal(sample: Sample) -> None:
    page = sample.person("ana").get(f"{PREFIX}/settings").text
    assert "Ana Costa (plattform)" in page


class Colleague(Person):
    """A person who signs in at the company's provider, from the link on the portal's login page."""

    prefix = PREFIX

    def __init__(self, sample: Sample, username: str, **claims: Any) -> None:
        Visitor.__init__(self, sample.portal)
        login = self.get(self.get(f"{PREFIX}/").headers["Location"]).text
        [link] = re.findall(r'href="(/konto/[^"]+)"', login)
        sample.provider.know(username, preferred_username=username, **claims)
        back = sample.provider.approve(self.get(unescape(link)).headers["Location"], username)
        assert self.get(back).headers["Location"] == f"{PREFIX}/"


def test_people_of_single_sign_on_have_their_name_and_the_rooms_of_their_groups(sample: Sample) -> None:
    claims = {"name": "Carla Rossi", "email": "carla@example.org", "email_verified": True}
    carla = Colleague(sample, "carla", **claims, groups=["Vertrieb", "Unbekannt"])
    assert "Carla Rossi" in carla.get(f"{PREFIX}/settings").text
    assert carla.get(f"{PREFIX}/rooms/plattform").status == 404
    with carla.stream("vertrieb") as stream:
        carla.say("Guten Tag", room="vertrieb")
        assert "Carla Rossi" in stream.until("entry").data
    # The groups are those of her last sign-in, and her account is the same.
    again = Colleague(sample, "carla", **claims, groups=[])
    assert again.get(f"{PREFIX}/rooms/vertrieb").status == 404
    assert carla.get(f"{PREFIX}/rooms/vertrieb").status == 404


def test_account_of_single_sign_on_is_never_one_with_a_password(sample: Sample) -> None:
    ana = Colleague(sample, "ana", name="Ana Falsch")
    assert "Ana Falsch" in ana.get(f"{PREFIX}/settings").text
    assert ana.get(f"{PREFIX}/rooms/plattform").status == 404
    assert sample.portal.request("GET", "/konto/signup/").status == 404


def test_nothing_went_wrong_unseen(sample: Sample) -> None:
    assert "Internal Server Error" not in sample.portal.log.read_text()
