"""Read, answer, skip and see the result by plain forms."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.harness.agents import Agent
from tests.harness.pages import TWO_PROMPTS

RoomPage = Callable[..., Page]


def plain(open_browser, agent: Agent, username: str = "ana") -> Page:
    page = open_browser(username, java_script_enabled=False).new_page()
    page.goto(f"/rooms/{agent.room}")
    return page


def test_answering_leads_to_the_settled_question(agent: Agent, open_browser) -> None:
    question = agent.ask()
    page = plain(open_browser, agent)
    page.get_by_role("radio", name="SQLite").check()
    page.get_by_role("button", name="Submit").click()
    expect(page).to_have_url(question["url"])
    expect(page.get_by_role("article")).to_contain_text("Answered by you")
    assert agent.read(question["id"])["answer"]["answers"][0]["selectedOptions"] == ["SQLite"]


def test_what_is_missing_is_said_and_what_was_filled_in_stays(agent: Agent, open_browser) -> None:
    agent.ask(questions=TWO_PROMPTS)
    page = plain(open_browser, agent)
    page.get_by_role("checkbox", name="Unit tests").check()
    page.get_by_label("Your own answer to: Which checks").fill("License scan")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("alert").filter(has_text="Needs an option")).to_be_visible()
    expect(page.get_by_role("checkbox", name="Unit tests")).to_be_checked()
    expect(page.get_by_label("Your own answer to: Which checks")).to_have_value("License scan")
    page.get_by_role("radio", name="Now").check()
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("article")).to_contain_text("Checks: Unit tests, License scan")


def test_other_without_a_text_is_said_at_its_field(agent: Agent, open_browser) -> None:
    agent.ask(questions=TWO_PROMPTS)
    page = plain(open_browser, agent)
    page.get_by_role("checkbox", name="Unit tests").check()
    page.get_by_role("checkbox", name="Other").check()
    page.get_by_role("radio", name="Now").check()
    page.get_by_role("button", name="Submit").click()
    field = page.get_by_label("Your own answer to: Which checks")
    expect(field).to_be_focused()
    expect(field).to_have_accessible_description("Other needs a text of your own.")
    expect(page.get_by_role("checkbox", name="Unit tests")).to_be_checked()
    field.fill("License scan")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("article")).to_contain_text("Checks: Unit tests, License scan")


def test_skipping(agent: Agent, open_browser) -> None:
    question = agent.ask()
    page = plain(open_browser, agent)
    page.get_by_text("Skip", exact=True).click()
    page.get_by_role("button", name="Skip this question").click()
    expect(page.get_by_role("article")).to_contain_text("Skipped by you")
    assert agent.read(question["id"])["status"] == "declined"


def test_asking_back(agent: Agent, open_browser) -> None:
    question = agent.ask()
    page = plain(open_browser, agent)
    page.get_by_text("Ask back", exact=True).click()
    field = page.get_by_label("Your reply to the agent")
    field.fill("   ")
    page.get_by_role("button", name="Send to the agent").click()
    expect(page.get_by_role("alert").filter(has_text="Write what the agent should know")).to_be_visible()
    expect(field).to_have_value("   ")
    field.fill("How large does it get?")
    page.get_by_role("button", name="Send to the agent").click()
    expect(page).to_have_url(question["url"])
    expect(page.get_by_role("article")).to_contain_text("Asked back by you")
    expect(page.get_by_role("article")).to_contain_text("“How large does it get?”")
    assert agent.read(question["id"])["answer"]["kind"] == "reply"


def test_a_late_reply_names_the_winner_and_keeps_the_words(agent: Agent, open_browser) -> None:
    agent.ask()
    ana, ben = plain(open_browser, agent, "ana"), plain(open_browser, agent, "ben")
    ana.get_by_role("radio", name="SQLite").check()
    ana.get_by_role("button", name="Submit").click()
    expect(ana.get_by_role("article")).to_contain_text("Answered by you")
    ben.get_by_text("Ask back", exact=True).click()
    ben.get_by_label("Your reply to the agent").fill("How large does it get?")
    with ben.expect_response(lambda response: response.request.method == "POST") as reply:
        ben.get_by_role("button", name="Send to the agent").click()
    assert reply.value.status == 409
    card = ben.get_by_role("article")
    expect(card).to_contain_text("Answered by Ana Costa")
    expect(card).to_contain_text("How large does it get?")


def test_a_late_answer_names_the_winner_and_keeps_the_words(agent: Agent, open_browser) -> None:
    agent.ask()
    ana, ben = plain(open_browser, agent, "ana"), plain(open_browser, agent, "ben")
    ana.get_by_role("radio", name="SQLite").check()
    ana.get_by_role("button", name="Submit").click()
    expect(ana.get_by_role("article")).to_contain_text("Answered by you")
    ben.get_by_label("Your own answer").fill("Neither: files will do")
    with ben.expect_response(lambda response: response.request.method == "POST") as reply:
        ben.get_by_role("button", name="Submit").click()
    assert reply.value.status == 409
    card = ben.get_by_role("article")
    expect(card).to_contain_text("Answered by Ana Costa")
    expect(card).to_contain_text("Which database? SQLite")
    expect(card).to_contain_text("Neither: files will do")


def test_a_form_without_its_token_is_refused(agent: Agent, open_browser) -> None:
    question = agent.ask()
    page = plain(open_browser, agent)
    page.context.clear_cookies(name="csrftoken")
    page.get_by_role("radio", name="SQLite").check()
    with page.expect_response(lambda response: response.request.method == "POST") as reply:
        page.get_by_role("button", name="Submit").click()
    assert reply.value.status == 403
    expect(page.get_by_role("heading", name="This form has expired")).to_be_visible()
    assert agent.read(question["id"])["status"] == "open"


def test_writing_to_the_agents(agent: Agent, open_browser) -> None:
    page = plain(open_browser, agent)
    page.get_by_label("Message the agents").fill("Please hurry")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".ab-message-text")).to_have_text("Please hurry")
