"""Asking back in the browser: all viewers see it, and no text is lost."""

from collections.abc import Callable

from playwright.sync_api import APIResponse, Locator, Page, Route, expect

from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.pages import click_option
from tests.harness.people import Person
from tests.harness.timing import eventually

RoomPage = Callable[..., Page]

TEXT = "How large does it get?"


def field(page: Page) -> Locator:
    return page.get_by_label("Your reply to the agent")


def begin(page: Page, text: str = TEXT) -> None:
    page.get_by_text("Ask back", exact=True).click()
    field(page).fill(text)


def send(page: Page) -> None:
    page.get_by_role("button", name="Send to the agent").click()


def tab_to(page: Page, target: Locator) -> None:
    """Reach it with the keyboard alone."""
    for _ in range(20):
        page.keyboard.press("Tab")
        if target.evaluate("(element) => element === document.activeElement"):
            return
    expect(target).to_be_focused()


def hold_replies(page: Page) -> list[tuple[Route, APIResponse]]:
    """Let the server have what is sent, and keep its responses from the page."""
    held: list[tuple[Route, APIResponse]] = []
    page.route("**/reply", lambda route: held.append((route, route.fetch())))
    return held


def test_the_waiting_agent_gets_a_reply_and_all_viewers_see_who_asked_back(
    agent: Agent, room_page: RoomPage
) -> None:
    ana, ben = room_page("ana"), room_page("ben")
    with agent.asking(wait=50) as wait:
        begin(ana)
        send(ana)
        settled = wait.result()
    assert settled["status"] == "declined"
    assert (settled["answer"]["kind"], settled["answer"]["reason"]) == ("reply", TEXT)
    assert settled["answer"]["by"] == {"username": "ana", "name": "Ana Costa"}
    expect(ana.get_by_role("article")).to_contain_text("Asked back by you")
    expect(ana.get_by_role("article")).to_contain_text("Delivered to the agent")
    card = ben.get_by_role("article")
    expect(card).to_contain_text("Asked back by Ana Costa")
    expect(card).to_contain_text(f"“{TEXT}”")
    expect(ben.get_by_role("radio")).to_have_count(0)


def test_by_keyboard_alone(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask()
    page = room_page()
    page.keyboard.press("j")
    tab_to(page, page.get_by_text("Ask back", exact=True))
    page.keyboard.press("Enter")
    tab_to(page, field(page))
    # In the field keys are letters, and Enter begins a new line.
    page.keyboard.type("2 jobs? sk")
    page.keyboard.press("Enter")
    page.keyboard.type("Or one?")
    assert agent.read(question["id"])["status"] == "open"
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("article")).to_contain_text("Asked back by you")
    answer = agent.read(question["id"])["answer"]
    assert (answer["kind"], answer["reason"]) == ("reply", "2 jobs? sk\nOr one?")


def test_nothing_is_not_sent(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask()
    page = room_page()
    begin(page, "   ")
    send(page)
    told = page.locator(".ab-ask-back-form").get_by_role("alert")
    expect(told).to_contain_text("Write what the agent should know before you choose")
    assert agent.read(question["id"])["status"] == "open"
    field(page).fill(TEXT)
    send(page)
    expect(page.get_by_role("article")).to_contain_text("Asked back by you")


def test_submit_works_beside_an_open_reply(agent: Agent, room_page: RoomPage) -> None:
    """The line of Submit is shared, and what is open there must not lie above it."""
    prompt = {"question": "Which checks?", "header": "Checks", "multiSelect": True, "options": ["A1", "B2"]}
    agent.ask(questions=[prompt])
    page = room_page()
    begin(page)
    page.get_by_role("checkbox", name="A1").check()
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("article")).to_contain_text("Which checks? A1")


def test_half_a_reply_survives_a_reload(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask()
    page = room_page()
    begin(page, "How lar")
    page.reload()
    expect(field(page)).to_be_visible()
    expect(field(page)).to_have_value("How lar")
    assert agent.read(question["id"])["status"] == "open"
    send(page)
    expect(page.get_by_role("article")).to_contain_text("“How lar”")
    assert page.evaluate("Object.keys(localStorage).filter((name) => name.includes('draft'))") == []


def test_half_a_reply_stays_readable_when_another_person_answers(
    agent: Agent, room_page: RoomPage, bridge: Bridge
) -> None:
    question = agent.ask()
    page = room_page()
    begin(page, "How lar")
    ben: Person = bridge.person("ben", bridge.site)
    ben.answer(question, "SQLite")
    expect(page.get_by_role("article")).to_contain_text("Answered by Ben Okafor")
    expect(page.locator(".ab-lost")).to_contain_text("How lar")


def test_a_reply_that_comes_too_late_stays_readable(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask()
    ana, ben = room_page("ana"), room_page("ben")
    begin(ben)
    # Ben's stream is cut, so that he still has the open card when he sends.
    ben.evaluate("askBridgeHtmx.find('#ab-layout')['ask-bridge-htmx-internal-data'].sseEventSource.close()")
    click_option(ana, "SQLite")
    expect(ana.get_by_role("article")).to_contain_text("Answered by you")
    send(ben)
    card = ben.get_by_role("article")
    expect(card).to_contain_text("Your answer came too late")
    expect(card).to_contain_text("Answered by Ana Costa")
    expect(card).to_contain_text("Which database? SQLite")
    expect(ben.locator(".ab-lost")).to_contain_text(TEXT)
    assert agent.read(question["id"])["answer"]["kind"] == "choice"


def test_ones_own_reply_is_not_called_lost_when_the_stream_is_faster(
    agent: Agent, room_page: RoomPage
) -> None:
    agent.ask()
    page = room_page()
    held = hold_replies(page)
    begin(page)
    send(page)
    expect(page.get_by_role("article")).to_contain_text("Asked back by you")
    eventually(lambda: page.title() and held)
    route, response = held.pop()
    with page.expect_event("requestfinished"):
        route.fulfill(response=response)
    expect(page.get_by_role("article")).to_contain_text(f"“{TEXT}”")
    expect(page.locator(".ab-lost")).to_have_count(0)


def test_a_late_reply_stays_readable_when_the_stream_is_faster(
    agent: Agent, room_page: RoomPage, bridge: Bridge
) -> None:
    question = agent.ask()
    page = room_page()
    begin(page)
    ben: Person = bridge.person("ben", bridge.site)
    held: list[Route] = []
    page.route("**/reply", lambda route: held.append(route))
    send(page)
    eventually(lambda: page.title() and held)
    ben.answer(question, "SQLite")
    expect(page.get_by_role("article")).to_contain_text("Answered by Ben Okafor")
    held.pop().continue_()
    expect(page.get_by_role("article")).to_contain_text("Your answer came too late")
    expect(page.locator(".ab-lost")).to_contain_text(TEXT)
