"""Notifications of an open page: the pill, the live region for screen readers, system notifications."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from rooms.pages.inbox import MOST_ROWS
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.pages import SHOWN_NOTIFICATIONS
from tests.harness.timing import eventually

pytestmark = pytest.mark.whole_browser

RoomPage = Callable[..., Page]

# The browser's own notifications, shown as always, and written down in the tab that asked for them.
WRITE_DOWN = """
window.notified = [];
const worker = window.ServiceWorkerRegistration?.prototype ?? {}; // an empty tab has none
const show = worker.showNotification;
worker.showNotification = function (title, options) {
  window.notified.push({ title, ...options });
  return show.call(this, title, options);
};
"""
# A burst comes at once, however long this machine takes to ask.
HOLD_NEWS = """() => {
    const source = askBridgeHtmx.find("#ab-layout")["ask-bridge-htmx-internal-data"].sseEventSource;
    window.heldNews = [];
    source.receive = (news) => window.heldNews.push(news);
    window.letNewsPass = () => {
        delete source.receive;
        window.heldNews.forEach((news) => source.receive(news));
    };
}"""
# Playwright gives every page the focus.
LOOK_AWAY = "document.hasFocus = () => window.isFocused === true;"


def small(room_page: RoomPage, agent: Agent) -> Page:
    """A page on which one card fills the window."""
    for _ in range(3):
        agent.ask()
    return room_page(viewport={"width": 800, "height": 500})


def test_a_new_question_out_of_sight_is_a_pill_and_moves_nothing(agent: Agent, room_page: RoomPage) -> None:
    page = small(room_page, agent)
    first = page.get_by_role("radio", name="PostgreSQL").first
    first.focus()
    place = first.bounding_box()
    question = agent.ask()
    pill = page.get_by_role("button", name="1 new question")
    expect(pill).to_be_visible()
    assert first.bounding_box() == place
    expect(first).to_be_focused()
    agent.ask()
    expect(page.get_by_role("button", name="2 new questions")).to_be_visible()
    page.get_by_role("button", name="2 new questions").click()
    expect(page.locator(f"#card-{question['id']}")).to_be_in_viewport()


def test_a_pill_goes_when_the_reader_comes_by(agent: Agent, room_page: RoomPage) -> None:
    page = small(room_page, agent)
    question = agent.ask()
    expect(page.get_by_role("button", name="1 new question")).to_be_visible()
    page.locator(f"#card-{question['id']}").scroll_into_view_if_needed()
    expect(page.get_by_role("button", name="new question")).to_have_count(0)


def test_a_question_in_sight_needs_no_pill(agent: Agent, room_page: RoomPage) -> None:
    page = room_page()
    agent.ask()
    expect(page.get_by_role("article")).to_be_visible()
    expect(page.locator("#ab-announcer")).to_have_text("1 new question")
    expect(page.get_by_role("button", name="new question")).to_have_count(0)


def test_a_burst_is_one_polite_sentence(agent: Agent, room_page: RoomPage, bridge: Bridge) -> None:
    page = room_page()
    announcer = page.locator("#ab-announcer")
    page.evaluate(
        """() => { window.said = []; new MutationObserver(() =>
            window.said.push(document.getElementById("ab-announcer").textContent)
        ).observe(document.getElementById("ab-announcer"), {childList: true}) }"""
    )
    page.evaluate(HOLD_NEWS)
    asked = [agent.ask() for _ in range(3)]
    page.wait_for_function("() => window.heldNews.filter(({ event }) => event === 'question').length === 3")
    page.evaluate("window.letNewsPass()")
    expect(announcer).to_have_text("3 new questions")
    bridge.person("ben", bridge.site).answer(asked[0], "SQLite")
    expect(announcer).to_contain_text("Answered by Ben Okafor")
    assert len(page.evaluate("window.said")) == 2


def test_settled_cards_make_room_while_the_page_is_hidden(
    agent: Agent, room_page: RoomPage, open_browser: Callable[..., BrowserContext]
) -> None:
    settled, open_one = agent.ask(), agent.ask()
    page = room_page()
    agent.call("DELETE", f"/api/v1/questions/{settled['id']}")
    card = page.locator(f"#card-{settled['id']}")
    expect(card).to_contain_text("Withdrawn")
    expect(page.locator("#ab-open-questions .ab-card")).to_have_count(2)
    page.evaluate(
        """() => { Object.defineProperty(document, "visibilityState", {value: "hidden"});
                   document.dispatchEvent(new Event("visibilitychange")) }"""
    )
    expect(page.locator("#ab-open-questions .ab-card")).to_have_attribute("id", f"card-{open_one['id']}")
    expect(page.locator(f"#ab-timeline #card-{settled['id']}")).to_be_visible()


# ---- notifications of the system


@pytest.fixture
def notifying(
    agent: Agent, open_browser: Callable[..., BrowserContext], bridge: Bridge
) -> Callable[..., list[Page]]:
    """Hidden tabs of a person who has notifications switched on."""

    def start(tabs: int = 1) -> list[Page]:
        bridge.person("eli", bridge.site).post("/settings", {"notify": "on", "keyboard": "on"})
        context = open_browser("eli", permissions=["notifications"])
        context.add_init_script(WRITE_DOWN + LOOK_AWAY)
        pages = [context.new_page() for _ in range(tabs)]
        for page in pages:
            with page.expect_response(lambda response: "/js/stream." in response.url):
                page.goto(f"/?show={MOST_ROWS}")
        return pages

    return start


def notified(page: Page) -> list[dict[str, Any]]:
    return page.evaluate("window.notified")


def until_notified(pages: list[Page], *titles: str) -> None:
    eventually(lambda: len([entry for page in pages for entry in notified(page)]) >= len(titles))
    assert [entry["title"] for page in pages for entry in notified(page)] == [*titles]


def until_heard(pages: list[Page], agent: Agent) -> dict[str, Any]:
    question = agent.ask()
    for page in pages:
        expect(page.locator(f"#row-{question['id']}")).to_be_visible()
    return question


def test_one_tab_notifies_for_all_and_closes_it_after_an_answer(
    agent: Agent, notifying: Callable[..., list[Page]], bridge: Bridge
) -> None:
    pages = notifying(3)
    question = until_heard(pages, agent)
    until_notified(pages, f"Database · {agent.room}")
    assert eventually(lambda: pages[0].evaluate(SHOWN_NOTIFICATIONS)) == [
        {
            "title": f"Database · {agent.room}",
            "body": "Which database?",
            "tag": f"card-{question['id']}",
            "data": {"url": f"/rooms/{agent.room}/questions/{question['id']}"},
        }
    ]
    bridge.person("ben", bridge.site).answer(question, "SQLite")
    for page in pages:
        expect(page.locator(f"#row-{question['id']}")).to_have_count(0)
    eventually(lambda: pages[0].evaluate(SHOWN_NOTIFICATIONS) == [])


def test_nothing_while_the_page_is_visible(
    agent: Agent, notifying: Callable[..., list[Page]], bridge: Bridge
) -> None:
    pages = notifying(2)
    pages[0].evaluate("window.isFocused = true; window.dispatchEvent(new Event('focus'))")
    until_heard(pages, agent)
    pages[0].evaluate("window.isFocused = false; window.dispatchEvent(new Event('blur'))")
    loud = bridge.agent()
    until_heard(pages, loud)
    until_notified(pages, f"Database · {loud.room}")


def test_nothing_from_a_muted_room(
    agent: Agent, notifying: Callable[..., list[Page]], bridge: Bridge
) -> None:
    [page] = notifying()
    bridge.person("eli", bridge.site).post(f"/rooms/{agent.room}/mute", {"mute": "on"})
    page.reload()
    until_heard([page], agent)
    loud = bridge.agent()
    until_heard([page], loud)
    until_notified([page], f"Database · {loud.room}")


def test_nothing_unless_asked_for(agent: Agent, open_browser: Callable[..., BrowserContext]) -> None:
    context = open_browser("ana", permissions=["notifications"])
    context.add_init_script(WRITE_DOWN + LOOK_AWAY)
    page = context.new_page()
    page.goto(f"/?show={MOST_ROWS}")
    until_heard([page], agent)
    assert notified(page) == []
