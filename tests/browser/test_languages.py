"""People in one room read its page and stream in their own languages."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.pages import click_option, resize
from tests.harness.proxy import proxy_to

RoomPage = Callable[..., Page]
OpenBrowser = Callable[..., BrowserContext]

GERMAN = {"locale": "de-DE"}


def test_the_way_in_is_german(open_browser: OpenBrowser, password: str) -> None:
    page = open_browser("", **GERMAN).new_page()
    page.goto("/")
    expect(page).to_have_title("Anmelden · Ask Bridge")
    page.get_by_label("Benutzername").fill("ana")
    page.get_by_label("Passwort").fill("falsch")
    page.get_by_role("button", name="Anmelden").click()
    expect(page.get_by_role("alert")).to_contain_text("passen nicht zusammen")
    page.get_by_label("Passwort").fill(password)
    page.get_by_role("button", name="Anmelden").click()
    expect(page.get_by_role("heading", name="Eingang")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "de")


def test_the_same_card_comes_to_each_person_in_their_language(
    agent: Agent, room_page: RoomPage, bridge: Bridge
) -> None:
    german, english = room_page("ana", **GERMAN), room_page("ben")
    question = agent.ask()
    here, there = (page.locator(f"#card-{question['id']}") for page in (german, english))
    expect(here.get_by_text("Noch wartet kein Agent")).to_be_visible()
    expect(there.get_by_text("No agent is waiting yet")).to_be_visible()
    expect(german.locator("#ab-announcer")).to_have_text("1 neue Frage")
    expect(english.locator("#ab-announcer")).to_have_text("1 new question")
    with agent.waiting(question["id"]):
        expect(here.get_by_text("Wartet 0:")).to_be_visible()
        expect(there.get_by_text("Waiting 0:")).to_be_visible()
        bridge.person("cleo").post(f"/rooms/{agent.room}/questions/{question['id']}/answering", {})
        expect(here.get_by_text("cleo antwortet gerade …")).to_be_visible()
        expect(there.get_by_text("cleo is answering…")).to_be_visible()
        click_option(english, "SQLite")
        expect(there.get_by_text("Answered by you")).to_be_visible()
        expect(here.get_by_text("Beantwortet von Ben Okafor")).to_be_visible()
        expect(here.get_by_text("Dem Agenten zugestellt")).to_be_visible()
        expect(there.get_by_text("Delivered to the agent")).to_be_visible()


def test_a_refusal_and_the_card_after_it_are_german(agent: Agent, room_page: RoomPage) -> None:
    page = room_page(**GERMAN)
    card = page.locator(f"#card-{agent.ask()['id']}")
    card.get_by_text("Etwas anderes").click()
    card.get_by_role("button", name="Absenden").click()
    expect(card.locator(".ab-other-error")).to_have_text("„Etwas anderes“ braucht einen eigenen Text.")
    card.get_by_text("Überspringen", exact=True).click()
    card.get_by_role("button", name="Frage überspringen").click()
    expect(card.get_by_text("Selbst übersprungen")).to_be_visible()


def test_times_are_told_in_german(agent: Agent, room_page: RoomPage) -> None:
    page = room_page(**GERMAN)
    card = page.locator(f"#card-{agent.ask()['id']}")
    expect(card.locator(".ab-card-time")).to_have_text("jetzt")
    page.clock.install()
    page.reload()
    page.clock.fast_forward("03:10")
    expect(card.locator(".ab-card-time")).to_have_text("vor 3 Min.")


def test_a_lost_connection_is_told_in_german(agent: Agent, open_browser: OpenBrowser, bridge: Bridge) -> None:
    with proxy_to(bridge.site.port) as proxy:
        page = open_browser(**GERMAN).new_page()
        page.goto(f"{proxy.url}/rooms/{agent.room}")
        question = agent.ask()
        expect(page.locator(f"#card-{question['id']}")).to_be_visible()  # the stream is open
        proxy.refuse()
        banner = page.locator("#ab-connection")
        expect(banner).to_contain_text("Verbindung unterbrochen.")
        proxy.heal()
        expect(banner).to_have_text("Wieder auf dem neuesten Stand.")


@pytest.mark.parametrize("javascript", [True, False])
def test_a_chosen_language_lasts_in_this_browser(
    agent: Agent, open_browser: OpenBrowser, javascript: bool
) -> None:
    context = open_browser("cleo", java_script_enabled=javascript)
    page = context.new_page()
    page.goto("/settings")
    page.get_by_role("combobox", name="Language").select_option("Deutsch")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Gespeichert.")).to_be_visible()
    expect(page.get_by_role("combobox", name="Sprache")).to_have_value("de")
    later = context.new_page()
    later.goto(f"/rooms/{agent.room}")
    expect(later.get_by_role("link", name="Agenten verbinden", exact=True).first).to_be_visible()
    page.get_by_role("combobox", name="Sprache").select_option("Sprache des Browsers")
    page.get_by_role("button", name="Speichern").click()
    expect(page.get_by_text("Saved.")).to_be_visible()


def test_everything_is_german_without_javascript(agent: Agent, open_browser: OpenBrowser) -> None:
    page = open_browser(java_script_enabled=False, **GERMAN).new_page()
    page.goto(f"/rooms/{agent.room}/questions/{agent.ask()['id']}")
    page.get_by_role("button", name="Absenden").click()
    expect(page.locator(".ab-prompt-error")).to_have_text(
        "Bitte eine Option wählen oder etwas Eigenes schreiben."
    )
    page.get_by_text("Rückfrage", exact=True).click()
    page.get_by_label("Rückfrage an den Agenten").fill("Wie groß wird sie?")
    page.get_by_role("button", name="An den Agenten senden").click()
    expect(page.get_by_role("article").get_by_text("Eigene Rückfrage")).to_be_visible()
    expect(page.locator(".ab-reason")).to_have_text("„Wie groß wird sie?“")


# ---- longer words need more room -------------------------------------------------------------------------


def test_german_fits_the_narrowest_phone(agent: Agent, open_browser: OpenBrowser) -> None:
    agent.ask(timeout_seconds=3600)
    page = open_browser(viewport={"width": 320, "height": 700}, **GERMAN).new_page()
    for path in ("/", "/settings", f"/rooms/{agent.room}", f"/rooms/{agent.room}/connect"):
        page.goto(path)
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 320, path
        # Each name in the bar has one line.
        assert page.locator(".ab-tabs").evaluate("bar => bar.offsetHeight") < 60


@pytest.mark.parametrize("language", ["de-DE", "en-US"])
def test_the_ways_out_of_a_card_cover_nothing(agent: Agent, open_browser: OpenBrowser, language: str) -> None:
    agent.ask()
    page = open_browser(locale=language).new_page()
    page.goto(f"/rooms/{agent.room}")
    page.locator(".ab-other-input").check()  # brings Submit
    parts = [".ab-submit", ".ab-ask-back > summary", ".ab-skip > summary"]
    # All of them in one look: between two the page could move.
    places = "parts => parts.map((part) => document.querySelector(part).getBoundingClientRect().toJSON())"
    for width in range(320, 720, 20):
        resize(page, width, 900)
        submit, ask_back, skip = page.evaluate(places, parts)
        assert ask_back["right"] <= skip["x"] + 1
        assert ask_back["y"] == skip["y"]
        assert submit["right"] < ask_back["x"] or submit["bottom"] <= ask_back["y"]
