"""Agents ask and wait and people answer while the site is killed and restarted."""

import random
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from http.client import HTTPException
from queue import Empty, Queue
from threading import Event
from typing import Any

from bridge_client import Answered, Client
from tests.faults.restarts import Downtime, RestartableBridge
from tests.faults.stored_questions import answers_by_question, questions
from tests.harness.agents import Agent
from tests.harness.bridges import PEOPLE
from tests.harness.figures import percentiles, report, setup_of
from tests.harness.people import Person

OPTIONS = ["PostgreSQL", "SQLite"]
AGENTS = 8
# After so many kills all clients finish, and everything is checked.
KILLS_PER_ROUND = 10
# The promised maximum after a restart, or after the answer if that is later.
ARRIVAL_SECONDS = 5
# Longer than all kills of a round: an agent that times out has lost its question.
PATIENCE_SECONDS = 120
# A person presses again when the page says "Could not send".
PRESS_AGAIN_SECONDS = 0.05


@dataclass
class Asked:
    """One question and everything that was confirmed about it."""

    id: str
    port: int
    winner: tuple[str, str] | None = None
    answered_at: float = float("inf")
    received: Any = None
    received_at: float = 0


@dataclass
class Round:
    """All replies between the first kill and the last restart."""

    bridge: RestartableBridge
    chance: random.Random
    name: str
    asked: dict[str, Asked] = field(default_factory=dict)
    downtimes: list[Downtime] = field(default_factory=list)
    refused: int = 0
    _to_answer: "Queue[tuple[str, Any]]" = field(default_factory=Queue)
    _is_over: Event = field(default_factory=Event)
    _is_writing: Event = field(default_factory=Event)

    def run(self, agents: list[Agent], kills: int) -> None:
        people = [self.bridge.person(username) for username in PEOPLE]
        with ThreadPoolExecutor(len(agents) + len(people)) as pool:
            asking = [pool.submit(self._ask_and_wait, agent, number) for number, agent in enumerate(agents)]
            answering = [pool.submit(self._answer, person, asking) for person in people]
            try:
                for _ in range(kills):
                    self._kill_and_start_again([*asking, *answering])
            finally:
                self._is_over.set()
            for task in (*asking, *answering):
                task.result(timeout=PATIENCE_SECONDS)

    def _kill_and_start_again(self, tasks: "list[Future[None]]") -> None:
        # Clients reconnect within about a second of the restart, so kills hit all kinds of requests.
        time.sleep(self.chance.uniform(0, 1))
        if self.chance.random() < 0.5:
            # While something is being written: before its commit, or between that and its reply.
            self._is_writing.clear()
            self._is_writing.wait(timeout=1)
            time.sleep(self.chance.uniform(0, 0.02))
        for task in tasks:
            if task.done():
                task.result()  # raises its exception
        numbers = list(range(len(self.bridge.sites)))
        victims = self.chance.choice([[number] for number in numbers] + [numbers])
        self.downtimes += self.bridge.kill_and_start_again(victims)

    def _ask_and_wait(self, agent: Agent, number: int) -> None:
        client = Client(
            f"http://127.0.0.1:{agent.site.port}", agent.key, agent.room, patience_seconds=PATIENCE_SECONDS
        )
        count = 0
        while not self._is_over.is_set():
            name = f"{self.name}.{number}.{count}"
            prompt = {"question": name, "options": OPTIONS}
            self._is_writing.set()
            asked = client.ask([prompt], agent=f"agent-{number}", idempotency_key=name)
            self.asked[name] = Asked(asked.id, agent.site.port)
            for _ in range(1 + (count % 3 == 0)):  # two people answer every third one
                self._to_answer.put((name, asked.data))
            self.asked[name].received = client.wait(asked.id, PATIENCE_SECONDS)
            self.asked[name].received_at = time.monotonic()
            count += 1

    def _answer(self, person: Person, asking: "list[Future[None]]") -> None:
        chance = random.Random(f"{self.name} {person.username}")
        while not all(agent.done() for agent in asking):
            try:
                name, question = self._to_answer.get(timeout=0.1)
            except Empty:
                continue
            # People take a while, so that kills also hit long waits; it also bounds the asks per minute.
            time.sleep(chance.choice([0, 0.1, 0.3, 1]))
            option = chance.randrange(2)
            self._is_writing.set()
            path = f"/rooms/{question['room']}/questions/{question['id']}/answer"
            reply = until_replied(lambda: person.post(path, {"choice-0": str(option)}))  # noqa: B023
            assert reply.status in (303, 409), reply.text
            asked = self.asked[name]
            asked.answered_at = min(asked.answered_at, time.monotonic())
            if reply.status == 303:
                # The same answer sent again gets the same reply.
                won = (person.username, OPTIONS[option])
                assert asked.winner in (None, won), "two people were told that they were first"
                asked.winner = won
            else:
                self.refused += 1

    # ---- afterwards

    def check(self, agents: list[Agent]) -> list[float]:
        """Each confirmed question and answer is stored once; how long each agent waited for its answer."""
        stored = [question for agent in agents for question in questions(agent)]
        mine = {question["id"]: question for question in stored if is_named(question, self.name)}
        names = Counter(question["questions"][0]["question"] for question in mine.values())
        assert names == dict.fromkeys(self.asked, 1), "a question is missing, or was asked twice"
        counts = {name: count for agent in agents for name, count in answers_by_question(agent).items()}
        for name, asked in self.asked.items():
            question = mine[asked.id]
            assert question["questions"][0]["question"] == name
            assert counts[asked.id] == 1
            by, chosen = question["answer"]["by"]["username"], question["answer"]["answers"][0]
            if asked.winner:
                assert asked.winner == (by, chosen["selectedOptions"][0])
            assert isinstance(asked.received, Answered)
            assert asked.received.by
            assert asked.received.by.username == by
            assert asked.received.choices[0].selected_options == chosen["selectedOptions"]
        return [self._wait_seconds(asked) for asked in self.asked.values()]

    def _wait_seconds(self, asked: Asked) -> float:
        """After the answer, or after the return of the agent's own process if that was later."""
        returns = [
            min(downtime.ready_at, asked.received_at)  # served before its start message was read
            for downtime in self.downtimes
            if downtime.port == asked.port and downtime.killed_at < asked.received_at
        ]
        return max(0.0, asked.received_at - max(asked.answered_at, *returns, 0))


def is_named(question: Any, name: str) -> bool:
    return str(question["questions"][0]["question"]).startswith(f"{name}.")


def until_replied(post: Callable[[], Any]) -> Any:
    """Send the form again until there is a reply."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        try:
            return post()
        except (OSError, HTTPException):
            time.sleep(PRESS_AGAIN_SECONDS)
    raise AssertionError("the site did not come back")


def kill_repeatedly(bridge: RestartableBridge, kills: int, seed: int) -> None:
    """Nothing confirmed is lost or doubled, and each agent has its answer soon after a restart."""
    started = time.monotonic()
    chance = random.Random(seed)
    agents = [bridge.agent() for _ in range(AGENTS)]
    for number, agent in enumerate(agents):
        agent.site = bridge.sites[number % len(bridge.sites)]
    asked, lost_replies, waits = 0, 0, []
    for number in range(kills // KILLS_PER_ROUND):
        last = Round(bridge, chance, f"{seed}-{number}")
        last.run(agents, KILLS_PER_ROUND)
        waits += last.check(agents)
        asked += len(last.asked)
        lost_replies += sum(1 for one in last.asked.values() if not one.winner)
    report(
        f"kill -9, {setup_of(bridge)}, seed {seed}: {kills} kills in {time.monotonic() - started:.0f} s, "
        f"{asked} questions asked and answered once each, {lost_replies} of them with a lost reply, "
        f"agents had theirs after {percentiles(waits)}"
    )
    assert max(waits) < ARRIVAL_SECONDS
    bridge.check_audit()
