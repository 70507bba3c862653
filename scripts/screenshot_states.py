"""The pages and states of which `make screenshots` takes pictures.

To add one, write a function with `@state("its-name")` that opens a page, brings it into the state and returns
it.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from playwright.sync_api import Browser, Page, expect

from tests.browser.gallery import Gallery
from tests.harness.bridges import Bridge
from tests.harness.pages import click_option, mark_open_streams, wait_for_still_cards, wait_for_stream
from tests.harness.people import Person
from tests.harness.sites import run_manage

Scheme = Literal["light", "dark"]
DOCUMENT_ROOM = "ops"


@dataclass(frozen=True)
class Look:
    """A colour scheme and the width of the window."""

    scheme: Scheme
    width: int

    @property
    def name(self) -> str:
        return f"{self.scheme}-{self.width}"

    @property
    def is_phone(self) -> bool:
        return self.width < 600


# For the pages that people use all day, and for all others.
MAIN = [Look(scheme, width) for width in (320, 390, 1280, 1920) for scheme in ("light", "dark")]
FEW = [Look("light", 1280), Look("dark", 390)]


@dataclass(frozen=True)
class State:
    name: str
    looks: list[Look]
    show: "Callable[[Stage], Page]"
    # Taken before anything is asked.
    is_quiet: bool


STATES: dict[str, State] = {}


def state(
    name: str, looks: list[Look] = FEW, *, is_quiet: bool = False
) -> "Callable[[Callable[[Stage], Page]], None]":
    """Decorator: take pictures of the page that this function returns."""

    def add(show: "Callable[[Stage], Page]") -> None:
        STATES[name] = State(name, looks, show, is_quiet)

    return add


SESSIONS = {
    "agent": {"name": "refactor-bot", "color": "#6a7ff5"},
    "context": {
        "text": "The current store keeps sessions in memory, so a deploy signs everybody out. "
        "I can move them to a table or to a key-value store; both are half a day of work.",
        "cwd": "/srv/shop",
        "branch": "main",
    },
    "questions": [
        {
            "question": "Which database should we use for the session store?",
            "header": "Database",
            "options": [
                {
                    "label": "PostgreSQL (Recommended)",
                    "description": "The one you already run; one migration",
                    "preview": "CREATE TABLE session (\n  key     text PRIMARY KEY,\n  expires date\n);",
                },
                {"label": "Redis", "description": "Fast, but a second thing to back up"},
                {"label": "SQLite", "description": "Only with a single web process"},
            ],
        }
    ],
}
RELEASE = {
    "agent": {"name": "release-agent", "color": "orange"},
    "questions": [
        {
            "question": "Which checks should block the release?",
            "header": "Checks",
            "multiSelect": True,
            "options": [{"label": "Unit tests"}, {"label": "Browser tests", "description": "Four minutes"}],
        }
    ],
}
LAYOUT = {
    "agent": {"name": "refactor-bot", "color": "#6a7ff5"},
    "questions": [
        {
            "question": "Which layout do you prefer?",
            "header": "Layout",
            "options": ["Two columns", "One column"],
        }
    ],
}


class Stage:
    """A site with people, agents and questions, and a browser."""

    # For the documents; with cards in all states; empty; with a long past; for states that a page makes.
    ROOMS: ClassVar[list[str]] = [DOCUMENT_ROOM, "checkout-team", "docs", "data-platform", "trial"]
    gallery: Gallery

    def __init__(self, bridge: Bridge, browser: Browser, stack: ExitStack) -> None:
        self.bridge, self.browser = bridge, browser
        self.address = f"http://127.0.0.1:{bridge.site.port}"
        self._for_all, self._for_state = stack, ExitStack()
        [password] = re.findall(r"Password +(\S+)", bridge.greeting)
        self.people = {"admin": Person(bridge.site, "admin", password)}

    def play_working_day(self) -> None:
        """A room in the middle of a working day."""
        agent, ben = self.bridge.agent(), self.bridge.person("ben")
        layout = agent.ask(**LAYOUT)
        ben.answer(layout, "Two columns")
        agent.wait(layout["id"], seconds=1)
        agent.send("read 14 files, ran the tests (212 passed)", sender="refactor-bot", type="log")
        ben.say("I am in a meeting until three, Ana decides.", room=agent.room)
        sessions, release = agent.ask(**SESSIONS), agent.ask(**RELEASE)
        self._for_all.enter_context(agent.waiting(sessions["id"]))
        agent.wait(release["id"], seconds=0.1)
        agent.delete(agent.wait_url(release["id"]))
        self._for_all.enter_context(ben.stream(None))

    def play_all_states(self) -> None:
        """A room with cards in all states, and one with a past for history and insights."""
        self.gallery = Gallery(self.bridge.agent(), self.bridge)
        past = ("seed_demo", "--room=data-platform", "--entries=200", "--open=0")
        run_manage(self.bridge.environment, *past).check_returncode()
        self.bridge.agent(), self.bridge.agent()  # the empty room and the one with a past
        self.trial = self.bridge.agent()

    @contextmanager
    def opened(self, state: State) -> Iterator[Page]:
        """The page in this state; what the state holds open ends with it."""
        with self._for_state:
            yield state.show(self)

    def hold(self, context: AbstractContextManager[Any]) -> Any:
        """Keep this open until the pictures of the state are taken."""
        return self._for_state.enter_context(context)

    def open(self, path: str, username: str = "ana", **options: Any) -> Page:
        """A page in a browser of its own, as this person sees it; of a visitor without a user name."""
        context = self.browser.new_context(base_url=self.address, **options)
        self._for_state.callback(context.close)
        mark_open_streams(context)
        if username:
            person = self.people.get(username) or self.bridge.person(username, self.bridge.site)
            context.add_cookies(
                [{"name": key, "value": value, "url": self.address} for key, value in person.cookies.items()]
            )
        page = context.new_page()
        page.goto(path)
        return page

    def ask_and_open(self, path: str = "", **fields: Any) -> Page:
        """A new question on its own page."""
        question = self.trial.ask(**(fields or SESSIONS))
        self.hold(self.trial.waiting(question["id"]))
        page = self.open(path or question["url"])
        wait_for_stream(page)
        return page


# ---- pages -------------------------------------------------------------------------------------------------


@state("inbox", MAIN)
def inbox(stage: Stage) -> Page:
    return stage.open("/")


@state("inbox-caught-up", MAIN, is_quiet=True)
def inbox_caught_up(stage: Stage) -> Page:
    return stage.open("/")


@state("inbox-nothing-matches")
def inbox_nothing_matches(stage: Stage) -> Page:
    return stage.open("/?room=docs")


@state("inbox-german", [Look("light", 390), Look("light", 1280)])
def inbox_german(stage: Stage) -> Page:
    return stage.open("/", locale="de-DE")


@state("room", MAIN)
def room(stage: Stage) -> Page:
    return stage.open(f"/rooms/{DOCUMENT_ROOM}")


@state("room-empty", MAIN)
def room_empty(stage: Stage) -> Page:
    return stage.open("/rooms/docs")


@state("room-all-states", [Look("light", 320), Look("light", 1280), Look("dark", 1280)])
def room_all_states(stage: Stage) -> Page:
    page = stage.open("/settings")
    stage.hold(stage.gallery.on(page))
    return page


@state("room-past")
def room_past(stage: Stage) -> Page:
    return stage.open("/rooms/data-platform?before=100")


@state("history", MAIN)
def history(stage: Stage) -> Page:
    return stage.open("/history?room=data-platform")


@state("history-nothing-found")
def history_nothing_found(stage: Stage) -> Page:
    return stage.open("/history?q=xylophone")


@state("insights", MAIN)
def insights(stage: Stage) -> Page:
    return stage.open("/insights")


@state("settings", MAIN)
def settings(stage: Stage) -> Page:
    return stage.open("/settings")


@state("webhooks")
def webhooks(stage: Stage) -> Page:
    return stage.open("/rooms/trial/webhooks", "admin")


@state("login")
def login(stage: Stage) -> Page:
    return stage.open("/login/", "")


@state("login-wrong-password")
def login_wrong_password(stage: Stage) -> Page:
    page = stage.open("/login/", "")
    page.get_by_label("User name").fill("ana")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    return page


@state("not-found")
def not_found(stage: Stage) -> Page:
    return stage.open("/nothing-here")


@state("shortcuts")
def shortcuts(stage: Stage) -> Page:
    page = stage.open("/")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    return page


@state("admin")
def admin(stage: Stage) -> Page:
    return stage.open("/admin/ask_bridge/question/", "admin")


# ---- connecting an agent -----------------------------------------------------------------------------------


@state("connect", MAIN)
def connect(stage: Stage) -> Page:
    return stage.open("/rooms/trial/connect", "admin")


@state("connect-member")
def connect_member(stage: Stage) -> Page:
    return stage.open("/rooms/trial/connect?client=curl", "ben")


@state("connect-key", MAIN)
def connect_key(stage: Stage) -> Page:
    page = connect_page_with_key(stage)
    page.get_by_role("tab", name="MCP").click()
    return page


@state("connect-done")
def connect_done(stage: Stage) -> Page:
    page = connect_page_with_key(stage)
    page.get_by_role("button", name="Send a test question").click()
    click_option(page, "Yes, and I clicked it")
    expect(page.locator(".ab-tick.ab-is-done")).to_have_count(5)
    return page


def connect_page_with_key(stage: Stage) -> Page:
    page = stage.open("/rooms/trial/connect", "admin")
    page.get_by_label("Name of the agent").fill("refactor-bot on Ana’s laptop")
    page.get_by_role("button", name="Create a key").click()
    expect(page.get_by_text("Copy it now")).to_be_visible()
    return page


# ---- one question ------------------------------------------------------------------------------------------


@state("question-open", MAIN)
def question_open(stage: Stage) -> Page:
    return stage.ask_and_open()


@state("question-several-prompts")
def question_several_prompts(stage: Stage) -> Page:
    return stage.ask_and_open(questions=[*SESSIONS["questions"], *RELEASE["questions"]])  # type: ignore[misc]


@state("question-could-not-send")
def question_could_not_send(stage: Stage) -> Page:
    page = stage.ask_and_open(**LAYOUT)
    page.route("**/answer", lambda route: route.abort())
    click_option(page, "One column")
    expect(page.get_by_role("button", name="Retry")).to_be_visible()
    return page


@state("question-sending")
def question_sending(stage: Stage) -> Page:
    page = stage.ask_and_open(**LAYOUT)
    page.route("**/answer", lambda route: None)
    click_option(page, "One column")
    return page


@state("question-asking-back")
def question_asking_back(stage: Stage) -> Page:
    page = stage.ask_and_open(**LAYOUT)
    wait_for_still_cards(page)
    page.get_by_text("Ask back").first.click()
    return page


for attribute in ("waiting", "gone", "previews", "voting", "held", "locked", "for_voters", "answered"):

    @state(f"question-{attribute.replace('_', '-')}")
    def question(stage: Stage, attribute: str = attribute) -> Page:
        return stage.open(getattr(stage.gallery, attribute)["url"])


for ending in ("declined", "expired", "withdrawn"):

    @state(f"question-{ending}")
    def ended(stage: Stage, ending: str = ending) -> Page:
        return stage.open(stage.gallery.agent.questions(ending)[0]["url"])


# ---- last: the site is stopped -----------------------------------------------------------------------------


@state("connection-lost")
def connection_lost(stage: Stage) -> Page:
    page = stage.open(f"/rooms/{DOCUMENT_ROOM}")
    wait_for_stream(page)
    stage.bridge.site.stop()
    expect(page.get_by_text("Connection lost")).to_be_visible(timeout=15_000)
    return page
