"""A room with every state of a card, and with awkward texts: long words, right-to-left, emoji."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Page, Route, expect

from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.pages import next_step
from tests.harness.timing import eventually

LONG_WORD = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"
LONG_LABEL = "Move every session to the key-value store, keep the old table for a month, and " * 3
RIGHT_TO_LEFT = "איזה מסד נתונים? أي قاعدة بيانات؟"

CONTEXT = {
    "text": "The store keeps sessions in memory, so a deploy signs everybody out.\n\n"
    "- a table: `CREATE TABLE session`\n- a key-value store, see [the plan](https://example.com/plan)\n\n"
    f"```\n{'wide ' * 40}\n```\n\n> {LONG_WORD}",
    "cwd": f"/srv/{LONG_WORD}/shop",
    "branch": "main",
}
SINGLE = {
    "question": "Which database should we use for the **session store**?",
    "header": "Database",
    "options": [
        {"label": "PostgreSQL (Recommended)", "description": "The one you already run; `one` migration"},
        {"label": "Redis", "description": "Fast, but a second thing to back up"},
        {"label": "SQLite"},
    ],
}
MULTIPLE = {
    "question": "Which checks should block the release?",
    "header": "Checks of the release",
    "multiSelect": True,
    "options": [{"label": "Unit tests"}, {"label": "Browser tests", "description": "Four minutes"}],
}
PREVIEWS = {
    "question": "Which layout?",
    "header": "Layout",
    "options": [
        {
            "label": "Long",
            "description": "Two hundred lines",
            "preview": "\n".join(f"{number:3} CREATE TABLE session" for number in range(1, 201)),
        },
        {
            "label": "Wide",
            "description": "Three hundred columns",
            "preview": "\n".join("0123456789" * 30 for _ in range(8)),
        },
        {"label": "Words", "preview": f"{LONG_WORD * 4}\n\nOne short line."},
        {"label": "Nothing to show", "description": "This one has no preview"},
    ],
}
AWKWARD = [
    {
        "question": f"{RIGHT_TO_LEFT} {LONG_WORD} 🚀 {number}",
        "header": ("קובץ", "🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀", LONG_WORD[:80], "Short")[number],
        "multiSelect": number % 2 == 1,
        "options": [
            {"label": LONG_LABEL[:190], "description": LONG_WORD * 3},
            {"label": LONG_WORD * 2},
            {"label": RIGHT_TO_LEFT, "description": "👩‍👩‍👧‍👦 emoji, and a word or two"},
            {"label": "Yes (Recommended)"},
        ],
    }
    for number in range(4)
]


class Gallery:
    """Fills a room once; `on` then brings a page into the states that exist only on a page."""

    def __init__(self, agent: Agent, bridge: Bridge) -> None:
        self.agent, self.bridge = agent, bridge
        self.waiting = self.ask(SINGLE, context=CONTEXT, timeout_seconds=24 * 3600)
        self.gone = self.ask(MULTIPLE)
        self.previews = self.ask(PREVIEWS)
        self.awkward = self.ask(*AWKWARD, agent={"name": f"{LONG_WORD[:70]} 🤖", "color": "yellow"})
        self.refused = self.ask(SINGLE, MULTIPLE)
        self.sent = self.ask(SINGLE, agent={"name": "pale", "color": "#ffffff"})
        self.voting = self.ask(
            SINGLE, care={"votes": {"needed": 2, "of": ["ana", "ben"]}, "undo_seconds": 60}
        )
        self.held = self.ask(SINGLE, care={"undo_seconds": 300})
        self.locked = self.ask(
            SINGLE, MULTIPLE, PREVIEWS, care={"first": {"people": ["ben"], "role": "manager"}}
        )
        self.for_voters = self.ask(SINGLE, care={"votes": {"needed": 2, "of": ["ben", "cleo"]}})
        agent.wait(self.gone["id"], seconds=0.1)
        agent.call("DELETE", f"/api/v1/questions/{self.gone['id']}/wait")
        self._settle()
        self._talk()

    def ask(self, *prompts: Any, **fields: Any) -> Any:
        return self.agent.ask(questions=list(prompts), **fields)

    def _settle(self) -> None:
        """A card for every way in which a question can end."""
        agent, ana, ben = self.agent, self.bridge.person("ana"), self.bridge.person("ben")
        self.answered = self.ask(SINGLE, context=CONTEXT)
        ben.answer(self.voting, "Redis")
        ben.answer(self.held, "Redis")
        other, terminal = self.ask(PREVIEWS), self.ask(MULTIPLE)
        ana.answer(self.answered, "Redis")
        agent.wait(self.answered["id"], seconds=1)
        ben.answer(other, "Wide")
        choice = {
            "question": MULTIPLE["question"],
            "selectedOptions": ["Unit tests"],
            "customInput": LONG_WORD,
            "notes": "Not before Friday",
        }
        reported = {"answers": [choice], "via": "terminal"}
        assert agent.call("POST", f"/api/v1/questions/{terminal['id']}/answer", reported).status == 200
        ana.skip(self.ask(SINGLE), reason=f"Ask again tomorrow. {LONG_WORD}")
        ben.skip(self.ask(*AWKWARD))
        ana.ask_back(self.ask(SINGLE), f"How large does it get? {LONG_WORD}")
        lapsed = self.ask(SINGLE, timeout_seconds=0.5)
        used = self.ask(SINGLE, timeout_seconds=5, default={SINGLE["question"]: "SQLite"})
        for question in (lapsed, used):
            eventually(lambda question=question: agent.read(question["id"])["status"] == "expired")
        agent.call("DELETE", f"/api/v1/questions/{self.ask(SINGLE)['id']}")

    def _talk(self) -> None:
        agent = self.agent
        for number in range(3):
            agent.send(f"read {number} files {LONG_WORD}", type="log")
        agent.send(f"{RIGHT_TO_LEFT}\n\n{CONTEXT['text']}", sender=LONG_WORD, color="#ffffff")
        agent.send("relayed", sender="Cleo", sender_type="human")
        agent.send("one line", type="log")
        self.bridge.person("ben").say("I am in a meeting until three, Ana decides.", room=agent.room)

    @contextmanager
    def on(self, page: Page) -> Iterator[None]:
        """The room as Ana sees it, with cards in all states."""
        race = self.ask(SINGLE)
        held: dict[str, Route] = {}
        page.route("**/answer", lambda route: held.setdefault(route.request.url.split("/")[-2], route))
        with self.agent.waiting(self.waiting["id"]):
            page.goto(f"/rooms/{self.agent.room}")
            # All cards, also those that are rows because there are so many.
            page.locator(".ab-fold-row").evaluate_all("all => all.forEach((one) => one.click())")
            expect(self.card(page, self.waiting)).to_contain_text("Waiting")
            self._lose(page, race, held)
            self._open_everything(page, held)
            yield
            for route in held.values():
                route.abort()

    def card(self, page: Page, question: Any) -> Any:
        return page.locator(f"#card-{question['id']}")

    def _lose(self, page: Page, question: Any, held: dict[str, Route]) -> None:
        """Ben answers while Ana's answer is being sent."""
        card = self.card(page, question)
        card.get_by_role("radio", name="Other").check()
        card.get_by_label("Your own answer").fill(f"Neither: files will do. {LONG_WORD}")
        card.get_by_role("button", name="Submit").click()
        eventually(lambda: page.title() and question["id"] in held)
        self.bridge.person("ben").answer(question, "SQLite")
        expect(card).to_contain_text("Answered by Ben Okafor")
        held.pop(question["id"]).continue_()
        expect(card).to_contain_text("Your answer came too late")

    def _open_everything(self, page: Page, held: dict[str, Route]) -> None:
        card = self.card(page, self.waiting)
        card.locator(".ab-context summary").click()
        card.locator(".ab-skip summary").click()
        card = self.card(page, self.gone)
        card.get_by_role("checkbox", name="Unit tests").press("Space")
        card.get_by_role("checkbox", name="Other").check()
        card.get_by_label("Your own answer").fill(LONG_WORD)
        card.get_by_text("Add a note").click()
        card.get_by_label("Note for the agent").fill("Not before Friday")
        card = self.card(page, self.refused)
        next_step(card)
        card.get_by_role("checkbox", name="Other").check()
        next_step(card)
        card.get_by_role("button", name="Submit").click()
        eventually(lambda: page.title() and self.refused["id"] in held)
        held.pop(self.refused["id"]).continue_()
        expect(card.get_by_text("Needs an option or a text")).to_be_visible()
        next_step(card)
        expect(card.get_by_text("Other needs a text of your own")).to_be_visible()
        expect(
            self.card(page, self.locked).get_by_text("Only Ben Okafor and managers can answer this")
        ).to_be_visible()
        expect(
            self.card(page, self.for_voters).get_by_text("Only Ben Okafor and cleo can vote")
        ).to_be_visible()
        card.get_by_text("Ask back").click()
        self.bridge.person("ben").post(f"/rooms/{self.agent.room}/questions/{self.gone['id']}/answering", {})
        expect(page.get_by_text("Ben Okafor is answering")).to_be_visible()
        card = self.card(page, self.sent)
        card.get_by_role("radio", name="SQLite").focus()
        page.keyboard.press("Space")
        page.keyboard.press("Enter")
        expect(card.get_by_text("Sending…")).to_be_visible()
        page.locator(".ab-settled, .ab-log-group").evaluate_all(
            "all => all.forEach((one) => (one.open = true))"
        )
