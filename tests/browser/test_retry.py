"""A click that could not be sent: shown on the card, retried by hand or on reconnect, stored once."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.harness.accessibility import expect_no_problems
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.pages import click_option
from tests.harness.timing import eventually

RoomPage = Callable[..., Page]


def refuse(page: Page, address: str, status: int = 0) -> None:
    """The next POST to this address fails, after that it goes through."""

    def answer(route: Route) -> None:
        if status:
            route.fulfill(status=status, body="")
        else:
            route.abort()

    page.route(address, answer, times=1)


def lose_the_reply(page: Page, address: str) -> list[int]:
    """The next POST to this address arrives, its reply does not; the list fills with the server's status."""
    statuses: list[int] = []

    def answer(route: Route) -> None:
        statuses.append(route.fetch().status)
        route.abort()

    page.route(address, answer, times=1)
    return statuses


def answer_of(agent: Agent, question: Any) -> Any:
    return eventually(lambda: agent.read(question["id"])["answer"])


def messages_of(agent: Agent) -> list[str]:
    found = agent.call("GET", f"{agent.path}/messages").json()["messages"]
    return [message["content"] for message in found if message["type"] == "message"]


@pytest.mark.parametrize("status", [0, 500, 503])
def test_an_answer_that_failed_has_a_retry_button(agent: Agent, room_page: RoomPage, status: int) -> None:
    question = agent.ask()
    page = room_page()
    refuse(page, "**/answer", status)
    click_option(page, "SQLite")
    card = page.get_by_role("article")
    expect(card.get_by_role("alert")).to_contain_text("Could not send")
    expect(card.get_by_role("radio", name="SQLite")).to_be_checked()
    assert agent.read(question["id"])["status"] == "open"
    card.get_by_role("button", name="Retry").click()
    expect(card).to_contain_text("Answered by you")
    assert answer_of(agent, question)["answers"][0]["selectedOptions"] == ["SQLite"]


@pytest.mark.parametrize(
    ("opens", "field", "sends", "address", "outcome"),
    [
        ("Skip", "Reason (optional, shown to the agent)", "Skip this question", "**/skip", "Skipped by you"),
        ("Ask back", "Your reply to the agent", "Send to the agent", "**/reply", "Asked back by you"),
    ],
)
def test_a_skip_or_reply_that_failed_says_so_in_its_own_form(
    agent: Agent, room_page: RoomPage, opens: str, field: str, sends: str, address: str, outcome: str
) -> None:
    agent.ask()
    page = room_page()
    refuse(page, address)
    card = page.get_by_role("article")
    card.get_by_text(opens, exact=True).click()
    card.get_by_label(field).fill("half a thought")
    card.get_by_role("button", name=sends).click()
    form = card.locator("form", has=page.get_by_role("button", name=sends))
    expect(form.get_by_role("alert")).to_contain_text("Could not send")
    expect(card.get_by_label(field)).to_have_value("half a thought")
    form.get_by_role("button", name="Retry").click()
    expect(card).to_contain_text(outcome)
    expect(card).to_contain_text("half a thought")


def test_a_message_that_failed_is_kept_in_the_composer(agent: Agent, room_page: RoomPage) -> None:
    page = room_page()
    refuse(page, "**/messages")
    page.get_by_label("Message the agents").fill("Please hurry")
    page.get_by_role("button", name="Send").click()
    composer = page.locator(".ab-composer")
    expect(composer.get_by_role("alert")).to_contain_text("Could not send")
    expect(page.get_by_label("Message the agents")).to_have_value("Please hurry")
    composer.get_by_role("button", name="Retry").click()
    expect(page.locator(".ab-message-text")).to_have_text("Please hurry")
    expect(composer.get_by_role("alert")).to_have_count(0)
    assert messages_of(agent) == ["Please hurry"]


def test_everything_that_failed_is_sent_again_when_the_browser_is_online(
    agent: Agent, room_page: RoomPage
) -> None:
    question = agent.ask()
    page = room_page()
    page.context.set_offline(True)
    click_option(page, "SQLite")
    page.get_by_label("Message the agents").fill("Please hurry")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("It will be sent again when the connection is back")).to_have_count(2)
    page.context.set_offline(False)
    expect(page.get_by_role("article").first).to_contain_text("Answered by you")
    expect(page.locator(".ab-message-text")).to_have_text("Please hurry")
    assert answer_of(agent, question)["answers"][0]["selectedOptions"] == ["SQLite"]
    assert messages_of(agent) == ["Please hurry"]


def test_the_failure_stands_under_the_option_that_was_clicked(agent: Agent, room_page: RoomPage) -> None:
    agent.ask()
    page = room_page()
    refuse(page, "**/answer")
    click_option(page, "PostgreSQL")
    option = page.locator(".ab-option-row", has_text="PostgreSQL")
    expect(option.get_by_role("alert")).to_contain_text("Could not send")
    # Another option takes the place of the first.
    refuse(page, "**/answer")
    click_option(page, "SQLite")
    option = page.locator(".ab-option-row", has_text="SQLite")
    expect(option.get_by_role("alert")).to_contain_text("Could not send")
    expect(page.get_by_role("button", name="Retry")).to_have_count(1)
    option.get_by_role("button", name="Retry").click()
    expect(page.get_by_role("article")).to_contain_text("SQLite")
    expect(page.get_by_role("article")).to_contain_text("Answered by you")


def test_an_answer_is_not_sent_by_itself_for_ever(agent: Agent, room_page: RoomPage) -> None:
    agent.ask()
    page = room_page()
    tries: list[str] = []

    def refuse_all(route: Route) -> None:
        tries.append(route.request.url)
        route.abort()

    page.route("**/answer", refuse_all)
    click_option(page, "SQLite")
    later = page.get_by_text("It will be sent again when the connection is back")
    for number in range(1, 6):
        expect(later).to_be_visible()
        eventually(lambda number=number: page.title() and len(tries) == number)
        # The page knows that it failed: a form on its way is not sent once more.
        expect(page.locator("form[data-failed]")).to_have_count(1)
        page.evaluate("document.dispatchEvent(new CustomEvent('ask-bridge:connected'))")
    expect(later).to_have_count(0)
    page.evaluate("document.dispatchEvent(new CustomEvent('ask-bridge:connected'))")
    expect(page.get_by_role("button", name="Retry")).to_be_visible()
    assert len(tries) == 6
    # A person can go on; then it is sent by itself again.
    page.get_by_role("button", name="Retry").click()
    expect(later).to_be_visible()


def test_half_a_change_is_not_sent_by_itself(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask()
    page = room_page()
    page.context.set_offline(True)
    page.get_by_role("radio", name="Other").check()
    page.get_by_label("Your own answer").fill("half a thought")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("alert")).to_contain_text("Could not send")
    page.get_by_label("Your own answer").fill("half a thought and")
    expect(page.get_by_role("alert")).not_to_contain_text("sent again")
    page.context.set_offline(False)
    agent.send("Good morning")
    expect(page.get_by_text("Good morning")).to_be_visible()
    assert agent.read(question["id"])["status"] == "open"
    page.get_by_role("button", name="Retry").click()
    expect(page.get_by_role("article").first).to_contain_text("Answered by you")
    assert answer_of(agent, question)["answers"][0]["customInput"] == "half a thought and"


def test_the_last_of_two_decisions_on_a_card_is_the_one_that_is_sent(
    agent: Agent, room_page: RoomPage
) -> None:
    question = agent.ask()
    page = room_page()
    page.context.set_offline(True)
    click_option(page, "SQLite")
    card = page.get_by_role("article")
    expect(card.get_by_role("button", name="Retry")).to_have_count(1)
    card.get_by_text("Skip", exact=True).click()
    card.get_by_role("button", name="Skip this question").click()
    expect(card.locator(".ab-skip-form").get_by_role("button", name="Retry")).to_be_visible()
    expect(card.get_by_role("button", name="Retry")).to_have_count(1)
    page.context.set_offline(False)
    expect(card).to_contain_text("Skipped by you")
    assert agent.read(question["id"])["status"] == "declined"


def test_an_answer_that_had_arrived_after_all_is_ones_own(agent: Agent, room_page: RoomPage) -> None:
    """The stream brings the answered card: it is shown as the person's own, without lost words."""
    agent.ask()
    page = room_page()
    statuses = lose_the_reply(page, "**/answer")
    page.get_by_role("radio", name="Other").check()
    page.get_by_label("Your own answer").fill("files will do")
    page.get_by_role("button", name="Submit").click()
    card = page.get_by_role("article")
    expect(card).to_contain_text("Answered by you")
    expect(card).to_contain_text("files will do")
    expect(card.locator(".ab-lost")).to_have_count(0)
    assert statuses == [200]


def test_a_message_that_had_arrived_after_all_is_stored_once(agent: Agent, room_page: RoomPage) -> None:
    page = room_page()
    statuses = lose_the_reply(page, "**/messages")
    page.get_by_label("Message the agents").fill("Please hurry")
    page.get_by_role("button", name="Send").click()
    page.get_by_role("button", name="Retry").click()
    expect(page.get_by_label("Message the agents")).to_have_value("")
    assert statuses == [200]
    assert messages_of(agent) == ["Please hurry"]


def test_who_was_slower_meanwhile_sees_the_winner_and_keeps_the_words(
    agent: Agent, room_page: RoomPage, bridge: Bridge
) -> None:
    question = agent.ask()
    page = room_page()
    refuse(page, "**/answer")
    page.get_by_role("radio", name="Other").check()
    page.get_by_label("Your own answer").fill("files will do")
    page.get_by_role("button", name="Submit").click()
    card = page.get_by_role("article")
    expect(card.get_by_role("alert")).to_contain_text("Could not send")
    bridge.person("ben", bridge.site).answer(question, "SQLite")
    expect(card).to_contain_text("Answered by Ben Okafor")
    expect(card.locator(".ab-lost")).to_contain_text("files will do")


def test_a_failed_click_is_seen_where_it_was_made(agent: Agent, room_page: RoomPage) -> None:
    """The card is higher than the window: what is said below its options comes into sight."""
    options = [{"label": f"Option {number}", "description": "Words. " * 120} for number in range(4)]
    agent.ask(questions=[{"question": "Which one?", "options": options}])
    page = room_page(viewport={"width": 390, "height": 600})
    refuse(page, "**/answer")
    click_option(page, "Option 0")
    expect(page.get_by_role("button", name="Retry")).to_be_in_viewport()


def test_what_failed_has_no_problems_of_access(agent: Agent, room_page: RoomPage) -> None:
    agent.ask()
    page = room_page()
    page.route("**/answer", lambda route: route.abort())
    page.route("**/messages", lambda route: route.abort())
    click_option(page, "SQLite")
    page.get_by_label("Message the agents").fill("Please hurry")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("button", name="Retry")).to_have_count(2)
    expect_no_problems(page)
