"""The inbox in the browser: questions without a waiting agent are kept apart, live."""

from collections.abc import Callable

from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.harness.agents import Agent
from tests.harness.pages import wait_for_stream

OpenBrowser = Callable[..., BrowserContext]


def inbox(open_browser: OpenBrowser, **options: object) -> Page:
    page = open_browser(**options).new_page()
    page.goto("/")
    wait_for_stream(page)
    return page


def leave(agent: Agent, question: dict[str, str]) -> None:
    """An agent waits for the question, and says that it stops."""
    agent.wait(question["id"], seconds=0.1)
    assert agent.call("DELETE", f"/api/v1/questions/{question['id']}/wait").status == 204


def shown(page: Page, question: dict[str, str]) -> Locator:
    return page.locator(f"#open-questions > #card-{question['id']}")


def folded(page: Page, question: dict[str, str]) -> Locator:
    return page.locator(f"#unattended > .cards > #card-{question['id']}")


def test_a_card_goes_into_the_fold_with_its_agent_and_comes_back(
    agent: Agent, open_browser: OpenBrowser
) -> None:
    page = inbox(open_browser)
    badge = page.locator(f"a[data-room={agent.room}] .count")
    question = agent.ask()
    expect(shown(page, question)).to_be_visible()
    expect(badge).to_have_text("1")
    leave(agent, question)
    expect(folded(page, question)).to_have_count(1)
    expect(badge).to_have_text("0")
    expect(page.get_by_text("No agent waiting")).to_be_visible()
    agent.wait(question["id"], seconds=0.1)
    expect(shown(page, question)).to_be_visible()
    expect(badge).to_have_text("1")


def test_a_card_that_is_being_filled_in_stays_where_it_is(agent: Agent, open_browser: OpenBrowser) -> None:
    page = inbox(open_browser)
    question = agent.ask()
    card = page.locator(f"#card-{question['id']}")
    text = card.get_by_role("textbox", name="Your own answer")
    card.get_by_role("radio", name="Other").check()
    text.fill("Neither of the two")
    leave(agent, question)
    expect(card).to_contain_text("Agent no longer active")
    expect(shown(page, question)).to_be_visible()
    expect(text).to_have_value("Neither of the two")
    text.fill("")
    card.locator("input:checked").evaluate("input => { input.checked = false }")
    page.get_by_role("heading", name="Inbox").click()
    expect(folded(page, question)).to_have_count(1)


def test_close_all_says_what_it_did_without_javascript(agent: Agent, open_browser: OpenBrowser) -> None:
    question, waited_for = agent.ask(), agent.ask()
    leave(agent, question)
    page = open_browser(java_script_enabled=False).new_page()
    page.goto("/")
    page.get_by_text("No agent waiting").click()
    page.get_by_role("button", name="Close all").click()
    expect(page.get_by_role("status").filter(has_text="closed.")).to_be_visible()
    ended = agent.read(question["id"])["ended"]
    assert (ended["reason"], ended["by"]["username"]) == ("person", "ana")
    assert agent.read(waited_for["id"])["status"] == "open"


# The number in the title, and the sum of what the rooms count: other rooms have their own questions.
NUMBERS = """() => [
    Number(/^\\((\\d+)\\) /.exec(document.title)?.[1] ?? 0),
    [...document.querySelectorAll("[data-part]")].reduce((sum, part) => sum + Number(part.textContent), 0),
]"""


def test_the_tab_counts_what_the_rooms_count(agent: Agent, open_browser: OpenBrowser) -> None:
    page = inbox(open_browser)
    badge = page.locator(f"a[data-room={agent.room}] .count")
    question = agent.ask()
    for number in ("1", "0"):
        expect(badge).to_have_text(number)
        in_title, of_rooms = page.evaluate(NUMBERS)
        assert in_title == of_rooms
        leave(agent, question)
