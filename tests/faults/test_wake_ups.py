"""Every waiting agent and page is woken, also when the answer races with the wait or hints are lost."""

import json
import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from tests.faults.tabs import Tab
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.databases import postgres_and_redis_urls
from tests.harness.figures import percentile, percentiles, report, setup_of
from tests.harness.http import EventStream
from tests.harness.people import Person
from tests.harness.sites import Site, clean_environment
from tests.harness.timing import eventually

RACERS = 10
RACES_EACH = 100
# Around what an ask, a wait and an answer take themselves: the three come in every order that there is.
LONGEST_DELAY_SECONDS = 0.03
# What a lost hint may cost, by promise.
CATCH_UP_SECONDS = 5
# The cost of a lost hint: waits that were not woken look again every two seconds.
WOKEN_SECONDS = 1


def race(agent: Agent, tab: Tab, chance: random.Random) -> list[tuple[float, float]]:
    """Ask, wait and answer with small delays between: how long after the click, and after its confirmation,
    the answer came to the agent that waited by then."""
    arrivals = []
    with closing(agent.site.connect()) as connection, ThreadPoolExecutor(1) as pool:

        def call(method: str, path: str, body: Any = None) -> Any:
            connection.request(method, path, body and json.dumps(body), agent.headers())
            return json.loads(connection.getresponse().read())

        def click(question: Any, delay_seconds: float) -> tuple[float, float]:
            time.sleep(delay_seconds)
            clicked_at = time.monotonic()
            reply = tab.answer(question, 0)
            assert reply.status in (200, 303), reply.text
            return clicked_at, time.monotonic()

        for _ in range(RACES_EACH):
            question = call("POST", f"{agent.path}/questions", agent.question_body())
            answering = pool.submit(click, question, chance.uniform(0, LONGEST_DELAY_SECONDS))
            time.sleep(chance.uniform(0, LONGEST_DELAY_SECONDS))
            waits_since = time.monotonic()
            answered = call("GET", f"/api/v1/questions/{question['id']}?wait=20")
            arrived_at = time.monotonic()
            clicked_at, confirmed_at = answering.result()
            assert answered["status"] == "answered"
            after_click = arrived_at - max(waits_since, clicked_at)
            arrivals.append((after_click, max(0.0, arrived_at - max(waits_since, confirmed_at))))
    return arrivals


def test_a_thousand_races_of_ask_wait_and_answer(bridge: Bridge, people: list[Person]) -> None:
    with ExitStack() as stack, ThreadPoolExecutor(RACERS) as pool:
        racing = []
        for number in range(RACERS):
            tab = Tab(people[number % len(people)], bridge.other_site, has_htmx=True)
            stack.enter_context(closing(tab))
            racing.append(pool.submit(race, bridge.agent(), tab, random.Random(number)))
        arrivals = [arrival for racer in racing for arrival in racer.result()]
    after_clicks, after_confirmations = zip(*arrivals, strict=True)
    report(
        f"wake-ups, {setup_of(bridge)}: {len(arrivals):,} races, {RACERS} at a time: click to agent "
        f"{percentiles(after_clicks)}; confirmation to agent {percentiles(after_confirmations)}"
    )
    assert len(arrivals) == RACERS * RACES_EACH
    assert max(after_confirmations) < CATCH_UP_SECONDS
    assert percentile(after_confirmations, 0.99) < WOKEN_SECONDS, "too many were not woken but looked again"


# ---- with every hint lost --------------------------------------------------------------------------------

QUESTIONS = 40
STREAMS = 10


@pytest.fixture
def bridge_without_hints(tmp_path: Path) -> Iterator[Bridge]:
    """Two processes with a channel layer that delivers nothing."""
    with postgres_and_redis_urls() as urls:
        environment = clean_environment(tmp_path / "data") | urls
        environment["DJANGO_SETTINGS_MODULE"] = "tests.faults.dropping_channel_layer"
        sites: list[Site] = []
        try:
            sites += [Site(environment), Site(environment)]
            yield Bridge(environment, sites, ["room-0"])
        finally:
            for site in sites:
                site.end()


def seen_at(stream: EventStream, event: str, count: int) -> dict[str, float]:
    """When each of so many events came, by the id of the card in it."""
    seen: dict[str, float] = {}
    while len(seen) < count:
        found = stream.next()
        if found.event.startswith(event):
            card = found.data.partition('id="card-')[2].partition('"')[0]
            seen.setdefault(card, time.monotonic())
    return seen


def test_every_answer_and_event_arrives_although_every_hint_is_lost(bridge_without_hints: Bridge) -> None:
    agent, ana = bridge_without_hints.agent(), bridge_without_hints.person()
    near, far = bridge_without_hints.sites
    arrived_at = {}
    with ExitStack() as stack, ThreadPoolExecutor(QUESTIONS + 2 * STREAMS) as pool:

        def watch(site: Site, event: str) -> Any:
            stream = stack.enter_context(bridge_without_hints.person("ben", site).stream(agent.room))
            stream.set_timeout(2 * CATCH_UP_SECONDS)  # less than the pause between two signs of life
            return pool.submit(seen_at, stream, event, QUESTIONS)

        def wait(question: Any) -> None:
            assert agent.wait(question["id"], seconds=30)["status"] == "answered"
            arrived_at[question["id"]] = time.monotonic()

        # One after the other: a process in which something happens looks at everything else as well.
        shown = [watch(far, "question") for _ in range(STREAMS)]
        questions = {question["id"]: question for question in (agent.ask() for _ in range(QUESTIONS))}
        asked_at = time.monotonic()
        pages = [at - asked_at for stream in shown for at in stream.result().values()]
        waiting = [pool.submit(wait, question) for question in questions.values()]
        eventually(lambda: sum(card["agent"]["active"] for card in agent.open_questions()) == QUESTIONS)
        settled = [watch(near, "card-") for _ in range(STREAMS)]
        answered_at = {}
        for question in questions.values():
            ana.answer(question, "SQLite")
            answered_at[question["id"]] = time.monotonic()
        for waiter in waiting:
            waiter.result()
        pages += [at - answered_at[card] for stream in settled for card, at in stream.result().items()]
    agents = [at - answered_at[question] for question, at in arrived_at.items()]
    assert len(agents) == QUESTIONS
    assert len(pages) == 2 * STREAMS * QUESTIONS
    report(
        f"no hints, two processes: {len(agents)} answers reached agents after {percentiles(agents)}; "
        f"{len(pages)} events reached pages after {percentiles(pages)}"
    )
    assert max(*agents, *pages) < CATCH_UP_SECONDS
