"""Races between clicks and changes of the page: nothing is answered or lost by accident."""

from collections.abc import Callable

from playwright.sync_api import BrowserContext, Page, expect

from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.pages import click_option
from tests.harness.people import Person
from tests.harness.timing import eventually

RoomPage = Callable[..., Page]

WITH_LINK = "See [the plan](https://example.com/plan) before you choose"


def test_a_card_that_has_just_moved_ignores_clicks(agent: Agent, room_page: RoomPage) -> None:
    above, below = agent.ask(), agent.ask()
    page = room_page()
    # A click in the task in which the card above folds, at the place to which the next one has moved.
    page.evaluate(
        """(id) => new MutationObserver((_, observer) => {
            if (document.querySelector(".ab-card.ab-is-withdrawn") === null) return;
            observer.disconnect();
            queueMicrotask(() => {
                const option = document.querySelector(`#card-${id} .ab-option`);
                option.dispatchEvent(new PointerEvent("pointerup", {bubbles: true}));
                option.click();
                window.clicked = true;
            });
        }).observe(document.body, {childList: true, subtree: true})""",
        below["id"],
    )
    agent.call("DELETE", f"/api/v1/questions/{above['id']}")
    page.wait_for_function("() => window.clicked")
    expect(page.locator(f"#card-{below['id']} input:checked")).to_have_count(0)
    assert agent.read(below["id"])["status"] == "open"


def test_a_late_answer_is_told_so_even_if_the_stream_was_faster(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask()
    ana, ben = room_page("ana"), room_page("ben")
    # Ben's click is held up on its way until Ana's answer has reached his page.
    held: list[object] = []
    ben.route("**/answer", lambda route: held.append(route))
    click_option(ben, "SQLite")
    eventually(lambda: ben.title() and held)
    click_option(ana, "PostgreSQL")
    card = ben.locator(f"#card-{question['id']}")
    expect(card).to_contain_text("Answered by Ana Costa")
    held[0].continue_()  # type: ignore[attr-defined]
    expect(card).to_contain_text("Your answer came too late")
    expect(card).to_contain_text("SQLite")


def test_the_keyboard_goes_on_from_the_answered_card(agent: Agent, room_page: RoomPage) -> None:
    agent.ask()
    page = room_page()
    page.get_by_role("radio", name="SQLite").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    expect(page.get_by_role("article")).to_contain_text("Answered by you")
    expect(page.locator(".ab-settled > summary")).to_be_focused()


def test_half_typed_words_outlive_expiry_and_its_delivery(agent: Agent, room_page: RoomPage) -> None:
    page = room_page()
    question = agent.ask(timeout_seconds=6)  # enough for typing
    page.get_by_role("radio", name="Other").check()
    page.get_by_label("Your own answer").fill("half a thought")
    card = page.locator(f"#card-{question['id']}")
    expect(card).to_contain_text("Expired without an answer")
    agent.wait(question["id"], seconds=1)
    agent.send("picked up")
    expect(page.get_by_text("picked up")).to_be_visible()
    expect(card).to_contain_text("half a thought")


def test_what_was_typed_can_be_sent_after_signing_in_again(
    agent: Agent, room_page: RoomPage, password: str
) -> None:
    question = agent.ask()
    page = room_page("cleo")
    page.get_by_role("radio", name="Other").check()
    page.get_by_label("Your own answer").fill("half a thought")
    page.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="Submit").click()
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Sign in again").click()
    login = opened.value
    login.get_by_label("User name").fill("cleo")
    login.get_by_label("Password").fill(password)
    login.get_by_role("button", name="Sign in").click()
    expect(login.get_by_label("Your own answer")).to_have_value("half a thought")
    page.bring_to_front()
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("article")).to_contain_text("Answered by you")
    assert agent.read(question["id"])["answer"]["answers"][0]["customInput"] == "half a thought"


def test_who_is_signed_out_elsewhere_is_told_so(
    agent: Agent, bridge: Bridge, open_browser: Callable[..., BrowserContext]
) -> None:
    leaver: Person = bridge.new_person("dora", bridge.site)
    context = open_browser("")
    context.add_cookies(
        [
            {"name": name, "value": value, "url": f"http://127.0.0.1:{bridge.site.port}"}
            for name, value in leaver.cookies.items()
        ]
    )
    page = context.new_page()
    page.goto(f"/rooms/{agent.room}")
    leaver.sign_out()
    expect(page.get_by_text("You are signed out")).to_be_visible(timeout=30_000)


def test_older_entries_do_not_repeat_what_was_settled_meanwhile(agent: Agent, room_page: RoomPage) -> None:
    question = agent.ask()
    for number in range(40):
        agent.send(f"line {number}.")
    page = room_page()
    click_option(page, "SQLite")
    expect(page.get_by_role("article").first).to_contain_text("Answered by you")
    page.get_by_role("link", name="Show older entries").click()
    expect(page.get_by_text("line 5.")).to_be_visible()
    expect(page.locator(f"#card-{question['id']}")).to_have_count(1)


def test_a_click_beside_a_link_in_a_description_does_not_answer(agent: Agent, room_page: RoomPage) -> None:
    options = [{"label": "PostgreSQL", "description": WITH_LINK}, {"label": "SQLite"}]
    question = agent.ask(questions=[{"question": "Which database?", "options": options}])
    page = room_page()
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    link = page.get_by_role("link", name="the plan").bounding_box()
    assert link
    left, right = link["x"] - 4, link["x"] + link["width"] + 4
    middle, below = link["y"] + link["height"] / 2, link["y"] + link["height"] + 4
    for x, y in [(left, middle), (right, middle), (right + 200, middle), (left + 10, below)]:
        page.mouse.click(x, y)
    expect(page.locator("input:checked")).to_have_count(0)
    assert [url for url in sent if url.endswith("/answer")] == []
    assert agent.read(question["id"])["status"] == "open"
    # Its label answers as ever.
    page.get_by_text("PostgreSQL", exact=True).click()
    expect(page.get_by_role("article")).to_contain_text("Answered by you")


def test_a_description_without_a_link_answers(agent: Agent, room_page: RoomPage) -> None:
    options = [{"label": "PostgreSQL"}, {"label": "SQLite", "description": "A file"}]
    agent.ask(questions=[{"question": "Which database?", "options": options}])
    page = room_page()
    page.get_by_text("A file", exact=True).click()
    expect(page.get_by_role("article")).to_contain_text("Answered by you")


def test_a_description_with_a_link_ticks_where_a_click_does_not_send(
    agent: Agent, room_page: RoomPage
) -> None:
    options = [{"label": "PostgreSQL", "description": WITH_LINK}, {"label": "SQLite"}]
    agent.ask(questions=[{"question": "Which checks?", "multiSelect": True, "options": options}])
    page = room_page()
    page.get_by_text("before you choose").click(position={"x": 2, "y": 2})
    expect(page.get_by_role("checkbox", name="PostgreSQL")).to_be_checked()
