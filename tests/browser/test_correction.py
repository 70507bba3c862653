"""Corrections of decided cards, and words that came too late as a message."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import BrowserContext, Page, expect

from tests.harness.accessibility import expect_no_problems
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.pages import click_option
from tests.harness.timing import eventually

RoomPage = Callable[..., Page]
OpenBrowser = Callable[..., BrowserContext]


def corrections_of(agent: Agent, question: Any) -> list[str]:
    found = agent.call("GET", f"{agent.path}/messages").json()["messages"]
    return [message["content"] for message in found if message.get("question") == question["id"]]


def open_form(page: Page) -> None:
    page.locator(".ab-settled > summary").click()
    page.get_by_text("Send a correction", exact=True).click()


def test_a_correction_reaches_the_agent_the_card_and_the_timeline(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask()
    ana, ben = room_page("ana"), room_page("ben")
    click_option(ana, "SQLite")
    expect(ana.get_by_role("article")).to_contain_text("Answered by you")
    open_form(ana)
    expect_no_problems(ana)
    ana.get_by_label("about this question").fill("PostgreSQL after all")
    ana.locator(".ab-correct-form").get_by_role("button", name="Send").click()
    for page in (ana, ben):
        expect(page.locator(".ab-correction")).to_have_count(1)
        expect(page.locator(".ab-correction")).to_contain_text("PostgreSQL after all")
        expect(page.locator(".ab-message")).to_contain_text("Correction to:")
    expect(ana.locator(".ab-correct")).not_to_have_attribute("open", "")
    expect(ana.locator(".ab-correct > summary")).to_be_focused()
    expect_no_problems(ana)
    assert corrections_of(agent, question) == ["PostgreSQL after all"]
    ben.locator(".ab-message-about a").click()
    expect(ben.get_by_role("article").first).to_contain_text("Correction by Ana Costa")


def test_a_half_written_correction_survives_the_one_of_another_person(
    agent: Agent, room_page: RoomPage, bridge: Bridge
) -> None:
    question = agent.ask()
    page = room_page()
    click_option(page, "SQLite")
    expect(page.get_by_role("article")).to_contain_text("Answered by you")
    open_form(page)
    page.get_by_label("about this question").fill("half a thought")
    address = f"/rooms/{agent.room}/questions/{question['id']}/correct"
    assert bridge.person("ben", bridge.site).post(address, {"content": "Not SQLite"}).status == 303
    agent.wait(question["id"], seconds=1)
    expect(page.locator(".ab-correction")).to_contain_text("Not SQLite")
    expect(page.get_by_role("article").first).to_contain_text("Delivered to the agent")
    expect(page.get_by_label("about this question")).to_have_value("half a thought")


def test_a_correction_that_could_not_be_sent_is_stored_once(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask()
    page = room_page()
    click_option(page, "SQLite")
    expect(page.get_by_role("article")).to_contain_text("Answered by you")
    open_form(page)
    page.get_by_label("about this question").fill("PostgreSQL after all")

    def lose(route: Any) -> None:
        route.fetch()
        route.abort()

    page.route("**/correct", lose, times=1)
    form = page.locator(".ab-correct-form")
    form.get_by_role("button", name="Send", exact=True).click()
    expect(form.get_by_role("alert")).to_contain_text("Could not send")
    form.get_by_role("button", name="Retry").click()
    expect(page.locator(".ab-correct[open]")).to_have_count(0)
    assert corrections_of(agent, question) == ["PostgreSQL after all"]


def test_a_correction_without_javascript(agent: Agent, open_browser: OpenBrowser) -> None:
    question = agent.ask()
    page = open_browser("ana", java_script_enabled=False).new_page()
    page.goto(f"/rooms/{agent.room}")
    page.get_by_role("radio", name="SQLite").check()
    page.get_by_role("button", name="Submit").click()
    page.goto(f"/rooms/{agent.room}")
    open_form(page)
    page.get_by_label("about this question").fill("PostgreSQL after all")
    page.locator(".ab-correct-form").get_by_role("button", name="Send").click()
    expect(page.locator(".ab-correction")).to_contain_text("PostgreSQL after all")
    assert corrections_of(agent, question) == ["PostgreSQL after all"]


# ---- words that came too late ----------------------------------------------------------------------------


def test_words_that_came_too_late_are_sent_as_a_message(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask()
    ana, ben = room_page("ana"), room_page("ben")
    held: list[Any] = []
    ben.route("**/answer", lambda route: held.append(route))
    click_option(ben, "SQLite")
    eventually(lambda: ben.title() and held)
    click_option(ana, "PostgreSQL")
    card = ben.locator(f"#card-{question['id']}")
    expect(card).to_contain_text("Answered by Ana Costa")
    held[0].continue_()
    expect(card).to_contain_text("Your answer came too late")
    expect_no_problems(ben)
    card.get_by_role("button", name="Send as a message").click()
    expect(card.get_by_text("Your text was sent to the agent as a message")).to_be_visible()
    for page in (ana, ben):
        expect(page.locator(".ab-correction")).to_contain_text("SQLite")
    assert corrections_of(agent, question) == ["SQLite"]


def test_words_that_were_being_written_go_into_the_form_for_corrections(
    agent: Agent, room_page: RoomPage, bridge: Bridge
) -> None:
    question = agent.ask()
    page = room_page()
    page.get_by_role("radio", name="Other").check()
    page.get_by_label("Your own answer").fill("files will do")
    bridge.person("ben", bridge.site).answer(question, "SQLite")
    page.get_by_role("button", name="Send as a message").click()
    expect(page.get_by_label("about this question")).to_be_focused()
    expect(page.get_by_label("about this question")).to_have_value("files will do")
    page.locator(".ab-correct-form").get_by_role("button", name="Send").click()
    expect(page.locator(".ab-correction")).to_contain_text("files will do")
    assert corrections_of(agent, question) == ["files will do"]


def test_words_that_came_too_late_without_javascript(
    agent: Agent, open_browser: OpenBrowser, bridge: Bridge
) -> None:
    question = agent.ask()
    page = open_browser("ana", java_script_enabled=False).new_page()
    page.goto(f"/rooms/{agent.room}")
    page.get_by_role("radio", name="SQLite").check()
    bridge.person("ben", bridge.site).answer(question, "PostgreSQL")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_text("Your answer came too late")).to_be_visible()
    page.get_by_role("button", name="Send as a message").click()
    expect(page.locator(".ab-correction")).to_contain_text("SQLite")
    assert corrections_of(agent, question) == ["SQLite"]
