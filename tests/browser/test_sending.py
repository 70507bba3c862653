"""How far an answer is: the clicked option says sending, sent and delivered, then the card folds."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.harness.accessibility import expect_no_problems
from tests.harness.agents import Agent
from tests.harness.pages import TWO_PROMPTS, click_option, next_step, wait_for_stream
from tests.harness.timing import eventually

RoomPage = Callable[..., Page]

# Keeps the words in the order in which they were shown, with the label of the option or form they were on.
RECORD_WORDS = """() => {
    window.words = [];
    new MutationObserver(() => {
        const word = document.querySelector(".ab-send-state");
        const place = word?.closest(".ab-option")?.querySelector(".ab-option-label") ?? word?.closest("form");
        const name = place?.matches("form") ? "form" : place?.textContent.trim();
        const told = word && `${name}: ${word.textContent.trim()}`;
        if (told && window.words.at(-1) !== told) window.words.push(told);
    }).observe(document.body, {childList: true, subtree: true});
}"""


# The card folds when the test says so: `window.fold()`.
HOLD_FOLD = """() => {
    const later = window.setTimeout;
    window.setTimeout = (act, ms, ...rest) => {
        if (ms !== 700) return later(act, ms, ...rest);
        window.fold = act;
    };
}"""


def hold(page: Page, address: str) -> list[Route]:
    """The next POST to this address waits; the list gets its route."""
    held: list[Route] = []
    page.route(address, lambda route: held.append(route), times=1)
    return held


def test_the_clicked_option_says_sending_sent_and_delivered(agent: Agent, room_page: RoomPage) -> None:
    page = room_page()
    with agent.asking(wait=50) as wait:
        page.evaluate(RECORD_WORDS)
        page.evaluate(HOLD_FOLD)
        held = hold(page, "**/answer")
        click_option(page, "SQLite")
        eventually(lambda: page.title() and held)
        option = page.locator(".ab-option", has_text="SQLite")
        expect(option).to_contain_text("Sending…")
        expect_no_problems(page)
        held[0].continue_()
        assert wait.result()["status"] == "answered"
    expect(option).to_contain_text("Delivered")
    page.evaluate("window.fold()")
    card = page.get_by_role("article")
    expect(card).to_contain_text("Answered by you")
    expect(card).to_contain_text("Delivered to the agent")
    expect(page.locator(".ab-send-state")).to_have_count(0)
    words = page.evaluate("window.words")
    # The news of the answer and of its delivery can arrive as one.
    assert words in (
        ["SQLite: Sending…", "SQLite: Sent", "SQLite: Delivered"],
        ["SQLite: Sending…", "SQLite: Delivered"],
    )


def test_an_answer_that_no_agent_fetches_is_sent_and_not_delivered(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask()
    page = room_page()
    page.evaluate(RECORD_WORDS)
    click_option(page, "SQLite")
    card = page.get_by_role("article")
    expect(card).to_contain_text("Not delivered yet")
    assert page.evaluate("window.words") == ["SQLite: Sending…", "SQLite: Sent"]
    agent.wait(question["id"], seconds=1)
    expect(card).to_contain_text("Delivered to the agent")


def test_the_card_folds_when_the_stream_is_faster_than_the_reply(agent: Agent, room_page: RoomPage) -> None:
    agent.ask()
    page = room_page()
    page.evaluate(RECORD_WORDS)
    replies: list[object] = []

    def answer(route: Route) -> None:
        reply = route.fetch()
        page.wait_for_function("() => window.words.some((word) => word.endsWith('Sent'))")
        replies.append(reply.status)
        route.fulfill(response=reply)

    page.route("**/answer", answer, times=1)
    click_option(page, "SQLite")
    expect(page.get_by_role("article")).to_contain_text("Answered by you")
    assert page.evaluate("window.words") == ["SQLite: Sending…", "SQLite: Sent"]
    eventually(lambda: page.title() and replies == [200])


def test_a_form_with_a_button_says_it_beside_the_button(agent: Agent, room_page: RoomPage) -> None:
    agent.ask(questions=TWO_PROMPTS)
    page = room_page()
    page.evaluate(RECORD_WORDS)
    page.get_by_role("checkbox", name="Unit tests").check()
    next_step(page)
    page.get_by_role("radio", name="Tonight").check()
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("article")).to_contain_text("Answered by you")
    assert page.evaluate("window.words") == ["form: Sending…", "form: Sent"]


def test_what_is_sent_is_not_sent_again_before_the_card_folds(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask()
    page = room_page()
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    page.evaluate(
        """() => new MutationObserver((_, observer) => {
            if (!document.querySelector(".ab-send-state.ab-is-sent")) return;
            observer.disconnect();
            document.querySelector("[name=choice-0][value='0']").checked = true;
            document.querySelector(".ab-card-form").requestSubmit();
        }).observe(document.body, {childList: true, subtree: true})"""
    )
    click_option(page, "SQLite")
    expect(page.get_by_role("article")).to_contain_text("Answered by you")
    assert len([url for url in sent if url.endswith("/answer")]) == 1
    assert agent.read(question["id"])["answer"]["answers"][0]["selectedOptions"] == ["SQLite"]


def test_the_answer_of_another_person_does_not_wait(agent: Agent, room_page: RoomPage) -> None:
    agent.ask()
    ana, ben = room_page("ana"), room_page("ben")
    ben.evaluate(RECORD_WORDS)
    click_option(ana, "SQLite")
    expect(ben.get_by_role("article")).to_contain_text("Answered by Ana Costa")
    assert ben.evaluate("window.words") == []


def test_without_motion_the_words_are_the_same_and_nothing_moves(agent: Agent, room_page: RoomPage) -> None:
    agent.ask()
    page = room_page(reduced_motion="reduce")
    page.evaluate(RECORD_WORDS)
    held = hold(page, "**/answer")
    click_option(page, "SQLite")
    eventually(lambda: page.title() and held)
    expect(page.locator(".ab-send-state .ab-spinner")).to_have_css("animation-name", "none")
    held[0].continue_()
    expect(page.get_by_role("article")).to_contain_text("Answered by you")
    assert page.evaluate("window.words") == ["SQLite: Sending…", "SQLite: Sent"]


def test_the_inbox_shows_the_states_on_the_option_and_then_on_the_answered_card(
    agent: Agent, open_browser: Callable[..., BrowserContext]
) -> None:
    first = agent.ask()
    agent.ask(questions=[{"question": "Deploy now?", "options": ["Yes", "No"]}])
    page = open_browser("ana", viewport={"width": 1280, "height": 900}).new_page()
    page.goto(f"/?room={agent.room}")
    wait_for_stream(page)
    page.evaluate(RECORD_WORDS)
    held = hold(page, "**/answer")
    click_option(page, "SQLite")
    eventually(lambda: page.title() and held)
    expect(page.locator("#ab-focus .ab-option", has_text="SQLite")).to_contain_text("Sending…")
    held[0].continue_()
    last = page.locator("#ab-last")
    expect(last).to_contain_text("Answered by you")
    expect(last).to_contain_text("Not delivered yet")
    expect(page.locator("#ab-focus")).to_contain_text("Deploy now?")
    agent.wait(first["id"], seconds=1)
    expect(last).to_contain_text("Delivered to the agent")


# ---- errors beside what was clicked ----------------------------------------------------------------------


def refuse(page: Page, address: str, status: int, sentence: str) -> None:
    headers = {"HX-Retarget": "find .ab-errors", "HX-Reswap": "innerHTML"}
    body = f'<p class="ab-field-error">{sentence}</p>'
    page.route(
        address,
        lambda route: route.fulfill(status=status, body=body, headers=headers, content_type="text/html"),
        times=1,
    )


@pytest.mark.parametrize("width", [320, 1280])
def test_a_refusal_stands_under_the_clicked_option(agent: Agent, room_page: RoomPage, width: int) -> None:
    agent.ask()
    page = room_page(viewport={"width": width, "height": 800})
    refuse(page, "**/answer", 429, "More than 60 within a minute.")
    click_option(page, "PostgreSQL")
    option = page.locator(".ab-option-row", has_text="PostgreSQL")
    expect(option.get_by_role("alert")).to_contain_text("More than 60 within a minute.")
    expect(page.locator(".ab-send-state")).to_have_count(0)
    expect_no_problems(page)
    option.get_by_role("button", name="Retry").click()
    expect(page.get_by_role("article")).to_contain_text("Answered by you")


def test_a_refused_reply_says_so_in_its_own_form(agent: Agent, room_page: RoomPage) -> None:
    agent.ask()
    page = room_page()
    page.get_by_text("Ask back", exact=True).click()
    page.get_by_label("Your reply to the agent").fill("  ")
    page.get_by_role("button", name="Send to the agent").click()
    expect(page.locator(".ab-ask-back-form").get_by_role("alert")).to_contain_text("Write what the agent")
    expect(page.locator(".ab-card-form .ab-field-error:visible")).to_have_count(0)


def test_a_refused_undo_says_so_at_its_button(agent: Agent, room_page: RoomPage) -> None:
    agent.ask(care={"undo_seconds": 60})
    page = room_page()
    click_option(page, "SQLite")
    refuse(page, "**/undo", 429, "More than 60 within a minute.")
    page.get_by_role("button", name="Undo").click()
    form = page.locator(".ab-undo-form")
    expect(form.get_by_role("alert")).to_contain_text("More than 60 within a minute.")
    form.get_by_role("button", name="Retry").click()
    expect(page.get_by_role("radio", name="SQLite")).to_be_visible()
