"""Rooms without the admin: create one, invite a person, who joins and answers, and archive it."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.harness.accessibility import expect_no_problems
from tests.harness.agents import Agent
from tests.harness.bridges import PASSWORD, Bridge
from tests.harness.pages import click_option, wait_for_stream
from tests.harness.sites import run_manage

OpenBrowser = Callable[..., BrowserContext]

# Its own: people get other rights here.
pytestmark = pytest.mark.bridge(rooms=("ops", "docs", "lobby"))


@pytest.fixture
def shell(bridge: Bridge) -> Callable[[str], None]:
    """What an admin does, in another process."""

    def run(code: str) -> None:
        imports = (
            "from django.contrib.auth import get_user_model; from rooms.models import Membership, Room; "
        )
        done = run_manage(bridge.environment, "shell", "-v0", "-c", imports + code)
        assert done.returncode == 0, done.stderr

    return run


@pytest.fixture
def creator(open_browser: OpenBrowser, shell: Callable[[str], None]) -> Callable[..., Page]:
    """A page of Ana, who may create rooms."""
    shell("get_user_model().objects.filter(username='ana').update(is_staff=True)")

    def start(**options: object) -> Page:
        page = open_browser("ana", **options).new_page()
        page.goto("/")
        return page

    return start


def new_room(page: Page, name: str) -> str:
    """Create a room for members only; its slug."""
    page.get_by_role("navigation", name="Ask Bridge").get_by_role("link", name="New room").click()
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Create the room").click()
    expect(page).to_have_url(re.compile("/manage/members$"))
    return page.url.split("/")[-3]


def invitation_link(page: Page) -> str:
    page.get_by_label("How many people can join").select_option("1 person")
    page.get_by_role("button", name="Create a link").click()
    expect(page.get_by_role("heading", name="Your invitation link")).to_be_visible()
    return page.locator(".ab-key-panel code").inner_text()


def new_key(page: Page) -> str:
    page.get_by_role("navigation", name="Room settings").get_by_role("link", name="Keys").click()
    page.get_by_label("Name of the agent").fill("Deploy bot")
    page.get_by_role("button", name="Create a key").click()
    expect(page.get_by_role("heading", name="The key of Deploy bot")).to_be_visible()
    return page.locator(".ab-key-panel code").inner_text()


def archive(page: Page) -> None:
    page.get_by_role("navigation", name="Room settings").get_by_role("link", name="Archive").click()
    page.get_by_role("button", name="Archive this room").click()
    expect(page.get_by_role("heading", name="is archived")).to_be_visible()


@pytest.mark.parametrize("has_scripts", [True, False], ids=["with scripts", "without scripts"])
def test_from_a_new_room_to_its_archive(
    creator: Callable[..., Page], open_browser: OpenBrowser, bridge: Bridge, has_scripts: bool
) -> None:
    page = creator(java_script_enabled=has_scripts)
    name = f"Release {'with' if has_scripts else 'without'} scripts"
    slug = new_room(page, name)
    link = invitation_link(page)
    agent = Agent(bridge.site, slug, new_key(page))

    # Eli is signed out: the login leads back to the invitation.
    guest = open_browser("", java_script_enabled=has_scripts).new_page()
    guest.goto(link)
    guest.get_by_label("User name").fill("eli")
    guest.get_by_label("Password").fill(PASSWORD)
    guest.get_by_role("button", name="Sign in").click()
    guest.get_by_role("button", name=f"Join {name}").click()
    expect(guest.get_by_role("heading", level=1)).to_have_text(name)
    expect(guest.get_by_role("link", name="Room settings")).to_have_count(0)

    question = agent.ask()
    if has_scripts:
        click_option(guest, "SQLite")
        expect(guest.get_by_role("article")).to_contain_text("Answered by you")
    else:
        guest.goto(question["url"])
        guest.get_by_role("radio", name="SQLite").check()
        guest.get_by_role("button", name="Submit").click()
        expect(guest.get_by_role("article")).to_contain_text("Answered by you")
    assert agent.read(question["id"])["answer"]["by"]["name"] == "Eli Novak"

    # The link was for one person.
    other = open_browser("dora", java_script_enabled=has_scripts).new_page()
    other.goto(link)
    expect(other.get_by_role("heading", name="This invitation does not work")).to_be_visible()

    waiting = agent.ask(question="Still there?")
    archive(page)
    assert agent.call("GET", f"/api/v1/questions/{waiting['id']}").status == 401
    guest.goto("/")
    expect(guest.get_by_role("link", name=name)).to_have_count(0)
    page.get_by_role("button", name="Restore this room").click()
    expect(page.get_by_text("Restored.")).to_be_visible()


def test_the_address_is_suggested_while_the_name_is_typed(creator: Callable[..., Page]) -> None:
    page = creator()
    page.goto("/rooms/new")
    address = page.get_by_label("Address", exact=True)
    page.get_by_label("Name").press_sequentially("Büro Köln 2!")
    expect(address).to_have_value("buro-koln-2")
    address.fill("koeln")
    page.get_by_label("Name").press_sequentially(" East")
    expect(address).to_have_value("koeln")


@pytest.mark.parametrize("has_scripts", [True, False], ids=["with scripts", "without scripts"])
def test_members_are_found_added_promoted_and_removed(
    creator: Callable[..., Page], has_scripts: bool
) -> None:
    page = creator(java_script_enabled=has_scripts)
    new_room(page, "Members")
    page.get_by_label("Add a person").fill("lind")
    page.get_by_role("button", name="Find").click()
    page.get_by_role("button", name="Add Dora Lind", exact=True).click()
    members = page.get_by_role("list", name="Members")
    dora = members.get_by_role("listitem").filter(has_text="Dora Lind")
    expect(dora).to_contain_text("Member")
    page.get_by_role("button", name=re.compile("Make manager.*Dora Lind")).click()
    expect(dora).to_contain_text("Manager")
    dora.locator("summary").click()
    page.get_by_role("button", name="Remove Dora Lind").click()
    expect(dora).to_have_count(0)
    # Ana is the only manager left.
    page.get_by_role("button", name=re.compile("Make member.*Ana Costa")).click()
    expect(page.get_by_role("alert")).to_contain_text("This is the only manager of the room")


def test_the_settings_of_a_room_are_changed_without_scripts(creator: Callable[..., Page]) -> None:
    page = creator(java_script_enabled=False)
    new_room(page, "Plain")
    sections = page.get_by_role("navigation", name="Room settings")
    sections.get_by_role("link", name="General").click()
    page.get_by_label("Name").fill("Plainer")
    page.get_by_role("radio", name="Everyone who can sign in").check()
    page.get_by_label("Close a question when").select_option("never")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    expect(page.get_by_role("radio", name="Everyone who can sign in")).to_be_checked()
    sections.get_by_role("link", name="Careful questions").click()
    page.get_by_label("Ask these people first").fill("ana")
    page.get_by_label("Matching votes needed").fill("2")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_be_visible()
    page.get_by_label("Matching votes needed").fill("")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    expect(page.get_by_label("Ask these people first")).to_have_value("ana")


def test_a_new_member_sees_the_room_on_an_open_page_and_a_removed_one_loses_it(
    creator: Callable[..., Page], open_browser: OpenBrowser
) -> None:
    page = creator()
    new_room(page, "Live access")
    guest = open_browser("eli").new_page()
    guest.goto("/history")
    wait_for_stream(guest)
    in_rail = guest.get_by_role("navigation", name="Ask Bridge").get_by_role("link", name="Live access")
    expect(in_rail).to_have_count(0)
    page.get_by_label("Add a person").fill("eli")
    page.get_by_role("button", name="Find").click()
    page.get_by_role("button", name="Add Eli Novak", exact=True).click()
    expect(in_rail).to_be_visible(timeout=30_000)
    expect(guest.get_by_role("heading", name="History")).to_be_visible()
    page.get_by_role("list", name="Members").get_by_role("listitem").filter(has_text="Eli").locator(
        "summary"
    ).click()
    page.get_by_role("button", name="Remove Eli Novak").click()
    expect(page.get_by_text("Removed.")).to_be_visible()
    expect(in_rail).to_have_count(0, timeout=30_000)
    expect(guest.get_by_role("heading", name="History")).to_be_visible()


def test_every_page_is_accessible(creator: Callable[..., Page], open_browser: OpenBrowser) -> None:
    page = creator()
    expect(page.get_by_role("link", name="New room")).to_be_visible()
    page.goto("/rooms/new")
    expect_no_problems(page)
    page.get_by_label("Name").fill("会議")
    page.get_by_role("button", name="Create the room").click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect_no_problems(page)
    page.goto("/rooms/new")
    slug = new_room(page, "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamte")
    link = invitation_link(page)
    expect_no_problems(page)
    new_key(page)
    page.locator("summary").first.click()
    expect_no_problems(page)
    page.goto(f"/rooms/{slug}/manage/members?q=an")
    page.locator("summary").first.click()
    expect_no_problems(page)
    for section in ("", "/care", "/retention", "/archive"):
        page.goto(f"/rooms/{slug}/manage{section}")
        expect_no_problems(page)
    page.goto(f"/rooms/{slug}/webhooks")
    expect_no_problems(page)
    guest = open_browser("eli").new_page()
    for address in (link, "/join/nothing"):
        guest.goto(address)
        expect_no_problems(guest)
    page.goto(f"/rooms/{slug}/manage/archive")
    archive(page)
    expect_no_problems(page)
    page.goto("/rooms/archived")
    expect_no_problems(page)
