"""From an agent's question to a click and back, in the browser."""

import json
import re
import time
from collections.abc import Callable

from playwright.sync_api import BrowserContext, Page, expect

from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.pages import TWO_PROMPTS, click_option, next_step, wait_for_stream
from tests.harness.timing import best_of, eventually

RoomPage = Callable[..., Page]


def test_signing_in_leads_to_the_inbox(open_browser: Callable[..., BrowserContext], password: str) -> None:
    page = open_browser("").new_page()
    page.goto("/")
    page.get_by_label("User name").fill("cleo")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Inbox")).to_be_visible()


def test_a_card_appears_and_a_click_ends_the_wait(agent: Agent, room_page: RoomPage) -> None:
    page = room_page()
    with agent.asking(wait=50) as wait:
        card = page.get_by_role("article")
        expect(card).to_contain_text("Which database?")
        expect(card).to_contain_text("Waiting")
        click_option(page, "SQLite")
        settled = wait.result()
    assert settled["answer"]["by"] == {"username": "ana", "name": "Ana Costa"}
    assert settled["answer"]["answers"][0]["selectedOptions"] == ["SQLite"]
    expect(card).to_contain_text("Answered by you")
    expect(card).to_contain_text("Which database? SQLite")
    expect(card).to_contain_text("Delivered to the agent")


def test_the_agent_goes_on_within_a_second(agent: Agent, room_page: RoomPage) -> None:
    page = room_page()

    def answer() -> float:
        with agent.asking(wait=50) as wait:
            clicked_at = click_option(page, "SQLite")
            wait.result()
            took = time.monotonic() - clicked_at
        # The card says "Sent" before it folds; the agent does not wait for that.
        expect(page.locator(".ab-card.ab-is-open")).to_have_count(0)
        return took

    assert best_of(3, answer) < 1


def test_the_second_browser_sees_who_answered(agent: Agent, room_page: RoomPage) -> None:
    agent.ask()
    ana, ben = room_page("ana"), room_page("ben")
    expect(ben.get_by_role("radio", name="SQLite")).to_be_visible()
    click_option(ana, "SQLite")
    card = ben.get_by_role("article")
    expect(card).to_contain_text("Answered by Ana Costa")
    expect(card).to_contain_text("Not delivered yet")
    expect(ben.get_by_role("radio")).to_have_count(0)


def test_two_people_at_once_have_one_winner_and_the_other_is_told(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask()
    ana, ben = room_page("ana"), room_page("ben")
    # Ben's stream is cut, so that he still has the open card when he clicks.
    ben.evaluate("askBridgeHtmx.find('#ab-layout')['ask-bridge-htmx-internal-data'].sseEventSource.close()")
    click_option(ana, "SQLite")
    expect(ana.get_by_role("article")).to_contain_text("Answered by you")
    ben.get_by_role("radio", name="Other").check()
    ben.get_by_label("Your own answer").fill("Neither: files will do")
    ben.get_by_role("button", name="Submit").click()
    card = ben.get_by_role("article")
    expect(card).to_contain_text("Your answer came too late")
    expect(card).to_contain_text("Answered by Ana Costa")
    expect(card).to_contain_text("Which database? SQLite")
    expect(card).to_contain_text("Neither: files will do")
    assert agent.read(question["id"])["answer"]["by"]["username"] == "ana"


def test_words_half_typed_are_kept_when_another_person_answers(agent: Agent, room_page: RoomPage) -> None:
    agent.ask()
    ana, ben = room_page("ana"), room_page("ben")
    ben.get_by_role("radio", name="Other").check()
    ben.get_by_label("Your own answer").fill("half a thought")
    click_option(ana, "PostgreSQL")
    expect(ben.get_by_role("article")).to_contain_text("Answered by Ana Costa")
    expect(ben.get_by_role("article")).to_contain_text("half a thought")


def test_several_prompts_are_answered_together_with_other(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask(questions=TWO_PROMPTS)
    page = room_page()
    page.get_by_role("checkbox", name="Unit tests").check()
    page.get_by_role("checkbox", name="Other").check()
    page.get_by_label("Your own answer to: Which checks").fill("License scan")
    next_step(page)
    page.get_by_role("radio", name="Tonight").check()
    page.get_by_role("button", name="Submit").click()
    card = page.get_by_role("article")
    expect(card).to_contain_text("Answered by you")
    expect(card).to_contain_text("Checks: Unit tests, License scan")
    expect(card).to_contain_text("Time: Tonight")
    assert agent.read(question["id"])["answer"]["answers"] == [
        {
            "question": "Which checks should block the release?",
            "header": "Checks",
            "selectedOptions": ["Unit tests"],
            "customInput": "License scan",
            "notes": None,
        },
        {
            "question": "When do we release?",
            "header": "Time",
            "selectedOptions": ["Tonight"],
            "customInput": None,
            "notes": None,
        },
    ]


def test_what_is_missing_is_said_on_the_card_and_nothing_is_lost(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask(questions=TWO_PROMPTS)
    page = room_page()
    page.get_by_role("checkbox", name="Other").check()
    page.get_by_label("Your own answer to: Which checks").fill("License scan")
    next_step(page)
    next_step(page)
    page.get_by_role("button", name="Submit").click()
    time = page.get_by_role("group", name="When do we release?")
    expect(time.get_by_role("alert")).to_have_text("Needs an option or a text of your own.")
    page.get_by_role("button", name="Back").click()
    expect(page.get_by_label("Your own answer to: Which checks")).to_have_value("License scan")
    assert agent.read(question["id"])["status"] == "open"


def test_other_without_a_text_is_said_at_its_field(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask(questions=TWO_PROMPTS)
    page = room_page()
    field = page.get_by_label("Your own answer to: Which checks")
    page.get_by_role("checkbox", name="Unit tests").check()
    page.get_by_role("checkbox", name="Other").check()
    next_step(page)
    page.get_by_role("radio", name="Tonight").check()
    page.get_by_role("button", name="Submit").click()
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_accessible_description("Other needs a text of your own.")
    expect(page.get_by_role("checkbox", name="Unit tests")).to_be_checked()
    assert agent.read(question["id"])["status"] == "open"
    # Without the tick there is nothing to complain about.
    page.get_by_role("checkbox", name="Other").uncheck()
    expect(page.get_by_text("Other needs a text")).to_be_hidden()
    page.get_by_role("checkbox", name="Other").check()
    page.keyboard.type("License scan")
    next_step(page)
    expect(page.get_by_role("radio", name="Tonight")).to_be_checked()
    next_step(page)
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("article")).to_contain_text("Answered by you")
    expect(page.get_by_role("article")).to_contain_text("Checks: Unit tests, License scan")


def test_the_field_of_other_is_fine_again_when_something_else_is_missing(
    agent: Agent, room_page: RoomPage
) -> None:
    agent.ask(questions=TWO_PROMPTS)
    page = room_page()
    field = page.get_by_label("Your own answer to: Which checks")
    page.get_by_role("checkbox", name="Other").check()
    next_step(page)
    next_step(page)
    page.get_by_role("button", name="Submit").click()
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-invalid", "true")
    field.fill("License scan")
    next_step(page)
    missing = page.get_by_text("Needs an option or a text of your own.")
    expect(missing).to_be_visible()
    next_step(page)
    page.get_by_role("button", name="Submit").click()
    expect(missing).to_be_visible()
    page.get_by_role("button", name="Back").click()
    expect(field).to_have_attribute("aria-invalid", "false")
    expect(page.get_by_text("Other needs a text")).to_be_hidden()


def test_skipping_tells_the_agent_why(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask()
    page = room_page()
    page.get_by_text("Skip", exact=True).click()
    page.get_by_label("Reason (optional, shown to the agent)").fill("Ask again tomorrow")
    page.get_by_role("button", name="Skip this question").click()
    expect(page.get_by_role("article")).to_contain_text("Skipped by you")
    settled = agent.read(question["id"])
    assert settled["status"] == "declined"
    assert settled["answer"]["reason"] == "Ask again tomorrow"


def test_an_agent_that_is_killed_is_marked_and_cleared_when_it_returns(
    agent: Agent, room_page: RoomPage
) -> None:
    question = agent.ask()
    page = room_page()
    card = page.get_by_role("article")
    expect(card).to_contain_text("No agent is waiting yet")
    with agent.waiting(question["id"]) as wait:
        expect(card).to_contain_text("Waiting")
        wait.hang_up()
        expect(card).to_contain_text("Agent left")
    with agent.waiting(question["id"]):
        expect(card).to_contain_text("Waiting")


def test_typed_text_survives_what_happens_to_the_card(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask()
    page = room_page()
    page.get_by_role("radio", name="Other").check()
    field = page.get_by_label("Your own answer")
    field.fill("half a thought")
    with agent.waiting(question["id"]):
        expect(page.get_by_role("article")).to_contain_text("Waiting")
        agent.send("meanwhile")
        expect(page.get_by_text("meanwhile")).to_be_visible()
        expect(field).to_have_value("half a thought")
        expect(field).to_be_focused()


def test_arrow_keys_choose_without_sending(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask()
    page = room_page()
    page.get_by_role("radio", name="PostgreSQL").focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("radio", name="SQLite")).to_be_checked()
    assert agent.read(question["id"])["status"] == "open"
    page.keyboard.press("Enter")
    expect(page.get_by_role("article")).to_contain_text("Answered by you")


def test_a_fresh_card_ignores_a_click_that_was_meant_for_something_else(
    agent: Agent, room_page: RoomPage
) -> None:
    page = room_page()
    # Click in the same task in which the card appears: no person can have aimed at it.
    page.evaluate(
        """() => new MutationObserver((_, observer) => {
            const option = document.querySelector(".ab-option-row .ab-option");
            if (!option) return;
            observer.disconnect();
            queueMicrotask(() => {
                option.dispatchEvent(new PointerEvent("pointerup", {bubbles: true}));
                option.dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true, detail: 1}));
            });
        }).observe(document.body, {childList: true, subtree: true})"""
    )
    question = agent.ask()
    expect(page.get_by_role("radio", name="PostgreSQL")).to_be_visible()
    expect(page.get_by_role("radio", name="PostgreSQL")).not_to_be_checked()
    assert agent.read(question["id"])["status"] == "open"


def test_the_inbox_shows_new_questions_by_itself(
    agent: Agent, open_browser: Callable[..., BrowserContext]
) -> None:
    page = open_browser("ben").new_page()
    page.goto(f"/?room={agent.room}")
    wait_for_stream(page)
    question = agent.ask()
    card = page.locator(f"#card-{question['id']}")
    expect(card).to_contain_text(f"in {agent.room}")
    agent.call("DELETE", f"/api/v1/questions/{question['id']}")
    expect(card).to_contain_text("Withdrawn by the agent")


def test_messages_go_both_ways(agent: Agent, room_page: RoomPage) -> None:
    page = room_page()
    agent.send("I read 14 files", type="log")
    expect(page.get_by_text("I read 14 files")).to_be_visible()
    page.get_by_label("Message the agents").fill("Please hurry")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".ab-message-text")).to_have_text("Please hurry")
    expect(page.get_by_label("Message the agents")).to_have_value("")
    messages = agent.call("GET", f"{agent.path}/messages").json()["messages"]
    assert [(m["sender"], m["type"], m["content"]) for m in messages] == [
        ("test-agent", "log", "I read 14 files"),
        ("Ana Costa", "message", "Please hurry"),
    ]


def test_older_entries_load_on_demand(agent: Agent, room_page: RoomPage) -> None:
    for number in range(40):
        agent.send(f"line {number}.")
    page = room_page()
    expect(page.get_by_text("line 39.")).to_be_visible()
    expect(page.get_by_text("line 5.")).to_have_count(0)
    page.get_by_role("link", name="Show older entries").click()
    expect(page.get_by_text("line 5.")).to_be_visible()
    expect(page.get_by_text("line 39.")).to_be_visible()


def test_a_link_to_one_question_shows_its_card(
    agent: Agent, open_browser: Callable[..., BrowserContext]
) -> None:
    question = agent.ask()
    page = open_browser().new_page()
    page.goto(question["url"])
    expect(page.get_by_role("article")).to_contain_text("Which database?")


def test_what_an_agent_writes_stays_text(agent: Agent, room_page: RoomPage) -> None:
    page = room_page()
    hostile = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>'
    agent.ask(
        agent={"name": hostile[:80]},
        questions=[{"question": hostile, "header": hostile, "options": [hostile, "b"]}],
        context={"text": hostile, "branch": hostile},
    )
    agent.send(hostile)
    expect(page.locator(".ab-message-text")).to_have_text(hostile)
    expect(page.get_by_role("article").last).to_contain_text("<script>")
    assert page.evaluate("window.pwned") is None


def test_a_manager_creates_a_key_that_works_at_once(
    open_browser: Callable[..., BrowserContext], bridge: Bridge
) -> None:
    admin_password = re.search(r"Password +(\S+)", bridge.greeting).group(1)
    page = open_browser("").new_page()
    page.goto("/rooms/lobby/connect")
    page.get_by_label("User name").fill("admin")
    page.get_by_label("Password").fill(admin_password)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("Name of the agent").fill("new-bot")
    page.get_by_role("button", name="Create a key").click()
    expect(page.get_by_text("Copy it now")).to_be_visible()
    key = page.locator(".ab-key-panel pre").inner_text()
    row = page.get_by_role("row", name="new-bot")
    expect(row).to_contain_text("Not used yet")
    assert Agent(bridge.site, "lobby", key).ask()["room"] == "lobby"
    expect(row).to_contain_text("now")
    # Every block is ready to paste, for this server and with this key.
    for client in ("Claude Code", "Claude Code and terminal", "Agent SDK", "MCP", "CLI", "curl"):
        page.get_by_role("tab", name=client, exact=True).click()
        block = page.locator(".ab-client:visible pre").first
        expect(block).to_contain_text(f"http://127.0.0.1:{bridge.site.port}")
        expect(block).to_contain_text(key)
    page.goto("/rooms/lobby/connect")
    assert key not in page.content()


def test_a_test_question_shows_a_card(agent: Agent, open_browser: Callable[..., BrowserContext]) -> None:
    page = open_browser("ben").new_page()
    page.goto(f"/rooms/{agent.room}/connect")
    page.get_by_role("button", name="Send a test question").click()
    expect(page.get_by_role("article")).to_contain_text("Do you see this card?")
    page.wait_for_load_state()  # until then it is a plain form
    click_option(page, "Yes, and I clicked it")
    expect(page.get_by_role("article")).to_contain_text("Answered by you")


def test_other_people_are_told_whom_to_ask_for_a_key(
    agent: Agent, open_browser: Callable[..., BrowserContext]
) -> None:
    page = open_browser("ben").new_page()
    page.goto(f"/rooms/{agent.room}/connect")
    expect(page.get_by_text("Only managers of this room can create keys")).to_be_visible()
    expect(page.get_by_role("button", name="Create a key")).to_have_count(0)


def test_a_session_that_ran_out_keeps_what_was_typed(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask()
    page = room_page()
    page.get_by_role("radio", name="Other").check()
    page.get_by_label("Your own answer").fill("half a thought")
    page.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("alert").filter(has_text="You are signed out")).to_be_visible()
    expect(page.get_by_label("Your own answer")).to_have_value("half a thought")
    assert agent.read(question["id"])["status"] == "open"


def test_a_page_lists_what_the_wire_lists(agent: Agent, room_page: RoomPage) -> None:
    """The AskUserQuestionResponse of the wire is no entry of its own on the page."""
    question = agent.ask()
    page = room_page()
    click_option(page, "SQLite")
    eventually(lambda: agent.read(question["id"])["status"] == "answered")
    messages = agent.call("GET", f"{agent.path}/messages").json()["messages"]
    assert [m["type"] for m in messages] == ["AskUserQuestion", "AskUserQuestionResponse"]
    assert json.loads(messages[1]["content"])["questionMessageId"] == messages[0]["id"]
    page.reload()
    expect(page.get_by_role("article")).to_have_count(1)
