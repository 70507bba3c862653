"""What agents and people write is shown in a real browser, and nothing of it ever runs, loads or moves.

The policy of the pages would stop a script that got into them. These tests fail before it has to.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

from rooms.rendering import markup
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.people import Person
from tests.harness.sites import run_manage
from tests.security.payloads import SHOWN, as_caption, as_name

INSPECT = """() => {
  const found = [];
  const say = (element, what) => found.push(`${what}: ${element.outerHTML.slice(0, 200)}`);
  const isAdmin = location.pathname.startsWith("/admin/");
  const never = ["IFRAME", "OBJECT", "EMBED", "BASE", "STYLE", "VIDEO", "AUDIO", "MARQUEE", "MATH", "DIALOG"];
  const ids = new Set();
  for (const element of document.querySelectorAll("*")) {
    const tag = element.tagName.toUpperCase();
    if (never.includes(tag) && !element.matches("dialog.ab-keys-help")) say(element, "element");
    if (tag === "SCRIPT" && !(element.src && new URL(element.src).origin === location.origin)) {
      // Django's admin passes data in such elements, which no browser runs.
      if (element.type !== "application/json") say(element, "script");
    }
    if (element.id && ids.has(element.id) && !isAdmin) say(element, "second element of this id");
    ids.add(element.id);
    for (const { name, value } of element.attributes) {
      if (/^on/i.test(name)) say(element, "handler");
      if (name === "style" && !isAdmin) say(element, "style");
      if (/^(data-)?(hx|sse|ws)-/.test(name) && /evil|alert|logout/.test(value)) say(element, "htmx");
      if (["href", "src", "action", "formaction", "xlink:href", "data", "srcdoc", "poster"].includes(name)) {
        const address = new URL(value, location.href);
        if (!["http:", "https:", "mailto:"].includes(address.protocol)) say(element, "scheme");
        const isForeign = address.origin !== location.origin;
        if (isForeign && tag !== "A") say(element, "foreign");
        if (isForeign && !/noopener/.test(element.rel)) say(element, "opener");
      }
    }
  }
  return found;
}"""


class Watch:
    """A signed-in browser that writes down everything that should not happen in it."""

    def __init__(self, chromium: Browser, bridge: Bridge, username: str) -> None:
        self.origin = f"http://127.0.0.1:{bridge.site.port}"
        self.happened: list[str] = []
        self.context: BrowserContext = chromium.new_context(base_url=self.origin)
        self.context.on("dialog", lambda dialog: (self.happened.append("dialog"), dialog.dismiss()))
        self.context.on("weberror", lambda error: self.happened.append(f"error: {error.error}"))
        self.context.on("console", self._hear)
        self.context.on("request", lambda request: self._request(request.url))
        cookies = bridge.new_person(username).cookies
        self.context.add_cookies(
            [{"name": name, "value": value, "url": self.origin} for name, value in cookies.items()]
        )

    def _hear(self, message: ConsoleMessage) -> None:
        # Browsers look for an icon of every page that names none, as those of Django's admin do.
        is_icon = message.location["url"].endswith("/favicon.ico")
        if (message.type == "error" and not is_icon) or "Content Security Policy" in message.text:
            self.happened.append(f"console: {message.text} {message.location['url']}")

    def _request(self, url: str) -> None:
        if not url.startswith(f"{self.origin}/"):
            self.happened.append(f"request: {url}")

    def open(self, path: str) -> Page:
        page = self.context.new_page()
        response = page.goto(path)
        assert response
        assert response.status == 200, path
        return page

    def inspect(self, page: Page) -> None:
        assert page.evaluate(INSPECT) == []
        assert self.happened == []

    def look_at(self, path: str) -> None:
        page = self.open(path)
        self.inspect(page)
        page.close()


class Attack:
    """Every hostile text in everything that can be written: open cards, messages, settled cards."""

    def __init__(self, agents: dict[str, Agent], person: Person) -> None:
        self.agents, self.person = agents, person
        self.number = count()
        self.labels: dict[str, str] = {}
        self.settled: list[str] = []

    def run(self) -> None:
        fours = [SHOWN[start : start + 4] for start in range(0, len(SHOWN), 4)]
        with ThreadPoolExecutor(4) as pool:
            for step, texts in (
                (self._ask, SHOWN),
                (self._speak, SHOWN),
                (self._decline, SHOWN),
                (self._answer, fours),
                (self._report, fours),
            ):
                list(pool.map(step, texts))  # type: ignore[arg-type]

    def _ask(self, text: str) -> None:
        """The text wherever an agent can write one; what is too short for it gets its beginning."""
        caption = as_caption(text)
        label = f"A{next(self.number)} {caption}"[:200].strip()
        question = self.agents["open"].ask(
            agent={"name": as_name(text), "color": "#818cf8"},
            session_id=text[:190] + str(next(self.number)),
            tool_use_id=text[:200],
            questions=[
                {
                    "question": text,
                    "header": caption[:80],
                    "options": [
                        {"label": label, "description": text[:1_000], "preview": text},
                        {"label": f"B {caption}"[:200]},
                    ],
                }
            ],
            context={"text": text, "cwd": text[:1_000], "branch": text[:250]},
        )
        self.labels[question["id"]] = label

    def _speak(self, text: str) -> None:
        for kind in ("message", "log"):
            self.agents["messages"].send(text, sender=text[:80].strip() or "bot", type=kind)
        self.person.say(text, self.agents["messages"].room)

    def _decline(self, text: str) -> None:
        """Skipped with a reason, or asked back: both are shown in the same place."""
        question = self._ask_about([text])
        decide = self.person.skip if len(self.settled) % 2 else self.person.ask_back
        decide(question, text)

    def _answer(self, texts: list[str]) -> None:
        question = self._ask_about(texts)
        fields = {}
        for index, text in enumerate(texts):
            fields |= {f"choice-{index}": "other", f"other-{index}": text, f"notes-{index}": text}
        path = f"/rooms/{question['room']}/questions/{question['id']}/answer"
        assert self.person.post(path, fields).status == 303

    def _report(self, texts: list[str]) -> None:
        question = self._ask_about(texts)
        answers = [
            {"question": prompt["question"], "customInput": text, "notes": text}
            for prompt, text in zip(question["questions"], texts, strict=True)
        ]
        path = f"/api/v1/questions/{question['id']}/answer"
        reply = self.agents["settled"].call("POST", path, {"answers": answers})
        assert reply.status == 200, reply.text

    def _ask_about(self, texts: list[str]) -> Any:
        prompts = [
            {
                "question": f"{next(self.number)} {text}",
                "options": [f"{letter} {as_caption(text)}"[:200] for letter in "AB"],
            }
            for text in texts
        ]
        question = self.agents["settled"].ask(questions=prompts)
        self.settled.append(question["id"])
        return question


@pytest.fixture(scope="module")
def agents(bridge: Bridge) -> dict[str, Agent]:
    return {name: bridge.agent() for name in ("open", "messages", "settled")}


@pytest.fixture(scope="module")
def reader(chromium: Browser, bridge: Bridge) -> Iterator[Watch]:
    watch = Watch(chromium, bridge, "ana")
    yield watch
    watch.context.close()


@pytest.fixture(scope="module")
def tabs(reader: Watch, agents: dict[str, Agent]) -> dict[str, Page]:
    """The rooms as they were before the attack, listening."""
    tabs = {}
    for name, agent in agents.items():
        tabs[name] = reader.open(f"/rooms/{agent.room}")
        # The first thing that a stream says is who is here.
        tabs[name].get_by_text("Ana Costa").first.wait_for()
        tabs[name].locator(f"#card-{agent.ask()['id']}").wait_for()
    return tabs


@pytest.fixture(scope="module")
def attack(tabs: dict[str, Page], agents: dict[str, Agent], bridge: Bridge) -> Attack:
    """Run with open pages; afterwards an ordinary question still arrives on all of them."""
    attack = Attack(agents, bridge.new_person("ben"))
    attack.run()
    for name, page in tabs.items():
        page.locator(f"#card-{agents[name].ask()['id']}").wait_for(timeout=60_000)
    return attack


def test_what_arrives_live_is_only_text(tabs: dict[str, Page], attack: Attack, reader: Watch) -> None:
    for page in tabs.values():
        reader.inspect(page)
    labels = tabs["open"].evaluate("""() => Object.fromEntries([...document.querySelectorAll(".ab-card")].map(
      (card) => [card.id.slice(5), card.querySelector(".ab-option-label").textContent]))""")
    for question_id, label in attack.labels.items():
        if not label.endswith("(Recommended)"):  # which becomes a mark
            assert labels[question_id].strip() == markup.plain(label)


def test_what_was_settled_live_is_settled_on_the_page(tabs: dict[str, Page], attack: Attack) -> None:
    """A text that looks like a piece of the page must not keep its card from being replaced."""
    still_open = tabs["settled"].evaluate(
        'ids => ids.filter((id) => document.getElementById(`card-${id}`)?.dataset.status === "open")',
        attack.settled,
    )
    assert still_open == []


def test_a_text_that_looks_like_something_shown_already_is_shown(
    tabs: dict[str, Page], agents: dict[str, Agent]
) -> None:
    """The page tells old from new by ids in what it gets; those in texts are none."""
    page, agent = tabs["messages"], agents["messages"]
    message, card = agent.send("Hello")["id"], agent.ask()["id"]
    page.locator(f"#message-{message}").wait_for()
    page.locator(f"#card-{card}").wait_for(state="attached")  # of several open cards one is unfolded
    texts = [f'id="message-{message}"', f'id="marks-{card}" data-revision="999"', f'id="card-{card}"']
    for text in texts:
        question = agent.ask(questions=[{"question": text, "options": [text, "B"]}], agent={"name": text})
        page.locator(f"#card-{question['id']}").wait_for(state="attached")
        agent.call("DELETE", f"/api/v1/questions/{question['id']}")
        page.locator(f"#card-{question['id']}.ab-is-withdrawn").wait_for()
        page.locator(f"#message-{agent.send(text)['id']}").wait_for()


def test_a_name_does_not_turn_around_what_stands_beside_it(
    tabs: dict[str, Page], agents: dict[str, Agent]
) -> None:
    """Characters that write from right to left, without an end."""
    page, agent = tabs["messages"], agents["messages"]
    for earlier in agent.open_questions():
        agent.call("DELETE", agent.question_url(earlier["id"]))  # of several open cards one is unfolded
    for turned in ("\u202eevil", "\u202e\u2067evil", "\u2069\u202eevil", "שלום"):
        question = agent.ask(agent={"name": turned}, context={"branch": turned})["id"]
        message = agent.send("Hello", sender=turned)["id"]
        log = agent.send("Hello", sender=turned, type="log")["id"]
        for before, after in (
            (f"#card-{question} .ab-card-agent", f"#card-{question} .ab-card-time"),
            (f"#card-{question} .ab-card-branch", f"#card-{question} .ab-card-time"),
            (f"#message-{message} strong", f"#message-{message} time"),
            (f"#message-{log} .ab-log-sender", f"#message-{log} time"),
        ):
            left, right = (page.locator(selector).bounding_box() for selector in (before, after))
            assert left
            assert right
            assert left["x"] < right["x"], f"{turned!r} {before}"
        agent.call("DELETE", f"/api/v1/questions/{question}")


def test_a_page_that_is_loaded_shows_only_text(
    attack: Attack, agents: dict[str, Agent], reader: Watch
) -> None:
    for agent in agents.values():
        reader.look_at(f"/rooms/{agent.room}?show=1000")
    reader.look_at("/?show=1000")


@pytest.mark.parametrize("kind", ["messages", "settled"])
def test_the_whole_timeline_is_only_text(
    attack: Attack, agents: dict[str, Agent], reader: Watch, kind: str
) -> None:
    page = reader.open(f"/rooms/{agents[kind].room}")
    older = page.get_by_role("link", name="Show older entries")
    while older.count():
        address = older.get_attribute("href")
        older.click()
        page.locator(f'.ab-older a[href="{address}"]').wait_for(state="detached")
    entries = page.locator("#ab-timeline .ab-card, #ab-timeline .ab-message, #ab-timeline .ab-log").count()
    assert entries >= len(SHOWN)
    page.evaluate("() => document.querySelectorAll('details').forEach((details) => (details.open = true))")
    reader.inspect(page)
    page.close()


def test_pages_of_single_questions_are_only_text(
    attack: Attack, agents: dict[str, Agent], reader: Watch
) -> None:
    for question_id in list(attack.labels)[::30]:
        reader.look_at(f"/rooms/{agents['open'].room}/questions/{question_id}")
    for question_id in attack.settled[-4:]:
        reader.look_at(f"/rooms/{agents['settled'].room}/questions/{question_id}")


def test_the_history_in_the_admin_is_only_text(attack: Attack, bridge: Bridge, chromium: Browser) -> None:
    cleo = "from django.contrib.auth import get_user_model as g; g().objects.filter(username='cleo')"
    run_manage(bridge.environment, "shell", "-c", f"{cleo}.update(is_superuser=True, is_staff=True)")
    admin = Watch(chromium, bridge, "cleo")
    for model in ("question", "answer", "message"):
        page = admin.open(f"/admin/ask_bridge/{model}/?all=")
        admin.inspect(page)
        links = page.locator("#result_list tbody th a").evaluate_all(
            "links => links.map((link) => link.href)"
        )
        assert len(links) >= 50
        page.close()
        for link in links[::50]:
            admin.look_at(link.removeprefix(admin.origin))
    admin.context.close()
    run_manage(bridge.environment, "shell", "-c", f"{cleo}.update(is_superuser=False, is_staff=False)")
