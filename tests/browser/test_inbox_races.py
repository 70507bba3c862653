"""The inbox while other people, the connection and the stream are faster or slower than expected."""

from collections.abc import Callable

from playwright.sync_api import BrowserContext, Locator, Page, Route, expect

from rooms.pages.inbox import ROWS
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.pages import click_option, wait_for_still_cards, wait_for_stream

OpenBrowser = Callable[..., BrowserContext]
UNDO = {"undo_seconds": 300}


def inbox(open_browser: OpenBrowser, agent: Agent) -> Page:
    page = open_browser(viewport={"width": 1280, "height": 900}).new_page()
    page.goto(f"/?room={agent.room}")
    wait_for_stream(page)
    return page


def card(page: Page, question: dict[str, str]) -> Locator:
    return page.locator(f"#ab-focus #card-{question['id']}")


def row(page: Page, question: dict[str, str]) -> Locator:
    return page.locator(f"#ab-group-needed #row-{question['id']}")


def part_of(route: Route) -> str:
    """The part of the page that a request of the script asks for."""
    return route.request.headers.get("hx-target", "")


def test_the_question_below_is_next_when_the_stream_is_faster_than_the_reply(
    agent: Agent, open_browser: OpenBrowser
) -> None:
    _, second, third = agent.ask(), agent.ask(), agent.ask()
    page = inbox(open_browser, agent)
    row(page, second).click()
    expect(card(page, second)).to_be_visible()

    def answer(route: Route) -> None:
        reply = route.fetch()
        expect(row(page, second)).to_have_count(0)
        route.fulfill(response=reply)

    page.mouse.move(1200, 850)  # rows are not taken away under the pointer
    page.route("**/answer", answer, times=1)
    click_option(page, "SQLite")
    expect(card(page, third)).to_be_visible()


def test_rows_of_a_reply_that_was_overtaken_are_not_shown(agent: Agent, open_browser: OpenBrowser) -> None:
    first = agent.ask()
    page = inbox(open_browser, agent)
    held: list[Route] = []

    def keep(route: Route) -> None:
        if part_of(route) != "ab-rows" or held:
            return route.fallback()
        held.append(route)

    page.route(f"**/?room={agent.room}", keep)
    second = agent.ask()
    while not held:
        page.evaluate("() => new Promise(requestAnimationFrame)")
    late = held[0].fetch()  # with the second question
    agent.delete(agent.question_url(second["id"]))
    third = agent.ask()
    expect(row(page, third)).to_be_visible()
    with page.expect_response(lambda response: response.url == held[0].request.url):
        held[0].fulfill(response=late)
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    expect(row(page, second)).to_have_count(0)
    expect(row(page, first)).to_be_visible()


def test_a_card_that_could_not_be_loaded_comes_when_the_server_can_be_reached(
    agent: Agent, open_browser: OpenBrowser
) -> None:
    _, second, third = agent.ask(), agent.ask(), agent.ask()
    page = inbox(open_browser, agent)
    failures = ["connectionrefused", 502]

    def fail(route: Route) -> None:
        if part_of(route) != "ab-focus" or not failures:
            return route.fallback()
        failure = failures.pop(0)
        if isinstance(failure, int):
            return route.fulfill(status=failure, body="Bad gateway")
        route.abort(failure)

    page.route("**/?*", fail)
    row(page, second).click()
    expect(card(page, second)).to_be_visible()
    assert failures == []
    # So does the next question after an answer.
    failures.append("connectionrefused")
    click_option(page, "SQLite")
    expect(card(page, third)).to_be_visible()
    expect(page.locator(f"#ab-last #card-{second['id']}")).to_contain_text("Answered by you")


def test_a_login_that_a_portal_redirects_to_is_a_page_of_its_own(
    agent: Agent, open_browser: OpenBrowser
) -> None:
    agent.ask()
    second = agent.ask()
    page = inbox(open_browser, agent)

    def redirect(route: Route) -> None:
        if part_of(route) == "ab-focus":
            return route.fulfill(status=302, headers={"Location": "/login/"})
        route.fallback()

    page.route("**/?*", redirect)
    with page.expect_navigation(url=f"**/?room={agent.room}&question={second['id']}"):
        row(page, second).click()


def test_what_another_person_undoes_takes_nothing_from_under_the_fingers(
    agent: Agent, bridge: Bridge, open_browser: OpenBrowser
) -> None:
    held, following = agent.ask(care=UNDO), agent.ask()
    page = inbox(open_browser, agent)
    wait_for_still_cards(page)
    click_option(page, "SQLite")
    expect(page.locator("#ab-last").get_by_role("button", name="Undo")).to_be_visible()
    card(page, following).get_by_role("radio", name="Other").check()
    text = card(page, following).get_by_role("textbox", name="Your own answer")
    text.fill("Neither of")
    address = f"/rooms/{agent.room}/questions/{held['id']}/undo"
    assert bridge.person("ben").post(address, {}).status == 303
    expect(row(page, held)).to_be_visible()
    expect(page.locator("#ab-last .ab-card")).to_have_count(0)
    page.keyboard.type(" the two")
    expect(text).to_have_value("Neither of the two")


def test_a_new_question_does_not_take_the_focus(agent: Agent, open_browser: OpenBrowser) -> None:
    agent.ask()
    page = inbox(open_browser, agent)
    wait_for_still_cards(page)
    click_option(page, "SQLite")
    expect(page.get_by_role("heading", name="No open question matches")).to_be_visible()
    page.locator("#ab-last").get_by_text("Send a correction").click()
    text = page.locator("#ab-last").get_by_role("textbox", name="Message to")
    text.fill("Better ")
    following = agent.ask()
    expect(card(page, following)).to_be_visible()
    page.keyboard.type("PostgreSQL")
    expect(text).to_have_value("Better PostgreSQL")
    # Where nothing has the focus, keys mean the only card.
    page.locator("#ab-inbox-title").click()
    page.keyboard.press("2")
    expect(card(page, following).get_by_role("radio", name="SQLite")).to_be_checked()


def test_more_rows_are_offered_and_counted_as_they_come(agent: Agent, open_browser: OpenBrowser) -> None:
    for _ in range(ROWS):
        agent.ask()
    page = inbox(open_browser, agent)
    more = page.locator("#ab-group-needed").get_by_role("link", name="Show more")
    expect(more).to_have_count(0)
    page.evaluate(
        """() => {
            window.newRows = 0;
            document.addEventListener("ask-bridge:new-rows", ({ detail }) => (window.newRows += detail));
        }"""
    )
    last = agent.ask()
    expect(more).to_be_visible()
    page.mouse.move(1200, 850)
    wait_for_still_cards(page)
    click_option(page, "SQLite")
    # It moves up into the rows that are shown, which is no news for a screen reader.
    expect(row(page, last)).to_be_visible()
    expect(more).to_have_count(0)
    assert page.evaluate("window.newRows") == 0


def test_an_undo_that_could_not_be_sent_in_time_says_so(agent: Agent, open_browser: OpenBrowser) -> None:
    agent.ask(care={"undo_seconds": 3}), agent.ask()
    page = inbox(open_browser, agent)
    wait_for_still_cards(page)
    page.route("**/undo", lambda route: route.abort("connectionrefused"))
    click_option(page, "SQLite")
    last = page.locator("#ab-last")
    last.get_by_role("button", name="Undo").click()
    expect(last).to_contain_text("Could not send.")
    expect(last).to_contain_text("Too late to undo.")
    expect(last).to_contain_text("Answered by you")


def test_an_answer_that_could_not_be_sent_is_sent_from_above_the_next_card(
    agent: Agent, open_browser: OpenBrowser
) -> None:
    first, second = agent.ask(), agent.ask()
    page = inbox(open_browser, agent)
    wait_for_still_cards(page)
    page.route("**/answer", lambda route: route.abort("connectionrefused"))
    click_option(page, "SQLite")
    expect(card(page, first)).to_contain_text("Could not send.")
    page.keyboard.press("j")
    expect(card(page, second)).to_be_visible()
    unsent = page.locator(f"#ab-last #card-{first['id']}")
    expect(unsent).to_contain_text("Could not send.")
    page.unroute("**/answer")
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(unsent).to_contain_text("Answered by you")
    expect(card(page, second)).to_be_visible()
    assert agent.read(first["id"])["answer"]["answers"][0]["selectedOptions"] == ["SQLite"]
