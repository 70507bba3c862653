"""Many people answer the same question at the same moment."""

import re
import time
from collections import Counter
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from threading import Barrier
from typing import Any

from tests.faults.stored_questions import answers_by_question
from tests.faults.tabs import Tab, open_tabs
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.figures import report, setup_of
from tests.harness.people import Person
from tests.harness.resources import cpu_seconds

# Of each question: so many clicks at once.
CLICKS = 50
OPTIONS = ["PostgreSQL", "SQLite"]


def click_all_at_once(bridge: Bridge, agent: Agent, people: list[Person], count: int) -> None:
    """Each question gets one answer, and each late click is told whose.

    The same click in another tab of the winner is confirmed as well.
    """
    questions = [agent.ask() for _ in range(count)]
    started, used = time.monotonic(), sum(map(cpu_seconds, bridge.sites))
    with open_tabs(bridge.sites, people, CLICKS) as tabs:
        replies = race(tabs, questions)
    seconds, cpu = time.monotonic() - started, sum(map(cpu_seconds, bridge.sites)) - used

    statuses: Counter[int] = Counter()
    repeated = 0
    for question, clicks in zip(questions, replies, strict=True):
        statuses.update(status for status, _ in clicks)
        winner, *again = [number for number, (status, _) in enumerate(clicks) if status in (200, 303)]
        stored = agent.read(question["id"])["answer"]
        person, option = tabs[winner].person, winner % 2
        assert stored["by"]["username"] == person.username
        assert stored["answers"][0]["selectedOptions"] == [OPTIONS[option]]
        same = [number for number, tab in enumerate(tabs) if tab.person is person and number % 2 == option]
        assert [winner, *again] == same
        repeated += len(again)
        for number, (status, named) in enumerate(clicks):
            if number not in same:
                expected = "you" if tabs[number].person is person else person.name
                assert (status, named) == (409, expected)
    assert statuses[409] == count * (CLICKS - 1) - repeated
    assert answers_by_question(agent) == {question["id"]: 1 for question in questions}
    report(
        f"one winner, {setup_of(bridge)}: {CLICKS} clicks on each of {count} questions in {seconds:.1f} s "
        f"({cpu:.1f} s of the site's CPU), "
        f"{count} answers, {repeated:,} repeated, {statuses[409]:,} refused, nothing else ({dict(statuses)})"
    )


def vote_all_at_once(bridge: Bridge, agent: Agent, people: list[Person], count: int) -> None:
    """Each question is decided once, by people who agree, each counted once; late votes are refused."""
    needed = 3
    care = {"votes": needed, "undo_seconds": 1}
    questions = [agent.ask(care=care) for _ in range(count)]
    with open_tabs(bridge.sites, people, CLICKS) as tabs:
        replies = race(tabs, questions)
    for question, clicks in zip(questions, replies, strict=True):
        assert {status for status, _ in clicks} <= {200, 303, 409}
        settled = agent.wait(question["id"], seconds=10)
        assert settled["status"] == "answered"
        voters = [vote["by"]["username"] for vote in settled["answer"]["votes"]]
        assert len(voters) == len(set(voters)) == needed
        assert settled["answer"]["by"]["username"] == voters[-1]
    assert answers_by_question(agent) == {question["id"]: 1 for question in questions}
    statuses = Counter(status for clicks in replies for status, _ in clicks)
    report(
        f"votes, {setup_of(bridge)}: {CLICKS} clicks on each of {count} questions, {needed} have to agree: "
        f"{count} answers, {statuses[409]:,} came too late ({dict(statuses)})"
    )


def race(tabs: list[Tab], questions: list[Any]) -> list[list[tuple[int, str]]]:
    """For each question the status that every tab got, and who was named as the winner."""
    start = Barrier(len(tabs))

    def click(number: int) -> list[tuple[int, str]]:
        told = []
        try:
            for question in questions:
                start.wait(timeout=60)
                reply = tabs[number].answer(question, number % 2)
                found = re.search(r"came too late\.</strong> Answered by ([^<]+)\. The agent", reply.text)
                told.append((reply.status, found.group(1) if found else ""))
        except BaseException:
            start.abort()  # the others need not wait for this one
            raise
        return told

    with ThreadPoolExecutor(len(tabs)) as pool:
        clicking = [pool.submit(click, number) for number in range(len(tabs))]
        for tab in wait(clicking, return_when=FIRST_EXCEPTION).done:
            tab.result()  # raises what went wrong first
        by_tab = [tab.result() for tab in clicking]
    return [list(clicks) for clicks in zip(*by_tab, strict=True)]
