"""The three agents of `make demo`: programs that ask in a room, wait, and react to what people decide.

They are ordinary clients: `bridge_client` over HTTP, each with a key of its own. An agent has at most one
open question, so there are never more than three.
"""

import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bridge_client.client import Client
from bridge_client.errors import ClientError
from bridge_client.results import Answered, AskedBack, Choice, Declined, Expired, Result
from bridge_client.transport.cancellation import Cancellation, Cancelled

# From the first decision on: as long as people usually try something out. Then the agents continue slowly.
LIVELY_SECONDS = 300
# Between an answer and the next question: time to read the reply, not enough to get bored.
PAUSE_SECONDS = (5, 10)
SLOW_PAUSE_SECONDS = (120, 240)
# Between the log lines that an agent writes while it works.
LOG_PAUSE_SECONDS = 1.5
# A question that ends by itself must leave time to be seen.
DEADLINE_SECONDS = 90
UNDO_SECONDS = 10

# An agent that is asked back asks again with this.
EXPLANATION = "I have looked: each way takes about an hour, and can be changed later."

Body = dict[str, Any]

NEW_INVOICE = """\
┌──────────────────────────┐
│ Invoice 2041             │
│ 3 items        € 1,240   │
│ [ Pay now ]  [ Later ]   │
└──────────────────────────┘"""
NEW_LIST = """\
  2041   € 1,240   due in 3 days
  2040   €   310   paid
  2039   €    95   paid"""


@dataclass(frozen=True)
class Step:
    """Log lines of some work, and the question that it leads to."""

    work: Sequence[str]
    ask: Body


@dataclass(frozen=True)
class Agent:
    """One agent: its name, when it begins, and what it works on, again and again."""

    name: str
    starts_after_seconds: float
    greeting: str
    steps: Sequence[Step]
    cwd: str
    branch: str


AGENTS = (
    Agent(
        name="refactor-bot",
        starts_after_seconds=1,
        greeting="I am starting with the import of **billing**.",
        cwd="/srv/billing",
        branch="retry-imports",
        steps=(
            Step(
                ("billing: 214 tests passed in 38 s",),
                {
                    "questions": [
                        {
                            "question": "The import fails when the bank is slow. What should it do?",
                            "header": "Retries",
                            "options": [
                                {
                                    "label": "Retry three times (Recommended)",
                                    "description": "Up to a minute",
                                },
                                {"label": "Fail at once", "description": "People start it again"},
                                {"label": "Wait until it works", "description": "May block other imports"},
                            ],
                        }
                    ],
                    "context": {"text": "It failed on 4 of the last 30 nights."},
                },
            ),
            Step(
                ("billing: wrote import/retry.py", "billing: 219 tests passed in 39 s"),
                {
                    "questions": [
                        {
                            "question": "How should the page show an invoice?",
                            "header": "Layout",
                            "options": [
                                {"label": "As a card", "preview": NEW_INVOICE},
                                {"label": "As a row", "preview": NEW_LIST},
                            ],
                        }
                    ],
                },
            ),
            Step(
                ("billing: 12 files changed",),
                {
                    "questions": [
                        {
                            "question": "The patch touches 12 files. One change or several?",
                            "header": "Size",
                            "options": ["Several, one idea each (Recommended)", "One, reviewed together"],
                        }
                    ],
                },
            ),
        ),
    ),
    Agent(
        name="deploy-bot",
        starts_after_seconds=12,
        greeting="The release of **checkout** is built. I am preparing its deployment.",
        cwd="/srv/checkout",
        branch="main",
        steps=(
            Step(
                ("checkout: build finished", "checkout: image pushed"),
                {
                    "questions": [
                        {
                            "question": "Which checks should gate the release of checkout?",
                            "header": "Checks",
                            "multiSelect": True,
                            "options": [
                                {"label": "Unit tests", "description": "38 seconds"},
                                {"label": "Browser tests", "description": "four minutes"},
                                {"label": "Load tests", "description": "half an hour"},
                            ],
                        }
                    ],
                },
            ),
            Step(
                ("checkout: all chosen checks passed",),
                {
                    "questions": [
                        {
                            "question": "Roll checkout out to all customers?",
                            "header": "Rollout",
                            "options": [
                                {"label": "Only 5 % first (Recommended)"},
                                {"label": "Everyone", "description": "Cannot be taken back quickly"},
                            ],
                        }
                    ],
                    "care": {"undo_seconds": UNDO_SECONDS},
                    "context": {"text": f"You can undo your choice for {UNDO_SECONDS} seconds."},
                },
            ),
            Step(
                ("checkout: 0 errors in the first minute",),
                {
                    "questions": [
                        {
                            "question": "May I delete the old tables of checkout?",
                            "header": "Delete",
                            "options": [
                                {"label": "Keep them (Recommended)"},
                                {"label": "Delete them", "description": "There is a backup of last night."},
                            ],
                        }
                    ],
                    "timeout_seconds": DEADLINE_SECONDS,
                    "default": {"May I delete the old tables of checkout?": "Keep them (Recommended)"},
                },
            ),
        ),
    ),
    Agent(
        name="docs-writer",
        starts_after_seconds=30,
        greeting="I am writing the handbook for **search**.",
        cwd="/srv/handbook",
        branch="search-chapter",
        steps=(
            Step(
                ("search: read 31 pages",),
                {
                    "questions": [
                        {
                            "question": "Who reads this chapter?",
                            "header": "Readers",
                            "options": ["Support", "Customers", "Developers"],
                        },
                        {
                            "question": "How long may it be?",
                            "header": "Length",
                            "options": ["One page (Recommended)", "As long as it takes"],
                        },
                        {
                            "question": "What should it contain?",
                            "header": "Content",
                            "multiSelect": True,
                            "options": ["Examples", "Screenshots", "A list of limits"],
                        },
                    ],
                },
            ),
            Step(
                ("search: wrote 640 words", "search: checked 12 links"),
                {
                    "questions": [
                        {
                            "question": "What should we call it?",
                            "header": "Name",
                            "options": ["Find anything", "Search", "Look up"],
                        }
                    ],
                    "context": {"text": "Choose *Other* if you know a better name."},
                },
            ),
        ),
    ),
)


class DemoAgents:
    """Runs the agents in threads until `stop`."""

    def __init__(self, url: str, room: str, keys: dict[str, str]) -> None:
        self._url, self._room, self._keys = url, room, keys
        self._cancellations: list[Cancellation] = []
        self._threads: list[threading.Thread] = []
        self._first_decision_at: float | None = None

    def start(self) -> None:
        for agent in AGENTS:
            cancellation = Cancellation()
            thread = threading.Thread(target=self._run, args=(agent, cancellation), daemon=True)
            self._cancellations.append(cancellation)
            self._threads.append(thread)
            thread.start()

    def stop(self, timeout_seconds: float) -> None:
        """End all calls; the site is told that no agent waits any more."""
        for cancellation in self._cancellations:
            cancellation.cancel()
        for thread in self._threads:
            thread.join(timeout_seconds)

    def _run(self, agent: Agent, cancellation: Cancellation) -> None:
        client = Client(self._url, self._keys[agent.name], self._room)
        try:
            cancellation.sleep(agent.starts_after_seconds)
            _withdraw_open(agent, client)
            client.send_message(agent.greeting, sender=agent.name)
            while True:
                for step in agent.steps:
                    self._take(step, agent, client, cancellation)
                    cancellation.sleep(self._pause_seconds())
        except Cancelled:
            pass
        except ClientError as error:
            if not cancellation.is_cancelled:
                print(f"{agent.name} has stopped: {error}", flush=True)

    def _take(self, step: Step, agent: Agent, client: Client, cancellation: Cancellation) -> None:
        for line in step.work:
            client.send_message(line, sender=agent.name, type="log")
            cancellation.sleep(LOG_PAUSE_SECONDS)
        body = dict(step.ask)
        context = {"cwd": agent.cwd, "branch": agent.branch, **body.pop("context", {})}
        while True:
            result = client.ask_and_wait(body, agent=agent.name, context=context, cancellation=cancellation)
            self._first_decision_at = self._first_decision_at or time.monotonic()
            client.send_message(reaction(result), sender=agent.name)
            if not isinstance(result, AskedBack):
                return
            cancellation.sleep(self._pause_seconds())
            context["text"] = f"You asked: “{result.reason}” {EXPLANATION}"

    def _pause_seconds(self) -> float:
        began = self._first_decision_at or time.monotonic()
        is_lively = time.monotonic() - began < LIVELY_SECONDS
        return random.uniform(*(PAUSE_SECONDS if is_lively else SLOW_PAUSE_SECONDS))  # noqa: S311 - no secret


def _withdraw_open(agent: Agent, client: Client) -> None:
    """Take back what the agent asked before the demo was stopped."""
    for question in list(client.questions("open")):
        if question.data["agent"]["name"] == agent.name:
            client.withdraw(question.id)


def reaction(result: Result) -> str:
    """What the agent says about the decision, with the person and the choice."""
    match result:
        case Answered(by=by, choices=choices):
            return f"Thank you, {by.name if by else 'all'}! I will continue with {described(choices)}."
        case AskedBack(by=by, reason=reason):
            return f"Good question, {by.name if by else 'all'}: “{reason}” I will look into it and ask again."
        case Declined(by=by, reason=reason):
            because = f": “{reason}”" if reason else ""
            return f"{by.name if by else 'The question'} skipped this{because}. I will leave it as it is."
        case Expired(default=default) if default:
            return f"There was no answer in time, so I will use the default: {described(default)}."
        case _:
            return "I got no answer, so I will leave it as it is."


def described(choices: Sequence[Choice]) -> str:
    """All choices in one line, each in bold, without the mark of a recommendation."""
    parts = []
    for choice in choices:
        chosen = [label.removesuffix(" (Recommended)") for label in choice.selected_options]
        if choice.custom_input:
            chosen.append(choice.custom_input)
        parts.append(f"**{', '.join(chosen)}**")
    return ", ".join(parts)
